"""Forms of values, and copies that keep them."""

import pytest
import torch

from lamella.graph.ir.metadata import copy_of


@pytest.mark.parametrize("x", [
    torch.arange(6.0).reshape(2, 3).t(), torch.ones(1).expand(4, 3), torch.arange(12.0)[2:9:3],
    torch.tensor(3.0), torch.ones(0, 4)], ids=["turned", "expanded", "a part", "one", "empty"])
def test_copies_keep_shape_and_strides(x):
    copy = copy_of(x)
    assert copy.stride() == x.stride()
    assert torch.equal(copy, x)
    assert not x.numel() or copy.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
