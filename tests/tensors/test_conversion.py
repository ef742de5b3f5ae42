"""Tensors passed to PyTorch: its operators, and batches of its `DataLoader`."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from lamella import Tensor, nn


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
