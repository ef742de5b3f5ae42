"""A network's operations as PyTorch records them, which every format of `export` is made from."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ..autodiff.integers import Integers, gradients_by_integers
from ..autodiff.tree import map_tensors
from ..compat.arguments import plain_signature
from ..core import dtype as mstype
from ..graph.tracing.lines import Line, line_of
from ..machine.products import routes
from ..nn.cell import Cell
from ..nn.wrap import functional_call
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .onnx_operators import LinesOf

__all__ = ["line_of_operation", "names_of", "recorded"]


def names_of(net: Cell, inputs: Sequence[Any]) -> list[str]:
    """What `construct` calls the inputs; those that it takes together are numbered."""
    names: list[str] = []
    try:
        bound = inspect.signature(net.construct).bind(*inputs)
    except TypeError as mismatch:
        raise _mismatch(net, mismatch) from None
    parameters = bound.signature.parameters
    for name, value in bound.arguments.items():
        several = parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}{i}" for i in range(len(value))] if several else [name]
    return names


# what PyTorch's exporter says of a result that its tape has kept
_OF_GRADIENTS = "a fake tensor in the exported program"


def _mismatch(net: Cell, mismatch: TypeError) -> TypeError:
    return TypeError(f"For 'export', {mismatch}: give an example of each input after the network; "
                     f"{type(net).__name__} takes {plain_signature(net.construct)}.")


class _WithParameters(Cell):
    """A Cell that gives what its Parameters hold in the end beside its output."""

    def __init__(self, net: Cell, parameters: list[Parameter]):
        super().__init__(auto_prefix=False)
        self.net, self.held = net, tuple(parameters)

    def construct(self, *inputs: Any) -> Any:
        return self.net(*inputs), [parameter._raw for parameter in self.held]


class _Module(torch.nn.Module):
    """A Cell as PyTorch's exporter takes it: its Parameters are buffers p0, p1, ..."""

    def __init__(self, net: Cell, parameters: list[Parameter], stateful: bool):
        super().__init__()
        self.net, self.names = _WithParameters(net, parameters), [p.name for p in parameters]
        self.stateful = stateful
        for i, parameter in enumerate(parameters):
            self.register_buffer(f"p{i}", parameter.init_data()._data.detach())

    def forward(self, *inputs: Any) -> Any:
        values = {name: wrap(getattr(self, f"p{i}")) for i, name in enumerate(self.names)}
        given = tuple(wrap(x) if isinstance(x, torch.Tensor) else x for x in inputs)
        result, ends = functional_call(self.net, values, given)
        for i, end in enumerate(ends if self.stateful else ()):
            held = getattr(self, f"p{i}")
            if end is not held:
                held.copy_(end)
        return map_tensors(lambda t: t._raw, result)


def recorded(net: Cell, inputs: Sequence[Any], open_axes: Sequence[set[int]] = (),
             stateful: bool = True) -> tuple[Any, list[Parameter]]:
    """The network's program, and the Parameters it reads, in the order of its buffers.

    Args:
        net, inputs: as for `export`.
        open_axes: for each input, dimensions that may vary beside those that it says itself.
        stateful: whether the program changes the Parameters that the network assigns to.
    """
    names_of(net, inputs)
    parameters = [p for _, p in net.parameters_and_names()]
    examples, shapes = [], []
    for i, value in enumerate(inputs):
        sizes = list(value.__dict__.get("sizes", value.shape)) if isinstance(value, Tensor) else []
        for axis in open_axes[i] if i < len(open_axes) else ():
            sizes[axis] = None
        is_open = None in sizes
        if isinstance(value, Tensor):
            # open sizes aren't 1, which is a case of its own, and equal in one dimension, where
            # inputs often have to agree
            example = torch.ones([3 + 2 * d if n is None else n for d, n in enumerate(sizes)],
                                 dtype=mstype.to_raw(value.dtype), device=value._raw.device) \
                if is_open else value._raw.detach()
            examples.append(example)
        else:
            examples.append(value)
        shapes.append({d: torch.export.Dim.DYNAMIC for d, n in enumerate(sizes) if n is None}
                      if is_open else None)
    enabled, routes.enabled = routes.enabled, False  # timing products belongs to no program
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = _exported(net, parameters, examples, shapes, stateful)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise RuntimeError(f"For 'export', {type(net).__name__} can't be recorded"
                           f"{line_of(error)}: {lines[0]} A network that is exported must "
                           f"not make Python values of Tensors.") from error
    finally:
        routes.enabled = enabled
    return program, parameters


def _exported(net: Cell, parameters: list[Parameter], examples: list[Any], shapes: list[Any],
              stateful: bool) -> Any:
    def run(module: torch.nn.Module) -> Any:
        return torch.export.export(
            module, tuple(examples), strict=False,
            dynamic_shapes={"inputs": tuple(shapes)} if any(shapes) else None)

    module = _Module(net, parameters, stateful)
    try:
        return run(module)
    except Exception as error:
        integers = Integers.__name__ in str(error)
        if any(shapes) or not (integers or _OF_GRADIENTS in str(error)) or (
                integers and not _integers_are_constants(net, parameters, examples)):
            raise
        with gradients_by_integers(False) if integers else contextlib.nullcontext():
            return run(_Flat(module, examples))


class _Flat(torch.nn.Module):
    """A network as one graph of kernels, its backward pass among them.

    PyTorch's exporter records above its tape, and loses results that the tape has kept for the
    backward pass (that of `exp` or `relu`).
    """

    def __init__(self, module: _Module, examples: list[Any]):
        super().__init__()
        names, buffers = zip(*module.named_buffers(), strict=True) if module.names else ((), ())
        for name, held in zip(names, buffers, strict=True):
            self.register_buffer(name, held)
        self.names = names

        def network(held: Sequence[torch.Tensor], inputs: Sequence[Any]) -> Any:
            return torch.func.functional_call(module, dict(zip(names, held, strict=True)),
                                              tuple(inputs))

        tracer = make_fx(network, tracing_mode="fake", _allow_non_fake_inputs=True)
        # in a tuple: the tensors that it holds are constants of the program, not its Parameters
        self.graph = (tracer(list(buffers), list(examples)),)

    def forward(self, *inputs: Any) -> Any:
        return self.graph[0]([getattr(self, name) for name in self.names], list(inputs))


def _integers_are_constants(net: Cell, parameters: list[Parameter], examples: list[Any]) -> bool:
    """Whether a network takes gradients by none of its integer inputs, as by classes or indices.

    A program that is recorded can hold none. The network runs once to see whether
    it has any, on copies of its inputs and Parameters; what can't run so is recorded as it is.
    """
    module = _Module(net, parameters, False)
    for name, held in list(module.named_buffers()):
        setattr(module, name, held.clone())
    found: list[torch.Tensor] = []
    with contextlib.suppress(Exception), gradients_by_integers(found):
        module(*(x.clone() if isinstance(x, torch.Tensor) else x for x in examples))
        return not found
    return False


def line_of_operation(net: Cell, program: Any, node: Any) -> tuple[str, Line]:
    """An operation that was recorded: its name in PyTorch, and the user's line that asks for it."""
    name = str(node.meta.get("original_aten") or node.target)
    lines = LinesOf(name)
    with torch.no_grad(), lines:
        net(*[wrap(x) if isinstance(x, torch.Tensor) else x for x in program.example_inputs[0]])
    return name.split(".")[1], lines.first
