"""Operators of Python's values, against Python's own; recorded from MindSpore 2.10 where named."""

import numpy as np
import pytest

from lamella import Tensor, int64, ops


@pytest.mark.parametrize("found, wanted", [  # as MindSpore 2.10 gives
    (lambda: ops.isconstant(Tensor([1])), True),
    (lambda: ops.is_sequence_value_unknown((1, 2)), False),
    (lambda: ops.is_sequence_shape_unknown((1, 2)), False),
    (lambda: ops.scalar_add(1, 2), 3), (lambda: ops.scalar_div(1, 2), 0.5),
    (lambda: ops.scalar_mod(-3, 2), 1), (lambda: ops.scalar_pow(2, 3), 8),
    (lambda: ops.scalar_log(2.0), np.log(2)), (lambda: ops.scalar_uadd(1), 1),
    (lambda: ops.tuple_equal((1,), (1,)), True), (lambda: ops.list_equal([1], [1]), True),
    (lambda: ops.tuple_div((4, 6), (2, 3)), (2, 2)),
    (lambda: ops.tuple_reversed((1, 2)), (2, 1)),
    (lambda: ops.tuple_setitem((1, 2), 0, 5), (5, 2)),
    (lambda: ops.list_getitem([1, 2], 0), 1), (lambda: ops.make_slice(1, 2, 3), slice(1, 2, 3)),
    (lambda: ops.in_dict("a", {"a": 1}), True), (lambda: ops.is_(None, None), True),
    (lambda: ops.hastype(1, int64), True), (lambda: ops.reduced_shape((2, 3), (0,)), (1, 3)),
    (lambda: ops.broadcast_gradient_args((2, 1), (2, 3)), ((1,), ())),
    (lambda: ops.switch(True, 1, 2), 1), (lambda: ops.shape_mul((2, 3)), 6),
    (lambda: ops.dict_getitem({"a": 1}, "a"), 1),
    (lambda: ops.is_tensor_bool_cond(Tensor(True)), True),
], ids=range(25))
def test_recorded(found, wanted):
    assert found() == wanted and type(found()) in (type(wanted), float)


def test_of_python_only():
    assert ops.make_dict(("a",), (1,)) == {"a": 1} and ops.not_in_dict("b", {"a": 1})
    assert ops.dict_setitem({"a": 1}, "a", 2) == {"a": 2} and ops.tail((1, 2, 3)) == (2, 3)
    assert ops.array_to_scalar(Tensor(1)) == 1 and ops.switch_layer(Tensor(1), (len, max)) is max
    assert ops.broadcast_gradient_args((4, 2, 1), (2, 7)) == ((2,), (0,))
    assert ops.reduced_shape((2, 3), ()) == (1, 1)


def test_wrong_quotients():
    with pytest.raises(ValueError, match="multiples"):
        ops.tuple_div((4, 5), (2, 2))


def test_they_are_listed():
    assert {"scalar_add", "tuple_equal"} <= {*dir(ops)}


@pytest.mark.parametrize("call, error", [
    (lambda: ops.bool_and(1, slice(3)), TypeError),
    (lambda: ops.bool_or(Tensor([1]), 1), TypeError),
    (lambda: ops.string_concat(..., "a"), TypeError), (lambda: ops.list_len(1.0), TypeError),
    (lambda: ops.list_getitem([1, 2], 2), IndexError), (lambda: ops.list_getitem(1j, 0), TypeError),
    (lambda: ops.dict_getitem((1,), Tensor(0)), TypeError),
    (lambda: ops.shape_mul((2, "a")), TypeError), (lambda: ops.array_to_scalar([1]), TypeError),
    (lambda: ops.array_to_scalar(Tensor([1, 2])), ValueError),
    (lambda: ops.tuple_div((1, 2), (1,)), ValueError), (lambda: ops.tuple_div(3, 1), TypeError),
    (lambda: ops.tuple_reversed(-100), TypeError), (lambda: ops.tail({}), TypeError),
    (lambda: ops.tuple_setitem(int, 0, 1), TypeError),
    (lambda: ops.list_setitem([1], -2, 0), IndexError),
    (lambda: ops.make_dict((1, 2), (3,)), ValueError),
    (lambda: ops.make_dict(([],), (3,)), TypeError),
    (lambda: ops.dict_setitem(abs, "a", 1), TypeError),
    (lambda: ops.in_dict(1, slice(1)), TypeError),
    (lambda: ops.in_dict([], {}), TypeError),
    (lambda: ops.not_in_dict(None, Tensor([1.0])), TypeError),
    (lambda: ops.reduced_shape(5, (2,)), TypeError), (lambda: ops.reduced_shape((), 0), IndexError),
    (lambda: ops.broadcast_gradient_args((2,), (3,)), ValueError),
    (lambda: ops.broadcast_gradient_args((None, 4), (1, 4)), TypeError),
    (lambda: ops.switch(np.ones(2), 1, 2), ValueError),
    (lambda: ops.switch_layer("a", (len,)), TypeError),
    (lambda: ops.switch_layer(Tensor(3), (len,)), IndexError),
], ids=range(29))
def test_what_is_wrong_is_said_by_name(call, error):
    with pytest.raises(error, match=r"^For '\w+', ('|the )"):
        call()


def test_a_key_that_is_not_there():
    with pytest.raises(KeyError, match="For 'dict_getitem', 'key' must be one of"):
        ops.dict_getitem({}, 1j)


def test_lengths_of_0_and_1_broadcast():
    assert ops.broadcast_gradient_args((), (2, 0)) == ((0, 1), ()) == ops.broadcast_gradient_args(
        (1,), (2, 0))
    assert ops.broadcast_gradient_args((0,), (1,)) == ((), (0,))


def test_assignments_of_graphs_leave_the_first():
    x = Tensor([5.0, 7.0])
    for name, wanted in (("add", [7, 9]), ("sub", [3, 5]), ("mul", [10, 14]), ("div", [2.5, 3.5]),
                         ("floordiv", [2, 3]), ("mod", [1, 1])):
        assert getattr(ops, f"augassign_{name}")(x, 2).asnumpy().tolist() == wanted
    assert x.asnumpy().tolist() == [5, 7]
    with pytest.raises(TypeError, match="augassign_add.*int and str"):
        ops.augassign_add(3, "a")
    with pytest.raises(ValueError, match="augassign_mul.*int and bytes"):
        ops.augassign_mul(2**62, b"abc")
    with pytest.raises(ValueError, match=r"augassign_mod.*ndarray of shape \(0,\) and ndarray of"):
        ops.augassign_mod(np.zeros(0), np.zeros((2, 3)))


def test_ends_of_slices():
    end = ops.SliceGetItem()
    assert [end(slice(1, Tensor([5])), key) for key in ("start", "stop", "step")] == [1, 5, None]
    with pytest.raises(ValueError, match="'middle'"):
        ops.SliceGetItem()(slice(1), "middle")
    with pytest.raises(TypeError, match="SliceGetItem"):
        ops.SliceGetItem()((1, 2), "stop")
