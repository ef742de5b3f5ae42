"""Discrete Fourier transforms along two or more axes at once."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor
from .fourier import axes_of, transform

__all__ = [
    "fft2", "fftn", "hfft2", "hfftn", "ifft2", "ifftn", "ihfft2", "ihfftn", "irfft2", "irfftn",
    "rfft2", "rfftn",
]


@op
def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along two axes.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.fft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along several axes.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.fftn, input, s, axes_of(dim), norm)


def _real(words: str) -> str:
    return f"{words}\n\n    Returns:\n        real Tensor"


# of each other transform: what it is, and that of [[1, 2], [3, 4]]
_OTHERS = {
    "ifft": ("The inverse of `fft{}`.", "[[ 2.5+0.j -0.5+0.j]", " [-1. +0.j  0. +0.j]]"),
    "rfft": ("`fft{}` of real numbers: the half of it that says all.",
             "[[10.+0.j -2.+0.j]", " [-4.+0.j  0.+0.j]]"),
    "irfft": (_real("The inverse of `rfft{}`."), "[[ 2.5 -0.5]", " [-1.   0. ]]"),
    "hfft": (_real("`hfft` along the last of the axes, after `fft` along the others."),
             "[[10. -2.]", " [-4.  0.]]"),
    "ihfft": ("The inverse of `hfft{}`.", "[[ 2.5-0.j -0.5-0.j]", " [-1. +0.j  0. +0.j]]"),
}


class OverTwo(Protocol):
    """A transform along two axes."""

    def __call__(self, input: Tensor, s: Any = None, dim: Any = (-2, -1),
                 norm: str | None = None) -> Tensor: ...


class OverSeveral(Protocol):
    """A transform along several axes."""

    def __call__(self, input: Tensor, s: Any = None, dim: Any = None,
                 norm: str | None = None) -> Tensor: ...


def _over_two(kind: str) -> OverTwo:
    kernel = getattr(torch.fft, f"{kind}2")

    def transformed(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None
                    ) -> Tensor:
        return transform(kernel, input, s, tuple(dim), norm)

    return documented_like(fft2)(_shown(transformed, kind, "2"))


def _over_several(kind: str) -> OverSeveral:
    kernel = getattr(torch.fft, f"{kind}n")

    def transformed(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None
                    ) -> Tensor:
        return transform(kernel, input, s, axes_of(dim), norm)

    return documented_like(fftn)(_shown(transformed, kind, "n"))


def _shown(transformed: Any, kind: str, ending: str) -> Any:
    """A transform with its name, and a docstring with an example."""
    words, first, second = _OTHERS[kind]
    name = f"{kind}{ending}"
    given = ("[[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]]" if kind in ("irfft", "hfft")
             else "[[1.0, 2.0], [3.0, 4.0]]")
    transformed.__name__ = transformed.__qualname__ = name
    transformed.__doc__ = f"""{words.format(ending)}

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.{name}(ms.Tensor({given})))
        {first}
        {second}
    """
    return op(transformed)


ifft2, ifftn = _over_two("ifft"), _over_several("ifft")
rfft2, rfftn = _over_two("rfft"), _over_several("rfft")
irfft2, irfftn = _over_two("irfft"), _over_several("irfft")
hfft2, hfftn = _over_two("hfft"), _over_several("hfft")
ihfft2, ihfftn = _over_two("ihfft"), _over_several("ihfft")
