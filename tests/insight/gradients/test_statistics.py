"""What is noted of a tensor in a few numbers."""

import math

import pytest
import torch

from lamella.insight.gradients.statistics import measure


def test_numbers_of_a_tensor():
    found = measure(torch.tensor([[3.0, 0.0], [-4.0, 0.0]]))
    assert found[:7] == ((2, 2), "float32", 4, 5.0, 0.5, -4.0, 3.0)
    assert found.mean_size == pytest.approx(math.sqrt(25 / 4))
    assert found.is_finite and not found.is_zero and measure(torch.zeros(3)).is_zero


def test_what_is_not_finite_is_counted_apart():
    found = measure(torch.tensor([math.nan, math.inf, -math.inf, 2.0]))
    assert (found.nans, found.infs, found.norm, found.low, found.high) == (1, 2, 2.0, 2.0, 2.0)
    assert not found.is_finite


def test_nothing_and_complex_numbers():
    nothing = measure(torch.zeros(0, 3))
    assert nothing.count == nothing.mean_size == 0 and nothing.shape == (0, 3)
    assert measure(torch.tensor([3 + 4j])).norm == 5.0
