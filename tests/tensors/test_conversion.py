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
