"""The kernels of Winograd's algorithm against convolutions in float64."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F

from lamella.machine import winograd

LAST = torch.channels_last
# images, channels in and out, rows and columns, padding
SIZES = [((2, 32, 7, 9), 64, (1, 1)), ((1, 64, 5, 6), 32, (0, 2)), ((3, 96, 8, 8), 32, (1, 0)),
         ((1, 32, 1, 1), 32, (1, 1)), ((1, 32, 3, 3), 32, (0, 0)), ((2, 32, 25, 23), 96, (2, 2))]


@pytest.fixture(autouse=True)
def kernel():
    if winograd.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def error(found, exact):
    """The root mean square of the differences over that of the numbers."""
    return float((found.double() - exact).norm() / exact.norm())


@pytest.mark.parametrize("dtype, most", [(torch.float32, 1e-6), (torch.bfloat16, 6e-3)])
@pytest.mark.parametrize("form, outputs, padding", SIZES)
def test_results_and_gradients(form, outputs, padding, dtype, most):
    torch.manual_seed(0)
    x, w = torch.randn(form).to(dtype), torch.randn(outputs, form[1], 3, 3).to(dtype)
    exact = [v.double().requires_grad_() for v in (x, w)]
    wanted = F.conv2d(*exact, padding=padding)
    g = torch.randn(wanted.shape).to(dtype)
    of_x, of_w = torch.autograd.grad(wanted, exact, g.double())
    for x_last, w_last in itertools.product((False, True), repeat=2):
        given = [v.contiguous(memory_format=LAST if is_last else torch.contiguous_format)
                 for v, is_last in ((x, x_last), (w, w_last), (g, x_last))]
        x, w, g = given
        found = [winograd.by_tiles(x, w, *padding, False), winograd.by_tiles(g, w, *padding, True),
                 winograd.by_tiles_weights(g, x, *padding)]
        for a, b in zip(found, (wanted.detach(), of_x, of_w), strict=True):
            assert a.dtype is dtype and a.shape == b.shape and a.is_contiguous(memory_format=LAST)
            assert error(a, b) < most


def test_pytorch_in_its_place_computes_the_same():
    torch.manual_seed(0)
    x, w = torch.randn(2, 32, 6, 7), torch.randn(64, 32, 3, 3)
    g = torch.randn(2, 64, 8, 7)
    for theirs, ours, given in (
            (winograd.by_torch, winograd.by_tiles, (x, w, 2, 1, False)),
            (winograd.by_torch, winograd.by_tiles, (g, w, 2, 1, True)),
            (winograd.by_torch_weights, winograd.by_tiles_weights, (g, x, 2, 1))):
        wanted, found = theirs(*given), ours(*given)
        assert found.stride() == wanted.stride()
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_threads_compute_the_same():
    torch.manual_seed(0)
    x, w, g = torch.randn(3, 64, 20, 20), torch.randn(32, 64, 3, 3), torch.randn(3, 32, 20, 20)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append([winograd.by_tiles(x, w, 1, 1, False), winograd.by_tiles(g, w, 1, 1, True),
                          winograd.by_tiles_weights(g, x, 1, 1)])
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("x, weight, message", [
    ((1, 16, 8, 8), (32, 16, 3, 3), "multiples of 32 channels"),
    ((1, 32, 8, 8), (32, 64, 3, 3), "weights must be"),
    ((1, 32, 8, 8), (32, 32, 5, 5), "weights must be"),
    ((1, 32, 2, 8), (32, 32, 3, 3), "the result not empty")])
def test_what_it_refuses(x, weight, message):
    with pytest.raises(RuntimeError, match=message):
        winograd.by_tiles(torch.zeros(x), torch.zeros(weight), 0, 0, False)
    with pytest.raises(RuntimeError, match="the gradient must be"):
        winograd.by_tiles_weights(torch.zeros(1, 32, 8, 8), torch.zeros(1, 32, 8, 8), 0, 0)
