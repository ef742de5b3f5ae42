"""Running results of an associative function, in a logarithmic number of steps.

Source: Blelloch, Prefix Sums and Their Applications (1990).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..autodiff.tree import tensors
from ..core.require import boolean, of_type
from .loops import alike, check_function, with_raws


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False,
                     axis: int = 0) -> Any:
    """The results of an associative function of the first one, two, three, ... elements.

    The function is called about 2 log2(n) times for n elements, each time with many pairs of
    neighbours at once. So it must compute element by element along `axis`.

    Args:
        fn: takes two values such as `elems`, of any length along `axis`; gives such a value.
            ``fn(fn(a, b), c)`` must be ``fn(a, fn(b, c))``.
        elems: a Tensor or a structure of Tensors, of one length along `axis`.
        reverse: whether to begin with the last element.
        axis: the axis of the elements.

    Returns:
        As `elems`.

    Raises:
        TypeError: if `fn` is no function, `elems` has no Tensors, or the structure of a result is
            another.
        ValueError: if lengths differ, or a Tensor has no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.associative_scan(ms.ops.mul, ms.Tensor([1, 2, 3, 4])))
        [ 1  2  6 24]
        >>> a, b = ms.Tensor([0.5, 0.5, 0.5]), ms.Tensor([1.0, 1.0, 1.0])  # x = a * x + b
        >>> step = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
        >>> print(ms.associative_scan(step, (a, b))[1])
        [1.   1.5  1.75]
    """
    check_function("associative_scan", "fn", fn)
    boolean(reverse, "reverse", "associative_scan")
    of_type(axis, int, "axis", "associative_scan")
    given = [t._raw for t in tensors(elems)]
    if not given:
        raise TypeError(f"For 'associative_scan', 'elems' must have Tensors, but got {elems!r}.")
    if any(not -raw.dim() <= axis < raw.dim() for raw in given):
        raise ValueError(f"For 'associative_scan', the Tensors of 'elems' must have axis {axis}, "
                         f"but got the shapes {[tuple(raw.shape) for raw in given]}.")
    if len({raw.shape[axis] for raw in given}) > 1:
        raise ValueError(f"For 'associative_scan', the Tensors of 'elems' must have one length "
                         f"along axis {axis}, but got {[raw.shape[axis] for raw in given]}.")
    raws = [raw.movedim(axis, 0) for raw in given]
    if reverse:
        raws = [raw.flip(0) for raw in raws]

    def paired(first: list[torch.Tensor], second: list[torch.Tensor]) -> list[torch.Tensor]:
        one, other = ([raw.movedim(0, axis) for raw in raws] for raws in (first, second))
        if reverse:
            one, other = other, one
        found = fn(with_raws(elems, one), with_raws(elems, other))
        if not alike(found, elems):
            raise TypeError(f"For 'associative_scan', 'fn' must give a value of the structure of "
                            f"'elems', but got {found!r}.")
        return [t._raw.movedim(axis, 0) for t in tensors(found)]

    out = _prefixes(paired, raws)
    if reverse:
        out = [raw.flip(0) for raw in out]
    return with_raws(elems, [raw.movedim(0, axis) for raw in out])


def _prefixes(paired: Callable[[list[torch.Tensor], list[torch.Tensor]], list[torch.Tensor]],
              raws: list[torch.Tensor]) -> list[torch.Tensor]:
    """Those of the pairs are every second result; the others take one element more."""
    count = len(raws[0])
    if count < 2:
        return raws
    pairs = paired([raw[:count - 1:2] for raw in raws], [raw[1::2] for raw in raws])
    odd = _prefixes(paired, pairs)
    first = [raw[:1] for raw in raws]
    if count > 2:
        more = paired([raw[:(count - 1) // 2] for raw in odd], [raw[2::2] for raw in raws])
        even = [torch.cat(both) for both in zip(first, more, strict=True)]
    else:
        even = first
    return [_interleaved(*both) for both in zip(even, odd, strict=True)]


def _interleaved(even: torch.Tensor, odd: torch.Tensor) -> torch.Tensor:
    both = torch.stack([even[:len(odd)], odd], 1).flatten(0, 1)
    return torch.cat([both, even[len(odd):]]) if len(even) > len(odd) else both
