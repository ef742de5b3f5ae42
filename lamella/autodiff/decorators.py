"""`custom_vjp` and `custom_jvp`: a derivative rule of the user's for a plain function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..tensors.tensor import wrap
from .integers import results_of, twin_of
from .level import batching, watched
from .node import Rule, attach, pushing_only
from .rules import checked_gradient, rule_name, warn_of_closed_over
from .stop import no_grad
from .tree import check_no_hidden, differentiable, map_tensors, matched, tensors


class _Custom:
    """A function with a derivative of its own.

    Args:
        fn: the function.
        nondiff_argnums: the positions of arguments that it isn't differentiated by, of any type;
            rules take them first.
    """

    def __init__(self, fn: Callable[..., Any], nondiff_argnums: Sequence[int] = ()):
        name = type(self).__name__
        if not callable(fn):
            raise TypeError(f"For '{name}', 'fn' must be a function, but got {type(fn).__name__}.")
        if not all(isinstance(p, int) and not isinstance(p, bool) and p >= 0
                   for p in nondiff_argnums):
            raise ValueError(f"For '{name}', 'nondiff_argnums' must hold positions of arguments, "
                             f"but got {nondiff_argnums!r}.")
        own: Any = self
        functools.update_wrapper(own, fn)
        self.fn = fn
        self.nondiff_argnums = tuple(nondiff_argnums)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        own: Any = self
        return own if owner is None else functools.partial(own, owner)

    def _parts(self, args: tuple) -> tuple[tuple, tuple]:
        """The arguments that rules take first, and those that it is differentiated by."""
        fixed = tuple([args[i] for i in self.nondiff_argnums])
        return fixed, tuple([a for i, a in enumerate(args) if i not in self.nondiff_argnums])

    def _joined(self, fixed: tuple, others: tuple) -> tuple:
        known, rest = dict(zip(self.nondiff_argnums, fixed, strict=True)), iter(others)
        return tuple([known[i] if i in known else next(rest)
                      for i in range(len(known) + len(others))])

    def _checked(self, rules: tuple[Any, ...], define: str) -> None:
        if any(rule is None for rule in rules):
            raise RuntimeError(f"For '{type(self).__name__}', {rule_name(self.fn)} has no rule "
                               f"yet: call its '{define}'.")


def _in_structure(tree: Any, raws: Sequence[torch.Tensor]) -> Any:
    flat = iter(raws)
    return map_tensors(lambda _: wrap(next(flat)), tree)


class custom_vjp(_Custom):  # noqa: N801
    """A function whose reverse-mode derivative the user defines, by `defvjp`.

    Args:
        fn: a function of Tensors, or of structures of them, by position.
        nondiff_argnums: the positions of arguments that it isn't differentiated by, of any type.

    The rule may be differentiated itself, and forward mode is its transpose, as for `Cell.bprop`.

    Raises:
        TypeError: if `fn` is no function.
        RuntimeError: by a differentiated call, if no rule has been defined.

    Examples:
        >>> import lamella as ms
        >>> @ms.custom_vjp
        ... def log1pexp(x):
        ...     return ms.ops.log(1 + ms.ops.exp(x))
        >>> log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, g: (g * ms.ops.sigmoid(x),))
        >>> print(ms.grad(log1pexp)(ms.Tensor(100.0)))
        1.0
    """

    _forward: Callable[..., Any] | None = None
    _backward: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Define the derivative.

        Args:
            fwd: takes the arguments; gives the result, and what `bwd` needs: any structure.
            bwd: takes the arguments of `nondiff_argnums`, what `fwd` kept, and the gradient of the
                result; gives a tuple with a gradient for each other argument, None for zero.
        """
        self._forward, self._backward = fwd, bwd

    def __call__(self, *args: Any) -> Any:
        fixed, others = self._parts(args)
        raws = [t._raw for t in tensors(others)]
        if not watched(raws):
            return self.fn(*args)
        self._checked((self._forward, self._backward), "defvjp")
        forward: Any = self._forward
        backward: Any = self._backward
        label = f"rule {rule_name(backward)}"
        warn_of_closed_over(label, (self.fn, backward), None, ())
        with no_grad():
            inside = _in_structure(others, [raw.detach() for raw in raws])
            out, kept = forward(*self._joined(fixed, inside))
        check_no_hidden("custom_vjp", "the result", out)
        outs = results_of(raws, [t._raw for t in tensors(out)])
        floating = [differentiable(twin_of(raw)) for raw in outs]

        def pull(inputs: Any, found: Any, gradients: Any) -> list[Any]:
            flow = iter(gradients)
            dout = _in_structure(out, [next(flow) if floats else torch.zeros_like(raw)
                                       for raw, floats in zip(outs, floating, strict=True)])
            saved = kept
            if batching() or torch.is_grad_enabled() and any(
                    twin_of(r).requires_grad for r in inputs):
                saved = forward(*self._joined(fixed, _in_structure(others, inputs)))[1]
            return _by_leaf(backward(*fixed, saved, dout), others, inputs, label)

        tied = iter(attach(Rule(label, pull), outs, raws))
        return map_tensors(lambda _: wrap(next(tied)), out)


def _by_leaf(result: Any, arguments: tuple, inputs: Sequence[torch.Tensor], label: str
             ) -> list[torch.Tensor | None]:
    """What a rule returned, for each Tensor among the arguments."""
    if not isinstance(result, (tuple, list)) or len(result) != len(arguments):
        raise ValueError(f"The {label} must return a tuple of {len(arguments)} gradients, one for "
                         f"each argument, but it returned {result!r}.")
    found: list[torch.Tensor | None] = []
    for argument, gradient in zip(arguments, result, strict=True):
        parts = _in_places(argument, gradient, label)
        found += [checked_gradient(part, inputs[len(found) + i], label)
                  for i, part in enumerate(parts)]
    return found


def _in_places(like: Any, given: Any, label: str) -> list[Any]:
    """What a rule returned in the place of each Tensor of a structure."""
    parts = matched(like, given)
    if parts is None:
        raise ValueError(f"The {label} must return the structure of what it is for, a "
                         f"{type(like).__name__}, but it returned {given!r}.")
    return parts


class custom_jvp(_Custom):  # noqa: N801
    """A function whose derivative the user defines as a forward-mode rule, by `defjvp`.

    Reverse mode is its transpose: one rule for both.

    Args:
        fn: a function of Tensors, or of structures of them, by position.
        nondiff_argnums: the positions of arguments that it isn't differentiated by, of any type.

    Raises:
        TypeError: if `fn` is no function.
        RuntimeError: by a differentiated call, if no rule has been defined.

    Examples:
        >>> import lamella as ms
        >>> @ms.custom_jvp
        ... def f(x, y):
        ...     return x * y
        >>> @f.defjvp
        ... def rule(primals, tangents):
        ...     (x, y), (dx, dy) = primals, tangents
        ...     return x * y, 10 * dx * y + x * dy
        >>> print(ms.grad(f)(ms.Tensor(2.0), ms.Tensor(3.0)))
        30.0
    """

    _rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the derivative; usable as a decorator.

        Args:
            rule: takes the arguments of `nondiff_argnums`, a tuple of the others and one of their
                tangents; gives the result and its tangent, which is linear in the tangents.

        Returns:
            `rule`.
        """
        self._rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        fixed, others = self._parts(args)
        raws = [t._raw for t in tensors(others)]
        if not watched(raws):
            return self.fn(*args)
        self._checked((self._rule,), "defjvp")
        chosen: Any = self._rule
        label = f"rule {rule_name(chosen)}"
        warn_of_closed_over(label, (self.fn, chosen), None, ())
        with no_grad():
            out = self.fn(*self._joined(fixed, _in_structure(others, [r.detach() for r in raws])))
        check_no_hidden("custom_jvp", "the result", out)
        outs = results_of(raws, [t._raw for t in tensors(out)])

        def push(inputs: Any, found: Any, tangents: Any) -> list[torch.Tensor]:
            given = [torch.zeros_like(twin_of(raw)) if t is None else t
                     for raw, t in zip(inputs, tangents, strict=True)]
            _, tangent = chosen(*fixed, _in_structure(others, inputs),
                                _in_structure(others, given))
            parts = [checked_gradient(part, raw, label) for part, raw in zip(
                _in_places(out, tangent, label), outs, strict=True)]
            return [torch.zeros_like(raw) if part is None else part
                    for part, raw in zip(parts, map(twin_of, outs), strict=True)
                    if differentiable(raw)]

        forward = Rule(label, _no_pull, push)
        rule = Rule(label, pushing_only(forward).pull, push)
        tied = iter(attach(rule, outs, raws))
        return map_tensors(lambda _: wrap(next(tied)), out)


def _no_pull(inputs: Any, outs: Any, gradients: Any) -> Sequence[Any]:
    raise RuntimeError("For 'custom_jvp', this rule is for forward mode only; it has no gradients.")
