"""`inspect_gradients`: a function run forward and backward once, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autodiff.reverse import checked_weights, differentiate
from ...autodiff.tree import argument_names, differentiable, paths, tensors
from ...core.cuts import silenced
from ...core.state import state
from ...nn.cell import Cell
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..gradcheck.rehearsal import Rehearsal
from .naming import Names
from .record import Recorder, Value
from .report import GradientReport
from .rules import parameter_rules
from .statistics import measure


def inspect_gradients(fn_or_net: Callable[..., Any], *args: Any, weights: Any = None,
                      has_aux: bool = False, **kwargs: Any) -> GradientReport:
    """Run a function forward and backward once, and report on every intermediate gradient.

    Nothing comes of the run: Parameters, moving statistics and random numbers are afterwards as
    before, also if the function raises. Outputs are summed, as `grad` does. The run is eager, in
    GRAPH_MODE and under `jit`, too.

    Args:
        fn_or_net: a function or Cell of Tensors.
        *args: its arguments, of which the floating Tensors are differentiated by.
        weights: the Parameters to look at. Default: all that the function can reach.
        has_aux: differentiate only the first output.
        **kwargs: further arguments.

    Returns:
        A `GradientReport`: ``report.why("conv1.weight")`` says why a gradient is zero,
        ``report.save("page.html")`` writes a page, `print_table` prints the Parameters,
        `to_dict` gives the numbers.

    Raises:
        TypeError: if `fn_or_net` is not callable, or nothing about it can have a gradient.

    Examples:
        >>> import lamella as ms
        >>> from lamella import nn, ops
        >>> class Net(nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.seen, self.cut = nn.Dense(2, 2), nn.Dense(2, 2)
        ...     def construct(self, x):
        ...         return self.seen(x) + ops.stop_gradient(self.cut(x))
        >>> report = ms.inspect_gradients(Net(), ms.Tensor([[1.0, 2.0]]))
        >>> report.gradient("seen.bias").norm > 1
        True
        >>> print(report.why("cut.bias").split(" in ")[0])
        The gradient of 'cut.bias' is zero because it is cut by stop_gradient
    """
    if not callable(fn_or_net):
        raise TypeError(f"For 'inspect_gradients', the first argument must be a function or a "
                        f"Cell, but got {type(fn_or_net).__name__}.")
    listed = checked_weights("inspect_gradients", weights)
    with Rehearsal(fn_or_net, args, kwargs, listed or ()) as rehearsal:
        names = Names(fn_or_net, [c for c in rehearsal.reach.objects.cells if isinstance(c, Cell)])
        if listed is None:  # in the order of the Cells, then those that belong to none
            reached = {id(p): p for p in rehearsal.parameters}
            owned = [p for root in names.roots for p in root.get_parameters() if id(p) in reached]
            listed = tuple({id(p): p for p in (*owned, *reached.values())}.values())
        return _Inspection(fn_or_net, args, kwargs, listed, names, has_aux).run()


class _Inspection:
    def __init__(self, fn: Any, args: tuple, kwargs: dict, weights: tuple[Parameter, ...],
                 names: Names, has_aux: bool):
        self.has_aux = has_aux
        self.fn, self.args, self.kwargs, self.names = fn, args, kwargs, names
        self.parameters = weights
        self.weights = tuple(w for w in weights if w.requires_grad and differentiable(w._raw))
        self.by = tuple(i for i, arg in enumerate(args)
                        if any(differentiable(t._raw) for t in tensors(arg)))
        if not self.by and not self.weights:
            raise TypeError("For 'inspect_gradients', the function must have a floating input or a "
                            "Parameter that requires a gradient, but there is none.")
        names.take(name for start, arg in zip(argument_names(fn, len(args)), args, strict=True)
                   for name, _ in paths(start, arg))
        names.take(name for key, arg in kwargs.items() for name, tensor in paths(key, arg)
                   if not isinstance(tensor, Parameter))
        self.recorder = Recorder(self.body.__code__)
        self.known: dict[str, Value] = {}  # inputs and Parameters by name

    def run(self) -> GradientReport:
        """The report."""
        recorder = self.recorder
        before, state.whole = state.whole, True  # eagerly
        try:
            with recorder, silenced():
                _, inputs, weights = differentiate(self.body, self.args, self.kwargs, self.by,
                                                   self.weights, self.has_aux)
            found = [t for gradient in inputs for t in tensors(gradient)]
            for (name, _), gradient in zip(self._inputs(), found, strict=True):
                self._arrived(name, gradient)
            for weight, gradient in zip(self.weights, weights, strict=True):
                self._arrived(self.names.of_parameter(weight), gradient)
        finally:
            state.whole = before
            recorder.phase = ""
            recorder.release()
        return GradientReport(self.names, self.known, recorder,
                              [p for p in self.parameters])

    def _arrived(self, name: str, gradient: Tensor) -> None:
        value = self.known[name]
        numbers = measure(gradient._raw)
        if value.gradient is not None or not numbers.is_zero:  # else none arrived
            value.gradient = numbers

    def _inputs(self) -> list[tuple[str, Tensor]]:
        names = argument_names(self.fn, len(self.args))
        return [leaf for i in self.by for leaf in paths(names[i], self.args[i])]

    def body(self, *args: Any, **kwargs: Any) -> Any:
        """The function, recorded."""
        recorder = self.recorder
        recorder.clear()
        self.known.clear()
        names = argument_names(self.fn, len(self.args))
        for i, arg in enumerate(args):
            for (name, tensor), (_, own) in zip(paths(names[i], arg), paths(names[i], self.args[i]),
                                                strict=True):
                self._know(name, tensor, own, "input")
        for key, arg in kwargs.items():
            for name, tensor in paths(key, arg):
                self._know(name, tensor, tensor, "input")
        for parameter in self.parameters:
            self._know(self.names.of_parameter(parameter), parameter, parameter, "parameter")
        for parameter in self.names.other_parameters(self.parameters):
            recorder.add_parameter(parameter._raw, parameter)
        recorder.phase = "forward"
        try:
            value = self.fn(*args, **kwargs)
            first = {id(t) for t in tensors(value[0])} if self._leaves_out(value) else None
            for name, tensor in paths("output", value):
                found = recorder.value(tensor._raw)
                found.is_output = found.is_output or first is None or id(tensor) in first
                found.name = found.name or name
        finally:
            recorder.phase = ""
        recorder.listen()
        recorder.phase = "backward"
        return value

    def _leaves_out(self, value: Any) -> bool:
        """Whether the first output alone is differentiated."""
        return self.has_aux and isinstance(value, (tuple, list)) and len(value) > 1

    def _know(self, name: str, tensor: Tensor, own: Tensor, kind: str) -> None:
        if isinstance(tensor, Parameter) and kind == "input":
            return
        value = self.recorder.named(tensor._raw, kind, name,
                                    tensor if isinstance(tensor, Parameter) else None)
        value.rules += parameter_rules(own)
        self.known.setdefault(name, value)
