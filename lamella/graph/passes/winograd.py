"""Convolutions with 3 x 3 windows by Winograd's minimal filtering, forward and backward.

Each 4 x 4 tile of a result is computed from a 6 x 6 tile of the input with 36 multiplications
instead of 144, all as products of matrices (Lavin and Gray, 2016, *Fast Algorithms for
Convolutional Neural Networks*, F(4x4, 3x3)). In float32 the error is two to four times that of a
direct sum. The gradients are those of the same algorithm, transposed, so they share its matrices.
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

TILE = 4  # rows and columns of the result that are computed together
SEEN = TILE + 2  # and of the input that they are computed from

# the transformations of Lavin and Gray, one dimension of input, weights and result
_INPUT = ((4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0), (0, -2, -1, 2, 1, 0),
          (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1))
_WEIGHT = ((1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6),
           (1 / 24, 1 / 12, 1 / 6), (1 / 24, -1 / 12, 1 / 6), (0, 0, 1))
_RESULT = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))


@functools.cache
def _matrix(name: str) -> torch.Tensor:
    """A transformation of both dimensions at once, as one matrix."""
    line = {"input": _INPUT, "weight": _WEIGHT, "result": _RESULT}[name]
    both = torch.tensor(line, dtype=torch.float64)
    return torch.kron(both, both).float()


def tiles_of(length: int) -> int:
    """How many tiles cover so many results."""
    return -(-length // TILE)


def transformed(x: torch.Tensor, weight: torch.Tensor, padding: tuple[int, int]
                ) -> tuple[torch.Tensor, torch.Tensor]:
    """Input and weights as the products take them.

    Args:
        x: (N, C, H, W).
        weight: (K, C, 3, 3).
        padding: of rows and columns.

    Returns:
        (36, tiles, C); (36, K, C).
    """
    seen = _seen(x, padding, *(tiles_of(n + 2 * p - 2) for n, p in zip(x.shape[2:], padding,
                                                                      strict=True)))
    weights = torch.mm(_matrix("weight"), _by_place(weight)).view(-1, *weight.shape[:2])
    return seen, weights


def forward(seen: torch.Tensor, weights: torch.Tensor, shape: tuple[int, ...],
            padding: tuple[int, int]) -> torch.Tensor:
    """The convolution.

    Args:
        seen, weights: from `transformed`.
        shape: of the input.
        padding: of rows and columns.

    Returns:
        (N, K, rows, columns) with the channels last in memory.
    """
    n, _, height, width = shape
    k = weights.shape[1]
    rows, columns = height + 2 * padding[0] - 2, width + 2 * padding[1] - 2
    down, across = tiles_of(rows), tiles_of(columns)
    products = torch.bmm(seen, weights.transpose(1, 2))
    found = torch.mm(_matrix("result"), products.view(products.shape[0], -1))
    found = found.view(TILE, TILE, n, down, across, k).permute(2, 3, 0, 4, 1, 5)
    found = found.reshape(n, down * TILE, across * TILE, k)[:, :rows, :columns]
    return found.permute(0, 3, 1, 2)


def _seen(x: torch.Tensor, padding: tuple[int, int], down: int, across: int) -> torch.Tensor:
    """The tiles of the input, transformed: (36, tiles, C)."""
    n, c, height, width = x.shape
    above, left = padding
    below, right = down * TILE + 2 - height - above, across * TILE + 2 - width - left
    padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, left, right, above, below))
    tiles = padded.unfold(1, SEEN, TILE).unfold(2, SEEN, TILE).permute(4, 5, 0, 1, 2, 3)
    return torch.mm(_matrix("input"), tiles.reshape(SEEN * SEEN, -1)).view(SEEN * SEEN, -1, c)


def _by_place(weight: torch.Tensor) -> torch.Tensor:
    """(9, K C), without a copy for weights in rows."""
    if weight.is_contiguous():
        return weight.view(-1, 9).t()
    return weight.permute(2, 3, 0, 1).reshape(9, -1)


def backward(gradient: torch.Tensor, seen: torch.Tensor, weights: torch.Tensor,
             shape: tuple[int, ...], padding: tuple[int, int], of_input: bool
             ) -> tuple[torch.Tensor, ...]:
    """The gradients by the weights and, if wanted, by the input.

    Args:
        gradient: (N, K, rows, columns).
        seen, weights: from `transformed`.
        shape: of the input.
        padding: of rows and columns.
        of_input: whether its gradient is wanted.

    Returns:
        (K, C, 3, 3), and (N, C, H, W) with the channels last in memory.
    """
    n, k, rows, columns = gradient.shape
    c = shape[1]
    down, across = tiles_of(rows), tiles_of(columns)
    tiles = gradient.permute(0, 2, 3, 1)
    if (rows, columns) != (down * TILE, across * TILE):
        tiles = F.pad(tiles, (0, 0, 0, across * TILE - columns, 0, down * TILE - rows))
    tiles = tiles.unflatten(1, (down, TILE)).unflatten(3, (across, TILE))
    tiles = tiles.permute(2, 4, 0, 1, 3, 5).reshape(TILE * TILE, -1)
    products = torch.mm(_matrix("result").t(), tiles).view(SEEN * SEEN, -1, k)
    of_weights = torch.bmm(products.transpose(1, 2), seen).view(SEEN * SEEN, -1)
    of_weights = torch.mm(_matrix("weight").t(), of_weights).view(3, 3, k, c).permute(2, 3, 0, 1)
    if not of_input:
        return (of_weights,)
    of_seen = torch.bmm(products, weights).view(SEEN * SEEN, -1)
    of_tiles = torch.mm(_matrix("input").t(), of_seen)
    of_tiles = of_tiles.view(SEEN, SEEN, n, down, across, c)
    return of_weights, _added(of_tiles)[:, padding[0]:padding[0] + shape[2],
                                        padding[1]:padding[1] + shape[3]].permute(0, 3, 1, 2)


def _added(tiles: torch.Tensor) -> torch.Tensor:
    """The padded input whose overlapping tiles are (6, 6, N, down, across, C): (N, H, W, C)."""
    _, _, n, down, across, c = tiles.shape
    tiles = tiles.permute(2, 3, 0, 4, 1, 5)  # (N, down, 6, across, 6, C)
    found = tiles.new_zeros(n, down + 1, TILE, across + 1, TILE, c)
    found[:, :-1, :, :-1].copy_(tiles[:, :, :TILE, :, :TILE])
    found[:, 1:, :2, :-1] += tiles[:, :, TILE:, :, :TILE]
    found[:, :-1, :, 1:, :2] += tiles[:, :, :TILE, :, TILE:]
    found[:, 1:, :2, 1:, :2] += tiles[:, :, TILE:, :, TILE:]
    return found.view(n, (down + 1) * TILE, (across + 1) * TILE, c)
