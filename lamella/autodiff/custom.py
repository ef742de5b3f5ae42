"""The user's backward rules of Cells: `Cell.bprop`.

A call of such a Cell becomes one node on PyTorch's tape. The forward code runs unrecorded; the
rule's own operations are recorded when a higher derivative needs them, with the inputs and outputs
still connected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ..core.spreading import spreading
from ..core.state import state
from ..core.structures import kind_of
from ..core.tape import note_results, only_with_gradients
from ..tensors.parameter import Parameter
from ..tensors.tensor import wrap
from .integers import have_twins, results_of, twin_of
from .level import current, entered, lifted, watched
from .node import Rule, attach, pushing_only
from .rules import checked_gradient, rule_name, signature_of, warn_of_closed_over
from .stop import no_grad
from .tree import (
    check_no_hidden,
    differentiable,
    map_tensors,
    matched,
    tensors,
)


def has_rule(cell: Any) -> bool:
    """Whether a Cell has a derivative of the user's: a method `bprop` or `jvp`."""
    return hasattr(cell, "bprop") or callable(getattr(type(cell), "jvp", None))


def call_with_bprop(cell: Any, args: tuple, kwargs: dict) -> Any:
    """Call `cell.construct`, with the Cell's own rules if a gradient is recorded."""
    overlay = state.overlay
    parameters: list[Parameter] = []
    if overlay:
        parameters = [p for p in cell.get_parameters() if p in overlay]
    raws = [t._raw for t in tensors((args, kwargs))] + [p._raw for p in parameters]
    if not watched(raws):
        return cell.construct(*args, **kwargs)
    call = _BpropCall(cell, args, kwargs, parameters)
    extended = lifted()
    rules = [getattr(cell, name) for name in ("construct", "bprop", "jvp") if hasattr(cell, name)]
    warn_of_closed_over(call.rule, rules, None if extended else cell,
                        {id(p) for p in parameters})
    if extended or call.by_jvp or have_twins(raws):
        return _attached_bprop(call, raws)
    outs = iter(_Bprop.apply(call, *raws))
    return map_tensors(lambda _: wrap(next(outs)), call.out_tree)


class _BpropCall:
    """One call of a Cell with a bprop: which arguments the rule gets, and in what structure."""

    def __init__(self, cell: Any, args: tuple, kwargs: dict, parameters: list[Parameter]):
        self.cell, self.args, self.kwargs, self.parameters = cell, args, kwargs, parameters
        self.level = current()
        self.out_tree: Any = None
        self.by_jvp = not hasattr(cell, "bprop")
        self.names, self.keywords = _bprop_arguments(cell, args, kwargs)

    @property
    def rule(self) -> str:
        name = "jvp" if self.by_jvp else "bprop"
        return f"{name} {rule_name(getattr(self.cell, name))} of {type(self.cell).__name__}"

    def arguments(self, leaves: Sequence[torch.Tensor]) -> dict[str, Any]:
        """The call's arguments by name, made of these raw tensors."""
        flat = iter(leaves)
        args, kwargs = map_tensors(lambda _: wrap(next(flat)), (self.args, self.kwargs))
        bound = signature_of(self.cell.construct).bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        for name, parameter in signature_of(self.cell.construct).parameters.items():
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
    construct = signature_of(cell.construct)
    rule = "bprop" if hasattr(cell, "bprop") else "jvp"
    bprop = signature_of(getattr(cell, rule)).parameters.values()
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
    positional = [p for p in bprop if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in bprop):
        return given, keywords
    for names in (given, every):
        if len(positional) == len(names) + 2:
            return names, keywords
    last = "dout" if rule == "bprop" else "dinputs"
    raise TypeError(f"The {rule} {rule_name(getattr(cell, rule))} of {type(cell).__name__} takes "
                    f"{len(positional)} arguments, but must take the {len(given)} inputs of "
                    f"construct ({', '.join(given)}), then 'out' and '{last}': {len(given) + 2}.")


class _Bprop(torch.autograd.Function):
    """A Cell's construct in the forward pass, its bprop in the backward pass."""

    @staticmethod
    def forward(ctx: Any, call: _BpropCall, *raws: torch.Tensor):
        flat = iter(raws)
        args, kwargs = map_tensors(lambda _: wrap(next(flat).detach()), (call.args, call.kwargs))
        out = call.cell.construct(*args, **kwargs)
        check_no_hidden(type(call.cell).__name__, "the result of 'construct'", out)
        call.out_tree = out
        outs = [t._raw.detach() for t in tensors(out)]
        ctx.call, ctx.inputs = call, len(raws)
        ctx.mark_non_differentiable(
            *(o for o in outs if not differentiable(o)))
        ctx.save_for_backward(*raws, *outs)
        note_results(ctx, outs)
        return tuple(outs)

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: torch.Tensor):  # type: ignore[override]
        call: _BpropCall = ctx.call
        saved = ctx.saved_tensors
        level = call.level
        with entered(None if level is None else level.outer):
            return (None, *_pulled(call, saved[:ctx.inputs], saved[ctx.inputs:], gradients,
                                   ctx.needs_input_grad[1:]))


def _pulled(call: _BpropCall, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor],
            gradients: Sequence[torch.Tensor], needed: Sequence[bool]) -> list[Any]:
    """The gradients by the Cell's bprop for each input that needs one, Parameters last."""
    count = len(inputs) - len(call.parameters)
    named = call.arguments(inputs[:count])
    gradients = spreading().shares(call.cell, gradients, outs)
    out, dout = in_structure(call.out_tree, outs), in_structure(call.out_tree, gradients)
    with with_values(call.parameters, inputs[count:]):
        result = call.cell.bprop(*(named[n] for n in call.names), out, dout,
                                 **{n: named[n] for n in call.keywords if n in named})
    by_name, by_parameter = _split_result(call, result)
    found: list[torch.Tensor | None] = []
    for name in _leaf_names(call):
        index = len(found)
        found.append(_input_gradient(call, by_name, name, inputs[index], needed[index]))
    for parameter, raw in zip(call.parameters, inputs[count:], strict=True):
        found.append(checked_gradient(by_parameter.get(id(parameter)), raw, call.rule))
    return spreading().wholes_of_shares(call.cell, found, inputs)


@contextmanager
def with_values(parameters: Sequence[Parameter], raws: Sequence[torch.Tensor]) -> Iterator[None]:
    """A block in which Parameters have these values."""
    before = state.overlay
    if parameters:
        state.overlay = {**(before or {}), **dict(zip(parameters, raws, strict=True))}
    try:
        yield
    finally:
        state.overlay = before


def in_structure(tree: Any, raws: Sequence[torch.Tensor]) -> Any:
    flat = iter(raws)
    return map_tensors(lambda _: wrap(next(flat)), tree)


def _attached_bprop(call: _BpropCall, raws: list[torch.Tensor]) -> Any:
    """The Cell's outputs, tied to its inputs by its bprop in a form for any transformation."""
    args, kwargs = in_structure((call.args, call.kwargs), [raw.detach() for raw in raws])
    with no_grad():
        call.out_tree = out = call.cell.construct(*args, **kwargs)
    outs = results_of(raws, [t._raw for t in tensors(out)])
    floating = [differentiable(twin_of(o)) for o in outs]
    integers = [o for o, floats in zip(outs, floating, strict=True) if not floats]
    count = len(raws)

    def whole(parts: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        flat, rest = iter(parts), iter(others)
        return [next(flat if floats else rest) for floats in floating]

    def pull(inputs: Any, found: Any, gradients: Any) -> list[Any]:
        inputs, others = inputs[:count], inputs[count:]
        zeros = [torch.zeros_like(other) for other in others]
        return [*_pulled(call, inputs, whole(found, others), whole(gradients, zeros),
                         [differentiable(twin_of(r)) for r in inputs]),
                *[None] * len(others)]

    def push(inputs: Any, found: Any, tangents: Any) -> list[torch.Tensor]:
        return _pushed(call, inputs[:count], whole(found, inputs[count:]), tangents[:count],
                       floating)

    check_no_hidden(type(call.cell).__name__, "the result of 'construct'", out)
    rule = Rule(call.rule, pull, push if hasattr(call.cell, "jvp") else None)
    if call.by_jvp:
        rule = Rule(call.rule, pushing_only(rule).pull, push)
    tied = iter(attach(rule, outs, [*raws, *integers]))
    return map_tensors(lambda _: wrap(next(tied)), call.out_tree)


def _pushed(call: _BpropCall, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor],
            tangents: Sequence[Any], floating: list[bool]) -> list[torch.Tensor]:
    """The outputs' tangents by the Cell's own jvp."""
    count = len(inputs) - len(call.parameters)
    name = f"jvp {rule_name(call.cell.jvp)} of {type(call.cell).__name__}"
    if any(t is not None for t in tangents[count:]):
        raise RuntimeError(f"The {name} takes tangents of the Cell's inputs only, but a Parameter "
                           f"of it has one; leave 'jvp' out to have it derived from 'bprop'.")
    given = [torch.zeros_like(twin_of(raw)) if t is None else t
             for raw, t in zip(inputs[:count], tangents[:count], strict=True)]
    named, by_name = call.arguments(inputs[:count]), call.arguments(given)
    dinputs = [by_name[n] for n in call.names]
    out = in_structure(call.out_tree, outs)
    with with_values(call.parameters, inputs[count:]):
        result = call.cell.jvp(*(named[n] for n in call.names), out,
                               dinputs[0] if len(dinputs) == 1 else tuple(dinputs),
                               **{n: named[n] for n in call.keywords if n in named})
    parts = matched(out, result)
    if parts is None:
        raise ValueError(f"The {name} must return tangents in the structure of the outputs, "
                         f"but it returned a {type(result).__name__}.")
    found = [checked_gradient(part, raw, name) for part, raw in zip(parts, outs, strict=True)]
    return [torch.zeros_like(twin_of(raw)) if t is None else t
            for t, raw, floats in zip(found, outs, floating, strict=True) if floats]


def _leaf_names(call: _BpropCall) -> list[tuple[str, int]]:
    """For each Tensor among the call's arguments, its argument's name and its index inside it."""
    parameters = signature_of(call.cell.construct).parameters.values()
    positional = [p.name for p in parameters
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    extra = [f"*{i}" for i in range(len(call.args) - len(positional))]
    arguments = [*zip(positional + extra, call.args, strict=False), *call.kwargs.items()]
    return [(name, index) for name, value in arguments
            for index, _ in enumerate(tensors(value))]


def _split_result(call: _BpropCall, result: Any) -> tuple[dict[str, Any], dict[int, Any]]:
    """What a bprop returned, as gradients by argument name and by id of a Parameter."""
    by_parameter: dict[int, Any] = {}
    values = _by_input(call, result) if _is_sequence(result) else [result]
    if values and isinstance(values[-1], dict) and not _is_of_last_input(call, values):
        by_parameter = _parameter_gradients(call, values.pop())
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = _by_input(call, values[0])
    elif (len(values) == 1 and isinstance(values[0], (tuple, list)) and len(call.names) != 1):
        values = list(values[0])
    # what is left are those of the output and its gradient, which MindSpore leaves out, too
    return dict(zip(call.names, values, strict=False)), by_parameter


def _by_input(call: _BpropCall, values: Any) -> list[Any]:
    """The gradients in a tuple; of one input, they may be those of its parts."""
    if len(call.names) == 1 < len(values) and matched(_last_input(call), values) is not None:
        return [values]
    return list(values)


def _is_sequence(value: Any) -> bool:
    """Whether a value is a tuple or list of several, not one structure."""
    return isinstance(value, (tuple, list)) and not hasattr(value, "_fields")


def _is_of_last_input(call: _BpropCall, values: list[Any]) -> bool:
    """Whether the dict that ends what a bprop returned is the gradient of the last input."""
    if len(values) != len(call.names):
        return False
    given = _last_input(call)
    return isinstance(given, dict) and given.keys() == values[-1].keys()


def _last_input(call: _BpropCall) -> Any:
    """The last of the inputs that the rule takes by position."""
    if call.names[-1].startswith("*"):
        return call.args[-1]
    bound = signature_of(call.cell.construct).bind(*call.args, **call.kwargs)
    bound.apply_defaults()
    return bound.arguments.get(call.names[-1])


def _parameter_gradients(call: _BpropCall, given: dict) -> dict[int, Any]:
    # by the Cell's own attributes, wherever it lies; a Parameter's name says where that is
    paths = dict(call.cell.parameters_and_names()) | call.cell._params
    known = {p.name: p for p in call.cell.get_parameters()} | paths
    found = {}
    for key, value in given.items():
        parameter = known.get(key) if isinstance(key, str) else key
        if not isinstance(parameter, Parameter):
            raise ValueError(f"The {call.rule} returned a gradient for {key!r}, which is no "
                             f"Parameter of the Cell; it has {sorted(paths)}.")
        found[id(parameter)] = value
    return found


def _input_gradient(call: _BpropCall, by_name: dict[str, Any], leaf: tuple[str, int],
                    raw: torch.Tensor, needed: bool) -> torch.Tensor | None:
    name, index = leaf
    level = call.level
    if not needed:
        return None
    if name not in by_name:
        if name in call.names:
            raise ValueError(f"The {call.rule} must return a gradient for input '{name}' "
                             f"(None for zero), but it returned {len(by_name)} for "
                             f"{len(call.names)} inputs.")
        return None
    value = by_name[name]
    if kind_of(value) is not None:
        named = call.arguments([raw] * sum(1 for _ in tensors((call.args, call.kwargs))))
        parts = matched(named[name], value)
        if parts is None:
            raise ValueError(f"The {call.rule} must return the gradient of input '{name}' in the "
                             f"structure of that input, but it returned a {type(value).__name__}.")
        value = parts[index]
    if level is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        level.constants[id(raw)] = (raw, value)
    return checked_gradient(value, raw, call.rule)
