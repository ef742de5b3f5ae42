"""Finds which inputs each element of a result depends on, from the kernels that run.

Each tensor has for each element the set of input elements that it may depend on, as booleans:
(elements of the input, elements of its memory). They belong to the memory, so views have them, and
what is written in place changes them. A kernel that isn't known here makes each element of its
result depend on all that any of its arguments depends on: too much, but never too little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from ..core.dispatch_mode import DispatchMode
from ..core.dtype import is_inexact

aten = torch.ops.aten

# a sum or a choice of elements of all arguments: sets go through the kernel itself
_LINEAR = {aten.cat, aten.stack, aten.index, aten.index_select, aten.gather, aten.constant_pad_nd,
           aten.roll, aten.flip, aten.repeat, aten.sum, aten.mean, aten.cumsum, aten.index_put,
           aten.index_put_, aten.index_add, aten.index_add_, aten.scatter, aten.scatter_,
           aten.scatter_add, aten.scatter_add_, aten.slice_scatter, aten.select_scatter,
           aten.slice_backward, aten.select_backward, aten.tril, aten.triu, aten.trace,
           aten.embedding, aten.masked_select, aten.diag_embed, aten.im2col, aten.col2im}
# of the form of their argument only
_CONSTANT = {aten.zeros_like, aten.ones_like, aten.full_like, aten.empty_like, aten.rand_like,
             aten.randn_like, aten.new_zeros, aten.new_ones, aten.new_full, aten.new_empty,
             aten.fill_, aten.zero_}
# a product: the places of its factors, and of what is added to it
_PRODUCTS = {aten.mm: ((0, 1), ()), aten.bmm: ((0, 1), ()), aten.mv: ((0, 1), ()),
             aten.dot: ((0, 1), ()), aten.addmm: ((1, 2), (0,)), aten.addmv: ((1, 2), (0,)),
             aten.baddbmm: ((1, 2), (0,)), aten.convolution: ((0, 1), (2,))}
# results that depend on all elements along some axes: the place of these in the arguments
_ALONG = {aten._softmax: 1, aten._log_softmax: 1, aten.logsumexp: 1, aten.amax: 1, aten.amin: 1,
          aten.var: 1, aten.prod: 1, aten.linalg_vector_norm: 2}


class Dependence(DispatchMode):
    """A mode that follows which elements depend on those of `origin`."""

    def __init__(self, origin: torch.Tensor):
        super().__init__()
        self.count = origin.numel()
        # by the address of the memory's object; the memory is kept, so that no other takes it
        self.held: dict[int, tuple[Any, torch.Tensor]] = {}
        memory = self._of_memory(origin)
        torch.as_strided(memory, (self.count, *origin.shape), (memory.stride(0), *origin.stride()),
                         origin.storage_offset()).copy_(
            torch.eye(self.count, dtype=torch.bool).reshape(self.count, *origin.shape))

    def of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The sets of a tensor's elements: (elements of the input, *its shape); None if empty."""
        found = self.held.get(tensor.untyped_storage()._cdata)
        if found is None or not is_inexact(tensor.dtype):
            return None
        memory = found[1]
        return torch.as_strided(memory, (self.count, *tensor.shape),
                                (memory.stride(0), *tensor.stride()), tensor.storage_offset())

    def _of_memory(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.held:
            size = storage.nbytes() // tensor.element_size()
            self.held[key] = storage, torch.zeros((self.count, size), dtype=torch.bool)
        return self.held[key][1]

    def _set(self, tensor: torch.Tensor, sets: torch.Tensor | None) -> None:
        if sets is None and tensor.untyped_storage()._cdata not in self.held:
            return
        self._of_memory(tensor)
        own = self.of(tensor)
        assert own is not None
        if sets is None:
            own.zero_()
        else:
            own.copy_(sets)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        before = {id(leaf): self.of(leaf) for leaf in given}
        depends = not func.is_view and any(sets is not None for sets in before.values())
        own = {leaf.untyped_storage()._cdata for leaf in given}
        # sets as they were before the kernel writes
        found = self._propagated(func, args, kwargs, given, before) if depends else None
        out = func(*args, **kwargs)
        written = tree_leaves(_written(func, args, kwargs))
        results: list[Any] = tree_leaves((out, written))
        for result in results:
            if isinstance(result, torch.Tensor) and is_inexact(result.dtype) and (
                    written or result.untyped_storage()._cdata not in own):
                self._set(result, None if found is None else found(result))
        return out

    def _propagated(self, func: Any, args: Any, kwargs: Any, given: list[torch.Tensor],
                    before: dict[int, torch.Tensor | None]) -> Callable[[torch.Tensor], Any]:
        """From a result of a kernel to its sets."""
        packet = func.overloadpacket
        some = [(leaf, sets) for leaf in given if (sets := before[id(leaf)]) is not None]
        if packet in _CONSTANT:
            return lambda result: None
        if packet is aten.copy_:
            source = before.get(id(args[1]))
            kept = None if source is None else source.clone()
            return lambda result: None if kept is None else self._spread(kept, result.shape)
        if torch.Tag.pointwise in func.tags or packet in (aten.clone, aten._to_copy):
            own = [each.clone() for _, each in some]
            return lambda result: _any([self._spread(each, result.shape) for each in own])
        if packet in _LINEAR:
            through = self._through(func, args, kwargs, before)
            return lambda result: through.expand(self.count, *result.shape)
        if packet in _PRODUCTS:
            factors, added = _PRODUCTS[packet]
            parts = [self._through(func, _ones(args, factors, place, added), kwargs, before)
                     for place in (*factors, *added) if before.get(id(args[place])) is not None]
            return lambda result: _any(parts).reshape(self.count, *result.shape)
        axes = _ALONG.get(packet)
        if axes is not None and len(args) > axes and len(some) == 1:
            return self._along(some[0][1], args[axes])
        everything = _any([each.reshape(self.count, -1).any(1) for _, each in some])
        return lambda result: everything.reshape(-1, *[1] * result.dim()).expand(
            self.count, *result.shape)

    def _spread(self, sets: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """Sets of a tensor broadcast to another shape."""
        lacking = len(shape) - (sets.dim() - 1)
        return sets.reshape(self.count, *[1] * lacking, *sets.shape[1:]).expand(self.count, *shape)

    def _along(self, sets: torch.Tensor, axes: Any) -> Callable[[torch.Tensor], torch.Tensor]:
        rank = sets.dim() - 1
        dims = [axes] if isinstance(axes, int) else list(axes or range(rank))
        places = [d % rank + 1 for d in dims] if rank else []
        united = sets.clone()
        for place in places:
            united = united.any(place, keepdim=True)
        dropped = sets.shape[1:].numel()

        def of(result: torch.Tensor) -> torch.Tensor:
            if result.dim() == rank:
                return united.expand(self.count, *result.shape)
            assert dropped is not None
            return united.reshape(self.count, *result.shape)

        return of

    def _through(self, func: Any, args: Any, kwargs: Any,
                 before: dict[int, torch.Tensor | None]) -> torch.Tensor:
        """The kernel itself on the sets, as numbers that only grow."""
        rows = []
        for row in range(self.count):
            def numbers(leaf: torch.Tensor, row: int = row) -> torch.Tensor:
                sets = before.get(id(leaf))
                if sets is None:
                    # other numbers than the tensor's are those of `_ones`, or count as nothing
                    # the sets lie on the CPU
                    return leaf.cpu() if id(leaf) not in before or not is_inexact(leaf.dtype) else (
                        torch.zeros(leaf.shape))
                return sets[row].float()

            given, named = tree_map_only(torch.Tensor, numbers, (args, kwargs))
            named.pop("dtype", None)
            rows.append(func(*given, **named) != 0)
        return torch.stack(rows)


def _ones(args: Sequence[Any], factors: Sequence[int], kept: int, added: Sequence[int]
          ) -> list[Any]:
    """The arguments of a product in which only one has sets: other factors are ones."""
    made = list(args)
    for place in (*factors, *added):
        if place != kept and isinstance(args[place], torch.Tensor):
            fill = torch.ones if place in factors and kept in factors else torch.zeros
            made[place] = fill(args[place].shape)
    return made


def _written(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that a kernel changes in place."""
    if not func._schema.is_mutable:
        return []
    return [args[i] if i < len(args) else kwargs.get(argument.name)
            for i, argument in enumerate(func._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write]


def _any(parts: list[torch.Tensor]) -> torch.Tensor:
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found
