"""Tensors passed to PyTorch: its operators, and batches of its `DataLoader`."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import lamella as ms
from lamella import Tensor, nn
from lamella.tensors.contiguous_tensors import (
    ContiguousTensorsHandle,
    combine_tensor_list_contiguous,
)


class Rows(Dataset):
    def __len__(self) -> int:
        return 5

    def __getitem__(self, i: int):
        return Tensor([float(i), 1.0]), {"label": Tensor(i), "name": f"row {i}"}


@pytest.mark.parametrize("workers", [0, 1])
def test_rows_of_tensors_become_batches(workers: int) -> None:
    found = list(DataLoader(Rows(), batch_size=2, num_workers=workers))
    assert [type(x) for x, _ in found] == [Tensor] * 3
    np.testing.assert_array_equal(found[1][0].asnumpy(), [[2, 1], [3, 1]])
    assert found[2][1]["label"].asnumpy().tolist() == [4] and found[0][1]["name"][1] == "row 1"
    assert nn.Dense(2, 3)(found[0][0]).shape == (2, 3)


def test_rows_of_several_shapes_are_named() -> None:
    rows = [Tensor([1.0]), Tensor([1.0, 2.0])]
    with pytest.raises(ValueError, match=r"For 'DataLoader'.*\(1,\), \(2,\)"):
        next(iter(DataLoader(rows, batch_size=2)))


@pytest.mark.parametrize("act", [operator.add, operator.sub, operator.mul, operator.matmul,
                                 operator.truediv, operator.lt, operator.pow])
def test_a_tensor_of_pytorch_is_no_operand(act) -> None:
    for a, b in ((Tensor([1.0]), torch.ones(2)), (torch.ones(2), Tensor([1.0]))):
        with pytest.raises(TypeError, match="torch.Tensor of shape.*from_torch"):
            act(a, b)


def test_memory_that_is_given_back():
    x, y = Tensor([1, 2, 3, 4]), Tensor([5.0, 6.0])
    assert x.delete_(non_blocking=True) is x and x.tolist() == [0] * 4 and x.dtype is ms.int64
    assert x._raw.untyped_storage().nbytes() == 8  # one number stands for all
    x.data = y
    y[0] = 7.0
    assert x.tolist() == [7.0, 6.0] and x.dtype is ms.float32
    with pytest.raises(ValueError, match="'non_blocking' must be a bool"):
        x.delete_(1)
    with pytest.raises(TypeError, match="the value must be a Tensor"):
        x.data = [1.0]


def test_tensors_in_one_piece_of_memory():
    x, y = Tensor([[1, 2], [3, 4]]), Tensor([5, 6])
    handle = combine_tensor_list_contiguous([x, y])
    assert handle[1:5].tolist() == [2, 3, 4, 5] and handle[:].shape == (6,)
    assert handle[5].tolist() == [6]
    assert handle.slice_by_tensor_index(1).tolist() == [5, 6]
    assert handle.slice_by_tensor_index().tolist() == [1, 2, 3, 4, 5, 6]
    handle[0:6].mul_(2)
    assert x.tolist() == [[2, 4], [6, 8]] and y.tolist() == [10, 12]
    assert str(handle).startswith("Handle total size: 48\nTensor[0]: [[2 4]")
    for call, kind in ((lambda: handle[6], ValueError), (lambda: handle[3:3], ValueError),
                       (lambda: handle[-1], ValueError), (lambda: handle["a"], TypeError),
                       (lambda: handle.slice_by_tensor_index(2, 3), ValueError),
                       (lambda: ContiguousTensorsHandle([]), TypeError),
                       (lambda: ContiguousTensorsHandle([x, Tensor([1.0])]), TypeError),
                       (lambda: ContiguousTensorsHandle([x], 1), TypeError)):
        with pytest.raises(kind, match="For 'ContiguousTensorsHandle'"):
            call()
    alone = ContiguousTensorsHandle([Tensor([[1.0, 2.0], [3.0, 4.0]])])
    assert alone[0:4].tolist() == [1, 2, 3, 4] and alone.slice_by_tensor_index().shape == (4,)


def test_forms_of_moves_between_types_and_memories():
    x = Tensor([1.5, 2.5])
    assert x.to("CPU", ms.int32).tolist() == [1, 2] and x.to(None, ms.float16).dtype is ms.float16
    assert x.to(None).dtype is ms.float32 and x.to_("CPU") is x and x.to_() is x
    target = Tensor([0.0])
    target.set_(Tensor(np.arange(6, dtype=np.float32))._raw.untyped_storage(), 2)
    assert target.tolist() == [2, 3, 4, 5]
    assert Tensor(np.array([7, 3, 9], "uint32")).itemset(1, 5).tolist() == [7, 5, 9]
    for wrong in ((), (1, 2, 3), (1,)):
        with pytest.raises(IndexError, match="give an index and a value"):
            x.itemset(*wrong)
    assert Tensor(shape=(0, 2), dtype=ms.float32).shape == (0, 2)
    with pytest.raises(ValueError, match="ints of 0 or more"):
        Tensor(shape=(-1, 2), dtype=ms.float32)


ROWS = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def test_strides_and_places_in_memory():
    x = Tensor(ROWS)[:, 1:]
    assert x.stride() == [12, 4, 1] and [x.stride(d) for d in (0, 1, 2, -1, -3)] == [12, 4, 1, 1,
                                                                                    12]
    assert x.storage_offset() == 4 and not x.is_contiguous() and x.contiguous().is_contiguous()
    assert x.element_size() == 4 and x.numel() == x.nelement() == 16 and x.ndimension() == 3
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=rf"'dim' must be in \[-3, 3\), but got {wrong}"):
            x.stride(wrong)
    whole = Tensor(ROWS)
    assert whole.contiguous() is whole


def test_one_element_is_replaced_in_a_copy():
    x = Tensor(ROWS)
    for index, place in ((0, (0, 0, 0)), (13, (1, 0, 1)), (-1, (1, 2, 3)), ((1, 2), (1, 2)),
                         ((0, 1, 2), (0, 1, 2))):
        want = ROWS.copy()
        want[place] = -7
        np.testing.assert_array_equal(x.itemset(index, -7).asnumpy(), want)
    np.testing.assert_array_equal(x.asnumpy(), ROWS)
    assert Tensor([5.0]).itemset(3).tolist() == [3] and Tensor(5).itemset(3).item() == 3
    np.testing.assert_array_equal(Tensor(ROWS).T.itemset(1, -7).asnumpy().reshape(-1)[:2], [0, -7])


def test_places_of_a_storage():
    memory = Tensor(ROWS)._raw.untyped_storage()
    for given, want in (((memory,), ROWS.reshape(-1)), ((memory, 3), ROWS.reshape(-1)[3:]),
                        ((memory, 1, (2, 3)), ROWS.reshape(-1)[1:7].reshape(2, 3)),
                        ((memory, 2, (2, 3), (5, 1)), [[2, 3, 4], [7, 8, 9]]),
                        ((Tensor(ROWS), 2, (2, 2), (1, 4)), [[2, 6], [3, 7]])):
        target = Tensor([0.0])
        assert target.set_(*given) is target
        np.testing.assert_array_equal(target.asnumpy(), want)
    source = Tensor(ROWS)
    shares = Tensor([0.0]).set_(source)
    shares[0, 0, 0] = 9.0
    assert source[0, 0, 0] == 9.0 and Tensor([1.0, 2.0]).set_().shape == (0,)
    with pytest.raises(TypeError, match="'source' must be a Tensor or a storage"):
        Tensor([0.0]).set_([1.0])


@pytest.mark.parametrize("kind", [ms.bool_, ms.int8, ms.float16, ms.bfloat16, ms.complex64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_bytes_there_and_back(kind, shape):
    x = Tensor(np.arange(np.prod(shape)).reshape(shape), kind)
    data = x.get_bytes()
    again = Tensor.convert_bytes_to_tensor(data, shape, kind)
    assert again.dtype is kind and again.shape == shape and again.get_bytes() == data
    for wrong in (data + b"\0", data[:-1]):
        if wrong != data:
            with pytest.raises(ValueError, match=f"needs {len(data)} bytes, but got {len(wrong)}"):
                Tensor.convert_bytes_to_tensor(wrong, shape, kind)
    with pytest.raises(TypeError, match="must be bytes, but got str"):
        Tensor.convert_bytes_to_tensor("a", shape, kind)


def test_formats_are_for_one_number():
    assert f"{Tensor([[1.25]]):.1f}" == "1.2" and f"{Tensor(7):03d}" == "007"
    assert f"{Tensor([1, 2])}" == "[1 2]"
    for several in (Tensor([1.0, 2.0]), Tensor(np.zeros((0,)))):
        with pytest.raises(TypeError, match="is for one number"):
            f"{several:.1f}"


def test_copies_of_other_shapes_and_types():
    x = Tensor(np.zeros((2, 3)), ms.int32)
    assert x.copy_(Tensor([1.7, 2.2, -3.9])) is x and x.tolist() == [[1, 2, -3]] * 2
    with pytest.raises(ValueError, match=r"'src' of shape \(2,\) can't be broadcast .*\(2, 3\)"):
        x.copy_(Tensor([1, 2]))
    assert x.set_dtype(ms.float16) is ms.float16 and x.dtype is ms.float16
    assert x.type() == "Float16" and x.type(ms.int8).dtype is ms.int8
    assert x.type_as(Tensor([True])).tolist() == [[True] * 3] * 2
    assert x.astype(ms.float16, copy=False) is x and x.astype(ms.float16) is not x
    assert x.astype(float).dtype is ms.float64 and x.astype("bool").dtype is ms.bool_


def test_moves_by_position():
    x = Tensor([1.5, -2.5])
    assert x.to(Tensor([1], ms.int8)).tolist() == [1, -2]
    assert x.to("CPU", ms.int32, True, True).dtype is ms.int32
    for given in ((ms.float32, False, True), ("CPU", ms.float32, False, True), (None, None, False,
                                                                               True)):
        moved = x.to(*given)  # the last one: a copy
        moved[0] = 9.0
        assert x.tolist() == [1.5, -2.5]
    shared = x.to(ms.float32, False)
    shared[0] = 3.0
    assert x.tolist() == [3.0, -2.5] and x.to(other=Tensor(1)).dtype is ms.int64
    with pytest.raises(TypeError, match="invalid types"):
        x.to(3)


def test_what_picks_along_the_first_dimensions():
    x = Tensor(ROWS)
    picked = x.index((Tensor([1, 0]), Tensor([2, 1])))
    np.testing.assert_array_equal(picked.asnumpy(), ROWS[[1, 0], [2, 1]])
    for wrong in (Tensor([1]), [1], (Tensor([1]), 0)):
        with pytest.raises(TypeError, match="must be a tuple of Tensors"):
            x.index(wrong)
