"""Backward hooks: `InsertGradientOf`, `HookBackward`, `Tensor.register_hook`.

Each is an identity in the forward pass. In the backward pass it calls the user's function with the
gradient and uses what it returns instead.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch.autograd.forward_ad import unpack_dual

from ..core.cuts import depends
from ..core.forking import ReentrantLock
from ..core.primitive import Primitive
from ..core.require import of_type, one_of
from ..core.tape import note_results, only_with_gradients
from ..core.wrappers import functorch
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, tensor_methods, wrap
from ..tensors.views import alias_of
from .integers import carried_by, twin_of
from .level import Level, current, entered, lifted, watched
from .node import Rule, attach
from .rules import checked_gradient, rule_name
from .tree import differentiable, map_tensors, matched, same_structure, tensors


class InsertGradientOf(Primitive):
    """An identity whose gradient passes through the user's function.

    Args:
        f: takes the gradient of the output and returns the gradient of the input: a Tensor of the
            same shape, or a plain number, which stands for the whole gradient. For a tuple, list or
            dict of Tensors it takes and returns such a structure.

    Inputs:
        - **x** - a Tensor, or a tuple, list or dict of Tensors.

    Raises:
        TypeError: if `f` is not callable.

    Examples:
        >>> import lamella as ms
        >>> halve = ms.ops.InsertGradientOf(lambda gradient: gradient / 2)
        >>> print(ms.grad(lambda x: halve(x) ** 2)(ms.Tensor(3.0)))
        3.0
    """

    def __init__(self, f: Callable[[Any], Any]):
        super().__init__("InsertGradientOf")
        if not callable(f):
            raise TypeError(f"For 'InsertGradientOf', 'f' must be a function, "
                            f"but got {type(f).__name__}.")
        self.f = f

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return _with_rule(x, self.f, "InsertGradientOf", numbers=True)
        return _with_structure_rule(x, self.f, "InsertGradientOf")


class HookBackward(Primitive):
    """An identity that calls a function with its gradient, which may replace it.

    Args:
        hook_fn: takes a tuple with the gradient and returns None, or the gradient to use instead.
        cell_id: unused; accepted for MindSpore's sake.

    Examples:
        >>> import lamella as ms
        >>> show = ms.ops.HookBackward(lambda gradient: print("gradient", gradient[0]))
        >>> print(ms.grad(lambda x: show(x * x) * 3)(ms.Tensor(2.0)))
        gradient 3.0
        12.0
    """

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = ""):
        super().__init__("HookBackward")
        if not callable(hook_fn):
            raise TypeError(f"For 'HookBackward', 'hook_fn' must be a function, "
                            f"but got {type(hook_fn).__name__}.")
        self.hook_fn = hook_fn
        self.cell_id = cell_id

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) == 1 and isinstance(inputs[0], Tensor):
            @functools.wraps(self.hook_fn)
            def rule(gradient: Tensor) -> Any:
                return _first(self.hook_fn((gradient,)))

            return _with_rule(inputs[0], rule, "HookBackward")
        return _with_structure_rule(inputs, self.hook_fn, "HookBackward")


class DumpGradient(Primitive):
    """An identity that writes its gradient to a NumPy file.

    Inputs:
        - **path** - the file.
        - **x** - a Tensor.
        - **input_output** - ``"in"`` or ``"out"``; the gradient by the input and by the output of
          an identity are one.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "gradient.npy")
        >>> dump = ms.ops.DumpGradient()
        >>> gradient = ms.grad(lambda x: dump(path, x, "out") * 3)(ms.Tensor(2.0))
        >>> print(np.load(path))
        3.0
    """

    def __init__(self):
        super().__init__("DumpGradient")

    def __call__(self, path: str, x: Tensor, input_output: str) -> Tensor:
        of_type(path, (str, os.PathLike), "path", "DumpGradient")
        one_of(input_output, ("in", "out"), "input_output", "DumpGradient")

        def dump(gradient: Tensor) -> None:
            np.save(path, gradient.asnumpy())

        return _with_rule(x, dump, "DumpGradient")


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result


def raw_hook(rule: Callable[[Tensor], Any], name: str, level: Level | None,
             constant_for: torch.Tensor | None = None) -> Callable[[torch.Tensor], Any]:
    """A PyTorch hook that calls `rule` in the level around the gradient call and checks its result.

    `constant_for` is the alias whose whole gradient a plain number returned by `rule` would be.
    """
    # not `level` itself: its overlay holds the alias that may hold this hook, a cycle
    outer, constants = (None, None) if level is None else (level.outer, level.constants)
    while level is not None:
        level.hooks += 1
        level = level.outer

    def hook(gradient: torch.Tensor | None) -> torch.Tensor | None:
        if gradient is None:  # what uses the tensor isn't differentiated
            return None
        with entered(outer):
            result = rule(wrap(gradient))
        if result is None:
            return None
        if (constant_for is not None and constants is not None
                and isinstance(result, (int, float))):
            constants[id(constant_for)] = (constant_for, result)
        return checked_gradient(result, gradient, name)

    hook.__qualname__ = name  # the name in reports of `inspect_gradients`
    hook.__dict__["__wrapped__"] = rule
    return hook


def attached_hook(raw: torch.Tensor, rule: Callable[[Tensor], Any], name: str) -> torch.Tensor:
    """The tensor, with `rule` on its gradient in a form for any transformation."""
    def pull(inputs: Any, outs: Any, gradients: Any) -> list[torch.Tensor]:
        result = rule(wrap(gradients[0]))
        return [gradients[0] if result is None
                else cast(torch.Tensor, checked_gradient(result, gradients[0], name))]

    carrier = twin_of(raw)
    if not differentiable(carrier):
        return raw
    return carried_by(attach(Rule(name, pull), [carrier], [carrier])[0], raw)


def with_hooks(raw: torch.Tensor, hooks: Iterable[Callable[[Tensor], Any]]) -> torch.Tensor:
    """The tensor, with hooks on its gradient, which they see in their order, as attached ones."""
    for hook in reversed([*hooks]):
        raw = attached_hook(raw, hook, f"hook {rule_name(hook)}")
    return raw


def _with_rule(x: Tensor, rule: Callable[[Tensor], Any], name: str,
               numbers: bool = False) -> Tensor:
    raw = twin_of(x._raw)
    if not watched((raw,)):
        return wrap(x._raw) if isinstance(x, Parameter) else x
    label = f"{name} rule {rule_name(rule)}"
    if lifted():
        return wrap(attached_hook(x._raw, rule, label))
    out = alias_of(raw)
    out.register_hook(raw_hook(rule, label, current(), raw if numbers else None))
    return wrap(carried_by(out, x._raw))


class _StructureRule(torch.autograd.Function):
    """An identity on several tensors whose gradients pass through one rule together."""

    @staticmethod
    def forward(ctx: Any, rule: Any, name: str, tree: Any, *raws: torch.Tensor):
        ctx.rule, ctx.name, ctx.tree, ctx.level = rule, name, tree, current()
        note_results(ctx, raws)
        return tuple(raw.view_as(raw) for raw in raws)

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: torch.Tensor):  # type: ignore[override]
        incoming = iter(gradients)
        given = map_tensors(lambda _: wrap(next(incoming)), ctx.tree)
        with entered(None if ctx.level is None else ctx.level.outer):
            result = ctx.rule(given)
        return (None, None, None, *_checked_structure(
            result, given, gradients, f"{ctx.name} rule {rule_name(ctx.rule)}"))


def _checked_structure(result: Any, given: Any, gradients: Sequence[torch.Tensor],
                       name: str) -> Sequence[torch.Tensor | None]:
    """What a rule for a structure of gradients returned, for each of them."""
    if result is None:
        return gradients
    found = matched(given, result) if same_structure(given, result) else None
    if found is None:
        raise ValueError(f"The {name} must return gradients in the structure it was given, "
                         f"{_shape_of(given)}, but it returned {_shape_of(result)}.")
    return [checked_gradient(value, gradient, name)
            for value, gradient in zip(found, gradients, strict=True)]


def _attached_structure(tree: Any, leaves: list[Tensor], rule: Callable[[Any], Any],
                        name: str) -> Any:
    """As `_StructureRule`, in a form for any transformation."""
    label = f"{name} rule {rule_name(rule)}"
    raws = [twin_of(leaf._raw) for leaf in leaves]
    floating = [differentiable(raw) for raw in raws]

    def pull(inputs: Any, outs: Any, gradients: Any) -> Sequence[torch.Tensor | None]:
        flow = iter(gradients)
        every = [next(flow) if s else torch.zeros_like(i)
                 for i, s in zip(inputs, floating, strict=True)]
        flat = iter(every)
        given = map_tensors(lambda _: wrap(next(flat)), tree)
        return _checked_structure(rule(given), given, every, label)

    outs = iter(attach(Rule(label, pull), raws, raws))
    return map_tensors(lambda leaf: wrap(carried_by(next(outs), leaf._raw)), tree)


def raw_structure_rule(values: tuple[Tensor, ...], rule: Callable[[tuple], Any], name: str,
                       written: Callable[..., Any]) -> tuple[Tensor, ...]:
    """Tensors whose gradients pass together through `rule`, made from the function `written`."""

    @functools.wraps(written)
    def labelled(gradients: tuple) -> Any:
        return rule(gradients)

    return _with_structure_rule(values, labelled, name)


def _with_structure_rule(tree: Any, rule: Callable[[Any], Any], name: str) -> Any:
    leaves = list(tensors(tree))
    if not leaves:
        raise TypeError(f"For '{name}', the input must be a Tensor or hold Tensors, "
                        f"but got {type(tree).__name__}.")
    if lifted():
        return _attached_structure(tree, leaves, rule, name) if watched(()) else tree
    raws = [twin_of(leaf._raw) for leaf in leaves]
    if not any(raw.requires_grad for raw in raws):
        return tree
    outs = iter(_StructureRule.apply(rule, name, tree, *raws))
    return map_tensors(lambda leaf: wrap(carried_by(next(outs), leaf._raw)), tree)


def _shape_of(tree: Any) -> str:
    if isinstance(tree, (tuple, list)):
        return f"{type(tree).__name__} of {len(tree)}"
    if isinstance(tree, dict):
        return f"dict with keys {list(tree)}"
    return type(tree).__name__


class HookHandle:
    """The handle of a registered hook; `remove` removes the hook."""

    _count = 0

    def __init__(self, raw_handle: Any = None, undo: Callable[[], None] | None = None):
        HookHandle._count += 1
        self.handle_id = HookHandle._count
        self._raw_handle = raw_handle
        self._undo = undo

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._raw_handle is not None:
            self._raw_handle.remove()
        if self._undo is not None:
            self._undo()
            self._undo = None


_changing = ReentrantLock()  # the places where hooks are kept


def add_hook(own: dict[str, Any], path: tuple[str, ...], hook: Any, prepend: bool = False
             ) -> HookHandle:
    """Keep a hook among an object's attributes, under the names in `path`.

    Nothing is left there when all are removed, and one that is added again is kept as before: so
    compiled functions take an object for the same again.
    """
    around: list[dict] = [own]
    with _changing:
        for name in path:
            around.append(around[-1].setdefault(name, OrderedDict()))
        hooks: Any = around[-1]
        number = max(hooks, default=0) + 1
        hooks[number] = hook
        if prepend:
            hooks.move_to_end(number, last=False)

    def undo() -> None:
        with _changing:
            hooks.pop(number, None)
            for name, holder, held in zip(path[::-1], around[-2::-1], around[:0:-1], strict=True):
                if not held and holder.get(name) is held:
                    del holder[name]

    return HookHandle(undo=undo)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """Call `hook` with the tensor's gradient whenever one is computed.

    Args:
        hook: takes the gradient and returns None, or the gradient to use instead.

    Returns:
        A handle whose `remove` takes the hook away.

    Raises:
        TypeError: if `hook` is not callable.

    Examples:
        >>> import lamella as ms
        >>> def double(x):
        ...     y = x * 3
        ...     y.register_hook(lambda gradient: gradient * 2)
        ...     return y
        >>> print(ms.grad(double)(ms.Tensor(1.0)))
        6.0
    """
    if not callable(hook):
        raise TypeError(f"For 'register_hook', 'hook' must be a function, "
                        f"but got {type(hook).__name__}.")
    raw = twin_of(self._raw)
    if isinstance(self, Parameter):
        return add_hook(self.__dict__, ("_hooks",), hook)
    if lifted() and _depends(raw):
        return _hook_later_uses(self, hook)
    if raw.requires_grad:
        alias: Any = raw
        if hasattr(alias, "root"):  # an argument of a function that is being recorded: the
            alias.is_hooked = True      # gradient of all its uses arrives at what it stands for
            raw = alias.root
        return HookHandle(raw_handle=raw.register_hook(
            raw_hook(hook, f"hook {rule_name(hook)}", current())))
    # an input, by which a later gradient call may differentiate
    return add_hook(self.__dict__, ("_hooks",), hook)


def _hooks(self: Tensor) -> list[Callable[[Tensor], Any]]:
    """The functions that `register_hook` was given for this Tensor, in their order.

    Examples:
        >>> import lamella as ms
        >>> weight = ms.Parameter(ms.Tensor([1.0]), name="weight")
        >>> handle = weight.register_hook(abs)
        >>> weight.hooks()
        [<built-in function abs>]
        >>> handle.remove()
        >>> weight.hooks()
        []
    """
    return list(self.__dict__.get("_hooks", {}).values())


def _depends(raw: torch.Tensor) -> bool:
    """Whether a raw tensor depends on the inputs of a running transformation."""
    if raw.requires_grad or functorch.is_functorch_wrapped_tensor(raw):
        return True
    level = current()
    return level is not None and level.forward and unpack_dual(raw).tangent is not None


def varies(raw: torch.Tensor) -> bool:
    """Whether any running transformation differentiates by inputs that a raw tensor depends on."""
    return depends(raw, current())


def _hook_later_uses(tensor: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """A hook, inside transformations, on the gradient of later uses of the tensor only."""
    before, hooks = getattr(tensor._raw, "hooked", (tensor._raw, {}))
    number = object()
    hooks[number] = hook

    def attach_all() -> None:
        raw: Any = with_hooks(before, hooks.values())
        if raw is not before:
            raw.hooked = before, hooks
        tensor._raw = raw

    def undo() -> None:
        del hooks[number]
        if getattr(tensor._raw, "hooked", (None, None))[1] is hooks:  # it has the value as it was
            attach_all()

    attach_all()
    return HookHandle(undo=undo)


tensor_methods(hooks=_hooks, register_hook=_register_hook)


def _parameter_hook(self: Parameter, hook_fn: Callable[[Tensor], Any]) -> HookHandle:
    """As `Tensor.register_hook`."""
    return _register_hook(self, hook_fn)


Parameter.register_hook = _parameter_hook  # type: ignore[method-assign]
