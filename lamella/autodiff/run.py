"""A run of a function recorded for its gradient: the engine under `grad`, `vjp` and `jacrev`.

Each differentiated input becomes an alias that requires grad, and the function runs on those. `Run`
records on PyTorch's tape. Inside `vmap`, where a tensor can't require a gradient, `LiftedRun`
records in a level of `torch.func`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any

import torch

from ..core.cuts import depends, warn_assigned
from ..core.errors import of_backward
from ..core.state import state
from ..core.wrappers import functorch
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from ..tensors.views import alias_of, running
from .engine import backpropagate, vjp
from .hooks import raw_hook, with_hooks
from .integers import Integers, plain, twin_of, with_twin
from .level import Level, batching, current, lifted, recording
from .rules import rule_name
from .tree import (
    check_no_hidden,
    differentiable,
    differentiable_tensors,
    map_tensors,
    tensors,
    tensors_as,
    trained,
)


def record(fn: Callable[..., Any], args: tuple, kwargs: dict, positions: tuple[int, ...],
           weights: tuple[Parameter, ...], outer: Level | None) -> Run:
    """Run `fn`, recorded for the gradient by the arguments at `positions` and by `weights`.

    Integers among them are differentiated by as if they were real numbers (see `integers`).

    Args:
        outer: the level around.
    """
    made = (LiftedRun if batching() else Run)(weights, outer)
    made.run(fn, args, kwargs, positions)
    return made


# PyTorch's messages about operations without a derivative
_LACKING = re.compile(r"derivative for '?(?:aten::)?(\w+)'? is not implemented")


class Run:
    """A recorded run of a function on aliases of what it is differentiated by.

    Args:
        weights: Parameters to differentiate by.
        outer: the level around.
        by_integers: whether integers are differentiated by too.

    Attributes:
        value: what the function gave.
        originals, aliases: what it is differentiated by, and what the function saw instead.
        special: weights that compute their gradients themselves, by their place in `aliases`.
    """

    def __init__(self, weights: tuple[Parameter, ...], outer: Level | None,
                 by_integers: bool = True):
        self.outer = outer
        self.weights = weights
        self.by_integers = by_integers
        self.level = Level(outer)
        self.originals: list[torch.Tensor] = []
        self.aliases: list[torch.Tensor] = []
        self.special: dict[int, Parameter] = {}
        self.value: Any = None

    def run(self, fn: Callable[..., Any], args: tuple, kwargs: dict,
            positions: tuple[int, ...]) -> None:
        """Call the function once, differentiated by the arguments at `positions` too."""
        level = self.level
        given: Any = args
        if positions:
            given = list(args)
            for p in positions:
                arg = given[p]
                given[p] = (self._aliased(arg) if type(arg) is Tensor
                            else map_tensors(self._aliased, arg))
        if self.weights:
            fn = self._watching_weights(fn)
        before = state.level, state.overlay
        recording = torch.is_grad_enabled()
        state.level, state.overlay = level, level.overlay
        if not recording:
            torch.set_grad_enabled(True)
        running.append(None)
        try:
            value = fn(*given, **kwargs)
            self.value = value if type(value) is Tensor else map_tensors(as_value, value)
        finally:
            running.pop()
            state.level, state.overlay = before
            if not recording:
                torch.set_grad_enabled(False)
        first = len(self.aliases) - len(self.weights)
        for place, weight in enumerate(self.weights, first):
            if weight.gradient_of is not None:  # a run may have made some special
                self.special[place] = weight

    def _watching_weights(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is run with the aliases of the weights, which are made here."""
        level, weights = self.level, self.weights
        special = []
        for weight in weights:
            if weight.init is not None:
                weight.init_data()
            if weight.gradient_of is not None:
                special.append(weight)
        own_aliases = iter(special[0].begin(special, level) if special else ())
        for weight in weights:
            own = next(own_aliases) if special and weight.gradient_of is not None else None
            level.overlay[weight] = self._alias(weight, own)
            level.assigned[id(weight)] = []
        return special[0].recorded(fn, level) if special else fn

    def _alias(self, tensor: Tensor, raw: torch.Tensor | None = None) -> torch.Tensor:
        if raw is None:
            raw = tensor._raw
        if self.outer is None and "_hooks" not in tensor.__dict__ and differentiable(raw):
            alias = raw.detach()  # most tensors, without the checks that others need
            if trained(tensor):
                alias.requires_grad_()
            self.originals.append(raw)
            self.aliases.append(alias)
            return alias
        if not trained(tensor):  # MindSpore gives a frozen Parameter the gradient zero
            self.originals.append(plain(raw))
            self.aliases.append(plain(raw).detach())
            return raw.detach() if self.outer is None else raw
        if self.by_integers and state.integers is not False and not differentiable(raw):
            return self._integer_alias(tensor, raw)
        if self.outer is not None and (raw.requires_grad or self.outer.forward):
            # an unrecorded view of a tensor that requires grad gets none inside a backward pass
            linked = (torch.is_grad_enabled()
                      or self.outer.forward and torch._C._is_fwd_grad_enabled())
            with torch.set_grad_enabled(linked):
                alias = alias_of(raw) if linked else raw.detach()
        else:
            alias = raw.detach()
        if differentiable(alias) and not alias.requires_grad:
            alias.requires_grad_()
        self.originals.append(raw)
        self.aliases.append(alias)
        return self._hooked(tensor, alias) if alias.requires_grad else alias

    def _integer_alias(self, tensor: Tensor, raw: torch.Tensor) -> torch.Tensor:
        linked = type(raw) is Integers and self.outer is not None
        alias = alias_of(twin_of(raw)) if linked else raw.double()
        if not alias.requires_grad:
            alias.requires_grad_()
        self.originals.append(plain(raw))
        self.aliases.append(alias)
        return with_twin(raw.detach(), self._hooked(tensor, alias))

    def _hooked(self, tensor: Tensor, alias: torch.Tensor) -> torch.Tensor:
        """What the function sees of an alias whose gradient the tensor's hooks are called with."""
        hooks = tensor.__dict__.get("_hooks", {}).values()
        if hooks and lifted():
            return with_hooks(alias, hooks)
        for hook in hooks:
            alias.register_hook(raw_hook(hook, f"hook {rule_name(hook)}", self.level))
        return alias

    def _aliased(self, tensor: Tensor) -> Tensor:
        return self._given(self._alias(tensor))

    def _given(self, alias: torch.Tensor) -> Tensor:
        made = wrap(alias)
        self.level.given.append((made, alias))
        return made

    def backward(self, outputs: Any, sens: Any = None, again: bool = False) -> list[Tensor]:
        """The gradients by the aliases, in their order, of `outputs` summed, or weighted by `sens`.

        Args:
            again: whether it will be called once more.
        """
        raws, starts = starts_of(outputs, sens)
        nested = recording(self.outer) or recording(current())
        wanted = [alias for alias in self.aliases if alias.requires_grad]
        assigned, probes = self.level.assigned, self.level.probes
        later = ([again for weight in self.weights for again in assigned[id(weight)]]
                 if any(assigned.values()) else [])
        try:
            found = backpropagate(zip(raws, starts, strict=True),
                                  wanted + later + [probe for probe, _, _ in probes],
                                  again or nested, nested)
        except (RuntimeError, IndexError) as error:
            lacking = _LACKING.search(str(error))
            if lacking is None:
                raise of_backward(error) from error
            raise RuntimeError(f"For 'grad', the operator '{lacking[1]}' has no derivative. Use "
                               "ops.stop_gradient where none is needed.") from error
        for gradient, (_, place, name) in zip(found[len(wanted) + len(later):], probes,
                                              strict=True):
            if gradient is not None:
                warn_assigned(place, name)
        return self.finished(self._with_later(wanted, found) if later else found)

    def finished(self, found: Iterable[Any]) -> list[Tensor]:
        """The gradients by the aliases, of what PyTorch found by those that require one."""
        made, constants = self.filled(found), self.level.constants
        for index, alias in enumerate(self.aliases if constants else ()):
            if id(alias) in constants and index not in self.special:
                number, gradient = constants[id(alias)][1], made[index]
                if _holds((gradient == number).all()):
                    made[index] = torch.as_tensor(number, dtype=gradient.dtype,
                                                  device=gradient.device)
        if not self.special:
            return [wrap(gradient) for gradient in made]
        of_special = self._of_special(made)
        return [next(of_special) if index in self.special else wrap(gradient)
                for index, gradient in enumerate(made)]

    def filled(self, found: Iterable[Any], count: int | None = None) -> list[torch.Tensor]:
        """A gradient for each alias, or the first `count`, zero where none was found."""
        flow, made = iter(found), []
        for original, alias in zip(self.originals[:count], self.aliases[:count], strict=True):
            gradient = next(flow, None) if alias.requires_grad else None
            if gradient is None:
                gradient = torch.zeros_like(original)
            elif gradient.dtype is not original.dtype:
                gradient = _in_type_of(original, gradient)
            made.append(gradient)
        return made

    def _of_special(self, made: list[torch.Tensor]) -> Iterator[Tensor]:
        """The gradients by the weights that compute them themselves."""
        weights: Any = list(self.special.values())
        return iter(weights[0].gradient_of(weights, [made[i] for i in self.special], self.level))

    def pull(self, starts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The raw gradients by the aliases, for a gradient of each differentiable output.

        It can be called again.

        Raises:
            RuntimeError: if a weight is cut in parts: other processes have to take part.
        """
        if self.special:
            raise RuntimeError("Parameters that are cut in parts over several processes can be "
                               "differentiated by 'grad' and 'value_and_grad' only.")
        outs = [(t._raw, start) for t, start
                in zip(differentiable_tensors(self.value), starts, strict=True)
                if t._raw.requires_grad]
        wanted = [alias for alias in self.aliases if alias.requires_grad]
        nested = recording(self.outer) or recording(current())
        found = iter(backpropagate(outs, wanted, True, nested))
        every = (next(found, None) if alias.requires_grad else None for alias in self.aliases)
        return [torch.zeros_like(alias) if gradient is None else gradient
                for alias, gradient in zip(self.aliases, every, strict=True)]

    def _with_later(self, wanted: list[torch.Tensor], found: Sequence[Any]) -> list[Any]:
        """The gradients by `wanted`, with those by values assigned to weights in the run added."""
        extra = iter(found[len(wanted):])
        total = {id(alias): gradient for alias, gradient in zip(wanted, found, strict=False)}
        for weight, alias in zip(self.weights, self.aliases[-len(self.weights):], strict=True):
            for _ in self.level.assigned[id(weight)]:
                gradient, more = total[id(alias)], next(extra)
                if more is not None:
                    total[id(alias)] = more if gradient is None else gradient + more
        return [total[id(alias)] for alias in wanted]


class LiftedRun(Run):
    """A run recorded in a level of `torch.func`, for use inside `vmap`."""

    def run(self, fn: Callable[..., Any], args: tuple, kwargs: dict,
            positions: tuple[int, ...]) -> None:
        """As `Run.run`."""
        leaves = [t for p in positions for t in tensors(args[p])]
        leaves += [weight.init_data() for weight in self.weights]
        self.originals = [t._raw for t in leaves]
        self.indices = [i for i, t in enumerate(leaves) if trained(t)]
        self.hooks = [tuple(t.__dict__.get("_hooks", {}).values()) for t in leaves]
        self.call = (fn, args, kwargs, positions)
        primals = [self.originals[i] for i in self.indices]
        primals = [p if differentiable(p) else twin_of(p).double() for p in primals]
        self.aliases = primals
        self.tree: Any = None
        outs, self.back, others = vjp(self._lifted, *primals)
        flat = {True: iter(outs), False: iter(others)}
        self.value = map_tensors(lambda t: wrap(next(flat[differentiable(t._raw)])), self.tree)
        self.tree = None

    def _lifted(self, *aliases: torch.Tensor) -> tuple[Sequence[torch.Tensor], Any]:
        fn, args, kwargs, positions = self.call
        raws = list(self.originals)
        before = state.level, state.overlay
        state.level, state.overlay = self.level, self.level.overlay
        recorded = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        running.append(None)
        try:
            for i, alias in zip(self.indices, aliases, strict=True):
                alias = with_hooks(alias, self.hooks[i])
                raws[i] = alias if differentiable(raws[i]) else with_twin(raws[i], alias)
            flat = iter(raws)
            given = list(args)
            for p in positions:
                given[p] = map_tensors(lambda _: self._given(next(flat)), given[p])
            for weight in self.weights:
                self.level.overlay[weight] = next(flat)
            value = fn(*given, **kwargs)
            check_no_hidden("grad", "the result", value)
            value = map_tensors(_floating_value, value)
        finally:
            running.pop()
            state.level, state.overlay = before
            torch.set_grad_enabled(recorded)
        self.tree = value
        found = [t._raw for t in tensors(value)]
        return (tuple(r for r in found if differentiable(r)),
                tuple(r for r in found if not differentiable(r)))

    def backward(self, outputs: Any, sens: Any = None, again: bool = False) -> list[Tensor]:
        """As `Run.backward`."""
        _, starts = starts_of(outputs, sens, every=True)
        # by Tensor, as several may be one raw tensor
        given = dict(zip(map(id, differentiable_tensors(outputs)), starts, strict=True))
        flow = [torch.zeros_like(t._raw) if (start := given.get(id(t))) is None else start
                for t in differentiable_tensors(self.value)]
        found = self._pulled(flow, again)
        return [wrap(torch.zeros_like(plain(original)) if (gradient := found.get(index)) is None
                     else _in_type_of(original, gradient))
                for index, original in enumerate(self.originals)]

    def pull(self, starts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """As `Run.pull`."""
        found = self._pulled(list(starts), True)
        return [found.get(index, torch.zeros_like(original))
                for index, original in enumerate(self.originals)]

    def _pulled(self, starts: list[torch.Tensor], again: bool) -> dict[int, torch.Tensor]:
        nested = recording(self.outer) or recording(current())
        return dict(zip(self.indices, self.back(starts, again or nested, nested), strict=True))


def _in_type_of(original: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """A gradient in the type of what it is by; an outer derivative goes through integers too."""
    kind = original.dtype
    exact = gradient if gradient.dtype is kind else gradient.to(kind)  # which costs more in `vmap`
    if state.integers is not None and not differentiable(original):
        state.integers.append(exact)
    if not differentiable(original) and depends(gradient, current()):
        return with_twin(exact, gradient)
    return exact


def starts_of(outputs: Any, sens: Any,
            every: bool = False) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The raw outputs that depend on an input, or `every`, and the cotangent of each."""
    if sens is None and not every and type(outputs) is Tensor:
        raw = twin_of(outputs._raw)
        return ([raw], [torch.ones_like(raw)]) if raw.requires_grad else ([], [])
    outs = [outputs] if isinstance(outputs, Tensor) else list(tensors(outputs))
    if sens is None:
        raws = [raw for raw in map(twin_of, [t._raw for t in outs])
                if raw.requires_grad or every and differentiable(raw)]
        return raws, [torch.ones_like(raw) for raw in raws]
    given = [sens] * len(outs) if isinstance(sens, Real) else (
        [sens] if isinstance(sens, Tensor) else list(tensors_as(outputs, sens)))
    if len(given) != len(outs):
        raise ValueError(f"The gradient of the output ('sens') must hold a Tensor for each of the "
                         f"{len(outs)} outputs, but got {len(given)}.")
    raws, starts = [], []
    for out, start in zip(outs, given, strict=True):
        raw = twin_of(out._raw)
        if not (raw.requires_grad or every and differentiable(raw)):
            continue
        weight = torch.full_like(raw, float(start)) if isinstance(start, Real) else twin_of(
            start._raw)
        if weight.shape != raw.shape:  # a loss scale often is (1,) beside a loss without dimensions
            if [n for n in weight.shape if n != 1] != [n for n in raw.shape if n != 1]:
                raise ValueError(f"The gradient of the output ('sens') must have the output's "
                                 f"shape {tuple(raw.shape)}, lengths of 1 aside, but got "
                                 f"{tuple(weight.shape)}.")
            weight = weight.reshape(raw.shape)
        raws.append(raw)
        starts.append(weight.to(raw.dtype))
    return raws, starts


def _holds(condition: torch.Tensor) -> bool:
    """A condition as a Python value, without a guard in a recording."""
    return bool(condition if state.trace is None else state.trace.peek(condition))


def as_value(tensor: Tensor) -> Tensor:
    """A Tensor; for a Parameter, its value inside the gradient call."""
    return wrap(tensor._raw) if isinstance(tensor, Parameter) else tensor


def _floating_value(tensor: Tensor) -> Tensor:
    """As `as_value`; for integers that depend on an alias, the floating numbers that do."""
    raw = tensor._raw
    return wrap(raw.twin.float()) if type(raw) is Integers else as_value(tensor)


def detached(tensor: Tensor) -> Tensor:
    """A Tensor cut from the record; a Parameter as it is."""
    if isinstance(tensor, Parameter):
        return tensor
    raw = tensor._raw
    if type(raw) is Integers:
        return wrap(plain(raw))
    return wrap(raw.detach()) if raw.requires_grad else tensor


def cut(changed: list[Tensor]) -> None:
    """Cut Tensors that a transformation changed in place from its record."""
    for tensor in changed:
        raw = tensor._raw
        while functorch.is_functorch_wrapped_tensor(raw) and not functorch.is_batchedtensor(raw):
            raw = functorch.get_unwrapped(raw)
        if not functorch.is_batchedtensor(raw):  # else it belongs to a `vmap` that has ended
            tensor._raw = raw.detach() if raw.requires_grad else raw
