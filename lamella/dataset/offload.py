"""Operations at the end of a pipeline that run on batches of Tensors: `map(..., offload=True)`.

An iterator takes such operations off the pipeline and runs them on each row that the rest gives, on
the device of the program. They compute what MindSpore's Cells for that do, in float32.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import log
from ..tensors.tensor import Tensor, wrap
from . import config, offloaded_operations

if TYPE_CHECKING:
    from .node import Dataset


class OffloadedMap:
    """The operations of one `map` that were taken off.

    Attributes:
        col_idxs: the column that they run on, as a list of one number.
        me_ops: the operations, functions of a Tensor.
    """

    def __init__(self, place: int, operations: list[Any]):
        self.col_idxs = [place]
        self.me_ops: list[Callable[[Tensor], Tensor]] = [_function(one) for one in operations]


class OffloadModel:
    """What an iterator runs on each row: `transform_list` has the operations, in their order."""

    def __init__(self, maps: list[OffloadedMap]):
        self.transform_list = maps

    def __call__(self, *row: Any) -> list[Any]:
        values = list(row)
        for one in self.transform_list:
            place = one.col_idxs[0]
            value = values[place]
            held = value if isinstance(value, Tensor) else Tensor(value)
            for function in one.me_ops:
                held = function(held)
            values[place] = held if isinstance(value, Tensor) else held.asnumpy()
        return values


def without_offloaded(dataset: Dataset) -> tuple[Dataset, OffloadModel | None]:
    """A pipeline without the operations that are taken off, and these; None where there are none.

    Taken off are the last operations of a `map` that asks for it, or of each by
    `config.set_auto_offload`, if nothing behind them needs what they give.

    Raises:
        RuntimeError: if an operation asks for it on several columns or one that isn't there, or
            in a pipeline with `concat` or `zip`.
    """
    if not any(_asks(node) for node in dataset.tree()):
        return dataset, None
    found: list[tuple[Any, int, str]] = []  # how many operations stay, and the column
    _find(dataset, set(), found)
    if not found:
        return dataset, None
    if any(len(node.children) > 1 for node in dataset.tree()):
        raise RuntimeError("Offload module currently does not support concatenated or zipped "
                           "datasets.")
    places = {column: place for place, column in enumerate(dataset.columns)}
    maps = [OffloadedMap(places[column], node.operations[stay:]) for node, stay, column in found]
    rest = _without(dataset, {id(node): stay for node, stay, _ in found})
    return rest, OffloadModel(maps[::-1])


def _asks(node: Dataset) -> bool:
    return config.get_auto_offload() if node.offload is None else node.offload


def _find(node: Any, used: set[str], found: list[tuple[Any, int, str]]) -> None:
    """Add the `map` operations from `node` down; columns that are `used` behind them stay."""
    if hasattr(node, "operations"):
        columns = node.input_columns or node.children[0].columns[:1]
        stay = _staying(node, columns, used)
        if stay < len(node.operations):
            found.append((node, stay, columns[0]))
        if stay:
            used = used | set(columns) | set(node.output_columns or ())
    elif not node._hands_on:
        return
    for child in node.children:
        _find(child, used, found)


def _staying(node: Any, columns: list[str], used: set[str]) -> int:
    """How many of a `map`'s operations stay in the pipeline."""
    count = len(node.operations)
    able = [_is_able(operation) for operation in node.operations]
    if not _asks(node) or not able[-1]:
        return count
    if node.callbacks or node.output_columns not in (None, columns):
        log.warning("For 'map', operations with 'callbacks' or other 'output_columns' than "
                    "'input_columns' can't be offloaded; they run where they stand.")
        return count
    if len(columns) > 1:
        raise RuntimeError("Offload hardware accelerator currently does not support map "
                           "operations with multiple input columns")
    missing = [name for name in columns if name not in node.children[0].columns]
    if missing:
        raise RuntimeError(f"The following input column(s) for an offloaded map operation do not "
                           f"exist: {missing}")
    return count if columns[0] in used else count - able[::-1].index(False) if (
        False in able) else 0


def _is_able(operation: Any) -> bool:
    kind = getattr(operation, "_kind", None)  # of a conversion, which may be to strings
    return type(operation).__name__ in offloaded_operations.BY_NAME and (
        kind is None or kind.kind in "biuf")


def _without(node: Any, staying: dict[int, int]) -> Dataset:
    """The pipeline with those operations only that stay."""
    children = [_without(child, staying) for child in node.children]
    stay = staying.get(id(node))
    if stay == 0:
        return children[0]
    if stay is None and all(new is old for new, old in zip(children, node.children, strict=True)):
        return node
    made = copy.copy(node)
    made.children, made._columns = children, None
    for known in ("_mapped", "_planned"):  # of the children before
        vars(made).pop(known, None)
    if stay is not None:
        made.operations = made.operations[:stay]
    return made


def _function(operation: Any) -> Callable[[Tensor], Tensor]:
    name = type(operation).__name__
    compute = offloaded_operations.BY_NAME[name]

    def run(value: Tensor) -> Tensor:
        return wrap(compute(value._raw, operation))

    run.__name__ = name
    return run
