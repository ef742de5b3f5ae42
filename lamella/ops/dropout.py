"""Dropout: elements or whole channels set to zero at random, the rest scaled up."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..autodiff.level import batching
from ..core.errors import op
from ..tensors.random import generator
from ..tensors.tensor import Tensor, wrap

__all__ = ["dropout", "dropout1d", "dropout2d", "dropout3d"]


def _check(name: str, p: float, training: bool) -> None:
    if not isinstance(p, (int, float)) or isinstance(p, bool):
        raise TypeError(f"For '{name}', 'p' must be a float, but got {p!r}.")
    if not 0 <= p <= 1:
        raise ValueError(f"For '{name}', 'p' must be a number in [0, 1], but got {p}.")
    if not isinstance(training, bool):
        raise TypeError(f"For '{name}', 'training' must be a bool, but got {training!r}.")


@op
def dropout(input: Tensor, p: float = 0.5, training: bool = True,
            seed: int | None = None) -> Tensor:
    """Set each element to zero with probability `p`, and divide the others by 1 - p.

    Args:
        input: any shape, floating.
        p: the probability of zeros, at least 0 and below 1.
        training: False gives `input` itself.
        seed: selects a stream of random numbers; default: the global one.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `p` is no number, or `training` no bool.
        ValueError: if `p` is out of range.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((20, 16))
        >>> ms.ops.dropout(x, p=0.5).shape, ms.ops.dropout(x, training=False) is x
        ((20, 16), True)
    """
    if not 0 <= p < 1:
        raise ValueError(f"For 'dropout', 'p' must be a number in [0, 1), but got {p}.")
    _check("dropout", p, training)
    if not training:
        return input
    raw = input._raw
    if seed is None:
        return wrap(F.dropout(raw, p, True) if p else raw.clone())
    return wrap(raw * (keep_mask(raw, p, raw.shape, generator(seed)) / (1 - p)))


def keep_mask(raw: torch.Tensor, p: float, shape: tuple[int, ...],
              source: torch.Generator | None = None) -> torch.Tensor:
    """Ones with probability 1 - p, zeros otherwise, of the type of `raw`."""
    if batching():  # memory is changed in place for all examples alike
        chances = torch.full(shape, 1 - p, dtype=raw.dtype, device=raw.device)
        return torch.bernoulli(chances, generator=source)
    return torch.empty(shape, dtype=raw.dtype, device=raw.device).bernoulli_(
        1 - p, generator=source)


def _drop_channels(name: str, input: Tensor, p: float, training: bool,
                   ranks: tuple[int, ...], channels: int) -> Tensor:
    _check(name, p, training)
    raw = input._raw
    if raw.dim() not in ranks:
        raise ValueError(f"For '{name}', 'input' must have a rank in {ranks}, "
                         f"but got shape {input.shape}.")
    if not training:
        return input
    keep = raw.dim() - channels
    dropped = raw * drop_scale(raw, p, (*raw.shape[:keep], *(1,) * channels))
    return wrap(dropped.to(raw.dtype))


def drop_scale(raw: torch.Tensor, p: float, shape: tuple[int, ...]) -> torch.Tensor:
    """The factors of a dropout: 0 with probability p, else 1 / (1 - p)."""
    mask = keep_mask(raw, p, shape)
    return mask if p == 1 else mask / (1 - p)


@op
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """`dropout` of whole channels of sequences, shape (N, C, L) or (C, L).

    Raises:
        ValueError: if `p` or the rank is out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.dropout1d(ms.ops.ones((4, 3)), 0.5).shape
        (4, 3)
    """
    return _drop_channels("dropout1d", input, p, training, (2, 3), 1)


@op
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """`dropout` of whole channels of images, shape (N, C, H, W) (Tompson et al., 2015).

    Raises:
        ValueError: if `p` or the rank is out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.dropout2d(ms.ops.ones((2, 1, 2, 3)), 0.5).shape
        (2, 1, 2, 3)
    """
    return _drop_channels("dropout2d", input, p, training, (4,), 2)


@op
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """`dropout` of whole channels of volumes, shape (N, C, D, H, W).

    Raises:
        ValueError: if `p` or the rank is out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.dropout3d(ms.ops.ones((2, 1, 2, 1, 2)), 0.5).shape
        (2, 1, 2, 1, 2)
    """
    return _drop_channels("dropout3d", input, p, training, (5,), 3)
