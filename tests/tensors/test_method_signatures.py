"""Tensor methods whose arguments are not those of the function of that name, as in MindSpore."""

import inspect

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
V = Tensor([1.0, 2.0])


@pytest.mark.parametrize(("call", "expected"), [
    ("x.softmax(0).sum(0).round()", [1, 1]), ("x.multiply(value=2)", [[2, 4], [6, 8]]),
    ("x.float_power(other=2)", [[1, 4], [9, 16]]), ("x.approximate_equal(other=x).all()", True),
    ("x.addr(V, V, 2, 3)", [[5, 10], [12, 20]]),
    ("x.reverse_sequence(Tensor([1, 2]), batch_dim=1)", [[1, 4], [3, 2]]),
    ("ops.floor_div(x=x, y=2)", [[0, 1], [1, 2]]), ("x.fill(3)", [[3, 3], [3, 3]]),
    ("x.index((Tensor([1, 0]), Tensor([0, 1])))", [3, 2]),
    ("x.set_(V)", [1, 2]), ("x.set_()", []), ("x.set_(V, 1, (1,))", [2]),
    ("x.set_(V.untyped_storage(), 0, (2, 2), (0, 1))", [[1, 2], [1, 2]]),
    ("Tensor(np.ones((2, 1, 3))).t().shape", (2, 1, 3)),
])
def test_call(call, expected):
    result = eval(call, {"x": Tensor(X.copy()), "V": V, "Tensor": Tensor, "ops": ops, "np": np})
    assert (result.tolist() if isinstance(result, Tensor) else result) == expected


def test_set_shares_memory():
    x, y = Tensor(X.copy()), Tensor([5.0, 6.0])
    assert x.set_(y) is x
    y[0] = 7.0
    assert x.tolist() == [7, 6]


@pytest.mark.parametrize(("method", "names"), [
    (Tensor.softmax, ["self", "axis", "dtype"]), (Tensor.multiply, ["self", "value"]),
    (Tensor.ormqr, ["self", "input2", "input3", "left", "transpose"]),
    (ms.Parameter.register_hook, ["self", "hook_fn"]), (ops.floor_div, ["x", "y"]),
], ids=["softmax", "multiply", "ormqr", "register_hook", "floor_div"])
def test_names_of_arguments(method, names):
    assert list(inspect.signature(method).parameters) == names


@pytest.mark.parametrize(("call", "error", "message"), [
    ("x.softmax()", TypeError, "'axis'"), ("x.index(0)", TypeError, "a tuple of Tensors"),
    ("x.set_(3)", TypeError, "'source' must be a Tensor or a storage"),
    ("x.__setitem__(x > 2, Tensor([7.0, 8.0, 9.0]))", ValueError,
     r"in order to broadcast, .* But got x_shape: \(3\), target shape: \(2\)\."),
    ("x.__setitem__(Tensor([True, False]), Tensor([7.0, 8.0, 9.0]))", ValueError,
     r"x_shape: \(3\), target shape: \(1, 2\)"),
    ("x.__setitem__(Tensor([True, True, False]), 1.0)", ValueError, "shape of the mask"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        eval(call, {"x": Tensor(X.copy()), "Tensor": Tensor})


def test_a_mask_of_nothing_writes_nothing():
    x = Tensor(X.copy())
    x[x > 9] = Tensor([5.0, 6.0])
    np.testing.assert_array_equal(x.asnumpy(), X)


def test_hook_of_a_parameter_by_name():
    weight = ms.Parameter(V, name="w")
    handle = weight.register_hook(hook_fn=lambda gradient: gradient * 2)
    step = ms.grad(lambda: (weight * 3).sum(), None, [weight])
    assert step()[0].tolist() == [6, 6]
    handle.remove()
    assert step()[0].tolist() == [3, 3]
