"""Writes through views inside of gradient calls give what they give outside, and leave the caller's
Tensors as they are."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

START = np.arange(1.0, 13.0).reshape(3, 4) / 8
SLOPES = ms.Tensor(np.cos(START))

VIEWS = {
    "view": lambda b: b.view(b.shape),
    "view_as": lambda b: b.view_as(b),
    "reshape": lambda b: b.reshape(b.shape),
    "two views": lambda b: b.view(-1).view(3, 4),
    "transposed twice": lambda b: b.T.T,
    "positive": lambda b: +b if hasattr(b, "__pos__") else ops.positive(b),
    "Tensor": Tensor,
    "all": lambda b: b[:],
    "row": lambda b: b[1],
    "rows": lambda b: b[1:],
    "transposed": lambda b: b.T,
    "flat": lambda b: b.reshape(-1),
    "diagonal": lambda b: b.diagonal(),
    "view of a view": lambda b: b[1:][0],
}
WHOLES = {"input": lambda x: x, "computed": lambda x: x * 1.0}
WRITES = {"method": lambda view: view.mul_(3.0), "index": lambda view: view.__setitem__(0, 0.5)}


def loss_by(view, whole, write):
    def loss(x):
        base = whole(x)
        part = view(base)
        write(part)
        return (base * base * SLOPES).sum() + (part * part).sum()

    return loss


def outside(loss):
    """The value at the start, and the gradient by differences, of a function run plainly."""
    def value(array):
        return float(loss(ms.Tensor(array.copy())))

    found = np.zeros_like(START)
    for place in np.ndindex(START.shape):
        step = np.zeros_like(START)
        step[place] = 1e-6
        found[place] = (value(START + step) - value(START - step)) / 2e-6
    return value(START), found


def by_value_and_grad(loss, x):
    return ms.value_and_grad(loss)(x)


def by_jvp(loss, x):
    directions = np.eye(START.size).reshape(-1, *START.shape)
    pairs = [ms.jvp(loss, x, ms.Tensor(direction)) for direction in directions]
    return pairs[0][0], ops.stack([tangent for _, tangent in pairs]).reshape(START.shape)


def by_jvp_in_a_gradient(loss, x):
    return ms.value_and_grad(lambda s: ms.jvp(loss, x * s, x)[0])(ms.Tensor(1.0, ms.float64))[0], (
        ms.grad(lambda x: ms.jvp(loss, x, SLOPES)[0])(x))


def in_a_gradient(loss, x):
    value = ms.value_and_grad(lambda s: ms.value_and_grad(loss)(x * s)[0])
    return value(ms.Tensor(1.0, ms.float64))[0], ms.grad(
        lambda s: ms.grad(loss)(s + 0.0).sum() * 0.0 + loss(s + 0.0))(x)


def in_a_batch(loss, x):
    value, gradient = ms.vmap(ms.value_and_grad(loss))(ops.stack([x, x]))
    return value[1], gradient[1]


def by_a_compiled_gradient(loss, x):
    step = ms.jit(ms.value_and_grad(loss))
    return [step(x) for _ in range(3)][-1]


def of_a_compiled_function(loss, x):
    step = ms.value_and_grad(ms.jit(loss))
    return [step(x) for _ in range(3)][-1]


FEW = ("view", "Tensor", "rows", "view of a view")


@pytest.mark.filterwarnings("ignore:For 'jit', .* runs eagerly")
@pytest.mark.parametrize("view, way", [
    *[(view, way) for view in VIEWS for way in (by_value_and_grad, by_jvp)],
    *[(view, way) for view in FEW for way in (by_jvp_in_a_gradient, in_a_gradient, in_a_batch,
                                              by_a_compiled_gradient, of_a_compiled_function)]])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("whole", WHOLES)
def test_a_write_to_a_view_is_the_same_inside_of_a_gradient(view, whole, write, way):
    loss = loss_by(VIEWS[view], WHOLES[whole], WRITES[write])
    value, gradient = outside(loss)
    x = ms.Tensor(START)
    found, slope = way(loss, x)
    np.testing.assert_allclose(found.asnumpy(), value, rtol=1e-9)
    np.testing.assert_allclose(slope.asnumpy(), gradient, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(x.asnumpy(), START)


def test_the_callers_views_keep_their_values_when_an_inner_gradient_writes_to_its_input():
    def outer(x):
        row = x[1]

        def inner(y):
            y.mul_(3.0)
            return (y * y).sum()

        return (ms.grad(inner)(x) * row).sum() + (row * row).sum()

    value, gradient = ms.value_and_grad(outer)(ms.Tensor(START))
    x = START
    assert np.isclose(value.item(), (18 * x * x[1]).sum() + (x[1] ** 2).sum())
    expected = 18 * np.broadcast_to(x[1], x.shape).copy()
    expected[1] += 18 * x.sum(0) + 2 * x[1]
    np.testing.assert_allclose(gradient.asnumpy(), expected)


def test_integers_that_are_differentiated_by_stay_the_callers():
    x, places = ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor([0, 1, 2])

    def loss(x, places):
        places.add_(1)
        places[0] = 5
        return (x * places).sum()

    value, (by_x, _) = ms.value_and_grad(loss, (0, 1))(x, places)
    assert value.item() == 5 + 4 + 9 and by_x.asnumpy().tolist() == [5, 2, 3]
    assert places.asnumpy().tolist() == [0, 1, 2]


def test_integers_that_are_changed_through_a_part_have_their_new_values_and_no_gradient_there():
    def loss(x, places):
        places[0:1].add_(1)
        return (x * places).sum()

    places = ms.Tensor([0, 1, 2])
    value, (by_x, by_places) = ms.value_and_grad(loss, (0, 1))(ms.Tensor([1.0, 2.0, 3.0]), places)
    assert value.item() == 9.0 and by_x.asnumpy().tolist() == [1, 1, 2]
    assert by_places.asnumpy().tolist() == [0, 2, 3]
    assert places.asnumpy().tolist() == [0, 1, 2]
    assert ms.grad(loss)(ms.Tensor([1.0, 2.0, 3.0]), places).asnumpy().tolist() == [1, 1, 2]


def test_a_view_that_was_made_before_the_input_got_another_value_keeps_its_own():
    def loss(x):
        row = x[1]
        x[0, 0] = 7.0  # gives `x` memory of its own: `row` stays as it was
        row.mul_(2.0)
        return (row * row).sum() + (x[1] * x[1]).sum()

    value, gradient = ms.value_and_grad(loss)(ms.Tensor(START))
    row = START[1]
    assert np.isclose(value.item(), 5 * (row ** 2).sum())
    np.testing.assert_allclose(gradient.asnumpy(), [0 * row, 10 * row, 0 * row])


def test_only_the_input_whose_part_is_written_to_is_copied():
    seen = []

    def loss(x, y):
        before = x._raw, y._raw
        x[0].mul_(2.0)
        x[1].mul_(2.0)
        seen.append((x._raw is before[0], y._raw is before[1]))
        return (x * y).sum()

    gradients = ms.grad(loss, (0, 1))(ms.Tensor(START), ms.Tensor(START))
    assert seen == [(False, True)]
    twice = START * [[2], [2], [1]]
    np.testing.assert_allclose(gradients[0].asnumpy(), twice)
    np.testing.assert_allclose(gradients[1].asnumpy(), twice)


def test_part_of_the_input_itself_may_be_written_through():
    def fn(x):
        x[0][1] = 5.0
        return (x * x).sum()

    x = Tensor([[1.0, 2.0]])
    value, gradient = ms.value_and_grad(fn)(x)
    assert value.item() == 26.0 and gradient.tolist() == [[2.0, 0.0]]
    assert x.tolist() == [[1.0, 2.0]]


def test_part_of_an_inner_input_of_another_shape_is_refused():
    def outer(x):
        def inner(flat):
            flat[0:2][1] = 5.0
            return (flat * flat).sum()

        return ms.grad(inner)(x.reshape(-1)).sum()

    with pytest.raises(RuntimeError, match=r"Change the input itself \(x\[0, 1\] = value"):
        ms.grad(outer)(Tensor([[1.0, 2.0]]))
