"""The kernels for batch normalization and what is around it, against PyTorch's one by one."""

from __future__ import annotations

import itertools

import pytest
import torch

from lamella.machine import batch_norm

WIDE, NARROW = torch.float32, torch.bfloat16
SIZES = [(2, 3), (40, 17), (5, 4, 6), (3, 5, 7, 9), (2, 20, 3, 5), (1, 1, 33, 40), (4, 70, 40, 33),
         (2, 6, 2, 3, 4), (2, 3000, 1, 2)]


@pytest.fixture(autouse=True)
def kernel():
    if batch_norm.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def made(sizes, dtype, last, seed):
    torch.manual_seed(seed)
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(sizes))
    x = torch.randn(sizes).mul_(3).add_(5 if seed == 0 else 0).to(dtype)
    return x.contiguous(memory_format=layout) if last and layout else x


def check(wanted, found, exact, terms=1e-6):
    """Results of the same form, and no further from exact numbers than twice PyTorch's.

    Args:
        terms: how large the numbers are that a result is the sum of.
    """
    for a, b, e in zip(wanted, found, exact, strict=True):
        assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
        if a.numel():
            size = e.abs().max().clamp(min=float(terms))
            least = 4e-3 if a.dtype is NARROW else 5e-6
            assert (b - e).abs().max() / size <= max(least, 2 * (a - e).abs().max() / size)


def in_float64(function, *given):
    """The results of PyTorch's kernels without rounding; `wide` in them lets float64 be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_norm, "wide", lambda x: x)
        patch.setattr(batch_norm, "narrow", lambda x: x)
        return function(*(a.double() if isinstance(a, torch.Tensor) else a for a in given))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_both_are_as_exact_as_pytorch(sizes, last):
    for x_type, added_type, relu, affine in itertools.product(
            (WIDE, NARROW), (None, WIDE, NARROW), (False, True), (False, True)):
        x, g, other = (made(sizes, x_type, last, seed) for seed in (0, 1, 2))
        added = None if added_type is None else made(sizes, added_type, last, 3)
        weight, bias = (torch.randn(sizes[1]), torch.randn(sizes[1])) if affine else (None, None)
        given = x, weight, bias, added, 1e-3, relu, True, True
        theirs = batch_norm.by_torch(*given)
        check(theirs, batch_norm.fused(*given), in_float64(batch_norm.by_torch, *given))
        wide, narrow, mean, inverse = theirs
        for second, result, of_added in ((None, None, False), (other, narrow, True),
                                         (other.float(), wide, False)):
            given = g, second, result, x, weight, mean, inverse, x_type is NARROW, of_added
            check(batch_norm.by_torch_backward(*given), batch_norm.fused_backward(*given),
                  in_float64(batch_norm.by_torch_backward, *given),
                  g.abs().max() * (inverse if weight is None else inverse * weight).abs().max())


@pytest.mark.parametrize("last", [False, True])
def test_only_what_is_wanted_is_made(last):
    x = made((4, 8, 5, 5), NARROW, last, 0)
    for in_wide, in_narrow in ((True, False), (False, True)):
        wide, narrow, *_ = batch_norm.fused(x, None, None, None, 1e-5, False, in_wide, in_narrow)
        assert (wide.numel() > 0, narrow.numel() > 0) == (in_wide, in_narrow)


@pytest.mark.parametrize("last", [False, True])
def test_a_mean_far_from_zero_does_not_hide_the_variance(last):
    x = made((8, 6, 64, 64), WIDE, last, 1) * 1e-2 + 100
    inverse = batch_norm.fused(x, None, None, None, 0.0, False, True, False)[3]
    exact = 1 / x.double().var((0, 2, 3), unbiased=False).sqrt()
    torch.testing.assert_close(inverse.double(), exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_stay_visible(last, number):
    x, added = made((2, 4, 6, 6), NARROW, last, 0), made((2, 4, 6, 6), WIDE, last, 3)
    x[0, 1, 2, 3], added[1, 2, 3, 4] = number, float("nan")
    given = x, None, None, added, 1e-5, True, True, True
    for a, b in zip(batch_norm.by_torch(*given), batch_norm.fused(*given), strict=True):
        assert torch.equal(a.isnan(), b.isnan())


def test_threads_do_not_change_what_is_right():
    x = made((4, 33, 20, 20), NARROW, True, 0)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            for rows in (x, x[:1, :, :1, :2].clone(memory_format=torch.channels_last)):
                given = rows, None, None, None, 1e-3, True, True, True
                check(batch_norm.by_torch(*given), batch_norm.fused(*given),
                      in_float64(batch_norm.by_torch, *given))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("change", [
    {0: torch.zeros(4)}, {0: torch.zeros(0, 3, 2, 2)}, {0: torch.zeros(2, 3, 4, 4).double()},
    {0: torch.zeros(2, 3, 4, 8)[..., ::2]}, {1: torch.ones(4)}, {2: torch.ones(3).double()},
    {3: torch.zeros(2, 3, 4, 5)}, {3: torch.zeros(2, 4, 4, 3).permute(0, 3, 1, 2)}])
def test_what_it_does_not_support_is_refused(change):
    given = [torch.zeros(2, 3, 4, 4), torch.ones(3), torch.ones(3), None, 1e-5, True, True, True]
    for place, value in change.items():
        given[place] = value
    with pytest.raises(RuntimeError, match="batch_norm: "):
        batch_norm.fused(*given)


@pytest.mark.parametrize("place, value", [
    (0, torch.zeros(2, 3, 4, 5)), (1, torch.zeros(2, 3, 4, 4).double()), (2, torch.zeros(2, 3)),
    (4, torch.ones(2)), (5, torch.ones(3).bfloat16()), (6, torch.ones(1, 3))])
def test_what_its_gradient_does_not_support_is_refused(place, value):
    x = torch.zeros(2, 3, 4, 4)
    given = [x, x, x, x, torch.ones(3), torch.ones(3), torch.ones(3), True, True]
    given[place] = value
    with pytest.raises(RuntimeError, match="batch_norm_backward: "):
        batch_norm.fused_backward(*given)
