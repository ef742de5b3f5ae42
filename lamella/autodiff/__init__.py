"""Differentiation: reverse and forward mode, vectorization, and the user's gradient rules."""

from . import by_example, power
from .decorators import custom_jvp, custom_vjp
from .equations import custom_linear_solve, implicit
from .forward import jvp, linearize
from .function import _Function, once_differentiable
from .hooks import DumpGradient, HookBackward, HookHandle, InsertGradientOf
from .jacobian import hessian, jacfwd, jacrev
from .products import gnvp, hvp, linear_transpose
from .pullback import vjp
from .recompute import recompute
from .reverse import GradOperation, get_grad, grad, value_and_grad
from .saved import register_saved_tensors_hooks, saved_tensors_hooks
from .stop import StopGradient, enable_grad, no_grad, stop_gradient, stop_gradient_
from .taylor import derivative, jet
from .vmap import vmap
