"""Constructing, converting and computing with Tensors, against what MindSpore 2.10 answered."""

# ruff: noqa: E501

import copy
import pickle

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from tests.tensors.tensor_cases import (
    RECORDED,
    REFUSED,
    b,
    bf16,
    c64,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    run,
    show,
    u8,
    u32,
    u64,
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy casting infinities to integers
@pytest.mark.parametrize(("source", "expected"), RECORDED)
def test_recorded_answers(source, expected):
    assert show(run(source)) == expected


@pytest.mark.parametrize(("source", "kind"), REFUSED)
def test_recorded_errors(source, kind):
    with pytest.raises(kind):
        run(source)


@pytest.mark.parametrize(("source", "kind", "message"), [
    ("Tensor()", TypeError, "'input_data' must be a Tensor, an array, a list.*but got None"),
    ("Tensor({1: 2})", TypeError, "'input_data' should be one of Tensor.*but got 'dict'"),
    ("Tensor([1, [2, 3]])", TypeError, "nested lists must have one shape"),
    ("Tensor([1, 'a'])", TypeError, "must be numbers or booleans, but got elements of type"),
    ("Tensor(np.array([1.5], np.longdouble))", TypeError, "arrays of type .* are not supported"),
    ("Tensor(2**64)", RuntimeError, "the number 18446744073709551616 is too large"),
    ("Tensor([1], ms.string)", TypeError, "must be one that a tensor can hold"),
    ("Tensor(1, shape=(2,))", ValueError, r"go with no 'input_data', but got shape=\(2,\)"),
    ("Tensor(shape=(2,), init='ones')", ValueError, "give 'input_data', or 'dtype' with 'shape'"),
    ("Tensor(shape=(2,), dtype=f32, init='ones')", TypeError, "'init' must be an Initializer"),
    ("Tensor(shape=(-2,), dtype=f32)", ValueError, "'shape' must hold ints of 0 or more"),
    ("Tensor(1, const_arg=1)", TypeError, "'const_arg' must be a bool, but got 1"),
    ("Tensor(1, device='TPU')", ValueError, "must be 'CPU', 'GPU' or 'Ascend', but got 'TPU'"),
    ("Tensor.from_numpy([1])", TypeError, "must be a numpy.ndarray, but got list"),
    ("Tensor.from_numpy(np.array(['a']))", TypeError, "must hold numbers or booleans"),
    ("Tensor([1, 2]).item()", ValueError, r"one element.*but got shape \(2,\)"),
    ("int(Tensor([1, 2]))", ValueError, "Only a Tensor with one element can be turned into int"),
    ("bool(Tensor([1, 2]))", ValueError, "ambiguous.*Use .any"),
    ("[1][Tensor(0.5)]", ValueError, "Only a Tensor of integers can be an index"),
    ("len(Tensor(1))", TypeError, "rank 0 has no len"),
    ("list(Tensor(1))", TypeError, "rank 0 can't be iterated"),
    ("Tensor([1]).astype('foo')", TypeError, "one that a tensor can hold.*but got 'foo'"),
    ("Tensor([1]).astype(None)", TypeError, "but got None"),
    ("Tensor([1]).to(3)", TypeError, "Failed calling to with .to.int"),
    ("Tensor([1]).to('float16')", ValueError, "device must be 'CPU'.*but got 'float16'"),
    ("Tensor([1]).type_as(1)", TypeError, "'other' must be a Tensor, but got 1"),
    ("Tensor([1]).copy_(3)", TypeError, "'src' must be a Tensor, but got 3"),
    ("Tensor([1, 2]).copy_(Tensor([1, 2, 3]))", ValueError, r"shape \(3,\) can't be broadcast"),
    ("Tensor([1]).stride(2)", IndexError, r"'dim' must be in \[-1, 1\), but got 2"),
    ("Tensor([1]).move_to('TPU')", ValueError, "'to' must be one of 'Ascend', 'GPU', 'CPU'"),
    ("Tensor([1, 2]).itemset(3)", IndexError, "give an index and a value"),
    ("Tensor([1]).requires_grad_('a')", TypeError, "must be a bool, but got 'a'"),
    ("Tensor.convert_bytes_to_tensor(b'abc', (1,), i32)", ValueError, "needs 4 bytes, but got 3"),
    ("Tensor.convert_bytes_to_tensor('abc', (1,), i32)", TypeError, "must be bytes, but got str"),
    ("Tensor.from_dlpack(3)", TypeError, "must be a DLPack capsule or an array .*but got int"),
    ("-Tensor([True])", TypeError, "a Tensor of Bool has no negative"),
    ("Tensor([1, 2]) + Tensor([1, 2, 3])", ValueError, r"For 'add'.*Tensor\[2\] Int64, other=Tensor\[3\]"),
    ("Tensor([1]) + None", TypeError, "unsupported operand"),
    ("Tensor([1]) < 'a'", TypeError, "For 'lt', the other side must be a Tensor or a number, but got 'a'"),
])
def test_errors_say_what_is_wrong(source, kind, message):
    with pytest.raises(kind, match=message):
        run(source)


def test_comparing_for_equality_with_what_is_no_number():
    x = Tensor([1, 2])
    for other in (None, "a", [1, 2], (1, 2), {}):
        assert (x == other) is False and (x != other) is True
    assert (x == np.array([1, 3])).tolist() == [True, False]


def test_a_tensor_from_a_tensor_shares_memory_and_a_copy_does_not():
    x = Tensor([1.0, 2.0])
    shared, other = Tensor(x), Tensor(x, ms.float64)
    copies = [x.copy(), x.clone(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)),
              x.__deepcopy__(memodict={})]
    x[0] = 9
    assert shared.tolist() == [9, 2] and other.tolist() == [1, 2]
    assert all(c.tolist() == [1, 2] for c in copies)


def test_numpy_and_torch_share_memory():
    array = np.array([1.0, 2.0])
    x = Tensor.from_numpy(array)
    x[0] = 9
    assert array[0] == 9 and Tensor.from_torch(torch.ones(2)).shape == (2,)
    raw = x.to_torch()
    raw[1] = 7
    assert array[1] == 7
    assert Tensor.from_numpy(array[::-1]).tolist() == [7, 9]
    assert Tensor.from_numpy(np.array(3)).shape == ()


def test_dlpack():
    x = Tensor([1.0, 2.0])
    for y in (Tensor.from_dlpack(x.to_dlpack()), ms.from_dlpack(x), Tensor.from_torch(torch.from_dlpack(x))):
        y[0] += 1
    assert x.tolist() == [4, 2]
    assert np.from_dlpack(x).tolist() == [4, 2]


@pytest.mark.parametrize("dtype", [b, i8, i32, i64, u8, f16, f32, f64, bf16, c64])
def test_bytes_and_pickles(dtype):
    x = Tensor([[1, 0, 3]], dtype)
    for y in (Tensor.convert_bytes_to_tensor(x.get_bytes(), (1, 3), dtype),
              pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.dtype is dtype and str(y) == str(x)
    assert len(x.get_bytes()) == x.nbytes


def test_large_whole_numbers():
    assert Tensor(2**63).dtype is u64 and Tensor([2**63]).tolist() == [2**63]
    with pytest.warns(RuntimeWarning, match="doesn't fit"):
        assert Tensor(2**40, i32).item() == 0 and Tensor(300, u8).item() == 44
    assert Tensor(-1, u32).item() == 2**32 - 1 and Tensor(1e40).item() == float("inf")


def test_no_data_yet():
    x = Tensor(shape=[None, 3], dtype=f32)
    assert x.shape == (-1, 3) and x.dtype is f32 and isinstance(x, Tensor) and x.size == 0


def test_gradients_flow_through_conversions():
    def fn(x):
        y = x.copy().astype(f64).clone().to(f32).contiguous().value().double().float()
        return (y * y).sum()

    assert ms.grad(fn)(Tensor([1.0, 3.0])).tolist() == [2, 6]


def test_round_and_index():
    assert round(Tensor([1.567, 2.5]), 1).tolist() == pytest.approx([1.6, 2.5])
    assert list(range(5))[Tensor(2)] == 2 and 1 in Tensor([1, 2]) and None not in Tensor([1])


def test_every_method_is_described():
    assert [name for name, value in vars(Tensor).items()
            if not name.startswith("_") and callable(value) and not value.__doc__] == []
