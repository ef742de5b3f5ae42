"""`ops._grad_experimental.grad_base`: gradients that a program registers for Primitive classes.

A registered rule counts for every object of the class from then on, those that exist already
included. MindSpore 2.10 asks for it only where its kernels have no gradient of their own; older
versions always did, as is done here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autodiff.custom import call_with_bprop
from .custom import Ruled
from .primitive import Primitive

__all__ = ["BpropRegistry", "bprop_getters", "bprops", "get_bprop_fn"]


class BpropRegistry(dict[Any, Callable[..., Any]]):
    """Backward rules by the Primitive class that they are for, or its name.

    Args:
        rule_of: gives the backward rule of one Primitive, from what was registered and the
            Primitive. The rule takes the inputs, the result and its gradient, and returns the
            gradients of the inputs.

    Examples:
        >>> import lamella as ms
        >>> class Step(ms.ops.Primitive):
        ...     def __init__(self):
        ...         super().__init__("Step")
        ...     def __call__(self, x):
        ...         return (x > 0).float()
        >>> @bprop_getters.register(Step)
        ... def straight_through(self):
        ...     return lambda x, out, dout: (dout,)
        >>> print(ms.grad(lambda x: Step()(x).sum())(ms.Tensor([-1.0, 2.0])))
        [1. 1.]
    """

    def __init__(self, rule_of: Callable[[Callable[..., Any], Any], Callable[..., Any]]):
        super().__init__()
        self.rule_of = rule_of

    def register(self, prim: type[Primitive] | str) -> Callable[[Callable[..., Any]], Any]:
        """A decorator that registers a rule for a Primitive class, or under a name.

        Raises:
            TypeError: if `prim` is neither.
        """
        if not isinstance(prim, str) and not (
                isinstance(prim, type) and issubclass(prim, Primitive)):
            raise TypeError(f"For 'register', 'prim' must be a Primitive class or a name, "
                            f"but got {prim!r}.")

        def registered(rule: Callable[..., Any]) -> Callable[..., Any]:
            self[prim if isinstance(prim, str) else prim.__name__] = rule
            if not isinstance(prim, str):
                self[prim] = rule
                _follow_rule(prim, rule, self.rule_of)
            return rule

        return registered


def _follow_rule(prim: type[Primitive], rule: Callable[..., Any],
                 rule_of: Callable[[Callable[..., Any], Any], Callable[..., Any]]) -> None:
    compute = prim.__call__
    compute = getattr(compute, "__without_rule__", compute)

    @functools.wraps(compute)
    def call(self: Any, *inputs: Any) -> Any:
        forward = functools.partial(compute, self)
        return call_with_bprop(Ruled(forward, rule_of(rule, self)), inputs, {})

    call.__dict__["__without_rule__"] = compute
    prim.__call__ = call


bprop_getters = BpropRegistry(lambda getter, prim: getter(prim))  # of functions that make the rule
bprops = BpropRegistry(lambda rule, prim: rule)                   # of the rules themselves


def get_bprop_fn(prim: Any, get_closure: bool = False) -> Callable[..., Any] | None:
    """The backward rule that was registered for a Primitive, its class or its name; None if none.

    Args:
        prim: the Primitive, its class, or its name.
        get_closure: give what was registered in `bprop_getters` itself.

    Examples:
        >>> get_bprop_fn("NoSuchPrimitive") is None
        True
    """
    key = type(prim) if isinstance(prim, Primitive) else prim
    getter = bprop_getters.get(key)
    if getter is None:
        return bprops.get(key)
    return getter if get_closure else getter(prim)
