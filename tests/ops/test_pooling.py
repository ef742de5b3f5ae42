"""The layout in which planes are pooled changes nothing but the time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops.pooling import _reached


def _planes(kind: str) -> np.ndarray:
    x = np.random.default_rng(3).integers(-9, 9, (2, 32, 56, 56)).astype(np.float32)  # equal maxima
    if kind == "nan":
        x[0, 0, 3, 3] = x[1, 31, 55, 55] = np.nan
    return -np.inf * np.ones_like(x) if kind == "-inf" else x


@pytest.mark.parametrize("kind", ["equal maxima", "nan", "-inf"])
@pytest.mark.parametrize("window", [(3, 2, 1, 1, False), (2, 2, 0, 1, False), (3, 3, 1, 2, True)])
@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.float64])
def test_large_planes_have_the_maxima_and_indices_of_pytorchs_kernel(kind, window, dtype):
    kernel, stride, padding, dilation, ceil = window
    x = Tensor(_planes(kind), dtype)
    out, places = ops.max_pool2d(x, kernel, stride, padding, dilation, True, ceil)
    wanted = F.max_pool2d(x._raw, kernel, stride, padding, dilation, ceil, True)
    torch.testing.assert_close(out._raw, wanted[0], rtol=0, atol=0, equal_nan=True)
    assert torch.equal(places._raw, wanted[1])
    assert out._raw.is_contiguous() and places._raw.is_contiguous()
    pool = nn.MaxPool2d(kernel, stride, "pad", padding, dilation, ceil_mode=ceil)
    torch.testing.assert_close(pool(x)._raw, wanted[0], rtol=0, atol=0, equal_nan=True)


def test_large_planes_pool_under_vmap_and_with_gradients():
    x = Tensor(_planes("equal maxima"))
    pooled = ms.vmap(lambda y: nn.MaxPool2d(2, 2)(y))(ops.stack([x, x + 1]))
    np.testing.assert_array_equal(pooled[1].asnumpy(), nn.MaxPool2d(2, 2)(x + 1).asnumpy())
    gradient = ms.grad(lambda y: ops.max_pool2d(y, 2, 2).sum())(x)
    assert gradient.sum() == pooled[0].size


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_areas_of_any_rank(rank):
    x = np.random.default_rng(rank).normal(size=(2, 3, 7, 5, 4)[:rank]).astype("f4")
    size = (3, 4, 2)[:rank - 2]
    found = ops.interpolate(ms.Tensor(x), size=size, mode="area").asnumpy()
    wanted = torch.nn.functional.interpolate(torch.tensor(x), size=size, mode="area")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_paddings_of_two_lengths_that_rounding_up_reaches():
    """Only where PyTorch's kernel, which pads both sides alike, has as many windows."""
    for n, k, s, a, b in itertools.product(range(3, 9), (1, 2, 3), (1, 2, 3), (0, 1, 2), range(4)):
        wanted = (n + a + b - k) // s + 1
        alike = a <= b and a <= k // 2 and torch.nn.functional.max_pool1d(
            torch.zeros(1, 1, n), k, s, a, ceil_mode=True).shape[-1] == wanted
        assert _reached([(a, b)], [n], [k], [s]) == ([a] if alike else None), (n, k, s, a, b)


RNG = np.random.default_rng(1)
SIGNALS, IMAGES, VOLUMES = (RNG.normal(size=shape).astype("f4") for shape in (
    (2, 3, 9), (2, 3, 6, 7), (2, 3, 4, 5, 6)))
t = torch.from_numpy


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pairs", [((1, 0), (0, 0)), ((0, 1), (1, 2)), ((2, 1), (0, 1)),
                                   ((0, 1), (0, 0)), ((1, 2), (1, 1))])
@pytest.mark.parametrize("dilation", [1, (1, 2)])
def test_maxima_with_other_paddings_at_the_ends(pairs, dilation):
    """What lies outside never is the largest, also of whole numbers."""
    around = [n for pair in reversed(pairs) for n in pair]
    given = tuple(n for pair in pairs for n in pair)
    for x in (IMAGES - 9, (IMAGES * 9).astype(np.int32) - 100):
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        wanted, places = F.max_pool2d(F.pad(t(x).double(), around, value=least), (3, 2), (2, 1), 0,
                                      dilation, return_indices=True)
        close(ops.max_pool2d(Tensor(x), (3, 2), (2, 1), given, dilation), wanted)
        values, _ = ops.max_pool2d(Tensor(x), (3, 2), (2, 1), given, dilation, True)
        close(values, wanted)
        assert values.asnumpy().dtype == x.dtype


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
@pytest.mark.parametrize("divisor", [0, 5])
@pytest.mark.parametrize("pairs", [((0, 0), (0, 0)), ((1, 1), (0, 0)), ((0, 1), (1, 0)),
                                   ((0, 1), (0, 2))])
def test_means_with_paddings(pairs, divisor, ceil, counted):
    given = tuple(n for pair in pairs for n in pair)
    found = ops.avg_pool2d(Tensor(IMAGES), (3, 2), (2, 3), given, ceil, counted, divisor)
    if all(a == b for a, b in pairs):
        close(found, F.avg_pool2d(t(IMAGES), (3, 2), (2, 3), [a for a, _ in pairs], ceil, counted,
                                  divisor or None))
        return
    around = [n for pair in reversed(pairs) for n in pair]
    padded, ones = (F.pad(v, around) for v in (t(IMAGES), torch.ones_like(t(IMAGES))))
    total, count = (F.avg_pool2d(v, (3, 2), (2, 3), 0, ceil, divisor_override=1)
                    for v in (padded, ones))
    wanted = F.avg_pool2d(padded, (3, 2), (2, 3), 0, ceil, divisor_override=divisor or None)
    close(found, wanted if counted or divisor else total / count)


def test_means_of_signals_and_volumes():
    close(ops.avg_pool1d(Tensor(SIGNALS), 3, 2, 1, True, False),
          F.avg_pool1d(t(SIGNALS), 3, 2, 1, True, False))
    close(ops.avg_pool1d(Tensor(SIGNALS), (3,), (2,), (0, 1)),
          F.avg_pool1d(F.pad(t(SIGNALS), (0, 1)), 3, 2))
    half = ops.avg_pool3d(Tensor(VOLUMES, ms.float16), (2, 1, 3), (1, 2, 2), 0, True)
    assert half.dtype is ms.float16
    np.testing.assert_allclose(half.asnumpy(), F.avg_pool3d(t(VOLUMES), (2, 1, 3), (1, 2, 2), 0,
                                                            True), atol=2e-3)


@pytest.mark.parametrize("order", [1, 2.0, 3])
@pytest.mark.parametrize("stride, ceil", [(None, False), (2, True), (1, False)])
def test_norms_of_windows(order, stride, ceil):
    signals, images = abs(SIGNALS) + 0.1, abs(IMAGES) + 0.1
    close(ops.lp_pool1d(Tensor(signals), order, 4, stride, ceil),
          F.lp_pool1d(t(signals), order, 4, stride, ceil))
    close(ops.lp_pool1d(Tensor(signals[0]), order, 4, stride, ceil),
          F.lp_pool1d(t(signals[:1]), order, 4, stride, ceil)[0])
    close(ops.lp_pool2d(Tensor(images), order, (2, 3), stride, ceil),
          F.lp_pool2d(t(images), order, (2, 3), stride, ceil))


@pytest.mark.parametrize("rank, x", [(1, SIGNALS), (2, IMAGES), (3, VOLUMES)])
@pytest.mark.parametrize("padding", [0, 1])
def test_maxima_put_back_to_where_they_were(rank, x, padding):
    pool, unpool = (getattr(F, f"max_{name}pool{rank}d") for name in ("", "un"))
    put = getattr(ops, f"max_unpool{rank}d")
    kernel, stride = (3, 2, 2)[:rank], (3, 2, 1)[:rank]
    values, places = pool(t(x), kernel, stride, padding, return_indices=True)
    size = x.shape[2:]
    wanted = torch.zeros(*x.shape[:2], int(np.prod(size))).scatter(
        -1, places.flatten(2), values.flatten(2)).reshape(x.shape)
    for form in (size, x.shape, tuple(size)):
        close(put(Tensor(values), Tensor(places), kernel, stride, padding, form), wanted)
    close(put(Tensor(values[0]), Tensor(places[0]), kernel, stride, padding, size), wanted[0])
    small = places % 4
    length = [(n - 1) * s - 2 * padding + k for n, s, k in zip(values.shape[2:], stride, kernel,
                                                               strict=True)]
    found = put(Tensor(values), Tensor(small), kernel, stride, padding)
    assert found.shape == (2, 3, *length)
    plain = put(Tensor(values), Tensor(small), kernel)
    assert plain.shape == (2, 3, *(n * k for n, k in zip(values.shape[2:], kernel, strict=True)))
    with pytest.raises(ValueError, match="must have one shape"):
        put(Tensor(values), Tensor(places[:1]), kernel)


@pytest.mark.parametrize("call", [
    lambda: ops.max_pool2d(Tensor(VOLUMES), 2), lambda: ops.max_pool3d(Tensor(IMAGES), 2),
    lambda: ops.avg_pool1d(Tensor(IMAGES), 2), lambda: ops.avg_pool1d(Tensor(SIGNALS[0]), 2),
    lambda: ops.avg_pool2d(Tensor(SIGNALS), 2), lambda: ops.avg_pool3d(Tensor(IMAGES), 2),
    lambda: ops.lp_pool1d(Tensor(IMAGES), 2, 2), lambda: ops.lp_pool2d(Tensor(SIGNALS), 2, 2),
    lambda: ops.MaxPool3D(1)(ops.ones((1,) * 6)), lambda: ops.MaxPool3D(1)(ops.ones((1, 1)))])
def test_ranks_that_do_not_fit(call):
    with pytest.raises(ValueError, match="^For '"):
        call()
