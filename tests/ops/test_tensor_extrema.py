"""What Tensor.max and Tensor.min give, as MindSpore 2.10 does in its two modes."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.core.dispatch_mode import DispatchMode
from lamella.ops import extrema

X = np.array([[1, 5, 3], [4, 2, 9]], np.float32)
VALUES, KEPT, PLACES = [5, 9], [[5], [9]], [1, 2]

# arguments, eagerly, compiled; a pair is (values, indices)
CALLS = {
    "nothing": ((), {}, 9, 9),
    "place": ((1,), {}, (VALUES, PLACES), VALUES),
    "place_and_flag": ((-1, True), {}, (KEPT, [[1], [2]]), KEPT),
    "place_and_keepdims": ((1,), {"keepdims": True}, KEPT, KEPT),
    "place_and_keepdim": ((1,), {"keepdim": True}, (KEPT, [[1], [2]]), (KEPT, [[1], [2]])),
    "dim": ((), {"dim": 1}, (VALUES, PLACES), (VALUES, PLACES)),
    "axis": ((), {"axis": 1}, VALUES, VALUES),
    "list": (([1],), {}, VALUES, VALUES),
    "several": (((0, 1),), {}, 9, 9),
    "none": ((None,), {}, 9, 9),
    "indices": ((1,), {"return_indices": True}, (VALUES, PLACES), (VALUES, PLACES)),
    "initial": ((1, False), {"initial": 3.0}, VALUES, VALUES),
    "where": ((1,), {"initial": 3.0, "where": Tensor(X > 2)}, VALUES, VALUES),
}


def listed(result):
    return tuple(map(listed, result)) if isinstance(result, tuple) else result.asnumpy().tolist()


def negated(expected):
    return expected if expected is PLACES or expected == [[1], [2]] else (-np.array(
        expected)).tolist()


@pytest.mark.parametrize("sign", [1, -1], ids=["max", "min"])
@pytest.mark.parametrize("call", CALLS)
def test_modes(call, sign):
    args, named, eager, compiled = CALLS[call]

    def program(x):
        return x.max(*args, **named) if sign == 1 else x.min(*args, **named)

    if sign == -1:
        if "initial" in named:
            named = {**named, "initial": -3.0}
            named.update({"where": named["where"]} if "where" in named else {})
        eager, compiled = (tuple(map(negated, e)) if isinstance(e, tuple) else negated(e)
                           for e in (eager, compiled))
    x = Tensor(sign * X)
    assert listed(program(x)) == eager
    assert listed(ms.jit(program)(x)) == compiled


def test_compiled_function_in_eager_gradient():
    def loss(x):
        return x.max(1).sum()

    assert ms.grad(ms.jit(loss))(Tensor(X)).asnumpy().tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_extremum_of_all_elements_alone_is_one_kernel(name):
    seen = []

    class Kernels(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = Tensor([[1.0, 3.0], [4.0, 2.0]])
    with Kernels():
        found = getattr(x, name)()
    assert seen == [f"a{name}.default"] and float(found) == {"max": 4.0, "min": 1.0}[name]
    with pytest.raises(TypeError, match="keepdims"):
        getattr(x, name)(keepdims=3)
    with pytest.raises(ValueError, match=f"For '{name}', 'input' must have elements"):
        getattr(Tensor(np.zeros((0, 2))), name)()


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_where_both_are_equal_the_first_gets_the_gradient(name, stops, monkeypatch):
    """Also by PyTorch's versions whose own kernels share it."""
    monkeypatch.setattr(extrema, "STOPS_AT_BOUNDS", stops)
    a = np.array([1, 2, 3, np.nan, np.nan, 5], np.float32)
    b = np.array([2, 1, 3, 4, np.nan, np.nan], np.float32)
    function = getattr(ops, name)
    np.testing.assert_array_equal(function(Tensor(a), Tensor(b)).asnumpy(), getattr(np, name)(a, b))
    if stops:  # else by the kernel
        da, db = ms.grad(lambda a, b: function(a, b).sum(), (0, 1))(Tensor(a), Tensor(b))
        first = np.isnan(b) | (a >= b if name == "fmax" else a <= b)
        assert da.tolist() == first.astype(int).tolist()
        assert db.tolist() == (~first).astype(int).tolist()
