"""The kernels for layer normalization and what is around it, against PyTorch's one by one."""

from __future__ import annotations

import itertools

import pytest
import torch

from lamella.machine import layer_norm

WIDE, NARROW = torch.float32, torch.bfloat16
SIZES = [((2, 3), 1), ((1, 1), 1), ((5, 64), 1), ((3, 7, 65), 1), ((130, 33), 1), ((4, 3, 5, 9), 2),
         ((2, 1000), 1), ((70, 300), 1), ((6, 4), 2)]


@pytest.fixture(autouse=True)
def kernel():
    if layer_norm.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def made(sizes, dtype, seed):
    torch.manual_seed(seed)
    return torch.randn(sizes).mul_(3).add_(5 if seed == 0 else 0).to(dtype)


def check(wanted, found, exact, terms=1e-6):
    """Results of the same form, and no further from exact numbers than twice PyTorch's."""
    for a, b, e in zip(wanted, found, exact, strict=True):
        assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
        if a.numel():
            size = e.abs().max().clamp(min=float(terms))
            least = 4e-3 if a.dtype is NARROW else 1e-5
            assert (b - e).abs().max() / size <= max(least, 2 * (a - e).abs().max() / size)


def in_float64(function, *given):
    """The results of PyTorch's kernels without rounding; `wide` in them lets float64 be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layer_norm, "wide", lambda x: x)
        patch.setattr(layer_norm, "narrow", lambda x: x)
        patch.setattr(torch, "ones", lambda form: torch.full(form, 1.0, dtype=torch.float64))
        return function(*(a.double() if isinstance(a, torch.Tensor) else a for a in given))


@pytest.mark.parametrize("sizes, dims", SIZES)
def test_both_are_as_exact_as_pytorch(sizes, dims):
    form = sizes[-dims:]
    for x_type, added_type, affine in itertools.product(
            (WIDE, NARROW), (None, WIDE, NARROW), (False, True)):
        x, g = made(sizes, x_type, 0), made(sizes, added_type or x_type, 1)
        added = None if added_type is None else made(sizes, added_type, 2)
        weight, bias = (torch.randn(form), torch.randn(form)) if affine else (None, None)
        given = x, added, weight, bias, dims, 1e-3, True, True
        theirs = layer_norm.by_torch(*given)
        check(theirs, layer_norm.fused(*given), in_float64(layer_norm.by_torch, *given))
        *_, mean, inverse = theirs
        for in_sums in (False, True) if dims == 1 else (False,):
            given = g, x, mean, inverse, weight, added, dims, True, True, in_sums
            wanted, found, exact = (
                layer_norm.by_torch_backward(*given), layer_norm.fused_backward(*given),
                in_float64(layer_norm.by_torch_backward, *given))
            terms = g.abs().max() * (inverse if weight is None else inverse * weight).abs().max()
            check(wanted[:4], found[:4], exact[:4], terms)
            if in_sums:  # of what has been rounded to bfloat16
                assert found[4].dtype is WIDE and found[4].shape == form
                torch.testing.assert_close(
                    found[4], found[1].double().view(-1, *form).sum(0).float())


def test_only_what_is_wanted_is_made():
    x = made((4, 80), NARROW, 0)
    for in_wide, in_narrow in ((True, False), (False, True), (False, False)):
        total, wide, narrow, mean, inverse = layer_norm.fused(x, None, None, None, 1, 1e-5, in_wide,
                                                              in_narrow)
        assert (wide.numel() > 0, narrow.numel() > 0) == (in_wide, in_narrow)
        assert total.numel() == 0
        wide, narrow, *_, sums = layer_norm.fused_backward(
            x, x, mean, inverse, None, None, 1, in_wide, in_narrow, False)
        assert (wide.numel() > 0, narrow.numel() > 0) == (in_wide, in_narrow)
        assert sums.numel() == 0


def test_rows_of_equal_numbers_and_a_mean_far_from_zero():
    x = torch.zeros(3, 70)
    x[1] = 4.0
    given = x, None, None, None, 1, 1e-5, True, True
    for a, b in zip(layer_norm.by_torch(*given), layer_norm.fused(*given), strict=True):
        torch.testing.assert_close(a, b)
    far = made((8, 4096), WIDE, 1) * 1e-2 + 100
    inverse = layer_norm.fused(far, None, None, None, 1, 0.0, True, False)[4]
    exact = 1 / far.double().var(1, unbiased=False, keepdim=True).sqrt()
    torch.testing.assert_close(inverse.double(), exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_stay_visible(number):
    x, added = made((6, 70), NARROW, 0), made((6, 70), WIDE, 2)
    x[1, 2], added[3, 69] = number, float("nan")
    given = x, added, None, None, 1, 1e-5, True, True
    wanted = layer_norm.by_torch(*given)
    for a, b in zip(wanted, layer_norm.fused(*given), strict=True):
        assert torch.equal(a.isfinite(), b.isfinite())
    g, x = made((6, 70), NARROW, 1), made((6, 70), WIDE, 0)
    g[5, 3] = number
    *_, mean, inverse = layer_norm.by_torch(x, None, None, None, 1, 1e-5, True, True)
    given = g, x, mean, inverse, None, None, 1, True, True, True
    for a, b in zip(layer_norm.by_torch_backward(*given), layer_norm.fused_backward(*given),
                    strict=True):
        assert torch.equal(a.isfinite(), b.isfinite())


def test_threads_do_not_change_what_is_right():
    before = torch.get_num_threads()
    try:
        for rows, threads in itertools.product((1, 2, 700), (1, 2, 3, 7)):
            torch.set_num_threads(threads)
            x, g = made((rows, 100), NARROW, 0), made((rows, 100), NARROW, 1)
            given = x, g, None, None, 1, 1e-3, True, True
            theirs = layer_norm.by_torch(*given)
            check(theirs, layer_norm.fused(*given), in_float64(layer_norm.by_torch, *given))
            given = g, x, theirs[3], theirs[4], None, g, 1, True, True, False
            check(layer_norm.by_torch_backward(*given), layer_norm.fused_backward(*given),
                  in_float64(layer_norm.by_torch_backward, *given))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("place, value", [
    (0, torch.zeros(())), (0, torch.zeros(0, 4)), (0, torch.zeros(3, 4).double()),
    (0, torch.zeros(3, 8)[:, ::2]), (1, torch.zeros(3, 5)), (1, torch.zeros(4, 3).T),
    (2, torch.ones(3)), (2, torch.ones(4).bfloat16()), (3, torch.ones(4).double()), (4, 0), (4, 3)])
def test_what_it_does_not_support_is_refused(place, value):
    given = [torch.zeros(3, 4), None, torch.ones(4), torch.ones(4), 1, 1e-5, True, True]
    given[place] = value
    with pytest.raises(RuntimeError, match="layer_norm: "):
        layer_norm.fused(*given)


@pytest.mark.parametrize("place, value", [
    (0, torch.zeros(3, 5)), (1, torch.zeros(3, 4).double()), (2, torch.zeros(2)),
    (3, torch.ones(3).bfloat16()), (4, torch.ones(3)), (5, torch.ones(4, 3)), (6, 0), (6, 3)])
def test_what_its_gradient_does_not_support_is_refused(place, value):
    x = torch.zeros(3, 4)
    given = [x, x, torch.ones(3), torch.ones(3), torch.ones(4), x, 1, True, True, True]
    given[place] = value
    with pytest.raises(RuntimeError, match="layer_norm_backward: "):
        layer_norm.fused_backward(*given)
