"""A described graph (`xla.text`) as a function of arrays, and its compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .best import with_best
from .growing import with_equal_sizes
from .later import jax, jnp, lax
from .moving import alive, with_boxes
from .products import with_shared_factors
from .rolling import ELEMENT, ENOUGH, OUTSIDE, Numbers, Rolled, operations_in, references, rolled
from .shapes import memory_places
from .slices import with_parts
from .table import TABLE, NotLowered, Step, avals_of
from .values import Values
from .writes import put_back, without_writes

# XLA's: nothing may be computed less exactly than by PyTorch's kernels; and operations run one
# after another, since waiting for a thread takes longer than many of them
OPTIONS: dict[str, str | bool] = {
    "xla_cpu_enable_fast_math": False, "xla_cpu_enable_fast_min_max": False,
    "xla_allow_excess_precision": False,
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}


def compiled(described: dict[str, Any], threads: int = 1) -> bytes:
    """The machine code of a described graph.

    Raises:
        NotLowered: if an operation, or a use of it, isn't in the table.
    """
    with jax.enable_x64(True):
        arrays = [jax.ShapeDtypeStruct(tuple(shape), dtype)
                  for shape, dtype in described["inputs"]]
        lowered = jax.jit(function_of(described), keep_unused=True).lower(*arrays)
        options = {**OPTIONS, "xla_cpu_multi_thread_eigen": threads > 1}
        made: Any = lowered.compile(options).runtime_executable()
    return made.serialize()


def function_of(described: dict[str, Any]) -> Callable[..., list[Any]]:
    """A function of a graph's inputs that computes its results by the table."""
    shapes = [[[shape[i] for i in order] if order else shape, dtype] for (shape, dtype), order
              in zip(described["inputs"], described["orders"], strict=True)]
    ends = [n for n, *_ in described["results"]]
    steps, wanted = without_writes(described["steps"], shapes, [*ends, *described["checks"]])
    steps, wanted = with_boxes(steps, shapes, wanted)
    steps, wanted = _with_loops(steps, shapes, wanted)
    results, checked = wanted[:len(ends)], wanted[len(ends):]

    def run(*arrays: Any) -> list[Any]:
        values = Values(list(arrays), described["orders"])
        for step in steps:
            run_step(values, step)
        ends = [_in_memory(values[n], *places)
                for n, (_, *places) in zip(results, described["results"], strict=True)]
        packs = [[ends[i] for i in pack] for pack in described["packs"]]
        if checked:
            _add_flag(packs, described["flag"][0], values.any_of(checked))
        return [_together(pack) for pack in packs]

    return run


def _with_loops(steps: list[Step], inputs: list[Any], wanted: list[int]
                ) -> tuple[list[Step | Numbers | Rolled], list[int]]:
    """The steps of a graph with loops in place of repeated parts, and the numbers of its results.

    Values that grow get one size if there are loops then.
    """
    found = _looped(steps, inputs, wanted), wanted
    grown = with_equal_sizes(steps, inputs, wanted)
    if grown is not None:
        steps, wanted = alive(*grown), grown[1]
        longer = _looped(steps, inputs, wanted), wanted
        if operations_in(longer[0]) + ENOUGH <= operations_in(found[0]):
            return longer
    return found


def _looped(steps: list[Step], inputs: list[Any], wanted: list[int]
            ) -> list[Step | Numbers | Rolled]:
    steps = with_best(with_shared_factors(steps, inputs), wanted)
    return rolled(with_parts(steps, inputs), inputs, wanted)


def _add_flag(packs: list[list[Any]], array: int, flag: Any) -> None:
    """Put a flag after the results of an array, or into an array of its own."""
    if array == len(packs):
        packs.append([flag])
    else:
        packs[array].append(flag.astype(packs[array][0].dtype))


def _together(pack: list[Any]) -> Any:
    """Results one after another in an array; they are computed apart."""
    if len(pack) == 1:
        return pack[0]
    return jnp.concatenate([x.ravel() for x in lax.optimization_barrier(pack)])


def _in_memory(x: Any, repeated: list[int], order: list[int] | None, gaps: list[int] | None
               ) -> Any:
    """A result as it lies in memory, where repeated dimensions have one element.

    Args:
        gaps: the strides of a result with gaps in memory, which are zeros.
    """
    for dim in repeated:
        x = lax.slice_in_dim(x, 0, 1, axis=dim)
    if gaps:
        places = memory_places(x.shape, gaps).reshape(-1)
        return jnp.zeros(places.max() + 1, x.dtype).at[places].set(
            x.reshape(-1), unique_indices=True)
    return jnp.transpose(x, order) if order else x


def run_step(values: Values, step: Step | Numbers | Rolled) -> None:
    """Compute one step of a graph and keep its result."""
    if isinstance(step, Rolled):
        run_loop(values, step)
        return
    if isinstance(step, Numbers):
        values.keep_stack(step.to, jnp.asarray(step.values, step.dtype))
        return
    name, number = step["op"], step["to"]
    if name == "repeat":
        values[number] = repeated(step, values.read(step["args"][0]))
    elif name == "getitem":
        values.item(number, step["args"][0]["n"], step["args"][1])
    elif name == "unbind.int":
        source, dim = step["args"]
        values.several(number, lambda: jnp.moveaxis(values[source["n"]], dim, 0))
    elif name == "select.int":
        source, dim, which = step["args"]
        values.part(number, (source["n"], dim), which)
    elif name == "stack.default" and values.has_parts(references(step["args"][0])):
        several, dim = step["args"]
        values[number] = jnp.moveaxis(values.stack(references(several)), 0, dim)
    elif name == "put_back":
        values[number] = put_back(*values.read(step["args"]))
    else:
        values[number] = apply(step, name, values.read(step["args"]))


def apply(step: Step, name: str, args: list[Any]) -> Any:
    """What a row of the table gives, in the aval that PyTorch's kernel gave in the recording.

    Raises:
        NotLowered: if there is no such row, or it gives another aval.
    """
    if name not in TABLE:
        raise NotLowered(name)
    avals = avals_of(step["aval"])
    found = TABLE[name](avals, *args)
    pairs = zip(found, avals, strict=True) if isinstance(avals, list) else [(found, avals)]
    for value, aval in pairs:
        if aval is not None and (tuple(value.shape) != aval.shape
                                 or str(value.dtype) != aval.dtype):
            raise NotLowered(f"{name} gives {value.dtype}{list(value.shape)}, "
                             f"not {aval.dtype}{list(aval.shape)}")
    return found


def repeated(step: Step, given: list[Any]) -> list[Any]:
    """A loop of the program's (see `ir.loop`)."""
    count, stacks = step["carried"], step["stacks"]
    most, given = (given[0], given[1:]) if step["counted"] else (step["steps"], given)
    carried, elements = given[:count], given[count:count + stacks]
    outside, avals = given[count + stacks:], step["aval"][:count]
    body = part_of(step["body"])

    def run(carries: Any, parts: Any) -> Any:
        found = body([*carries, *parts, *outside])
        return [x.reshape(shape).astype(dtype)
                for x, (shape, dtype) in zip(found, avals, strict=False)], found[count:]

    if "condition" not in step and not step["counted"]:
        ends, made = lax.scan(run, carried, elements, most, reverse=step["backward"])
        return [*ends, *made]
    condition = part_of(step["condition"]) if "condition" in step else None
    room = step.get("room")
    stacked = step["aval"][count:-1 - step["counts"]] if room else []

    def goes_on(now: Any) -> Any:
        return now[0] < most if condition is None else condition([*now[1], *outside])[0]

    def has_room(now: Any) -> Any:
        return goes_on(now) if room is None else goes_on(now) & (now[0] < room)

    def next_of(now: Any) -> Any:
        number, carries, stacks = now
        place = most - 1 - number if step["backward"] else number
        carries, made = run(carries, [
            lax.dynamic_index_in_dim(stack, place, keepdims=False) for stack in elements])
        return number + 1, carries, [
            lax.dynamic_update_index_in_dim(stack, value.astype(stack.dtype), place, 0)
            for stack, value in zip(stacks, made, strict=True)]

    last = number, ends, made = lax.while_loop(has_room, next_of, (
        jnp.asarray(0, "int64"), carried, [jnp.zeros(*aval) for aval in stacked]))
    return [*ends, *made, *([number] if step["counts"] else []),
            *([goes_on(last)] if room else [])]


def part_of(described: dict[str, Any]) -> Callable[[list[Any]], list[Any]]:
    """A part of a loop as a function of arrays."""
    steps, results = without_writes(described["steps"], described["inputs"], described["results"])
    steps, results = with_boxes(steps, described["inputs"], results)
    steps = rolled(with_shared_factors(steps, described["inputs"]), described["inputs"], results)

    def run(arrays: list[Any]) -> list[Any]:
        values = Values(arrays, [None] * len(arrays))
        for one in steps:
            run_step(values, one)
        return [values[n] for n in results]

    return run


def run_loop(values: Values, loop: Rolled) -> None:
    """Compute a loop, and keep what others read of its steps."""
    first = [[values[n] for n in queue.first] for queue in loop.queues]
    stacks = [values.stack(numbers) for numbers in loop.stacks]
    ends_as = {queue.of: place for place, queue in enumerate(loop.queues)}  # carried, and so known
    last = [(j, aval) for j, aval in loop.last if j not in ends_as]
    ends = [jnp.zeros(*avals_of(aval)) for _, aval in last]
    outside = {at: values[at] for kind, at in loop.reads if kind == OUTSIDE}  # not in each step

    def run(state: Any, elements: Any) -> Any:
        carried, _ = state
        given = [outside[at] if kind == OUTSIDE else elements[at] if kind == ELEMENT
                 else carried[at][0] for kind, at in loop.reads]
        own = Values(given, [None] * len(given))
        for one in loop.body:
            run_step(own, one)
        found = own.after(len(given))
        moved = [[*before[1:], found(queue.of)] for before, queue in zip(carried, loop.queues,
                                                                         strict=True)]
        return (moved, [found(j) for j, _ in last]), [found(j) for j in loop.every]

    (carried, ends), made = lax.scan(run, (first, ends), stacks, loop.count)
    period = len(loop.to) // loop.count
    known = dict(zip([j for j, _ in last], ends, strict=True))
    for j, _ in loop.last:
        values[loop.to[(loop.count - 1) * period + j]] = (
            known[j] if j in known else carried[ends_as[j]][-1])
    for j, stack in zip(loop.every, made, strict=True):
        values.keep_stack([loop.to[t * period + j] for t in range(loop.count)], stack)
