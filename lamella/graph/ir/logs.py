"""The compiler's log on standard error: ``LAMELLA_LOGS=trace,guards,passes,schedule``.

The parts are those of `PARTS`, separated by commas; ``all`` stands for each of them:

- ``trace``: the kernels of each recorded run, each with shape and type of its result and its line;
- ``guards``: the numbers that a run read off tensors, and which guard failed before it was
  recorded again;
- ``passes``: how many operations the passes leave, and which rewritings a trial has kept;
- ``schedule``: the stages of a graph, and what runs each of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from torch.fx import Graph

PARTS = ("trace", "guards", "passes", "schedule")


def parts_of(text: str) -> frozenset[str]:
    """The parts that a list names, separated by commas; unknown ones are reported and left out.

    >>> sorted(parts_of("guards, trace")), len(parts_of("all"))
    (['guards', 'trace'], 4)
    """
    named = {part.strip() for part in text.split(",")} - {""}
    for unknown in sorted(named - {*PARTS, "all"}):
        sys.stderr.write(f"LAMELLA_LOGS: there is no part {unknown!r}; there are "
                         f"{', '.join(PARTS)} and all.\n")
    return frozenset(PARTS) if "all" in named else frozenset(named & {*PARTS})


SHOWN = parts_of(os.environ.get("LAMELLA_LOGS", ""))


def show(part: str, title: str, lines: Iterable[str] = ()) -> None:
    """Write a title, and lines below it, if this part is to be shown.

    Args:
        part: one of `PARTS`.
        title: one line.
        lines: further ones; not asked for unless they are shown.
    """
    if part in SHOWN:
        # not by `print`, which is the program's
        sys.stderr.write("\n".join([f"[{part}] {title}", *(f"    {line}" for line in lines), ""]))


def kernels(graph: Graph) -> Iterator[str]:
    """A graph as text: an operation in each line, with what it gives and where it comes from."""
    for node in graph.nodes:
        if node.op == "call_function":
            arguments = ", ".join([*map(_written, node.args), *(
                f"{name}={_written(value)}" for name, value in node.kwargs.items())])
            target = str(node.target).removeprefix("aten.").removesuffix(".default")
            yield (f"{node.name} = {target}({arguments}){_described(node.meta.get('tensor_meta'))}"
                   f"{_line(node.meta.get('line'))}")


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)


def _described(meta: Any) -> str:
    if not meta:
        return ""
    return f"  # {str(meta.dtype).removeprefix('torch.')}{[*meta.shape]}"


def _line(line: Any) -> str:
    if not line or not line.file:
        return ""
    return f" {line.phase}, {os.path.basename(line.file)}:{line.number}"
