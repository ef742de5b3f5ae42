"""A part of a graph as a function: instructions run in C++, or Python code.

Both call the kernels one after another and release each buffer at its last use (liveness). The C++
form (`program.cpp`) is used where it has been built (`extension`): its overhead per kernel is about
a quarter of Python's.
"""

from __future__ import annotations

import contextlib
import operator
import pathlib
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from ...machine.extension import Extension
from ..ir.loop import Loop, loop_of
from ..ir.operations import last_uses, nodes_in
from ..ir.stages import Part

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]


_PLAIN = (type(None), bool, int, float, torch.dtype, torch.device)  # arguments without tensors
_NUMBERS = (float, int, slice, torch.dtype)  # by their text: 0.0 and -0.0 are two
extension = Extension("lamella_program", pathlib.Path(__file__).with_name("program.cpp"))


class Handed(list[Any]):
    """Inputs that nobody else needs: the function empties this list, and frees them as it runs."""


class NoProgram(Exception):
    """The graph has an operation that is not a kernel, such as arithmetic on sizes."""


def is_in_python(run: Run) -> bool:
    """Whether `in_python` made a function."""
    return isinstance(run, types.FunctionType)


def program(part: Part) -> Run:
    """A function that runs a part of a graph, by the fastest executor available."""
    built = extension.load()
    if built is not None:
        with contextlib.suppress(NoProgram):
            return in_cpp(part, built.make)
    return in_python(part)


def in_python(part: Part) -> Run:
    """A function that runs a part of a graph, with every kernel bound to a variable."""
    last, results = last_uses(part.nodes), set(part.results)
    names = {node: f"v{i}" for i, node in enumerate((*part.inputs, *part.nodes))}
    bound: dict[Any, tuple[str, Any]] = {}  # each once: Python's compiler is quadratic in them
    lines: list[str] = []

    def named(value: Any) -> str:
        return bound.setdefault(_identity(value), (f"b{len(bound)}", value))[0]

    def written(value: Any) -> str:
        if isinstance(value, Node):
            return names[value]
        if isinstance(value, (tuple, list)):
            parts = [written(v) for v in value]
            return f"[{', '.join(parts)}]" if nodes_in(value) else named(value)
        if isinstance(value, slice):
            return named(value)
        return repr(value) if value is None or type(value) in (bool, int) else named(value)

    if part.inputs:
        lines.append(f"{', '.join(names[n] for n in part.inputs)}, = values")
        lines.append(f"if type(values) is {named(Handed)}: values.clear()")
    for node in part.nodes:
        if node.op == "get_attr":
            lines.append(f"{names[node]} = {named(_attribute(part, node))}")
        elif node.op == "call_function":
            called = named(getattr(node.target, "_op", node.target))
            given = [*map(written, node.args),
                     *(f"{k}={written(v)}" for k, v in node.kwargs.items())]
            lines.append(f"{names[node]} = {called}({', '.join(given)})")
        gone = [names[n] for n in last[node] if n not in results]
        if gone:
            lines.append(" = ".join([*gone, "None"]))
    lines.append(f"return [{', '.join(names[n] for n in part.results)}]")
    kept = ", ".join(name for name, _ in bound.values())
    code = [f"def made({kept}):", " def run(values):", *(f"  {line}" for line in lines),
            " return run"]
    space: dict[str, Any] = {}
    exec(compile("\n".join(code), "<replay>", "exec"), space)  # noqa: S102
    return space["made"](*[value for _, value in bound.values()])


def _identity(value: Any) -> Any:
    """A key that two arguments of kernels have in common if one may stand for the other."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_identity, value))
    return (type(value), repr(value)) if isinstance(value, _NUMBERS) else id(value)


def in_cpp(part: Part, make: Callable[..., Run]) -> Run:
    """A function that runs a part of a graph, by the executor in C++.

    Args:
        part: the part.
        make: `make` of the extension.

    Raises:
        NoProgram: if it can't run this graph.
    """
    lowered = _Lowered(part, make)
    try:
        return make(lowered.instructions, lowered.results, lowered.registers, lowered.inputs,
                    part.shares)
    except (RuntimeError, TypeError, ValueError) as reason:
        raise NoProgram(str(reason)) from reason


class _Lowered:
    """A part as a list of instructions on registers.

    An instruction has a kind, the operation's name and overload, operands, constants, and the
    registers of its results. The operands are in the order of the schema: twice the number of a
    register, plus 1 at its last use; or ``~i`` for the instruction's i-th constant.
    """

    def __init__(self, part: Part, make: Callable[..., Run]):
        self.make = make
        self.values: dict[Node, Any] = {}  # of nodes: the number of a value, numbers, a constant
        self.steps: list[tuple[str, str, str, list[Any], Any, list[int]]] = []
        self.count = 0
        self._schemas: dict[int, _Operation] = {}  # by identity: an operation's hash is slow
        for node in part.inputs:
            self.values[node] = self._new()
        self.inputs = self.count
        for node in part.nodes:
            if node.op == "get_attr":
                self.values[node] = _Constant(_attribute(part, node))
            elif node.op == "call_function":
                self._call(node)
        results = [self.values[n] for n in part.results]
        if any(isinstance(value, _Constant) for value in results):
            raise NoProgram("a constant as a result")
        self._allocate(results)

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def _call(self, node: Node) -> None:
        if node.target is operator.getitem:
            several, number = node.args
            found: Any = self.values[several]  # type: ignore[index]
            if isinstance(found, list):
                self.values[node] = found[number]  # type: ignore[index]
            else:
                self.values[node] = self._new()
                self.steps.append(("item", "", "", [found], number, [self.values[node]]))
            return
        schema = self._schemas.get(id(node.target))
        if schema is None and (loop := loop_of(node)) is not None:
            self.values[node] = self._new()
            given = self._taken(node.args[0], "List[Tensor]")
            self.steps.append(("loop", "", "", [given], self._described(loop),
                               [self.values[node]]))
            return
        if schema is None:
            schema = self._schemas[id(node.target)] = _operation(node.target)
        args, kwargs, values = node.args, node.kwargs, self.values
        given, takes, constants = len(args), [], []
        for i, (name, has_default, default, kind) in enumerate(schema.arguments):
            if i < given:
                value: Any = args[i]
            elif name in kwargs:
                value = kwargs[name]
            elif has_default:
                value = default
            else:
                raise NoProgram(f"{node.target} without '{name}'")
            if type(value) in _PLAIN:
                constants.append(value)
                takes.append(-len(constants))
                continue
            taken = values[value] if type(value) is Node else self._taken(value, kind)
            if isinstance(taken, _Constant):
                constants.append(taken.value)
                taken = -len(constants)
            takes.append(taken)
        results = [*range(self.count, self.count + schema.results)]
        self.count += schema.results
        self.values[node] = results[0] if len(results) == 1 else results
        self.steps.append(("call", schema.name, schema.overload, takes, constants, results))

    def _described(self, loop: Loop) -> tuple:
        """A loop as `program.cpp` reads it."""
        body, condition = [None if graph is None else in_cpp(Part.whole(graph), self.make)
                           for graph in (loop.body, loop.condition)]
        return (body, condition, loop.carried, loop.stacks,
                -1 if loop.steps is None else loop.steps, loop.backward, loop.counts, loop.counted,
                sorted(loop.copied), loop.kept)

    def _taken(self, value: Any, kind: str) -> Any:
        """A constant; a list of tensors becomes a value."""
        if not nodes_in(value):
            return _Constant(value)
        if kind not in ("List[Tensor]", "List[Optional[Tensor]]"):
            raise NoProgram(f"a {kind} of values")
        parts = [self.values[v] if isinstance(v, Node) else ~0 for v in value]
        name = "list" if kind == "List[Tensor]" else "optional list"
        self.steps.append((name, "", "", parts, None, [self._new()]))
        return self.steps[-1][-1][0]

    def _allocate(self, results: list[Any]) -> None:
        """Assign registers to values; a register is used again after its value's last use."""
        last: dict[int, int] = {}  # of each value: the number of its last use, of all uses in order
        use = 0
        for step in self.steps:
            for value in step[3]:
                use += 1
                last[value] = use
        last.update(dict.fromkeys(results, 0))
        registers = {value: value for value in range(self.inputs)}
        free: list[int] = []
        self.registers = self.inputs
        self.instructions: list[tuple] = self.steps  # each takes the place of its step
        use = 0
        for i, (kind, name, overload, takes, constants, made) in enumerate(self.steps):
            codes = []
            for value in takes:
                use += 1
                code = value
                if value >= 0:
                    register = registers[value]
                    code = 2 * register
                    if last[value] == use:
                        code += 1
                        free.append(register)
                codes.append(code)
            outs = []
            for value in made:
                register = -1
                if value in last:
                    if free:
                        register = free.pop()
                    else:
                        register, self.registers = self.registers, self.registers + 1
                    registers[value] = register
                outs.append(register)
            self.instructions[i] = kind, name, overload, codes, constants, outs
        self.results = [2 * registers[value] for value in results]


class _Operation(NamedTuple):
    """What an instruction has of the schema of an operation.

    Attributes:
        name, overload: its name.
        arguments: of each argument the name, whether it has a default value, this, and its type.
        results: how many results it has.
    """

    name: str
    overload: str
    arguments: list[tuple[str, bool, Any, str]]
    results: int


def _operation(target: Any) -> _Operation:
    schema = getattr(target, "_schema", None)
    if schema is None:
        raise NoProgram(str(target))
    return _Operation(schema.name, schema.overload_name, [
        (formal.name, formal.has_default_value(), formal.default_value, str(formal.type))
        for formal in schema.arguments], len(schema.returns))


class _Constant:
    """A constant of the graph."""

    def __init__(self, value: Any):
        self.value = value


def _attribute(part: Part, node: Node) -> Any:
    return getattr(part.root, str(node.target))
