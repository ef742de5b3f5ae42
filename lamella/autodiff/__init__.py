"""Differentiation: reverse mode, and the rules that bend gradients."""

from .custom import _Function, once_differentiable
from .hooks import DumpGradient, HookBackward, HookHandle, InsertGradientOf
from .reverse import GradOperation, get_grad, grad, value_and_grad
from .saved import register_saved_tensors_hooks, saved_tensors_hooks
from .stop import StopGradient, enable_grad, no_grad, stop_gradient, stop_gradient_
