"""Methods that change a tensor in place, outside and inside a gradient."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor


def _x():
    return Tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])


I01 = Tensor([0, 1])
CHANGES = {
    "fill_": (lambda x: x.fill_(7), [[7, 7, 7], [7, 7, 7]]),
    "fill_ by a tensor": (lambda x: x.fill_(Tensor(7)), [[7, 7, 7], [7, 7, 7]]),
    "zero_": (lambda x: x.zero_(), [[0, 0, 0], [0, 0, 0]]),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(9), [[9, -2, 3], [4, 9, -6]]),
    "index_add_": (lambda x: x.index_add_(1, Tensor([0, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]])),
                   [[4, -2, 3], [11, 5, -6]]),
    "index_add_ alpha": (lambda x: x.index_add_(0, Tensor([1]), Tensor([[1.0, 1.0, 1.0]]), alpha=2),
                         [[1, -2, 3], [6, 7, -4]]),
    "index_copy_": (lambda x: x.index_copy_(1, Tensor([2]), Tensor([[8.0], [9.0]])),
                    [[1, -2, 8], [4, 5, 9]]),
    "index_fill_": (lambda x: x.index_fill_(0, Tensor([1]), 0), [[1, -2, 3], [0, 0, 0]]),
    "index_put_": (lambda x: x.index_put_((I01, I01), Tensor([8.0, 9.0])),
                   [[8, -2, 3], [4, 9, -6]]),
    "index_put_ add": (lambda x: x.index_put_([Tensor([0, 0]), I01 * 0], Tensor([8.0, 9.0]), True),
                       [[18, -2, 3], [4, 5, -6]]),
    "index_put_ by a mask": (lambda x: x.index_put_((I01 > 0, Tensor([2, 0])), Tensor([8.0, 9.0])),
                             [[1, -2, 3], [9, 5, 8]]),
    "put_": (lambda x: x.put_(Tensor([0, 5]), Tensor([8.0, 9.0])), [[8, -2, 3], [4, 5, 9]]),
    "scatter_": (lambda x: x.scatter_(1, Tensor([[2], [0]]), Tensor([[8.0], [9.0]])),
                 [[1, -2, 8], [9, 5, -6]]),
    "scatter_ number": (lambda x: x.scatter_(1, Tensor([[2], [0]]), 8.0), [[1, -2, 8], [8, 5, -6]]),
    "scatter_ a tensor's number": (lambda x: x.scatter_(1, Tensor([[2], [0]]), Tensor(8.0)),
                                   [[1, -2, 8], [8, 5, -6]]),
    "scatter_ some of a tensor": (lambda x: x.scatter_(1, Tensor([[2], [0]]), _x() * 2),
                                  [[1, -2, 2], [8, 5, -6]]),
    "scatter_add_": (lambda x: x.scatter_add_(1, Tensor([[2], [0]]), Tensor([[8.0], [9.0]])),
                     [[1, -2, 11], [13, 5, -6]]),
    "copy_": (lambda x: x.copy_(Tensor([1, 2, 3])), [[1, 2, 3], [1, 2, 3]]),
    "add_": (lambda x: x.add_(1), [[2, -1, 4], [5, 6, -5]]),
    "mul_": (lambda x: x.mul_(2), [[2, -4, 6], [8, 10, -12]]),
    "masked_fill_": (lambda x: x.masked_fill_(x < 0, 0.0), [[1, 0, 3], [4, 5, 0]]),
    "clamp_": (lambda x: x.clamp_(0, 4), [[1, 0, 3], [4, 4, 0]]),
    "normal_": (lambda x: x.normal_(2, 0), [[2, 2, 2], [2, 2, 2]]),
    "bernoulli_": (lambda x: x.bernoulli_(Tensor([0.0, 1.0, 1.0])), [[0, 1, 1], [0, 1, 1]]),
    "random_": (lambda x: x.random_(3, 4), [[3, 3, 3], [3, 3, 3]]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_value_identity_and_views(name):
    change, expected = CHANGES[name]
    x = _x()
    view = x[...]
    assert change(x) is x
    assert x.tolist() == expected and view.tolist() == expected
    p = Parameter(_x(), name="p")
    assert change(p) is p and p.asnumpy().tolist() == expected


@pytest.mark.parametrize("name", CHANGES)
def test_inside_a_gradient(name):
    change, expected = CHANGES[name]
    weight = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)

    def on_input(x):
        change(x)
        assert x.tolist() == expected
        return (x * Tensor(weight)).sum()

    def on_intermediate(x):
        y = x * 1
        change(y)
        return (y * Tensor(weight)).sum()

    start = _x()
    found = ms.grad(on_input)(start).asnumpy()
    assert start.tolist() == _x().tolist()
    np.testing.assert_allclose(found, ms.grad(on_intermediate)(start).asnumpy())
    gradient = np.zeros((2, 3), np.float32)
    for place in np.ndindex(2, 3):
        ends = []
        for step in (0.25, -0.25):
            moved = _x()
            moved[place] += step
            ends.append(float((change(moved) * Tensor(weight)).sum()))
        gradient[place] = (ends[0] - ends[1]) / 0.5
    if name != "clamp_":  # which has a kink there
        np.testing.assert_allclose(found, gradient, atol=1e-5)


def test_random_numbers_follow_the_seed_and_stay_in_range():
    x = Tensor(np.zeros(2000), ms.float32)
    ms.set_seed(3)
    first = x.uniform_(2, 3).copy()
    ms.set_seed(3)
    assert (x.uniform_(2, 3) == first).asnumpy().all()
    assert 2 <= first.asnumpy().min() and first.asnumpy().max() < 3
    assert abs(x.normal_(1, 2).asnumpy().std() - 2) < 0.2
    assert abs(x.exponential_(4.0).asnumpy().mean() - 0.25) < 0.03
    assert abs(x.bernoulli_(0.3).asnumpy().mean() - 0.3) < 0.05
    assert set(x.random_(0, 3).tolist()) == {0, 1, 2}


def test_operators_with_assignment_make_new_tensors():
    x = y = Tensor([1.0, 2.0])
    x += 1
    assert y.tolist() == [1, 2] and x.tolist() == [2, 3]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda x: x.fill_("a"), TypeError, 'Failed calling fill_ with "fill_.string'),
    (lambda x: x.uniform_(2, 1), ValueError, "'from_' must not be above 'to'"),
    (lambda x: x.normal_(0, -1), ValueError, "'std' must be 0 or more, but got -1"),
    (lambda x: x.random_(2, 2), ValueError, "'from_' must be below 'to'"),
    (lambda x: x.exponential_(0), ValueError, "'lambd' must be above 0"),
    (lambda x: x.bernoulli_(1.5), ValueError, r"'p' must be in \[0, 1\]"),
    (lambda x: Tensor([1.0]).fill_diagonal_(0), ValueError, r"got shape \(1,\)"),
    (lambda x: ms.ops.ones((2, 2, 3)).fill_diagonal_(0), ValueError, r"got shape \(2, 2, 3\)"),
    (lambda x: x.scatter_(0, I01, x, reduce="max"), ValueError,
     "'reduce' must be one of None, 'add'"),
    (lambda x: x.index_add_(0, 3, x), TypeError, "For 'index_add_'|must be a Tensor"),
    (lambda x: x.index_add_(0, Tensor([5]), Tensor([[1.0, 1.0, 1.0]])), RuntimeError,
     "index 5 is out"),
])
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call(_x())


FACES = {f"{room.__name__}.{name}": getattr(room, name)
         for room in (ms.ops, ms.mint, ms.mint.nn.functional) for name in dir(room)
         if name.endswith("_") and not name.startswith("_")
         and name not in ("print_", "is_")}  # these change nothing


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("given", [(1.0, 2.0), Tensor, None, Tensor([True]),
                                   Tensor([1 + 2j], ms.complex128)],
                         ids=["tuple", "class", "None", "Bool", "Complex128"])
def test_functions_explain_what_they_can_not_change(name, given):
    try:
        FACES[name](given)
    except Exception as error:  # noqa: BLE001  (which one depends on the function)
        text = str(error)
        assert text.startswith(("For '", "Failed calling")) or "missing" in text, text
        assert isinstance(error, (TypeError, ValueError))
    else:
        assert isinstance(given, Tensor)


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through the assignment")
@pytest.mark.parametrize("write", [
    lambda w, x: w.__setitem__(0, x), lambda w, x: w.__setitem__(slice(0, 1), x * 2),
    lambda w, x: w.__setitem__(w > 1.5, 7.0), lambda w, x: w.mul_(x), lambda w, x: w.add_(x),
    lambda w, x: w.copy_(x * Tensor([3.0, 4.0])), lambda w, x: w.zero_(),
], ids=["[0]", "[0:1]", "mask", "mul_", "add_", "copy_", "zero_"])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_written_into_a_parameter_is_assigned_to_it(write, compiled):
    w = ms.Parameter(Tensor([1.0, 2.0]), name="w")

    def forward(x):
        before = (w * 10).sum()
        write(w, x)
        return before + (w * w).sum()

    step = ms.grad(forward, 0, [w])
    if compiled:
        step = ms.jit(step)
    for _ in range(2):
        w.set_data(Tensor([1.0, 2.0]))
        by_x, (by_w,) = step(Tensor(5.0))
        # numbers: MindSpore 2.10, in all forms that it has kernels for
        assert by_x.asnumpy() == 0
        assert by_w.asnumpy().tolist() == (10 + 2 * w.asnumpy()).tolist()


def _set(x, index, value):
    x[index] = value
    return x


ROW = np.array([3.0, 5.0, 2.0, 7.0])
OVERLAPS = {
    "set ahead": (lambda x: _set(x, slice(1, None), x[:-1]), [3, 3, 5, 2]),
    "set back": (lambda x: _set(x, slice(None, -1), x[1:]), [5, 2, 7, 7]),
    "set by a list": (lambda x: _set(x, [1, 2], x[:2]), [3, 3, 5, 7]),
    "set reversed": (lambda x: _set(x, slice(None, None, -1), x), [7, 2, 5, 3]),
    "copy_": (lambda x: x[1:].copy_(x[:-1]), [3, 3, 5, 2]),
    "add_": (lambda x: x[1:].add_(x[:-1]), [3, 8, 7, 9]),
    "sub_": (lambda x: x[1:].sub_(x[:-1], alpha=2), [3, -1, -8, 3]),
    "mul_": (lambda x: x[1:].mul_(x[:-1]), [3, 15, 10, 14]),
    "div_": (lambda x: x[1:].div_(x[:-1]), [3, 5 / 3, 2 / 5, 7 / 2]),
    "remainder_": (lambda x: x[1:].remainder_(x[:-1]), [3, 2, 2, 1]),
    "floor_divide_": (lambda x: x[1:].floor_divide_(x[:-1]), [3, 1, 0, 3]),
    "add_ of the same": (lambda x: x[1:].add_(x[1:]), [3, 10, 4, 14]),
    "add_ of as many others": (lambda x: x[:2].add_(x[2:]), [5, 12, 2, 7]),
    "add_ of steps": (lambda x: x[:2].add_(x[::2]), [6, 7, 2, 7])}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", OVERLAPS)
def test_a_change_by_what_it_overlaps_reads_the_values_before(name):
    change, wanted = OVERLAPS[name]

    def changed(x):
        x = x * 1
        change(x)
        return x

    def rows(x):
        x = x * 1
        change(x.T)
        return x.T

    two = Tensor(np.stack([ROW, ROW[::-1]]))
    for found in (changed(Tensor(ROW)), ms.jit(changed)(Tensor(ROW)), ms.vmap(changed)(two)[0],
                  ms.vmap(changed, 1, 1)(two.T.copy())[:, 0], rows(two)[:, 0],
                  ms.vjp(changed, Tensor(ROW))[0],
                  ms.vmap(lambda x: ms.jvp(changed, x, x)[0])(two)[0]):
        np.testing.assert_allclose(found.asnumpy(), wanted)


def test_a_quotient_rounded_down_in_place_has_the_derivative_zero():
    def changed(x, y):
        return (x * 2.0).floor_divide_(y) + x * y

    x, y = Tensor([7.0, -7.0]), Tensor([2.0, 3.0])
    value, (by_x, by_y) = ms.value_and_grad(changed, (0, 1))(x, y)
    assert value.tolist() == [21.0, -26.0]
    assert by_x.tolist() == [2.0, 3.0] and by_y.tolist() == [7.0, -7.0]
    assert ms.jvp(changed, (x, y), (x, y))[1].tolist() == [28.0, -42.0]
    assert Tensor([7, -7]).floor_divide_(Tensor([2, 2])).tolist() == [3, -4]


@pytest.mark.parametrize("change, slope", [
    (lambda t: t.mul_(t), 6.0), (lambda t: t.add_(t), 2.0), (lambda t: t.sub_(t, alpha=3), -2.0),
    (lambda t: t.div_(t), 0.0), (lambda t: t.copy_(t), 1.0), (lambda t: t.mul_(t[:]), 6.0)])
def test_the_tangent_of_a_part_changed_by_itself(change, slope):
    def changed(x):
        x = x * 1
        change(x[1:])
        return x

    x, along = Tensor([5.0, 3.0]), Tensor([1.0, 10.0])
    assert ms.jvp(changed, x, along)[1].tolist() == [1.0, 10 * slope]
    each = ms.vmap(lambda x: ms.jvp(changed, x, along)[1])(x[None])
    assert each.tolist() == [[1.0, 10 * slope]]
