"""A summary of a tensor in a few numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from ...core.dtype import from_raw
from ...core.wrappers import physical


class Numbers(NamedTuple):
    """A tensor's numbers.

    Attributes:
        shape, dtype: of the tensor.
        count: of elements.
        norm: the Euclidean one, of the finite elements.
        zeros: the share of zeros, from 0 to 1.
        low, high: the least and the greatest of the finite elements (of complex ones, absolute).
        nans, infs: how many elements are not a number, and how many are infinite.
    """

    shape: tuple[int, ...]
    dtype: str
    count: int
    norm: float
    zeros: float
    low: float
    high: float
    nans: int
    infs: int

    @property
    def is_zero(self) -> bool:
        """Whether all elements are zero."""
        return self.zeros == 1.0

    @property
    def is_finite(self) -> bool:
        """Whether all elements are finite."""
        return not self.nans and not self.infs

    @property
    def mean_size(self) -> float:
        """The root of the mean square of the elements."""
        return self.norm / math.sqrt(self.count) if self.count else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name."""
        return self._asdict()


def measure(raw: torch.Tensor) -> Numbers:
    """The numbers of a raw tensor; of all examples together inside a `vmap`.

    Examples:
        >>> measure(torch.tensor([3.0, 0.0, -4.0, float("nan")]))[2:]
        (4, 5.0, 0.25, -4.0, 3.0, 1, 0)
    """
    with torch._C.DisableTorchFunction(), torch.no_grad():
        raw = physical(raw)
        with torch._C._DisableFuncTorch():
            raw = raw.detach()
            kind, shape, count = from_raw[raw.dtype].name, tuple(raw.shape), raw.numel()
            if not count:
                return Numbers(shape, kind, 0, 0.0, 0.0, 0.0, 0.0, 0, 0)
            zeros = 1 - int(torch.count_nonzero(raw)) / count
            if raw.is_complex():
                raw = raw.abs()
            elif not raw.is_floating_point():
                raw = raw.double()
            elif raw.dtype in (torch.float16, torch.bfloat16):
                raw = raw.float()
            norm = float(torch.linalg.vector_norm(raw))
            nans = infs = 0
            if not math.isfinite(norm):
                nans, infs = int(raw.isnan().sum()), int(raw.isinf().sum())
                raw = raw[raw.isfinite()].double()
                norm = float(torch.linalg.vector_norm(raw))
            low, high = map(float, torch.aminmax(raw)) if raw.numel() else (0.0, 0.0)
            return Numbers(shape, kind, count, norm, zeros, low, high, nans, infs)
