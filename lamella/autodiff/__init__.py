"""Differentiation: reverse mode, and the rules that bend gradients."""

from .custom import _Function, once_differentiable
from .hooks import HookBackward, HookHandle, InsertGradientOf
from .reverse import GradOperation, get_grad, grad, value_and_grad
from .stop import enable_grad, no_grad, stop_gradient
