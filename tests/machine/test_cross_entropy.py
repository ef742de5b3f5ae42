"""The kernels for cross entropy, against PyTorch's one by one."""

from __future__ import annotations

import math

import pytest
import torch

from lamella.machine import cross_entropy

WIDE, NARROW = torch.float32, torch.bfloat16


@pytest.fixture(autouse=True)
def kernel():
    if cross_entropy.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def given(rows, width, dtype, reduction, ignored=-100):
    torch.manual_seed(rows)
    x, target = torch.randn(rows, width).mul_(4).to(dtype), torch.randint(0, width, (rows,))
    target[::3] = ignored
    grad = torch.rand(rows) if reduction == 0 else torch.rand(())
    return x, target, grad


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", [WIDE, NARROW])
@pytest.mark.parametrize("sizes", [(2, 1), (5, 3), (33, 20), (3, 5000), (300, 17)])
def test_both_are_as_exact_as_pytorch(sizes, dtype, reduction):
    x, target, grad = given(*sizes, dtype, reduction, ignored=0)
    theirs = cross_entropy.by_torch(x, target, reduction, 0)
    ours = cross_entropy.fused(x, target, reduction, 0)
    for a, b in zip(theirs, ours, strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype
        torch.testing.assert_close(b, a, rtol=2e-6, atol=2e-6, equal_nan=True)
    for in_narrow in (False, True):
        its = grad, x, target, ours[2], reduction, 0, in_narrow
        a, b = cross_entropy.by_torch_backward(*its), cross_entropy.fused_backward(*its)
        torch.testing.assert_close(b, a, rtol=8e-3 if in_narrow else 4e-6, atol=1e-6,
                                   equal_nan=True)


def test_the_gradient_is_that_of_finite_differences():
    x, target, _ = given(6, 9, WIDE, 1)
    x, step = x / 4, 1e-2
    sums = cross_entropy.fused(x, target, 1, -100)[2]
    found = cross_entropy.fused_backward(torch.ones(()), x, target, sums, 1, -100, False)
    for place in ((1, 2), (0, 0), (5, 8), (1, int(target[1]))):
        above, below = x.clone(), x.clone()
        above[place] += step
        below[place] -= step
        a, b = (cross_entropy.fused(y, target, 1, -100)[0] for y in (above, below))
        assert float((a - b) / (2 * step)) == pytest.approx(float(found[place]), abs=3e-4)


def test_large_and_infinite_logits_are_as_in_pytorch():
    rows = [[1e4, -1e4, 0], [-3e38, 3e38, 3e38], [-math.inf, 1, 2], [-math.inf, 2, -math.inf],
            [math.inf, 0, 1], [math.nan, 0, 1], [-math.inf] * 3, [-100, 90, -90]]
    x, target = torch.tensor(rows), torch.tensor([1, 0, 2, 1, 0, 2, 1, 0])
    loss, total, sums = cross_entropy.fused(x, target, 0, -100)
    wanted = cross_entropy.by_torch(x, target, 0, -100)
    torch.testing.assert_close(loss, wanted[0], equal_nan=True)
    for ignored in (-100, 2):  # an ignored row with NaN has a gradient of NaN
        its = torch.ones(8), x, target, sums, 0, ignored, False
        torch.testing.assert_close(cross_entropy.fused_backward(*its),
                                   cross_entropy.by_torch_backward(*its), equal_nan=True)


def test_where_all_rows_are_ignored_the_mean_is_none():
    x, target = torch.zeros(4, 3), torch.full((4,), -100)
    loss, total, sums = cross_entropy.fused(x, target, 1, -100)
    assert loss.isnan() and total == 0
    assert cross_entropy.fused(x, target, 2, -100)[0] == 0
    gradient = cross_entropy.fused_backward(torch.ones(()), x, target, sums, 1, -100, False)
    assert torch.equal(gradient, torch.zeros(4, 3))


@pytest.mark.parametrize("wrong", [-1, 3, 2**40])
def test_a_class_that_is_none_is_refused(wrong):
    target = torch.tensor([0, wrong])
    with pytest.raises(IndexError, match=f"target {wrong} is out of bounds for 3 classes"):
        cross_entropy.fused(torch.zeros(2, 3), target, 1, -100)
    with pytest.raises(IndexError, match=f"target {wrong} is out of bounds for 3 classes"):
        cross_entropy.fused_backward(torch.ones(()), torch.zeros(2, 3), target, torch.zeros(2, 2),
                                     1, -100, False)


@pytest.mark.parametrize("change", [
    {0: torch.zeros(2, 3, 1)}, {0: torch.zeros(3, 2).t()}, {0: torch.zeros(2, 3).double()},
    {0: torch.zeros(2, 0)}, {1: torch.zeros(3).long()}, {1: torch.zeros(2).int()}, {2: 3}])
def test_what_it_does_not_support_is_refused(change):
    arguments = [torch.zeros(2, 3), torch.zeros(2).long(), 1, -100]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(RuntimeError, match="cross_entropy: "):
        cross_entropy.fused(*arguments)
    x, target, *rest = arguments
    with pytest.raises(RuntimeError, match="cross_entropy_backward: "):
        cross_entropy.fused_backward(torch.ones(()), x, target, torch.zeros(2, 2), *rest, False)
