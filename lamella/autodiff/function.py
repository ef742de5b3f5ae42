"""`_Function`: a function whose forward and backward rules the user defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.errors import describe
from ..core.structures import kind_of, same_structure
from ..core.tape import note_results, only_with_gradients
from ..tensors.tensor import Tensor, wrap
from .integers import have_twins, results_of, twin_of
from .level import current, entered, lifted, watched
from .node import Rule, attach
from .rules import checked_gradient, rule_name, warn_of_closed_over
from .stop import no_grad
from .tree import differentiable, map_tensors, matched, tensors


class _Function:
    """A function with a backward rule of its own; subclass it and call `apply`.

    ``forward(ctx, *args)`` computes the outputs and may keep tensors with ``ctx.save_for_backward``
    or as attributes of `ctx`; ``backward(ctx, *grads)`` takes a gradient for each output (None for
    one that holds no Tensor) and returns one for each input of `forward`, None where there is none.
    A gradient is converted to its input's type. Where one of their shapes broadcasts to the other,
    it is summed or expanded to the input's.

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
        if watched(raws) or call.level is not None:
            warn_of_closed_over(call.label, (cls.forward, cls.backward), None, ())
        if (lifted() or have_twins(raws)) and watched(raws):
            return _attached_function(call, raws)
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
        """Mark outputs as having no gradient."""
        self.non_differentiable = outputs

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Mark inputs as changed in place by `forward`."""
        self.dirty = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether an output without gradient hands backward zeros (else None)."""
        self.materialize_grads = value


class _FunctionCall:
    def __init__(self, cls: type[_Function], args: tuple, kwargs: dict):
        self.cls, self.args, self.kwargs = cls, args, kwargs
        self.level = current()
        self.out_tree: Any = None

    @property
    def label(self) -> str:
        return f"backward {rule_name(self.cls.backward)}"


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
        kept = [t for t in own.to_save]
        ctx.kept = [dict(t.__dict__) if isinstance(t, Tensor) else (t,) for t in kept]
        ctx.save_for_backward(*(t._raw for t in kept if isinstance(t, Tensor)))
        outs = tuple(t._raw for t in tensors(call.out_tree))
        if own.dirty:
            ctx.mark_dirty(*(t._raw for t in own.dirty))
        ctx.mark_non_differentiable(
            *(t._raw for t in own.non_differentiable),
            *(o for o in outs if not differentiable(o)))
        note_results(ctx, outs, own.materialize_grads)
        return outs

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: Any):  # type: ignore[override]
        call: _FunctionCall = ctx.call
        own: FunctionContext = ctx.own
        saved = iter(ctx.saved_tensors)
        own.saved_tensors = tuple(
            _with_attributes(wrap(next(saved)), kept) if isinstance(kept, dict) else kept[0]
            for kept in ctx.kept)
        given = _of_outputs(call, [None if g is None else wrap(g) for g in gradients])
        with entered(None if call.level is None else call.level.outer):
            result = call.cls.backward(own, *given)
        return (None, *_gradients(call, result))


def _with_attributes(tensor: Tensor, attributes: dict[str, Any]) -> Tensor:
    tensor.__dict__.update(attributes)
    return tensor


def _of_outputs(call: _FunctionCall, gradients: list[Any]) -> list[Any]:
    """The gradients that `backward` takes: None for outputs that hold no Tensor."""
    outputs = call.out_tree if isinstance(call.out_tree, (tuple, list)) else [call.out_tree]
    flow, given = iter(gradients), []
    for output in outputs:
        given += [next(flow) for _ in tensors(output)] or [None]
    return given


def _gradients(call: _FunctionCall, result: Any) -> list[Any]:
    """What `backward` returned, for each Tensor among the arguments."""
    several = (isinstance(result, (tuple, list)) and not hasattr(result, "_fields")
               and not (len(call.args) == 1 and kind_of(call.args[0]) is not None
                        and same_structure(call.args[0], result)))
    values = list(result) if several else [result]
    label = call.label
    if len(values) != len(call.args):
        raise RuntimeError(f"Function backward return a wrong number of gradients: the {label} "
                           f"must return {len(call.args)} gradients, one for each input of "
                           f"forward, but it returned {len(values)}.")
    found: list[Any] = []
    for arg, value in zip(call.args, values, strict=True):
        if kind_of(arg) is None and not isinstance(arg, Tensor) and value is not None:
            raise RuntimeError(f"Input is not tensor, but gradient is not none: the {label} must "
                               f"return None for the input {describe(arg)}, but it returned "
                               f"{describe(value)}.")
        if isinstance(arg, Tensor) and value is not None and not isinstance(value, Tensor):
            raise RuntimeError(f"Gradient should be none or tensor: the {label} returned "
                               f"{describe(value)}.")
        parts = [value for _ in tensors(arg)] if kind_of(value) is None else matched(arg, value)
        if parts is None:
            raise RuntimeError(f"The {label} must return the gradient of the input {describe(arg)} "
                               f"in its structure, but it returned {describe(value)}.")
        for part, leaf in zip(parts, tensors(arg), strict=True):
            if isinstance(part, Tensor) and part._raw.shape != leaf._raw.shape:
                part = wrap(_in_shape(part._raw, leaf._raw.shape, label))
            found.append(checked_gradient(part, leaf._raw, label))
    return found


def _in_shape(gradient: torch.Tensor, shape: torch.Size, label: str) -> torch.Tensor:
    """A gradient summed or expanded to the shape of its input."""
    try:
        both = torch.broadcast_shapes(gradient.shape, shape)
    except RuntimeError:
        both = None
    if both == gradient.shape:
        return gradient.sum_to_size(shape)
    if both != shape:
        raise RuntimeError(f"For custom function, grad tensor should be broadcast to the input: "
                           f"the {label} must return a gradient of shape {tuple(shape)}, or one "
                           f"that broadcasts, but it returned shape {tuple(gradient.shape)}.")
    return gradient.expand(shape)


def _attached_function(call: _FunctionCall, raws: list[torch.Tensor]) -> Any:
    """The function's outputs, tied to its inputs in a form for any transformation.

    What `forward` kept in its context goes through the node as well: it may belong to a level that
    is over when the rule runs.
    """
    flat = iter(raws)
    args = map_tensors(lambda _: wrap(next(flat).detach()), call.args)
    given = [t._raw for t in tensors(args)]
    own = FunctionContext(tuple(next(tensors(arg), None) is not None for arg in args))
    with no_grad():
        call.out_tree = out = call.cls.forward(own, *args, **call.kwargs)
    outs = [t._raw for t in tensors(out)]
    fixed = {id(t._raw) for t in own.non_differentiable}
    results = results_of(raws, outs)
    floating = [differentiable(twin_of(result)) and id(o) not in fixed
                for o, result in zip(outs, results, strict=True)]
    kept = {"to_save": own.to_save, **{k: v for k, v in own.__dict__.items()
                                       if k not in _OF_THE_CONTEXT}}
    held = [t._raw for t in tensors(kept)]
    extra = [raw for raw in held if all(raw is not known for known in (*given, *outs))]
    count, floating_outs = len(raws), [o for o, s in zip(outs, floating, strict=True) if s]
    known = {id(raw): _position(raw, given, floating_outs, extra) for raw in held}

    def restored(inputs: Any, found: Any) -> FunctionContext:
        groups = (inputs[:count], found, inputs[count:])
        again = FunctionContext(own.needs_input_grad)
        again.materialize_grads = own.materialize_grads

        def back(t: Tensor) -> Tensor:
            index = known.get(id(t._raw))
            return t if index is None else wrap(groups[index[0]][index[1]])

        state = map_tensors(back, kept)
        again.saved_tensors = tuple(state.pop("to_save"))
        again.__dict__.update(state)
        return again

    def pull(inputs: Any, found: Any, gradients: Any) -> list[Any]:
        flow = iter(gradients)
        douts = _of_outputs(call, [wrap(next(flow) if s else torch.zeros_like(o))
                                   for o, s in zip(outs, floating, strict=True)])
        result = call.cls.backward(restored(inputs, found), *douts)
        return [*_gradients(call, result), *[None] * (len(inputs) - count)]

    def push(inputs: Any, found: Any, tangents: Any) -> list[torch.Tensor]:
        flow = iter(tangents)
        tangents = [map_tensors(lambda _: _or_none(next(flow)), arg) for arg in call.args]
        result = call.cls.jvp(restored(inputs, found), *tangents)  # type: ignore[attr-defined]
        label = f"jvp {rule_name(call.cls.jvp)}"  # type: ignore[attr-defined]
        found = matched(out, result)
        if found is None:
            raise RuntimeError(f"The {label} must return tangents in the structure of the outputs, "
                               f"but it returned {describe(result)}.")
        parts = [checked_gradient(part, o, label) for part, o in zip(found, results, strict=True)]
        return [torch.zeros_like(twin_of(o)) if t is None else t
                for t, o, s in zip(parts, results, floating, strict=True) if s]

    rule = Rule(call.label, pull, push if hasattr(call.cls, "jvp") else None)
    tied = iter(attach(rule, [r for r, s in zip(results, floating, strict=True) if s],
                       [*raws, *extra]))
    flat = iter([next(tied) if s else o.detach() for o, s in zip(outs, floating, strict=True)])
    return map_tensors(lambda _: wrap(next(flat)), call.out_tree)


def _or_none(tangent: torch.Tensor | None) -> Tensor | None:
    return None if tangent is None else wrap(tangent)


_OF_THE_CONTEXT = frozenset(FunctionContext(()).__dict__)


def _position(raw: torch.Tensor, *groups: list[torch.Tensor]) -> tuple[int, int] | None:
    """In which group of tensors, and where in it, a raw tensor is."""
    for number, group in enumerate(groups):
        for index, other in enumerate(group):
            if other is raw:
                return number, index
    return None


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `_Function.backward` as having no derivative of its own: it runs unrecorded."""

    def backward(ctx: Any, *grads: Any) -> Any:
        with torch.no_grad():
            return function(ctx, *grads)

    return backward
