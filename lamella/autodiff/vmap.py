"""`vmap`: a function of one example as a function of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch._functorch.vmap import (
    lazy_load_decompositions,  # pyright: ignore[reportPrivateImportUsage]
)

from ..core import context
from ..core.kernel_messages import of_vmap
from ..core.require import one_of
from ..core.structures import agree, aligned, kind_of
from ..core.wrappers import functorch
from ..tensors.construction import NUMBERS
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .level import Level, current, entered
from .repeated_draws import RepeatedDraws
from .run import as_value, cut, detached
from .tree import check_no_hidden, map_tensors, tensors


def vmap(fn: Any, in_axes: Any = 0, out_axes: Any = 0, *, chunk_size: int | None = None,
         randomness: str = "different") -> Callable[..., Any]:
    """The function that applies `fn` to each example along an axis of its inputs.

    `fn` runs once, on batched tensors of all examples: the loop is inside the kernels. It
    nests, and may be inside or outside of every derivative.

    Args:
        fn: a function or Cell of Tensors. For a CellList of alike Cells, each example is given to
            a Cell of its own; `in_axes` may then be None: the same input for all.
        in_axes: the axis of the examples in each input: an int for all inputs, or a tuple or list
            with an int or None for each positional input. None stands for an input that all
            examples share. For an input that is a tuple, list or dict, such a structure or one for
            all in it. Inputs by name are shared.
        out_axes: where the examples' axis goes in the outputs, likewise. None: an output
            that does not differ between examples.
        chunk_size: how many examples to take at once, to bound memory; default all.
        randomness: what operators draw, as dropout does: ``"different"`` random numbers for each
            example, the ``"same"`` for all, or ``"error"``: none may be drawn.

    Returns:
        A function of the arguments of `fn`.

    Raises:
        TypeError: if `fn` can't be called.
        RuntimeError: if axes don't fit the arguments or outputs.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([1.0, 10.0])
        >>> print(ms.vmap(lambda x, w: (x * w).sum(), in_axes=(0, None))(x, w))
        [21. 43.]
        >>> print(ms.vmap(ms.grad(lambda x: (x * x).sum()))(x))
        [[2. 4.]
         [6. 8.]]
    """
    cells = _ensemble(fn)
    if cells is None and not callable(fn):
        raise TypeError(f"For 'vmap', 'fn' must be a function, a Cell or a CellList, "
                        f"but got {type(fn).__name__}.")
    _check_axes(in_axes, "in_axes")
    _check_axes(out_axes, "out_axes")
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if cells is None and _all_none(axes):
            raise RuntimeError(f"For 'vmap', '{name}' can't be None for everything unless 'fn' is "
                               f"a CellList, but got {axes!r}.")
    check_chunk_size(chunk_size, "vmap")
    one_of(randomness, ("same", "different", "error"), "randomness", "vmap")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _Batch(fn, cells, in_axes, out_axes, chunk_size, randomness).run(args, kwargs)

    return mapped


def check_chunk_size(chunk_size: Any, name: str) -> None:
    """Check how many examples to take at once.

    Raises:
        ValueError: if it is neither None nor an int of 1 or more.
    """
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int)
                                   or chunk_size < 1):
        raise ValueError(f"For '{name}', 'chunk_size' must be an int of 1 or more or None, "
                         f"but got {chunk_size!r}.")


def of_many(one: Callable[..., Sequence[torch.Tensor]], axes: Sequence[int | None] | int = 0,
            randomness: str = "same", chunk_size: int | None = None
            ) -> Callable[..., Sequence[torch.Tensor]]:
    """`torch.vmap` of a function of raw tensors that returns several, whose errors say what to do.

    It makes the four calls itself: `torch.vmap` flattens and checks structures around them, which
    takes several times as long, and repeats in each chunk what PyTorch's own generator draws only.
    """
    def at_once(size: int, raws: Sequence[torch.Tensor],
                places: Sequence[int | None]) -> Sequence[torch.Tensor]:
        lazy_load_decompositions()
        level = functorch._vmap_increment_nesting(size, randomness)
        try:
            outs = one(*[raw if place is None else functorch._add_batch_dim(raw, place, level)
                         for raw, place in zip(raws, places, strict=True)])
            return [functorch._remove_batch_dim(out, level, size, 0) for out in outs]
        finally:
            functorch._vmap_decrement_nesting()

    def in_chunks(size: int, raws: Sequence[torch.Tensor],
                  places: Sequence[int | None]) -> Sequence[torch.Tensor]:
        assert chunk_size is not None
        draws = RepeatedDraws() if randomness == "same" else None
        rows = []
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            part = [raw if place is None else raw.narrow(place, start, count)
                    for raw, place in zip(raws, places, strict=True)]
            with nullcontext() if draws is None else draws.block():
                rows.append(at_once(count, part, places))
        return [torch.cat(column) for column in zip(*rows, strict=True)]

    def batched(*raws: torch.Tensor) -> Sequence[torch.Tensor]:
        places = axes if isinstance(axes, Sequence) else [axes] * len(raws)
        size = next(raw.shape[place] for raw, place in zip(raws, places, strict=True)
                    if place is not None)
        try:
            return (at_once if chunk_size is None else in_chunks)(size, raws, places)
        except RuntimeError as error:
            advice = "" if str(error).startswith("For '") else of_vmap(str(error))
            if not advice:
                raise
            raise RuntimeError(advice[0].upper() + advice[1:]) from error

    return batched


class _Batch:
    """One call of a function that `vmap` made."""

    def __init__(self, fn: Any, cells: list[Any] | None, in_axes: Any, out_axes: Any,
                 chunk_size: int | None, randomness: str):
        self.fn = fn if cells is None else cells[0]
        self.cells = cells
        self.in_axes, self.out_axes = in_axes, out_axes
        self.chunk_size, self.randomness = chunk_size, randomness
        self.own: list[Parameter] = [] if cells is None else list(cells[0].get_parameters())
        self.tree: Any = None
        self.axes: list[int | None] = []
        self.shared: list[torch.Tensor] = []
        self.assigned: list[int] = []

    def run(self, args: tuple, kwargs: dict) -> Any:
        """The outputs for all examples."""
        check_no_hidden("vmap", "the arguments", args)  # nor anything that contains itself
        axes = _spread(self.in_axes, args, "in_axes")
        raws = [t._raw for t in tensors(args)]
        stacked = self._stacked()
        # a list: sizes that vary are symbols, which have no hash
        sizes = [raw.shape[axis] for raw, axis in zip(raws, axes, strict=True) if axis is not None]
        sizes += [len(self.cells)] if self.cells is not None else []
        if not sizes or any(size != sizes[0] for size in sizes):
            what = (f"got {' and '.join(str(s) for s in sorted(set(sizes)))}" if sizes
                    else "no argument has such an axis")
            raise RuntimeError(f"For 'vmap', the examples' axes of all arguments"
                               f"{' and the CellList' if self.cells else ''} must have one length, "
                               f"but {what}.")
        if sizes[0] == 0:
            raise RuntimeError("For 'vmap', there must be one example or more, but got none.")
        outer = current()
        level = Level(outer, reverse=False)

        def one(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self._one(level, given, args, kwargs)

        data = [p._data for p in self.own]
        mark = torch.zeros(sizes[0], dtype=torch.bool, device=(*raws, *stacked)[0].device)
        try:
            outs = of_many(one, (0, *axes, *[0] * len(stacked)), self.randomness, self.chunk_size
                           )(mark, *raws, *stacked)
        finally:
            for parameter, own in zip(self.own, data, strict=True):
                parameter._data = own
        value = self._placed(list(outs))
        if outer is None:
            value = map_tensors(detached, value)
            cut(level.changed)
        return value

    def _stacked(self) -> list[torch.Tensor]:
        """The Parameters of all Cells, each kind as one tensor."""
        rows = [list(cell.get_parameters()) for cell in self.cells or ()]
        return [torch.stack([p.init_data()._raw for p in kind]) for kind in zip(*rows, strict=True)]

    def _one(self, level: Level, given: Sequence[torch.Tensor], args: tuple,
             kwargs: dict) -> tuple[torch.Tensor, ...]:
        """The function on batched tensors, which look like those of one example."""
        flat = iter(given)
        level.marks = [*([] if level.outer is None else level.outer.marks), next(flat)]
        arguments = map_tensors(lambda _: wrap(next(flat)), args)
        models = list(flat)
        with entered(level):
            level.overlay.update(zip(self.own, models, strict=True))
            value = self.fn(*arguments, **kwargs)
            check_no_hidden("vmap", "the result", value)
            value = map_tensors(as_value, _numbers_as_tensors(value))
        self.tree = value
        self.axes = _spread(self.out_axes, value, "out_axes", more=1)
        if isinstance(self.out_axes, (tuple, list)) and len(self.out_axes) != _count(value):
            raise RuntimeError(f"For 'vmap', 'out_axes' must have an axis for each of the "
                               f"{_count(value)} outputs of 'fn', but got {self.out_axes!r}.")
        self.shared, outs = [], []
        for tensor, axis in zip(tensors(value), self.axes, strict=True):
            if axis is None and not _differs(tensor._raw):
                self.shared.append(tensor._raw)
            elif axis is None:
                raise RuntimeError("For 'vmap', an output that differs between the examples must "
                                   "have an axis for them in 'out_axes', but it is None.")
            else:
                outs.append(tensor._raw)
        self.assigned = [i for i, (p, raw) in enumerate(zip(self.own, models, strict=True))
                         if level.overlay[p] is not raw]
        outs += [level.overlay[self.own[i]] for i in self.assigned]
        if not outs:
            outs.append(torch.zeros((), device=context.current_device()))
        return tuple(outs)

    def _placed(self, outs: list[torch.Tensor]) -> Any:
        """The outputs in their structure, with the examples' axis where it is requested."""
        count = sum(axis is not None for axis in self.axes)
        for index, raw in zip(self.assigned, outs[count:], strict=False):
            for row, cell in enumerate(self.cells or ()):
                list(cell.get_parameters())[index].assign_raw(raw[row])
        mapped, shared = iter(outs), iter(self.shared)
        axes = iter(self.axes)

        def placed(_: Tensor) -> Tensor:
            axis = next(axes)
            if axis is None:
                return wrap(next(shared))
            raw = next(mapped)
            return wrap(raw.movedim(0, axis) if axis else raw)

        return map_tensors(placed, self.tree)


def _ensemble(fn: Any) -> list[Any] | None:
    """The Cells of a CellList, checked to be alike; None for anything else."""
    if not getattr(type(fn), "is_ensemble", False):
        return None
    cells = list(fn)
    if not cells:
        raise ValueError("For 'vmap', a CellList must hold a Cell or more, but it is empty.")
    shapes = [[(p._data.shape, p._data.dtype) for p in cell.get_parameters()] for cell in cells]
    for cell, own in zip(cells, shapes, strict=True):
        if type(cell) is not type(cells[0]) or own != shapes[0]:
            raise ValueError(f"For 'vmap', the Cells of a CellList must be of one class with "
                             f"Parameters of the same shapes and types, but a "
                             f"{type(cells[0]).__name__} with {len(shapes[0])} Parameters and a "
                             f"{type(cell).__name__} with {len(own)} differ.")
    return cells


def _check_axes(axes: Any, name: str) -> None:
    kind = kind_of(axes)
    if kind is not None:
        for axis in kind.parts(axes):
            if not kind.keeps or kind_of(axis) is not None:  # an object has more than axes
                _check_axes(axis, name)
    elif axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
        raise RuntimeError(f"For 'vmap', an axis in '{name}' must be an int or None, "
                           f"but got {axes!r}.")


def _all_none(axes: Any) -> bool:
    kind = kind_of(axes)
    return axes is None if kind is None else all(_all_none(a) for a in kind.parts(axes))


def _spread(axes: Any, tree: Any, name: str, more: int = 0) -> list[int | None]:
    """For each Tensor in a structure its axis, 0 or more.

    Args:
        more: how many dimensions the Tensor will have beyond those it has.
    """
    if isinstance(tree, Tensor):
        if axes is not None and not isinstance(axes, int):
            raise RuntimeError(f"For 'vmap', '{name}' has {axes!r} for a Tensor; it must be an int "
                               f"or None there.")
        rank = tree._raw.dim() + more
        if axes is not None and not -rank <= axes < rank:
            raise RuntimeError(f"For 'vmap', the axis {axes} in '{name}' is out of range for a "
                               f"Tensor of {rank} dimensions.")
        return [None if axes is None else axes % rank]
    if isinstance(tree, (tuple, list)):
        if not isinstance(axes, (tuple, list)):
            parts = [axes] * len(tree)
        elif len(axes) == len(tree):
            parts = list(axes)
        else:
            raise RuntimeError(f"For 'vmap', '{name}' must have an axis for each of "
                               f"{len(tree)} values, but got {axes!r}.")
        return [a for part, branch in zip(parts, tree, strict=True)
                for a in _spread(part, branch, name, more)]
    if isinstance(tree, dict):
        if isinstance(axes, dict) and axes.keys() != tree.keys():
            raise RuntimeError(f"For 'vmap', '{name}' must have an axis for each of the keys "
                               f"{list(tree)}, but got {axes!r}.")
        return [a for key, branch in tree.items()
                for a in _spread(axes[key] if isinstance(axes, dict) else axes, branch, name, more)]
    kind = kind_of(tree)
    if kind is not None:
        whole = axes is None or isinstance(axes, int)
        if not whole and not agree(tree, axes):
            raise RuntimeError(f"For 'vmap', '{name}' must have an axis for each part of a "
                               f"{type(tree).__name__}, in one, but got {axes!r}.")
        parts = kind.parts(tree)
        chosen = [axes] * len(parts) if whole else aligned(tree, axes)
        return [a for part, branch in zip(chosen, parts, strict=True)
                if not (kind.keeps and isinstance(branch, NUMBERS))
                for a in _spread(part, branch, name, more)]
    if isinstance(axes, int) and isinstance(tree, NUMBERS):
        raise RuntimeError(f"For 'vmap', '{name}' has the axis {axes} for the number {tree!r}; it "
                           f"must be None there, or the number a Tensor.")
    return []


def _count(value: Any) -> int:
    kind = kind_of(value)
    return 1 if kind is None else len(kind.parts(value))


def _numbers_as_tensors(value: Any) -> Any:
    if isinstance(value, NUMBERS):
        return Tensor(value)
    kind = kind_of(value)
    if kind is None or kind.keeps:  # numbers of an object are what they are for all examples
        return value
    return kind.rebuild(value, [_numbers_as_tensors(part) for part in kind.parts(value)])


def _differs(raw: torch.Tensor) -> bool:
    """Whether a tensor differs between the examples of the innermost `vmap`."""
    return (functorch.is_batchedtensor(raw)
            and functorch.maybe_get_level(raw) == functorch.maybe_current_level())
