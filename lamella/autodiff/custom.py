"""Backward rules of the user's: `Cell.bprop`, and `_Function` with its own forward and backward.

Either becomes one node on PyTorch's tape. The forward code runs unrecorded; the rule's own
operations are recorded when a higher derivative needs them, with the inputs and outputs still
connected.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from ..parameter import Parameter
from ..tensor import Tensor, wrap
from .level import current, entered
from .rules import checked_gradient, rule_name
from .tree import map_tensors, same_structure, tensors


def call_with_bprop(cell: Any, args: tuple, kwargs: dict) -> Any:
    """Call `cell.construct`, with `cell.bprop` as its backward rule if a gradient is recorded."""
    level = current()
    parameters: list[Parameter] = []
    if level is not None and level.overlay:
        parameters = [p for p in cell.get_parameters() if p in level.overlay]
    raws = [t._raw for t in tensors((args, kwargs))] + [p._raw for p in parameters]
    if not torch.is_grad_enabled() or not any(raw.requires_grad for raw in raws):
        return cell.construct(*args, **kwargs)
    call = _BpropCall(cell, args, kwargs, parameters)
    outs = iter(_Bprop.apply(call, *raws))
    return map_tensors(lambda _: wrap(next(outs)), call.out_tree)


class _BpropCall:
    """One call of a Cell with a bprop: which arguments the rule gets, and in what structure."""

    def __init__(self, cell: Any, args: tuple, kwargs: dict, parameters: list[Parameter]):
        self.cell, self.args, self.kwargs, self.parameters = cell, args, kwargs, parameters
        self.level = current()
        self.out_tree: Any = None
        self.names, self.keywords = _bprop_arguments(cell, args, kwargs)

    @property
    def rule(self) -> str:
        return f"bprop {rule_name(self.cell.bprop)} of {type(self.cell).__name__}"

    def arguments(self, leaves: list[torch.Tensor]) -> dict[str, Any]:
        """The call's arguments by name, made of these raw tensors."""
        flat = iter(leaves)
        args, kwargs = map_tensors(lambda _: wrap(next(flat)), (self.args, self.kwargs))
        bound = inspect.signature(self.cell.construct).bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        for name, parameter in inspect.signature(self.cell.construct).parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                named.update({f"*{i}": value for i, value in enumerate(named.pop(name))})
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(named.pop(name))
        return named


def _bprop_arguments(cell: Any, args: tuple, kwargs: dict) -> tuple[list[str], list[str]]:
    """The names of construct's arguments that bprop takes by position, and by keyword.

    Raises:
        TypeError: if the two signatures don't fit.
    """
    construct = inspect.signature(cell.construct)
    bprop = inspect.signature(cell.bprop).parameters.values()
    bound = construct.bind(*args, **kwargs)
    keywords = [p.name for p in bprop if p.kind is p.KEYWORD_ONLY]
    given: list[str] = []
    every: list[str] = []
    for name, parameter in construct.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            extra = [f"*{i}" for i in range(len(bound.arguments.get(name, ())))]
            given += extra
            every += extra
        elif parameter.kind is not parameter.VAR_KEYWORD and name not in keywords:
            every.append(name)
            if name in bound.arguments:
                given.append(name)
    places = [p for p in bprop if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in bprop):
        return given, keywords
    for names in (given, every):
        if len(places) == len(names) + 2:
            return names, keywords
    raise TypeError(f"The bprop {rule_name(cell.bprop)} of {type(cell).__name__} takes "
                    f"{len(places)} arguments, but must take the {len(given)} inputs of construct "
                    f"({', '.join(given)}), then 'out' and 'dout': {len(given) + 2}.")


class _Bprop(torch.autograd.Function):
    """A Cell's construct going forward, its bprop on the way back."""

    @staticmethod
    def forward(ctx: Any, call: _BpropCall, *raws: torch.Tensor):
        flat = iter(raws)
        args, kwargs = map_tensors(lambda _: wrap(next(flat).detach()), (call.args, call.kwargs))
        out = call.cell.construct(*args, **kwargs)
        call.out_tree = out
        outs = [t._raw.detach() for t in tensors(out)]
        ctx.call, ctx.inputs = call, len(raws)
        ctx.mark_non_differentiable(
            *(o for o in outs if not (o.is_floating_point() or o.is_complex())))
        ctx.save_for_backward(*raws, *outs)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor):  # type: ignore[override]
        call: _BpropCall = ctx.call
        saved = list(ctx.saved_tensors)
        count = ctx.inputs - len(call.parameters)
        named = call.arguments(saved[:count])
        outs, douts = iter(saved[ctx.inputs:]), iter(gradients)
        out = map_tensors(lambda _: wrap(next(outs)), call.out_tree)
        dout = map_tensors(lambda _: wrap(next(douts)), call.out_tree)
        level = call.level
        with entered(None if level is None else level.outer):
            result = call.cell.bprop(*(named[n] for n in call.names), out, dout,
                                     **{n: named[n] for n in call.keywords if n in named})
        needed = ctx.needs_input_grad[1:]
        by_name, by_parameter = _split_result(call, result)
        found: list[torch.Tensor | None] = []
        for name in _leaf_names(call):
            raw = saved[len(found)]
            found.append(_input_gradient(call, by_name, name, raw, needed[len(found)], level))
        for parameter, raw in zip(call.parameters, saved[count:ctx.inputs], strict=True):
            found.append(checked_gradient(by_parameter.get(id(parameter)), raw, call.rule))
        return (None, *found)


def _leaf_names(call: _BpropCall) -> list[tuple[str, int]]:
    """For each Tensor among the call's arguments, its argument's name and its place inside it."""
    parameters = inspect.signature(call.cell.construct).parameters.values()
    positional = [p.name for p in parameters
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    extra = [f"*{i}" for i in range(len(call.args) - len(positional))]
    arguments = [*zip(positional + extra, call.args, strict=False), *call.kwargs.items()]
    return [(name, place) for name, value in arguments
            for place, _ in enumerate(tensors(value))]


def _split_result(call: _BpropCall, result: Any) -> tuple[dict[str, Any], dict[int, Any]]:
    """What a bprop returned, as gradients by argument name and by id of a Parameter."""
    by_parameter: dict[int, Any] = {}
    values = list(result) if isinstance(result, (tuple, list)) else [result]
    if values and isinstance(values[-1], dict):
        by_parameter = _parameter_gradients(call, values.pop())
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = list(values[0])
    elif (len(values) == 1 and isinstance(values[0], (tuple, list)) and len(call.names) != 1):
        values = list(values[0])
    if len(values) > len(call.names):
        if len(call.names) == 1 and not isinstance(values[0], (tuple, list)) and len(
                list(tensors(call.args))) == len(values):
            values = [tuple(values)]
        else:
            raise ValueError(f"The {call.rule} must return at most {len(call.names)} gradients, "
                             f"one for each input, but it returned {len(values)}.")
    return dict(zip(call.names, values, strict=False)), by_parameter


def _parameter_gradients(call: _BpropCall, given: dict) -> dict[int, Any]:
    known = {p.name: p for p in call.cell.get_parameters()}
    found = {}
    for key, value in given.items():
        parameter = known.get(key) if isinstance(key, str) else key
        if not isinstance(parameter, Parameter):
            raise ValueError(f"The {call.rule} returned a gradient for {key!r}, which is no "
                             f"Parameter of the Cell; it has {sorted(known)}.")
        found[id(parameter)] = value
    return found


def _input_gradient(call: _BpropCall, by_name: dict[str, Any], leaf: tuple[str, int],
                    raw: torch.Tensor, needed: bool, level: Any) -> torch.Tensor | None:
    name, place = leaf
    if not needed:
        return None
    if name not in by_name:
        if name in call.names:
            raise ValueError(f"The {call.rule} must return a gradient for input '{name}' "
                             f"(None for zero), but it returned {len(by_name)} for "
                             f"{len(call.names)} inputs.")
        return None
    value = by_name[name]
    if isinstance(value, (tuple, list, dict)):
        named = call.arguments([raw] * sum(1 for _ in tensors((call.args, call.kwargs))))
        if not same_structure(named[name], value):
            raise ValueError(f"The {call.rule} must return the gradient of input '{name}' in the "
                             f"structure of that input, but it returned a {type(value).__name__}.")
        value = _leaf(value, place)
    if level is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        level.constants[id(raw)] = (raw, value)
    return checked_gradient(value, raw, call.rule)


def _leaf(tree: Any, place: int) -> Any:
    """Leaf number `place` of a structure, None and numbers counting as leaves."""
    leaves: list[Any] = []

    def collect(branch: Any) -> None:
        if isinstance(branch, (tuple, list)):
            for inner in branch:
                collect(inner)
        elif isinstance(branch, dict):
            for inner in branch.values():
                collect(inner)
        else:
            leaves.append(branch)

    collect(tree)
    return leaves[place]


class _Function:
    """A function with a backward rule of its own; subclass it and call `apply`.

    ``forward(ctx, *args)`` computes the outputs and may keep tensors with ``ctx.save_for_backward``
    or as attributes of `ctx`; ``backward(ctx, *grads)`` takes a gradient for each output and
    returns one for each input of `forward`, None where there is none.

    Examples:
        >>> import lamella as ms
        >>> class Square(ms._Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         x, = ctx.saved_tensors
        ...         return 10 * x * grad
        >>> print(ms.grad(Square.apply)(ms.Tensor(3.0)))
        30.0
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be defined by the subclass."""
        raise NotImplementedError("A subclass of _Function must define 'forward'.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Compute the inputs' gradients; to be defined by the subclass."""
        raise NotImplementedError("A subclass of _Function must define 'backward'.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function, with its rule recorded where a gradient is."""
        call = _FunctionCall(cls, args, kwargs)
        raws = [t._raw for t in tensors(args)]
        outs = iter(_UserFunction.apply(call, *raws))
        return map_tensors(lambda _: wrap(next(outs)), call.out_tree)


class FunctionContext:
    """The `ctx` of a `_Function`: keeps what backward needs."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple[Any, ...] = ()
        self.saved_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.dirty: tuple[Any, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *values: Any) -> None:
        """Keep Tensors (or None) for backward, as `saved_tensors`."""
        self.to_save = values

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self.non_differentiable = outputs

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Say that `forward` changed these inputs in place."""
        self.dirty = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether an output without gradient hands backward zeros (else None)."""
        self.materialize_grads = value


class _FunctionCall:
    def __init__(self, cls: type[_Function], args: tuple, kwargs: dict):
        self.cls, self.args, self.kwargs = cls, args, kwargs
        self.level = current()
        self.out_tree: Any = None


class _UserFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _FunctionCall, *raws: torch.Tensor):
        flat = iter(raws)
        args = map_tensors(lambda _: wrap(next(flat)), call.args)
        needs = iter(ctx.needs_input_grad[1:])
        own = ctx.own = FunctionContext(tuple(
            any([next(needs) for _ in tensors(arg)]) for arg in args))
        call.out_tree = call.cls.forward(own, *args, **call.kwargs)
        ctx.call = call
        ctx.set_materialize_grads(own.materialize_grads)
        kept = [t for t in own.to_save]
        ctx.kept = [None if isinstance(t, Tensor) else (t,) for t in kept]
        ctx.save_for_backward(*(t._raw for t in kept if isinstance(t, Tensor)))
        outs = tuple(t._raw for t in tensors(call.out_tree))
        if own.dirty:
            ctx.mark_dirty(*(t._raw for t in own.dirty))
        ctx.mark_non_differentiable(
            *(t._raw for t in own.non_differentiable),
            *(o for o in outs if not (o.is_floating_point() or o.is_complex())))
        return outs

    @staticmethod
    def backward(ctx: Any, *gradients: Any):  # type: ignore[override]
        call: _FunctionCall = ctx.call
        own: FunctionContext = ctx.own
        saved = iter(ctx.saved_tensors)
        own.saved_tensors = tuple(wrap(next(saved)) if k is None else k[0] for k in ctx.kept)
        given = [None if g is None else wrap(g) for g in gradients]
        with entered(None if call.level is None else call.level.outer):
            result = call.cls.backward(own, *given)
        values = list(result) if isinstance(result, (tuple, list)) else [result]
        label = f"backward {rule_name(call.cls.backward)}"
        if len(values) != len(call.args):
            raise ValueError(f"The {label} must return {len(call.args)} gradients, one for each "
                             f"input of forward, but it returned {len(values)}.")
        found: list[Any] = []
        for arg, value in zip(call.args, values, strict=True):
            for place, leaf in enumerate(tensors(arg)):
                part = _leaf(value, place) if isinstance(value, (tuple, list, dict)) else value
                found.append(checked_gradient(part, leaf._raw, label))
        return (None, *found)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `_Function.backward` as having no derivative of its own: it runs unrecorded."""

    def backward(ctx: Any, *grads: Any) -> Any:
        with torch.no_grad():
            return function(ctx, *grads)

    return backward
