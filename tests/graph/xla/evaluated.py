"""The steps of a described graph, run one by one by PyTorch's kernels: what rewriting must keep."""

from __future__ import annotations

import math
from typing import Any

import torch

from lamella.graph.xla.lowering.boxes import ADD, FILL, PLACE, PUT, TAKE
from lamella.graph.xla.lowering.rolling import CARRIED, OUTSIDE, Numbers, Rolled
from lamella.graph.xla.lowering.step_numbers import NUMBER

Values = dict[int, Any]


def run(steps: list[Any], values: Values, after: Any = lambda step, value: value) -> Values:
    """Add the values of steps to those that are known; each has the aval that its step says.

    Args:
        after: may change a value before others read it.
    """
    for step in steps:
        if isinstance(step, Rolled):
            _loop(step, values)
        elif isinstance(step, Numbers):
            made = torch.tensor(step.values, dtype=getattr(torch, step.dtype))
            values.update(zip(step.to, made, strict=True))
        else:
            found = _one(step, values)
            if step.get("aval") is not None:
                check_aval(found, step["aval"], step)
            values[step["to"]] = after(step, found)
    return values


def check_aval(found: Any, aval: Any, step: Any) -> None:
    """A value has the shape and type that a step says; those of several have theirs."""
    if isinstance(found, torch.Tensor):
        assert [[*found.shape], str(found.dtype)[6:]] == aval, step
        return
    for one, its in zip(found, aval, strict=True):
        assert its is None or [[*one.shape], str(one.dtype)[6:]] == its, step


def _read(value: Any, values: Values) -> Any:
    if isinstance(value, dict):
        if "n" in value:
            return values[value["n"]]
        return getattr(torch, value["dtype"]) if "dtype" in value else value
    return [_read(v, values) for v in value] if isinstance(value, list) else value


def _one(step: Any, values: Values) -> Any:
    name, args = step["op"], _read(step["args"], values)
    if name == NUMBER:
        return torch.tensor(step[NUMBER], dtype=getattr(torch, step["aval"][1]))
    if name == "getitem":
        return args[0][args[1]]
    if name == "put_back":
        return _put_back(*args)
    if name in BOXES:
        return BOXES[name](step["aval"], *args)
    packet, _, overload = name.partition(".")
    func = getattr(getattr(torch.ops.aten, packet), overload)
    formals = func._schema.arguments
    args = [value.item() if isinstance(value, torch.Tensor) and str(formal.type) == "number"
            else value for formal, value in zip(formals, args, strict=False)]
    given = dict(zip([formal.name for formal in formals], args, strict=False))
    named = {formal.name for formal in formals if formal.kwarg_only}
    made = func(*[value for key, value in given.items() if key not in named],
                **{key: value for key, value in given.items() if key in named})
    return made.contiguous() if isinstance(made, torch.Tensor) else made


def _put_back(whole: torch.Tensor, part: torch.Tensor, views: dict[str, Any]) -> torch.Tensor:
    places = torch.arange(whole.numel()).reshape(whole.shape)
    for name, rest, aval in views["by"]:
        places = _one({"op": name, "args": [{"n": 0}, *rest], "aval": aval}, {0: places})
    made = whole.reshape(-1).clone()
    made[places.reshape(-1)] = part.reshape(-1)
    return made.reshape(whole.shape)


def _index(shape: Any, starts: list[Any], sizes: list[int]) -> tuple[slice, ...]:
    starts = [int(start) for start in starts]
    for start, size, most in zip(starts, sizes, shape, strict=True):
        assert 0 <= start <= start + size <= most, "a box beyond its tensor"
    return tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))


def _take(aval: Any, x: torch.Tensor, starts: Any, sizes: Any) -> torch.Tensor:
    return x[_index(x.shape, starts, sizes)].reshape(aval[0]).clone()


def _put(aval: Any, x: torch.Tensor, part: torch.Tensor, starts: Any, sizes: Any) -> torch.Tensor:
    made = x.clone()
    made[_index(x.shape, starts, sizes)] = part.reshape(sizes)
    return made


def _place(aval: Any, part: torch.Tensor, starts: Any, sizes: Any) -> torch.Tensor:
    return _put(aval, torch.zeros(aval[0], dtype=part.dtype), part, starts, sizes)


def _add(aval: Any, x: torch.Tensor, part: torch.Tensor, starts: Any, sizes: Any) -> torch.Tensor:
    made = x.clone()
    made[_index(x.shape, starts, sizes)] += part.reshape(sizes)
    return made


def _fill(aval: Any, x: torch.Tensor, lengths: Any, dim: int, beyond: Any, inner: int, most: int
          ) -> torch.Tensor:
    outer = x.shape[dim] // (most * inner)
    made = x.reshape(math.prod(x.shape[:dim]) * outer, most, -1).clone()
    other = beyond if not isinstance(beyond, torch.Tensor) else beyond.broadcast_to(
        x.shape).reshape(made.shape)[:, int(lengths[0]):]
    made[:, int(lengths[0]):] = other
    return made.reshape(x.shape)


BOXES = {TAKE: _take, PUT: _put, PLACE: _place, ADD: _add, FILL: _fill}


def _loop(loop: Rolled, values: Values) -> None:
    queues = [[values[n] for n in queue.first] for queue in loop.queues]
    period = len(loop.to) // loop.count
    for t in range(loop.count):
        own = {i: values[at] if kind == OUTSIDE else queues[at][0] if kind == CARRIED
               else values[loop.stacks[at][t]] for i, (kind, at) in enumerate(loop.reads)}
        run(loop.body, own)
        queues = [[*before[1:], own[len(loop.reads) + queue.of]]
                  for before, queue in zip(queues, loop.queues, strict=True)]
        kept = [*loop.every, *([j for j, _ in loop.last] if t == loop.count - 1 else [])]
        values.update({loop.to[t * period + j]: own[len(loop.reads) + j] for j in kept})
