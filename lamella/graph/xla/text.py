"""Description of a graph as text for the process that lowers it, and as a key on disk."""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node

from ..ir.interpreter import interpret
from ..ir.loop import Loop, keeps_to, loop_of
from ..ir.metadata import TensorMetadata, meta_of_value
from ..ir.operations import bases_of, effects_of, is_random, written_by
from ..ir.stages import Part
from .lowering import TABLE, NotLowered
from .lowering.shapes import memory_places
from .numbers import NO_NUMBERS, Number, words_of
from .rewriting import is_strided

TYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
         torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
         torch.complex128)

Words = dict[str, Any]  # of JSON

MOST_PACKED = 4096  # elements of a result that is copied beside others
MOST_KEPT = 2**28  # bytes of what is kept of a loop's steps, where their number depends on data
MOST_GAPS = 4  # times as much memory as elements that a result of more than MOST_PACKED may take

TURNING = ("_linalg_det.default", "_linalg_slogdet.default")  # see `_turns`


def described(graph: GraphModule | Part, inputs: list[torch.Tensor], checks: int = 0,
              room: int = 0, kept: Callable[[Words], Any] = lambda step: step,
              constants: Mapping[int, Number] = NO_NUMBERS) -> dict[str, Any]:
    """A graph as JSON: operations with all arguments, and values with their numbers.

    Args:
        graph: a graph that changes none of its inputs, or a part of one.
        inputs: inputs of the graph, on which it is run once to find the metadata of its values.
        checks: how many of its last results tell by a number other than 0 that a matrix can't be
            factorized (`without_checks`).
        room: for how many steps there is room in loops that keep values of a number of steps that
            depends on data. A flag tells if there were more.
        kept: what is kept of each operation's words.
        constants: the inputs that are one number throughout; the code makes them itself.

    Raises:
        NotLowered: if the table lacks an operation, or a value isn't a dense tensor of the CPU.
    """
    part = graph if isinstance(graph, Part) else Part.whole(graph)
    taken = check(part, constants)
    results = part.results
    metas, numbers, found, values = _steps(part, inputs, taken, constants, room)
    inputs = [inputs[i] for i in taken]
    steps, outgrown = [], []
    for step in found:
        steps.append(kept(step))
        if "room" in step:  # whether there were more steps
            outgrown.append((step["to"], len(step["aval"]) - 1))
    last = len(inputs) + len(steps)
    more = range(last, last + len(outgrown))
    steps += [kept({"op": "getitem", "to": to, "args": [{"n": loop}, place], "aval": [[], "bool"]})
              for to, (loop, place) in zip(more, outgrown, strict=True)]
    results, checked = results[:len(results) - checks], results[len(results) - checks:]
    values = values[:len(results)]
    flags = [*(numbers[n] for n in checked), *more]
    places = [_place_of(_checked(meta_of_value(x))) for x in inputs]
    ends = [_checked(metas[n]) for n in results]
    layouts = [[repeated(meta), *_layout_of(meta)] for meta in ends]
    _check_apart(values)
    placed = [[_short(meta), *layout] for meta, layout in zip(ends, layouts, strict=True)]
    together = packs(placed)
    return {"inputs": [[[x.shape[i] for i in order or range(x.dim())], _type(x.dtype)]
                       for x, order in zip(inputs, places, strict=True)],
            "taken": taken, "places": places,
            "orders": [order and _inverse(order) for order in places], "steps": steps,
            "results": [[numbers[n], *layout] for n, layout in zip(results, layouts, strict=True)],
            "packs": together, "checks": flags,
            "flag": _flag_place(together, placed) if flags else None,
            "strides": [list(meta.stride) for meta in ends],
            "shapes": [list(meta.shape) for meta in ends]}


def text_of(*args: Any, **kwargs: Any) -> str:
    """What `described` gives, as text. Each operation's words become text at once: a description of
    a long graph takes ten times as much memory.
    """
    found = described(*args, **kwargs, kept=json.dumps)
    steps = found.pop("steps")
    if not steps:
        return json.dumps({**found, "steps": []})
    steps[0] = f'{json.dumps(found)[:-1]}, "steps": [{steps[0]}'
    steps[-1] += "]}"
    return ", ".join(steps)


def packs(ends: list[Any]) -> list[list[int]]:
    """The results that each array holds, one after another: each array costs microseconds.

    Args:
        ends: of each result its shape and type, the dimensions that repeat, their order in
            memory, and the strides if there are gaps.
    """
    found: list[list[int]] = []
    together: dict[str, list[int]] = {}
    for i, end in enumerate(ends):
        if _is_small(end):
            _, dtype = end[0]
            if dtype not in together:
                found.append(together.setdefault(dtype, []))
            together[dtype].append(i)
        else:
            found.append([i])
    return found


def _is_small(end: list[Any]) -> bool:
    """Whether a result is copied into an array beside others."""
    (shape, _), repeats, _, gaps = end
    return not repeats and not gaps and 0 < math.prod(shape) <= MOST_PACKED


def _flag_place(together: list[list[int]], ends: list[Any]) -> list[int]:
    """The array, and the number in it, of the flag that says that a check has failed.

    It is the last element of an array of small results, or else an array of its own.
    """
    for array, pack in enumerate(together):
        if _is_small(ends[pack[0]]):
            return [array, sum(math.prod(ends[i][0][0]) for i in pack)]
    return [len(together), 0]


def check(part: Part, constants: Mapping[int, Number] = NO_NUMBERS) -> list[int]:
    """Check what can be known of a graph without running it; returns the numbers of the inputs that
    XLA takes. The others are of one number, and no result lies in one.

    Raises:
        NotLowered: if the table lacks an operation, or memory is shared in a way that isn't known.
    """
    _check_names(part.nodes)
    bases = bases_of(part.nodes, part.inputs)
    needed = set().union(*(bases[n] for n in part.results))
    taken = [i for i, node in enumerate(part.inputs) if i not in constants or node in needed]
    _check_aliases(part.nodes, part.results, {part.inputs[i] for i in taken}, bases)
    for node in part.nodes:
        if (loop := loop_of(node)) is not None:
            if loop.has_open_stacks and not keeps_to(node, part.nodes):
                raise NotLowered("a number of values that depends on data")
            _check_inside(loop)
    return taken


def _check_inside(loop: Loop) -> None:
    for graph in loop.graphs:
        nodes = list(graph.graph.nodes)
        _check_names(nodes)
        _check_writes(nodes, bases_of(nodes))
        for inner in filter(None, map(loop_of, nodes)):
            if inner.has_open_stacks:
                raise NotLowered("a loop that keeps values, inside of another loop")
            _check_inside(inner)


def _checked(meta: TensorMetadata | None) -> TensorMetadata:
    if meta is None or meta.device.type != "cpu" or meta.dtype not in TYPES:
        raise NotLowered("a value that isn't a dense tensor of the CPU")
    return meta


def order_of(meta: TensorMetadata) -> list[int] | None:
    """The dimensions in the order in which they lie in memory, the outermost first; None if that
    is their order already. Repeated dimensions count as one element.

    Raises:
        NotLowered: if there are gaps in memory, or elements that overlap otherwise.
    """
    if meta.contiguous:
        return None
    once = repeated(meta)
    lengths = [1 if i in once else n for i, n in enumerate(meta.shape)]
    order = sorted(range(len(lengths)), key=lambda i: (-meta.stride[i], -lengths[i], i))
    step = 1
    for i in reversed(order):
        if lengths[i] != 1 and meta.stride[i] != step and meta.size:
            raise NotLowered("a tensor with gaps")
        step *= lengths[i]
    return None if order == sorted(order) else order


def _layout_of(meta: TensorMetadata) -> tuple[list[int] | None, list[int] | None]:
    """How a result lies in memory: `order_of` it, or its strides if there are gaps.

    Raises:
        NotLowered: if elements overlap, or most of the memory is gaps.
    """
    try:
        return order_of(meta), None
    except NotLowered:
        if meta.span > max(MOST_PACKED, MOST_GAPS * meta.size):
            raise
        return None, list(meta.stride)


def _check_apart(results: list[Any]) -> None:
    """Check that no two results have an element of memory in common.

    Each gets memory of its own, so a write into one must not be one into another.
    """
    parts: dict[int, list[torch.Tensor]] = {}
    for value in results:
        if isinstance(value, torch.Tensor) and value.numel():
            parts.setdefault(value.untyped_storage().data_ptr(), []).append(value)
    for those in parts.values():
        unit = min(value.itemsize for value in those)  # a part of a complex number is shorter
        places = [_places(value, unit) for value in those] if len(those) > 1 else []
        if places and len(np.unique(np.concatenate(places))) < sum(map(len, places)):
            raise NotLowered("results that share memory")


def _places(value: torch.Tensor, unit: int) -> np.ndarray:
    """Where the elements of a tensor lie in memory, in places of so many bytes."""
    first = np.unique(memory_places(
        list(value.shape), list(value.stride()), int(value.storage_offset())))
    count = value.itemsize // unit
    return (first[:, None] * count + np.arange(count)).ravel()


def repeated(meta: TensorMetadata) -> list[int]:
    """The dimensions whose elements all lie in the same place."""
    return [i for i, (n, step) in enumerate(zip(meta.shape, meta.stride, strict=True))
            if n > 1 and step == 0]


def _place_of(meta: TensorMetadata) -> list[int] | None:
    """`order_of` an input; with gaps it is copied row by row."""
    try:
        return None if repeated(meta) else order_of(meta)
    except NotLowered:
        return None


def _inverse(order: list[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _check_names(nodes: list[Node]) -> None:
    checked: set[int] = set()  # operations by identity: a long graph has few
    for node in nodes:
        if node.op == "get_attr":
            raise NotLowered("an attribute")
        if is_random(node):
            raise NotLowered(str(node.target))
        if node.op != "call_function" or node.target is operator.getitem or (
                id(node.target) in checked or loop_of(node) is not None):
            continue
        checked.add(id(node.target))
        if name_of(node)[0] not in TABLE:
            raise NotLowered(str(node.target))


def name_of(node: Node) -> tuple[str, bool]:
    """The row of an operation, and whether it writes its first argument."""
    name = str(node.target).removeprefix("aten.")  # the table has none that writes anything else
    known = effects_of(node.target)
    if known.reshapes_in_place:
        return functional(name), False
    return (functional(name), True) if known.written else (name, False)


def functional(name: str) -> str:
    """The name of the operation that computes what one in place writes."""
    name, _, overload = name.partition(".")
    return f"{name.removesuffix('_')}.{overload}"


def _check_aliases(nodes: list[Node], results: list[Node], given: set[Node],
                   bases: dict[Node, set[Node]]) -> None:
    """Check that it is known which values share memory, where that matters.

    Raises:
        NotLowered: if a result shares memory with an input, if what is written may or may not
            share memory, if a tensor that was reshaped in place is used further under its old
            name, or if `as_strided` takes a view or an input.
    """
    for node in results:
        if not bases[node].isdisjoint(given):
            raise NotLowered("a result that shares memory with an input")
    for node in filter(is_strided, nodes):
        source = node.all_input_nodes[0]
        if source in given or bases[source] != {source}:
            raise NotLowered("as_strided of a view, or of an input")
    _check_writes(nodes, bases)


def _check_writes(nodes: list[Node], bases: dict[Node, set[Node]]) -> None:
    doubtful = {base for node in nodes if len(bases[node]) > 1 for base in bases[node]}
    for node in nodes:
        if node.op != "call_function":
            continue
        if effects_of(node.target).reshapes_in_place:  # nothing is written
            if len(node.all_input_nodes[0].users) > 1:
                raise NotLowered("a tensor that changes its shape in place")
        elif not doubtful.isdisjoint(written_by(node, bases)):
            raise NotLowered("written memory that other values may share")


def _forms(part: Part, inputs: list[torch.Tensor]
           ) -> tuple[list[Any], dict[Node, Any], dict[Node, list[Any]]]:
    """Run a graph once: its results, the metadata of its values, and what its loops took."""
    metas: dict[Node, Any] = {}
    loops: dict[Node, list[Any]] = {}
    same: dict[Any, Any] = {}  # equal metadata is kept once

    def meta_of(value: Any) -> TensorMetadata | None:
        meta = meta_of_value(value)
        return same.setdefault(meta, meta)

    def call(node: Node, args: tuple, kwargs: dict) -> Any:
        if loop_of(node) is not None:
            loops[node] = list(args[0])
        made = node.target(*args, **kwargs)  # type: ignore[operator]
        metas[node] = [meta_of(v) for v in made] if isinstance(
            made, (list, tuple)) else meta_of(made)
        return made

    known: dict[Node, Any] = dict(zip(part.inputs, inputs, strict=True))
    metas.update((node, meta_of(value)) for node, value in known.items())
    with torch.enable_grad():
        interpret(part.root, part.nodes, known, part.results, call)
    return [known[node] for node in part.results], metas, loops


def _loop(loop: Loop, node: Node, numbers: dict[Node, int], meta: Any, given: list[Any],
          room: int) -> dict[str, Any]:
    """A loop as a step: its graphs are described by what a first step gives."""
    _, carried, stacks, outside = loop.parts(given)
    first = [stack[0] if len(stack) else stack.new_zeros(stack.shape[1:]) for stack in stacks]
    step = {"op": "repeat", "to": numbers[node], "args": [_written(node.args[0], numbers)],
            "aval": [_short(f) for f in meta], "carried": loop.carried, "stacks": loop.stacks,
            "steps": loop.steps, "backward": loop.backward,
            "counts": loop.counts, "counted": loop.counted,
            "body": _part(loop.body, [*carried, *first, *outside])}
    if loop.has_open_stacks:
        if not room:
            raise NotLowered("a loop that keeps as many values as it has steps")
        if room * sum(math.prod(e.shape[1:]) * e.itemsize for e in loop.kept) > MOST_KEPT:
            raise NotLowered("a loop that keeps much")
        step["room"] = room
        for aval in step["aval"][loop.carried:loop.carried + len(loop.kept)]:
            aval[0][0] = room
        step["aval"].append([[], "bool"])  # whether there were more steps
    if loop.condition is not None:
        step["condition"] = _part(loop.condition, [*carried, *outside])
    return step


def _part(graph: GraphModule, inputs: list[torch.Tensor]) -> dict[str, Any]:
    part = Part.whole(graph)
    _, numbers, steps, _ = _steps(part, inputs, range(len(inputs)))
    return {"inputs": [_short(meta_of_value(x)) for x in inputs], "steps": list(steps),
            "results": [numbers[n] for n in part.results]}


def _steps(part: Part, inputs: list[torch.Tensor], taken: Collection[int],
           constants: Mapping[int, Number] = NO_NUMBERS, room: int = 0
           ) -> tuple[dict[Node, Any], dict[Node, int], Iterator[Words], list[Any]]:
    """The metas of a graph's values, their numbers, its operations as JSON, which are made one by
    one, and its results."""
    results, metas, loops = _forms(part, inputs)
    numbers = {part.inputs[i]: number for number, i in enumerate(taken)}
    made: list[Words] = []
    for i, node in enumerate(part.inputs):
        if i not in taken:
            made += words_of(constants[i], len(taken) + len(made))
            numbers[node] = made[-1]["to"]
    first = len(taken) + len(made)
    numbers.update((node, i) for i, node in enumerate(part.nodes, first))
    return metas, numbers, itertools.chain(made, (
        _step(n, numbers, metas, loops, room) for n in part.nodes)), results


def _step(node: Node, numbers: dict[Node, int], metas: dict[Node, Any],
          loops: dict[Node, list[Any]], room: int) -> dict[str, Any]:
    if (loop := loop_of(node)) is not None:
        return _loop(loop, node, numbers, metas[node], loops[node], room)
    if node.target is operator.getitem:
        return {"op": "getitem", "to": numbers[node], "aval": _short(metas[node]),
                "args": [{"n": numbers[node.args[0]]}, node.args[1]]}  # type: ignore[index]
    name, writes = name_of(node)
    meta = metas[node]
    if name == "as_strided.default" and not metas[node.all_input_nodes[0]].contiguous:
        raise NotLowered("as_strided of memory in another order")
    step = {"op": name, "to": numbers[node], "args": [_written(a, numbers) for a in _all(node)],
            "aval": [_short(f) for f in meta] if isinstance(meta, list) else _short(meta)}
    if name in TURNING:
        step["args"].append(_turns(metas[node.all_input_nodes[0]]))
    if writes:
        step["writes"] = True
    return step


def _turns(meta: TensorMetadata | None) -> bool:
    """Whether PyTorch factorizes the transposed matrix, since that lies in memory as LAPACK's do:
    the factors are a result that the gradient reads."""
    return meta is not None and meta.contiguous and not meta.dtype.is_complex


def _short(meta: TensorMetadata | None) -> Any:
    if meta is None:
        return None
    return [list(meta.shape), _type(meta.dtype)]


def _type(dtype: torch.dtype) -> str:
    if dtype not in TYPES:
        raise NotLowered(str(dtype))
    return str(dtype)[6:]


def _all(node: Node) -> list[Any]:
    """All arguments of an operation, in the order of its schema."""
    found = []
    schema = node.target._schema  # type: ignore[union-attr]
    for i, formal in enumerate(schema.arguments):
        found.append(node.args[i] if i < len(node.args)
                     else node.kwargs.get(formal.name, formal.default_value))
    return found


def _written(value: Any, numbers: dict[Node, int]) -> Any:
    if isinstance(value, Node):
        return {"n": numbers[value]}
    if isinstance(value, (list, tuple)):
        return [_written(v, numbers) for v in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value)[6:]}
    if isinstance(value, torch.device) and value.type == "cpu":
        return None
    if isinstance(value, (torch.layout, torch.memory_format)):
        return None
    raise NotLowered(f"{type(value).__name__} {value!r}")


