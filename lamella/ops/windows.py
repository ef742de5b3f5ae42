"""Sliding windows: the kernel sizes, strides and paddings that convolutions and pools share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..autodiff.level import batching
from ..core.require import one_of
from ..core.state import state

Pairs = list[tuple[int, int]]
PAD_MODES = ("same", "valid", "pad")


LARGEST = 2**31 - 1  # size that kernels count with; beyond it some never end


def each(name: str, what: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """An int, or a tuple with one int a spatial dimension, as the tuple.

    Tuples for all dimensions (N, C, ...) are cut to their last `rank` entries.
    """
    if type(value) is int and least <= value <= LARGEST:  # most are, and a small kernel waits
        return (value,) * rank
    if isinstance(value, int) and not isinstance(value, bool):
        out = (value,) * rank
    elif isinstance(value, (tuple, list)) and len(value) in (1, rank, rank + 2):
        out = tuple(value) * rank if len(value) == 1 else tuple(value)[-rank:]
    elif isinstance(value, (tuple, list)):
        raise ValueError(f"For '{name}', '{what}' must be an int or have {rank} entries, "
                         f"but got {value}.")
    else:
        raise TypeError(f"For '{name}', '{what}' must be an int or a tuple of {rank} ints, "
                        f"but got {value!r}.")
    for entry in out:
        if not isinstance(entry, int) or isinstance(entry, bool):
            raise TypeError(f"For '{name}', '{what}' must hold ints, but got {value}.")
        if not least <= entry <= LARGEST:
            raise ValueError(f"For '{name}', '{what}' must be {least} or more, and less than 2 to "
                             f"the 31st, but got {value}.")
    return out


def pad_mode_of(name: str, pad_mode: Any, padding: Any) -> str:
    """The pad mode in lower case, checked; only ``'pad'`` goes with a padding."""
    if type(pad_mode) is str and pad_mode in PAD_MODES and (
            pad_mode == "pad" or type(padding) is int and padding == 0):
        return pad_mode
    mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
    one_of(mode, PAD_MODES, "pad_mode", name)
    if mode != "pad" and _any_padding(padding):
        raise ValueError(f"For '{name}', the padding must be zero when 'pad_mode' is not 'pad', "
                         f"but got {padding} and pad_mode={pad_mode!r}. Set pad_mode='pad'.")
    return mode


def _any_padding(padding: Any) -> bool:
    return any(map(_any_padding, padding)) if isinstance(padding, (tuple, list)) else padding != 0


def given_padding(name: str, padding: Any, rank: int) -> Pairs:
    """(before, after) in each dimension, from an int, an int each, two ints each, or pairs."""
    if type(padding) is int and 0 <= padding <= LARGEST:
        return [(padding, padding)] * rank
    if isinstance(padding, (tuple, list)) and padding and isinstance(padding[0], tuple):
        padding = tuple(n for pair in padding for n in pair)
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * rank:
        flat = each(name, "padding", padding, 2 * rank, 0)
        return [(flat[2 * i], flat[2 * i + 1]) for i in range(rank)]
    return [(p, p) for p in each(name, "padding", padding, rank, 0)]


def same_padding(lengths: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
                 dilation: Sequence[int]) -> Pairs:
    """The padding that makes the output ceil(length / stride) long; the odd element goes after."""
    pairs = []
    for n, k, s, d in zip(lengths, kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def window_padding(name: str, pad_mode: str, padding: Any, lengths: Sequence[int],
                   kernel: Sequence[int], stride: Sequence[int],
                   dilation: Sequence[int]) -> Pairs:
    """(before, after) in each dimension for a pad mode."""
    mode = pad_mode_of(name, pad_mode, padding)
    if mode == "same":
        return same_padding(lengths, kernel, stride, dilation)
    if mode == "valid":
        return [(0, 0)] * len(kernel)
    return given_padding(name, padding, len(kernel))


def symmetric(raw: torch.Tensor, pairs: Pairs,
              value: float = 0.0) -> tuple[torch.Tensor, list[int]]:
    """What a kernel with symmetric padding needs: the input, padded first only where it must be."""
    pads = [before for before, after in pairs if before == after]
    if len(pads) == len(pairs):
        return raw, pads
    flat = [n for pair in reversed(pairs) for n in pair]
    return F.pad(raw, flat, value=value), [0] * len(pairs)


def number_is_open() -> bool:
    """Whether the examples of a `vmap` are as many as a symbol says, in a graph for many sizes.

    PyTorch's rules for windows in batches ask for their number. So windows are taken apart then.
    """
    return batching() and getattr(state.trace, "symbolic", None) is not None


def taken_apart(raw: torch.Tensor, kernel: Sequence[int], stride: Sequence[int],
                pairs: Pairs, dilation: Sequence[int], value: float = 0.0) -> list[torch.Tensor]:
    """The elements at each place in all windows, each (N, C, *windows)."""
    parts = []
    for place in itertools.product(*map(range, kernel)):
        part = raw
        # by indices, since the rules of slices and padding ask for the number, too
        for axis, (at, k, s, (before, after), d) in enumerate(zip(
                place, kernel, stride, pairs, dilation, strict=True), 2):
            length = raw.shape[axis]
            windows = (length + before + after - d * (k - 1) - 1) // s + 1
            where = [at * d - before + i * s for i in range(windows)]
            chosen = [min(max(i, 0), length - 1) for i in where]
            places = torch.tensor(chosen, device=raw.device)
            part = part[(slice(None),) * axis + (places,)]
            if chosen != where:
                inside = torch.tensor([i == j for i, j in zip(where, chosen, strict=True)],
                                      device=raw.device)
                shape = [-1 if i == axis else 1 for i in range(raw.dim())]
                part = torch.where(inside.reshape(shape), part, value)
        parts.append(part)
    return parts
