"""Differentiation under its names in `ops`; it lives in `lamella.autodiff`."""

from ..autodiff import (
    GradOperation,
    HookBackward,
    InsertGradientOf,
    get_grad,
    grad,
    stop_gradient,
    value_and_grad,
)

__all__ = ["GradOperation", "HookBackward", "InsertGradientOf", "get_grad", "grad",
           "stop_gradient", "value_and_grad"]
