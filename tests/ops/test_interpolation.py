"""Which ranks each way to interpolate takes."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, ops

RANKS = {"nearest": {3, 4, 5}, "linear": {3}, "bilinear": {4}, "bicubic": {4}, "trilinear": {5},
         "area": {3, 4, 5}, "nearest-exact": {3, 4}}


@pytest.mark.parametrize("mode", RANKS)
@pytest.mark.parametrize("rank", [2, 3, 4, 5, 6])
def test_ranks(mode, rank):
    raw = torch.arange(float(2 * 3 ** (rank - 1))).reshape(2, *[3] * (rank - 1))
    size = (5,) * (rank - 2)
    if rank not in RANKS[mode]:
        with pytest.raises((ValueError, TypeError)):
            ops.interpolate(Tensor(raw.numpy()), size, mode=mode)
        return
    found = ops.interpolate(Tensor(raw.numpy()), size, mode=mode)
    assert found.shape == (2, 3, *size)
    if mode == "bicubic":  # whose coefficients are others in MindSpore
        return
    wanted = torch.nn.functional.interpolate(raw, size, mode=mode)
    torch.testing.assert_close(torch.from_numpy(found.asnumpy()), wanted)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "bool_"])
def test_nearest_pixels_of_any_type(kind):
    """Labels and masks are resized, too, to the same pixels as numbers of a floating type."""
    raw = torch.arange(24.0).reshape(1, 2, 3, 4) % 7
    image = Tensor(raw.numpy()).astype(getattr(ms, kind))
    for size in [(6, 8), (2, 3), (5, 1), (7, 9)]:
        wanted = ops.ResizeNearestNeighbor(size)(image.astype(ms.float32))
        for found in (ops.ResizeNearestNeighbor(size)(image),
                      ops.ResizeNearestNeighborV2()(image, size)):
            assert found.dtype == image.dtype
            assert (found.astype(ms.float32) == wanted).all()
