"""Lamella's compiler from scratch, on PyTorch's kernels, as a program to read from top to bottom.

    python docs/compiler_from_scratch.py

A whole training step (forward pass, backward pass, update) becomes one flat list of kernels. It is
recorded while the step runs for real, so the first call costs no more than an eager one. The parts:

1. a *recorder* below the tape: each kernel that runs becomes an instruction on numbered registers;
2. *sources* and *guards*: where the step read its values from, and which of them must be the same
   for the recording to hold;
3. a *pass*: equal instructions are computed once, unused ones not at all;
4. *replay*: the checks come first, then side effects; each register is freed after its last use;
5. the *cache*: one entry for each path through the program, with a limit;
6. a *symbolic scalar*: a number that differs between calls becomes an input of the graph.

Each part ends with assertions; the program prints one line when all of them hold. `lamella/graph`
has the same parts, in folders of their own; docs/compiler.md says what each adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# ----------------------------------------------------------------------------------------------
# Part 1. The recorder.
#
# PyTorch calls a dispatch mode for each kernel, below the tape: what the backward pass and the
# optimizer do is seen as well. The recorder lets the kernel run and writes down an instruction:
# the kernel, its arguments (with a `Register` for each tensor), and where its results go. A tensor
# that no kernel of the recording made comes from outside: it is an input of the graph.
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Register:
    """The place of a tensor while a graph runs."""

    number: int


@dataclass
class Instruction:
    """One kernel: ``results = kernel(*arguments, **options)``."""

    kernel: Any
    arguments: tuple
    options: dict
    results: list[Register]

    @property
    def changes_memory(self) -> bool:
        """Whether it writes into a tensor that it was given: a side effect."""
        return self.kernel._schema.is_mutable

    @property
    def reads_a_number(self) -> bool:
        """Whether it gives a Python number, on which the program may decide something."""
        return self.kernel is torch.ops.aten._local_scalar_dense.default

    def operands(self) -> Iterator[Register]:
        for leaf in leaves((self.arguments, self.options)):
            if isinstance(leaf, Register):
                yield leaf


def leaves(value: Any) -> Iterator[Any]:
    """What is in tuples, lists and dicts, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure with `function` of each leaf."""
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(function, item) for item in value)
    if isinstance(value, dict):
        return {key: mapped(function, item) for key, item in value.items()}
    return function(value)


@dataclass
class Graph:
    """A recorded run: instructions, inputs from outside, results, and the numbers it read."""

    instructions: list[Instruction] = field(default_factory=list)
    constants: dict[Register, torch.Tensor] = field(default_factory=dict)
    arguments: list[Register] = field(default_factory=list)
    results: Any = None
    guards: dict[int, Any] = field(default_factory=dict)  # instruction that reads -> number


class Recorder(TorchDispatchMode):
    """A block in which each kernel becomes an instruction of `graph`."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.registers: dict[int, Register] = {}
        self.alive: list[torch.Tensor] = []  # so that no identity is used twice

    def register(self, tensor: torch.Tensor) -> Register:
        """The register of a tensor; a new one that holds a constant if it comes from outside."""
        if id(tensor) not in self.registers:
            self.graph.constants[self.new(tensor)] = tensor
        return self.registers[id(tensor)]

    def new(self, tensor: torch.Tensor) -> Register:
        self.alive.append(tensor)
        return self.registers.setdefault(id(tensor), Register(len(self.registers)))

    def of(self, value: Any) -> Any:
        """A structure with a Register for each tensor."""
        return mapped(lambda leaf: self.register(leaf) if torch.is_tensor(leaf) else leaf, value)

    def __torch_dispatch__(self, kernel, types, args=(), kwargs=None):
        arguments, options = self.of(args), self.of(kwargs or {})
        result = kernel(*args, **(kwargs or {}))
        made = [leaf for leaf in leaves(result) if torch.is_tensor(leaf)]
        known = [self.registers.get(id(t)) for t in made]
        instruction = Instruction(kernel, arguments, options,
                                  [k or self.new(t) for k, t in zip(known, made, strict=True)])
        if instruction.reads_a_number:
            self.graph.guards[len(self.graph.instructions)] = result
        self.graph.instructions.append(instruction)
        return result


def record(function: Callable, *args: Any) -> tuple[Any, Graph]:
    """The result of a call that runs for real, and its graph."""
    recorder = Recorder()
    recorder.graph.arguments = [recorder.new(a) for a in args if torch.is_tensor(a)]
    with recorder:
        result = function(*args)
    recorder.graph.results = recorder.of(result)
    return result, recorder.graph


weight = torch.tensor([1.0, 2.0], requires_grad=True)


def step(x: torch.Tensor) -> torch.Tensor:
    """A training step: the gradient, and an update in place."""
    loss = ((weight * x) ** 2).sum()
    (gradient,) = torch.autograd.grad(loss, weight)
    with torch.no_grad():
        weight.sub_(0.1 * gradient)
    return loss.detach()


def check_part_1() -> None:
    _, graph = record(step, torch.tensor([1.0, 1.0]))
    names = [i.kernel._schema.name.removeprefix("aten::") for i in graph.instructions]
    assert names[:3] == ["mul", "pow", "sum"] and "sub_" in names
    assert any(tensor is weight for tensor in graph.constants.values())
    assert [i.changes_memory for i in graph.instructions].count(True) == 1


# ----------------------------------------------------------------------------------------------
# Part 2. Sources and guards.
#
# The recording holds for another call if what the function read is as it was. A *source* says how
# to find a value again: an argument, a global name, a variable of an enclosing function. A *guard*
# is a source with the value it must have. Shapes and types of tensors are guards too, and so is
# each number that was read off a tensor: `if loss > 1` records one of two paths.
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """The path from the function to a value: ("argument", 1), ("global", "rate"), ..."""

    kind: str
    key: Any

    def value(self, function: Callable, args: tuple) -> Any:
        if self.kind == "argument":
            return args[self.key]
        if self.kind == "global":
            return function.__globals__.get(self.key)
        names = function.__code__.co_freevars
        return function.__closure__[names.index(self.key)].cell_contents


def sources(function: Callable, args: tuple) -> Iterator[Source]:
    """Where a function can read values from (here: not through the functions that it calls)."""
    yield from (Source("argument", number) for number in range(len(args)))
    code = function.__code__
    yield from (Source("global", name) for name in code.co_names if name in function.__globals__)
    yield from (Source("closure", name) for name in code.co_freevars)


def fingerprint(value: Any) -> Any:
    """What a recording depends on: a tensor's metadata, a number's value, else identity."""
    if torch.is_tensor(value):
        return tuple(value.shape), tuple(value.stride()), value.dtype, value.requires_grad
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value), value
    return id(value)


def guards_of(function: Callable, args: tuple) -> dict[Source, Any]:
    return {source: fingerprint(source.value(function, args))
            for source in sources(function, args)}


rate = 2.0


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * rate


def check_part_2() -> None:
    global rate
    x = torch.ones(3)
    before = guards_of(scaled, (x,))
    assert before == guards_of(scaled, (x + 1,))  # other numbers in a tensor: the same graph
    assert before != guards_of(scaled, (torch.ones(4),))
    rate = 3.0
    assert before != guards_of(scaled, (x,))  # the recording has 2.0 in it
    rate = 2.0


# ----------------------------------------------------------------------------------------------
# Part 3. A pass: common subexpressions and dead code.
#
# Two instructions with the same kernel and the same arguments give the same result, unless memory
# changed in between or the kernel draws random numbers. We number the writes: an instruction is
# known by its kernel, its arguments and how many writes came before it. What nobody reads is
# dropped, from the end, except side effects and guards.
# ----------------------------------------------------------------------------------------------


def optimized(graph: Graph) -> Graph:
    """The same graph with less to do."""
    same: dict[Register, Register] = {}
    seen: dict[Any, list[Register]] = {}
    kept: list[tuple[Instruction, Any]] = []
    writes = 0
    for place, old in enumerate(graph.instructions):
        of = mapped(lambda leaf: same.get(leaf, leaf) if isinstance(leaf, Register) else leaf,
                    (old.arguments, old.options))
        new = Instruction(old.kernel, *of, old.results)
        writes += new.changes_memory
        random = torch.Tag.nondeterministic_seeded in new.kernel.tags
        key = (new.kernel, repr(of), writes)
        if key in seen and not (new.changes_memory or random or place in graph.guards):
            same.update(zip(new.results, seen[key], strict=True))
            continue
        seen.setdefault(key, new.results)
        kept.append((new, graph.guards.get(place)))
    results = mapped(lambda r: same.get(r, r) if isinstance(r, Register) else r, graph.results)
    return without_dead(kept, Graph([], graph.constants, graph.arguments, results))


def without_dead(instructions: list[tuple[Instruction, Any]], graph: Graph) -> Graph:
    used = {leaf for leaf in leaves(graph.results) if isinstance(leaf, Register)}
    kept = []
    for instruction, guard in reversed(instructions):
        if guard is not None or instruction.changes_memory or used & {*instruction.results}:
            used |= {*instruction.operands()}
            kept.append((instruction, guard))
    for instruction, guard in reversed(kept):
        if guard is not None:
            graph.guards[len(graph.instructions)] = guard
        graph.instructions.append(instruction)
    return graph


def check_part_3() -> None:
    def twice(x):
        unused = x.exp()  # noqa: F841
        return x.sin() * x.sin()

    _, graph = record(twice, torch.ones(2))
    assert len(graph.instructions) == 4
    assert len(optimized(graph).instructions) == 2


# ----------------------------------------------------------------------------------------------
# Part 4. Replay.
#
# A guard on a number is known only after the kernels before it have run. If it fails, nothing of
# the program may have changed: so no side effect may stand before the last guard. Here a graph in
# which one does is refused; Lamella cuts such graphs in stages. Registers are freed after their
# last use, so a replay needs no more memory than the eager run did.
# ----------------------------------------------------------------------------------------------


class Miss(Exception):
    """A number that was read off a tensor is another one than in the recording."""


def refusal(graph: Graph) -> str | None:
    """Why a graph can't be replayed, or None."""
    last = max(graph.guards, default=-1)
    if any(i.changes_memory for i in graph.instructions[:last]):
        return "it changes memory before it reads a number"
    return None


def last_uses(graph: Graph) -> list[list[Register]]:
    """For each instruction, the registers that nobody reads after it."""
    needed = {leaf for leaf in leaves(graph.results) if isinstance(leaf, Register)}
    free: list[list[Register]] = []
    for instruction in reversed(graph.instructions):
        touched = {*instruction.operands(), *instruction.results}
        free.append([r for r in touched - needed if r not in graph.constants])
        needed |= touched
    return free[::-1]


def replay(graph: Graph, args: tuple) -> Any:
    tensors = [a.detach() for a in args if torch.is_tensor(a)]
    values = {**{r: t.detach() for r, t in graph.constants.items()},
              **dict(zip(graph.arguments, tensors, strict=True))}

    def read(structure: Any) -> Any:
        return mapped(lambda v: values[v] if isinstance(v, Register) else v, structure)

    with torch.no_grad():  # the backward pass is part of the graph: no tape
        for place, (now, free) in enumerate(zip(graph.instructions, last_uses(graph),
                                                strict=True)):
            result = now.kernel(*read(now.arguments), **read(now.options))
            if place in graph.guards and result != graph.guards[place]:
                raise Miss
            made = [leaf for leaf in leaves(result) if torch.is_tensor(leaf)]
            values.update(zip(now.results, made, strict=True))
            for register in free:
                values.pop(register, None)
    return read(graph.results)


def check_part_4() -> None:
    x = torch.tensor([0.5, -1.0])
    start = weight.detach().clone()
    _, graph = record(step, x)
    eager = weight.detach().clone()
    with torch.no_grad():
        weight.copy_(start)
    loss = replay(optimized(graph), (x,))
    assert torch.equal(weight, eager) and torch.equal(loss, ((start * x) ** 2).sum())


# ----------------------------------------------------------------------------------------------
# Part 5. The cache: `jit`.
#
# A call looks for an entry whose guards hold and replays it. If all entries miss, the call is
# recorded (that is a *recompilation*) and becomes an entry too. There is a limit: a function that
# takes another path in every call runs eagerly.
# ----------------------------------------------------------------------------------------------


@dataclass
class Entry:
    """A recording with the guards under which it holds."""

    guards: dict[Source, Any]
    graph: Graph
    scalars: tuple[int, ...] = ()  # arguments that are symbolic scalars (part 6)


class Compiled:
    """A function and the graphs that were recorded of it."""

    def __init__(self, function: Callable, limit: int = 4):
        self.function = function
        self.limit = limit
        self.entries: list[Entry] = []
        self.recordings = 0

    def __call__(self, *args: Any) -> Any:
        guards = guards_of(self.function, args)
        for entry in self.entries:
            ignored = {Source("argument", place) for place in entry.scalars}
            if all(guards.get(s) == f for s, f in entry.guards.items() if s not in ignored):
                try:
                    return replay(*bound(entry, args))
                except Miss:
                    continue
        if self.recordings >= self.limit:
            return self.function(*args)
        return self.recorded(guards, args)

    def recorded(self, guards: dict[Source, Any], args: tuple) -> Any:
        self.recordings += 1
        result, graph = record(self.function, *args)
        if refusal(graph) is None:
            entry = Entry(guards, optimized(graph))
            self.entries.append(next(unified(entry, self.entries), entry))
        return result


# ----------------------------------------------------------------------------------------------
# Part 6. A symbolic scalar.
#
# `f(x, 0.1)`, `f(x, 0.2)`, ...: must each number have its graph? When two recordings differ only
# in constants, and each of these is the argument's value in both, the argument is a *symbolic
# scalar*: its place in the instructions is filled in by each call. What the program computed from
# the number in Python (`2 * rate`) is another constant, and stays a guard here. What it *decided*
# by the number (`if rate > 1`) isn't seen here: Lamella runs the function again with a stand-in for
# the number, which notes each operation and comparison.
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """A number that each call gives."""

    argument: int


def unified(new: Entry, others: list[Entry]) -> Iterator[Entry]:
    """An entry for both of two recordings that differ in the value of arguments only."""
    for old in others:
        differing = [s for s in new.guards if new.guards[s] != old.guards.get(s)]
        if any(s.kind != "argument" or new.guards[s][0] is not float for s in differing):
            continue
        values = {(old.guards[s][1], new.guards[s][1]): Scalar(s.key) for s in differing}
        pairs = list(zip(old.graph.instructions, new.graph.instructions, strict=False))
        a = [list(leaves((i.arguments, i.options))) for i, _ in pairs]
        b = [list(leaves((j.arguments, j.options))) for _, j in pairs]
        alike = (len(old.graph.instructions) == len(new.graph.instructions)
                 and all(i.kernel is j.kernel for i, j in pairs)
                 and all(x == y or (x, y) in values
                         for xs, ys in zip(a, b, strict=True)
                         for x, y in zip(xs, ys, strict=True)))
        if alike and values and not new.graph.guards:
            yield Entry(new.guards, with_scalars(new.graph, a, b, values),
                        tuple(s.key for s in differing))


def with_scalars(graph: Graph, old: list[list], new: list[list], values: dict) -> Graph:
    instructions = []
    for instruction, xs, ys in zip(graph.instructions, old, new, strict=True):
        found = iter([values.get((x, y), y) if x != y else y for x, y in zip(xs, ys, strict=True)])
        arguments, options = mapped(lambda _, found=found: next(found),
                                    (instruction.arguments, instruction.options))
        instructions.append(Instruction(instruction.kernel, arguments, options,
                                        instruction.results))
    return Graph(instructions, graph.constants, graph.arguments, graph.results)


def bound(entry: Entry, args: tuple) -> tuple[Graph, tuple]:
    """The graph of an entry with the numbers of this call in it."""
    if not entry.scalars:
        return entry.graph, args
    graph = entry.graph
    instructions = [
        Instruction(i.kernel, *mapped(
            lambda leaf: args[leaf.argument] if isinstance(leaf, Scalar) else leaf,
            (i.arguments, i.options)), i.results) for i in graph.instructions]
    return Graph(instructions, graph.constants, graph.arguments, graph.results), args


def check_parts_5_and_6() -> None:
    def clipped(x):
        total = x.sum()
        if total > 1:  # reads a number off a tensor
            return x / total
        return x * 1.0

    fast = Compiled(clipped)
    for x in (torch.ones(3), 2 * torch.ones(3), 0.1 * torch.ones(3), torch.ones(3)):
        assert torch.equal(fast(x), clipped(x))
    assert fast.recordings == 2  # the comparison has two outcomes: two paths

    decayed = Compiled(lambda x, rate: x - rate * x)
    for number in (0.1, 0.2, 0.3, 0.4, 0.5):
        x = torch.rand(3)
        torch.testing.assert_close(decayed(x, number), x - number * x)
    assert decayed.recordings == 2  # from the third number on, it is an input


if __name__ == "__main__":
    check_part_1()
    check_part_2()
    check_part_3()
    check_part_4()
    check_parts_5_and_6()
    print("The compiler from scratch: all parts hold.")
