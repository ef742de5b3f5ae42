"""Lazy Adam."""

from __future__ import annotations

from .adam import AdamOffload
from .settings import opt_init_args_register


class LazyAdam(AdamOffload):
    """`Adam`; gradients are never sparse here, and for dense ones the two are the same.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.LazyAdam([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """

    __init__ = opt_init_args_register(AdamOffload.__init__)  # which keeps none itself, as in 2.10
