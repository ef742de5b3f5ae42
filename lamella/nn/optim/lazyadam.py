"""Lazy Adam."""

from __future__ import annotations

from .adam import AdamOffload


class LazyAdam(AdamOffload):
    """`Adam`; gradients are never sparse here, and for dense ones the two are the same.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.LazyAdam([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """
