"""Special functions of `mint`."""

from __future__ import annotations

from .. import ops
from ..core.adapters import adapted
from ..ops import erfc, exp2, expm1, log1p, sinc
from .nn.functional import log_softmax

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]

round = adapted(ops.round, "input")
