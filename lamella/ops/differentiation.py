"""The names of differentiation in `ops`; the functions are in `lamella.autodiff`."""

from ..autodiff import (
    DumpGradient,
    GradOperation,
    HookBackward,
    InsertGradientOf,
    StopGradient,
    derivative,
    get_grad,
    grad,
    jacfwd,
    jacrev,
    jet,
    jvp,
    linearize,
    stop_gradient,
    stop_gradient_,
    value_and_grad,
    vjp,
    vmap,
)

__all__ = ["DumpGradient", "GradOperation", "HookBackward", "InsertGradientOf", "StopGradient",
           "derivative", "get_grad", "grad", "jacfwd", "jacrev", "jet", "jvp", "linearize",
           "stop_gradient", "stop_gradient_", "value_and_grad", "vjp", "vmap"]
