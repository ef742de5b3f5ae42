"""Views inside of a gradient call, and what is written to their wholes: as in MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops

START = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
SLOPES = np.cos(START)

VIEWS = [
    lambda b: b[1],
    lambda b: b[0:2],
    lambda b: b[:, 1],
    lambda b: b[1][0:2],
    lambda b: b.T,
    lambda b: b.reshape(-1)[5:7],
    lambda b: ops.transpose(b, (1, 0))[2],
    lambda b: b.expand_dims(0),
    lambda b: b.split(1)[1],
    lambda b: b.unbind()[1],
    lambda b: b.diagonal(),
    lambda b: b.broadcast_to((2, 3, 4)),
    lambda b: b.T[1:2, 1],
]


def by_int(b):
    b[1] = 9.5


def by_tuple_of_one(b):
    b[(1,)] = b[1] * 2.0


def by_list(b):
    b[[0, 1]] = 9.5


def by_numbers(b):
    b[ms.Tensor([1, 0])] = b[0] * 3.0


def assigned(b):
    ops.assign(b, b * 2.0)


def copied(b):
    b.copy_(b * 3.0)


def by_slice(b):
    b[0:2] = 9.5


def by_pair(b):
    b[1, 1] = 9.5


def by_mask(b):
    b[b > 4.5] = 0.0


def replaced(b):
    b.assign_value(b * 2.0)


def part_of(view, whole):
    """The places of a view's elements in its whole, and how often each is there."""
    places = view(ms.Tensor(np.arange(whole.size, dtype=np.float32).reshape(whole.shape)))
    places = places.asnumpy().astype(int).ravel()
    counts = np.bincount(places, minlength=whole.size).reshape(whole.shape)
    return places, counts


def loss_of(view, write, whole):
    part = view(whole)
    write(whole)
    return (part * part).sum() + (whole * ms.Tensor(SLOPES)).sum()


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through the assignment")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize(("write", "seen"), [
    (by_int, True), (by_tuple_of_one, True), (by_list, True), (by_numbers, True),
    (assigned, True), (copied, True), (by_slice, False), (by_pair, False), (by_mask, False),
    (replaced, False)])
def test_views_of_parameters_see_what_2_10_lets_them_see(write, seen, trained, compiled):
    after = ms.Tensor(START)
    write(after)
    after = after.asnumpy()
    for view in VIEWS[:3] if compiled else VIEWS:
        w = ms.Parameter(ms.Tensor(START), name="w", requires_grad=trained)
        x = ms.Tensor(1.0)
        step = ms.value_and_grad(lambda x, w=w, view=view: loss_of(view, write, w) * x, 0,
                                 [w] if trained else None)
        step = ms.jit(step) if compiled else step
        for _ in range(3 if compiled else 1):
            w.set_data(ms.Tensor(START))
            value, gradients = step(x)
        places, counts = part_of(view, START)
        read = after if seen else START
        expected = (read.ravel()[places] ** 2).sum() + (after * SLOPES).sum()
        np.testing.assert_allclose(value.asnumpy(), expected, rtol=1e-5)
        np.testing.assert_array_equal(w.asnumpy(), after)
        if trained:  # the gradient counts each value that the function saw
            np.testing.assert_allclose(gradients[1][0].asnumpy(),
                                       2 * read * counts + SLOPES, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("write", "seen", "slope"), [
    (copied, True, 3.0), (by_int, False, None), (by_slice, False, None), (by_pair, False, None),
    (replaced, False, 2.0)])
def test_views_of_what_is_computed_see_methods_in_place_and_no_indices(write, seen, slope):
    after = ms.Tensor(START)
    write(after)
    after = after.asnumpy()
    slopes = np.where(after == 9.5, 0.0, 1.0) if slope is None else slope
    for view in VIEWS:
        value, gradient = ms.value_and_grad(lambda x, v=view: loss_of(v, write, x * 1.0))(
            ms.Tensor(START))
        places, counts = part_of(view, START)
        read = after if seen else START
        np.testing.assert_allclose(
            value.asnumpy(), (read.ravel()[places] ** 2).sum() + (after * SLOPES).sum(), rtol=1e-5)
        through = 2 * read * counts * (slopes if seen else 1.0)
        np.testing.assert_allclose(gradient.asnumpy(), through + SLOPES * slopes, rtol=1e-4,
                                   atol=1e-4)


def test_a_write_inside_of_an_inner_gradient_is_seen_by_the_outer_one():
    w = ms.Parameter(ms.Tensor(START), name="w")

    def outer(x):
        part = w[1][1:3]

        def inner(y):
            w[1] = 9.5
            return (w[1] * y).sum()

        return (part * ms.grad(inner)(x)).sum() + (w ** 2).sum()

    value, (gradient,) = ms.value_and_grad(outer, None, [w])(ms.Tensor(2.0))
    after = START.copy()
    after[1] = 9.5
    assert value.item() == 19.0 * 38.0 + (after ** 2).sum()
    np.testing.assert_array_equal(gradient.asnumpy(), 2 * after + [[0], [19], [0]]
                                  + [[0] * 4, [0, 38, 38, 0], [0] * 4])


def test_derivatives_by_a_parameter_that_an_inner_gradient_changed():
    w = ms.Parameter(ms.Tensor(START), name="w")

    def outer(x):
        def inner(y):
            w[1] = 9.5
            return (w ** 3 * y).sum()

        (inner_gradient,) = ms.grad(inner, None, [w])(x)
        return inner_gradient.sum()

    (gradient,) = ms.grad(outer, None, [w])(ms.Tensor(2.0))
    np.testing.assert_allclose(gradient.asnumpy(), 12 * w.asnumpy())


def test_nothing_is_noted_outside_of_a_gradient_and_nothing_is_kept_by_it():
    from lamella.tensors import views

    def f(x):
        assert views.running
        return (x[1] * x.T[0, 1]).sum()

    ms.grad(f)(ms.Tensor(START))
    assert not views.running
    with pytest.raises(ZeroDivisionError):
        ms.grad(lambda x: x / (1 // 0))(ms.Tensor(START))
    assert not views.running


@pytest.mark.parametrize("pieces", [lambda y: ops.split(y, 2), lambda y: y.unbind(), list],
                         ids=["split", "unbind", "iteration"])
def test_pieces_of_a_computed_tensor_cant_be_written_to(pieces):
    def f(x):
        y = x * 2
        pieces(y)[0][0] = 7
        return y.sum()

    with pytest.raises(RuntimeError, match=r"'split', 'chunk', 'unbind' or iteration has made"):
        ms.grad(f)(ms.Tensor(START))


def test_only_views_are_noted_and_only_inside_of_a_gradient():
    from lamella.core.state import state
    from lamella.tensors.tensor import wrap_view

    counts = []

    def f(x):
        before = len(state.level.views)
        kept = [x[0], x[:, 1], x[[0, 1]], wrap_view(x._raw.clone()), x[0:2]]
        counts.append(len(state.level.views) - before)
        return kept[0].sum()

    ms.grad(f)(ms.Tensor(START))
    assert counts == [3]
