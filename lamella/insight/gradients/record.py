"""A recorded run: the values, the steps between them, and the gradients of the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch
from torch.autograd.graph import get_gradient_edge
from torch.overrides import TorchFunctionMode

from ...autodiff.tree import leaves
from ...core.state import state
from ...core.wrappers import physical
from ...tensors.parameter import Parameter
from .places import Place, here
from .rules import SeenRule, rule_of_node
from .statistics import Numbers, measure

# functions that convert a tensor to a Python value or to an array of NumPy
LEAVING = frozenset({"numpy", "item", "tolist", "__float__", "__int__", "__bool__", "__index__",
                     "__array__", "__dlpack__", "__complex__"})
# functions that use only the shape and type of a tensor
_ALIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
                    "randint_like", "new_zeros", "new_ones", "new_empty", "new_full"})
# functions that return a tensor, but compute nothing
_PLAIN = frozenset({"requires_grad_", "retain_grad", "backward", "is_functorch_wrapped_tensor"})


class Value:
    """A tensor of the run.

    Attributes:
        number: of the value, from 0.
        kind: ``"input"``, ``"parameter"``, ``"constant"`` or ``"step"``, what it comes from.
        name: of an input or Parameter, or "".
        numbers: of the value, None if it could not be seen.
        gradient: the numbers of its gradient; None if none arrived.
        tracked: whether the tape follows it.
        maker: the step that it is a result of.
        uses: the steps it goes into.
        is_output: whether `fn` returned it.
        rules: those on its gradient.
        parameter: the Parameter whose value it is.
    """

    def __init__(self, number: int, kind: str, name: str = "", numbers: Numbers | None = None):
        self.number, self.kind, self.name, self.numbers = number, kind, name, numbers
        self.gradient: Numbers | None = None
        self.tracked = self.is_output = False
        self.maker: Step | None = None
        self.uses: list[Step] = []
        self.rules: list[SeenRule] = []
        self.parameter: Parameter | None = None

    @property
    def id(self) -> str:
        """What it is called in reports."""
        return f"v{self.number}"


class Step:
    """An operation of the run.

    Attributes:
        number: of the step, from 0.
        operator: its name.
        kernel: PyTorch's name of it.
        place: where it was called.
        inputs, outputs: values.
        cut: why no gradient goes back through it: ``"stop_gradient"``, ``"numpy"``, ``"no_grad"``,
            ``"cast"``, ``"discrete"`` or ``"other"``; "" if one does.
        rule: of the user's, that is its derivative; None if it is PyTorch's or ours.
        plain: the plain numbers among its arguments.
        measured, gives: the numbers of the values it was seen to give a gradient to, be it zero,
            and of those it gave another than zero.
    """

    def __init__(self, number: int, operator: str, kernel: str, place: Place):
        self.number, self.operator, self.kernel, self.place = number, operator, kernel, place
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.cut = ""
        self.rule: SeenRule | None = None
        self.plain: list[float] = []
        self.measured: set[int] = set()
        self.gives: set[int] = set()

    @property
    def id(self) -> str:
        """What it is called in reports."""
        return f"s{self.number}"

    @property
    def rules(self) -> Iterator[SeenRule]:
        """All backward rules of the user's that apply to it."""
        if self.rule is not None:
            yield self.rule
        for out in self.outputs:
            yield from out.rules


class Recorder(TorchFunctionMode):
    """Records a run while it is active; its phases are set by the caller.

    Attributes:
        phase: ``""``, ``"forward"`` or ``"backward"``.
        end: the code around the function that is looked at, where searches of the stack end.
    """

    def __init__(self, end: CodeType | None = None):
        super().__init__()
        self.phase = ""
        self.end = end
        self.clear()

    def clear(self) -> None:
        """Forget what was recorded."""
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self._by_raw: dict[int, Value] = {}
        self._by_node: dict[Any, Value] = {}
        self._nodes: dict[Any, Step] = {}
        self._parameters: dict[int, Parameter] = {}
        self._opaque: dict[int, Place] = {}
        self._alive: list[Any] = []  # so that no id is given twice

    def release(self) -> None:
        """Release all tensors; the record remains."""
        for mapping in (self._by_raw, self._by_node, self._nodes, self._opaque, self._parameters):
            mapping.clear()
        self._alive.clear()

    # -- values ----------------------------------------------------------------------------------

    def named(self, raw: torch.Tensor, kind: str, name: str,
              parameter: Parameter | None = None) -> Value:
        """The value of an input or a Parameter."""
        value = self._new(raw, kind, name)
        value.parameter = parameter
        return value

    def add_parameter(self, raw: torch.Tensor, parameter: Parameter) -> None:
        """Register a Parameter by its raw data, for the case that it is used."""
        self._parameters[id(raw)] = parameter
        self._alive.append(raw)

    def value(self, raw: torch.Tensor) -> Value:
        """The value that a raw tensor is; a new one if it was not seen before."""
        found = self._seen(raw)
        if found is not None:
            return found
        if physical(raw).grad_fn is not None:
            return self._of_node(raw)
        parameter = self._parameters.get(id(raw))
        if parameter is not None:
            return self.named(raw, "parameter", parameter.name, parameter)
        return self._new(raw, "constant", "")

    def _seen(self, raw: torch.Tensor) -> Value | None:
        """The value that a raw tensor is, if it was seen before."""
        behind = physical(raw)
        found = self._by_raw.get(id(raw)) or self._by_raw.get(id(behind))
        if behind.grad_fn is None and raw.requires_grad and (
                found is None or found.kind == "step"):
            return self._assigned(raw) or found
        return found

    def _assigned(self, raw: torch.Tensor) -> Value | None:
        """The value of a Parameter that the function has assigned this tensor to."""
        held = (p for p, alias in (state.overlay or {}).items() if alias is raw)
        parameter = next(held, None)
        value = next((v for v in self.values if v.parameter is parameter is not None), None)
        if value is not None:
            value.numbers = measure(raw)
            self._bind(value, raw)
        return value

    def _new(self, raw: torch.Tensor, kind: str, name: str) -> Value:
        value = Value(len(self.values), kind, name, measure(raw))
        self.values.append(value)
        self._bind(value, raw)
        return value

    def _bind(self, value: Value, raw: torch.Tensor) -> None:
        self._by_raw[id(raw)] = value
        self._alive.append(raw)
        with torch._C.DisableTorchFunction(), torch._C._DisableFuncTorch():
            raw = physical(raw)
            value.tracked = raw.requires_grad
            if not value.tracked:
                return
            edge = get_gradient_edge(raw)
            self._by_node[edge.node, edge.output_nr] = value
            raw.register_hook(lambda gradient: self._arrived(value, gradient))

    def _arrived(self, value: Value, gradient: torch.Tensor | None) -> None:
        if self.phase == "backward" and gradient is not None:
            value.gradient = measure(gradient)

    def listen(self) -> None:
        """Record, in the backward pass, the gradient that each step passes to each input."""
        ends: dict[int, list[Any]] = {}
        for (node, _), value in self._by_node.items():
            ends.setdefault(value.number, []).append(node)
        for step in self.steps:
            given = {v.number for v in step.inputs}
            waiting = [node for out in step.outputs for node in ends.get(out.number, ())]
            seen = set(waiting)
            while waiting:
                node = waiting.pop()
                for place, following in enumerate(node.next_functions):
                    value = self._by_node.get(following)
                    if value is not None and value.number in given:
                        node.register_hook(self._listener(step, place, value.number))
                    elif value is None and following[0] is not None and following[0] not in seen:
                        seen.add(following[0])
                        waiting.append(following[0])

    def _listener(self, step: Step, place: int, number: int) -> Callable[[Any, Any], None]:
        def arrived(gradients: Any, _: Any) -> None:
            if self.phase != "backward" or gradients[place] is None:
                return
            step.measured.add(number)
            if not measure(gradients[place]).is_zero:
                step.gives.add(number)

        return arrived

    # -- steps -----------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = "floor_divide" if kwargs and kwargs.get("rounding_mode") else _name(func)
        if self.phase != "forward":
            return func(*args, **(kwargs or {}))
        if name == "register_hook":
            return self._register_observed(*args, **(kwargs or {}))
        given = _raws((args, kwargs))
        versions = [_version(raw) for raw in given]
        before = [self._seen(raw) for raw in given]
        result = func(*args, **(kwargs or {}))
        outs = _raws(result)
        changed = [raw for raw, version in zip(given, versions, strict=True)
                   if _version(raw) != version]
        if not outs and not changed and name not in LEAVING or name in _PLAIN:
            return result
        place = here(self.end)
        if place.opaque:
            self._opaque.setdefault(_sequence_number(), place)
            return result
        inputs = [self.value(raw) if value is None else value
                  for raw, value in zip(given, before, strict=True)
                  if value is not None or not any(raw is c for c in changed)]
        if name in _ALIKE:
            inputs = []
        if name == "grad" and place.inner:
            place = place._replace(operator="grad")
        fresh = {id(out): out for out in outs if id(out) not in self._by_raw}
        fresh.update((id(raw), raw) for raw in changed)
        if fresh or name in LEAVING:  # else the operation returned its input
            step = self._step(name, place, inputs, list(fresh.values()))
            step.plain = [a for a in args if type(a) in (int, float)]
        return result

    def _step(self, kernel: str, place: Place, inputs: list[Value],
              outs: list[torch.Tensor]) -> Step:
        operator = place.operator or kernel.strip("_")
        step = Step(len(self.steps), operator, kernel, place)
        self.steps.append(step)
        step.inputs = list({v.number: v for v in inputs}.values())
        for value in step.inputs:
            value.uses.append(step)
        for raw in outs:
            value = self._new(raw, "step", "")
            value.maker = step
            step.outputs.append(value)
        step.cut = _cut(step, kernel)
        return step

    def _of_node(self, raw: torch.Tensor) -> Value:
        """The value of a tensor whose operation was not recorded, from its node on the tape."""
        edge = get_gradient_edge(physical(raw))
        node, place = edge.node, edge.output_nr
        found = self._by_node.get((node, place))
        if found is not None:
            self._by_raw[id(raw)] = found
            self._alive.append(raw)
            if found.numbers is None:
                found.numbers = measure(raw)
                self._bind(found, raw)
            return found
        value = self._new(raw, "step", "")
        step = self._through(node)
        value.maker = step
        step.outputs.append(value)
        return value

    def _through(self, node: Any) -> Step:
        found = self._nodes.get(node)
        if found is not None:
            return found
        self._alive.append(node)
        inputs = [self._at(*following) for following in node.next_functions if following[0]]
        place = self._opaque.get(node._sequence_nr())
        if place is None:
            place = here(self.end)._replace(operator="")
        kind = type(node).__name__.removesuffix("Backward").lstrip("_")
        rule, cell, label = rule_of_node(node)
        if cell is not None:
            place = place._replace(cell=cell, operator="")
        step = Step(len(self.steps), label or place.operator or kind, kind, place)
        self.steps.append(step)
        step.rule = rule
        step.inputs = list({v.number: v for v in inputs}.values())
        for value in step.inputs:
            value.uses.append(step)
        self._nodes[node] = step
        return step

    def _at(self, node: Any, place: int) -> Value:
        found = self._by_node.get((node, place))
        if found is not None:
            return found
        variable = getattr(node, "variable", None)
        if variable is not None:
            return self.value(variable)
        value = Value(len(self.values), "step")
        self.values.append(value)
        value.tracked = True
        self._by_node[node, place] = value
        value.maker = self._through(node)
        value.maker.outputs.append(value)
        return value

    # -- rules -----------------------------------------------------------------------------------

    def _register_observed(self, raw: torch.Tensor, hook: Callable[[torch.Tensor], Any]) -> Any:
        rule = SeenRule(getattr(hook, "__qualname__", "hook"), hook)
        self.value(raw).rules.append(rule)

        def observed(gradient: torch.Tensor) -> Any:
            result = hook(gradient)
            if self.phase == "backward":
                rule.observe(gradient, result)
            return result

        return torch.Tensor.register_hook(raw, observed)


def _name(func: Any) -> str:
    name = getattr(func, "__name__", None) or type(func).__name__
    if name in ("__get__", "__set__"):
        return getattr(getattr(func, "__self__", None), "__name__", name)
    return name.removesuffix(".default")


def _raws(tree: Any) -> list[torch.Tensor]:
    """The tensors in a structure; sparse ones have no numbers that are measured."""
    return [raw for raw in leaves(tree)
            if isinstance(raw, torch.Tensor) and raw.layout is torch.strided]


def _version(raw: torch.Tensor) -> int:
    return 0 if raw.is_inference() else physical(raw)._version


def _sequence_number() -> int:
    return torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]


def _cut(step: Step, kernel: str) -> str:
    """Why none of the step's outputs is on the tape though an input is; "" if that is not so."""
    if not any(v.tracked for v in step.inputs) or any(v.tracked for v in step.outputs):
        return ""
    operator = step.operator
    if kernel in LEAVING or operator in ("asnumpy", *LEAVING):
        return "numpy"
    if "stop_gradient" in operator.lower() or operator == "StopGradient":
        return "stop_gradient"
    if not torch.is_grad_enabled():
        return "no_grad"
    if kernel in ("detach", "detach_", "data"):
        return "stop_gradient"
    kinds = {v.numbers.dtype for v in step.outputs if v.numbers is not None}
    if kinds and all(k.startswith(("int", "uint", "bool")) for k in kinds):
        casts = ("to", "type", "int", "long", "short", "bool", "char", "byte", "astype", "cast")
        return "cast" if kernel in casts or operator in casts else "discrete"
    return "other"
