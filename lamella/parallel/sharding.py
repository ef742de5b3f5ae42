"""Operators on Tensors that are spread over processes, by PyTorch's DTensor.

In the modes ``"semi_auto_parallel"`` and ``"auto_parallel"`` a network is a *region*: its inputs
become DTensors, Parameters are DTensors when they are read there, and each operator's result is
laid out as DTensor propagates it; ``Primitive.shard`` and ``Cell.shard`` lay inputs and results out
otherwise. What leaves a region is whole, and the same in all processes. So layouts decide who
computes what and what is sent, never a number. In a stage of a pipeline each Cell is a region, of
that stage's processes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from ..autodiff.tree import map_tensors
from ..communication import settings
from ..communication.functional import install, joined
from ..communication.groups import ended, group_of
from ..core import context
from ..core.errors import add_fallback
from ..core.state import state
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .axes import arranged, counts_of, subset
from .layout import Layout
from .one_axis import in_one_axis, refused
from .parts import PartParameter, stays_whole
from .parts import shard as cut
from .slices import Slices

__all__ = ["in_region", "is_sharded", "lay_out", "mixed", "plan_parameters", "region", "shard",
           "shard_cell", "shard_operator", "splits", "splits_stages", "wholes", "whole_region"]

# of each world that there was: its mesh, also by the number of stages of a pipeline, and the
# strategies that the program gave for Tensors
_meshes: dict[tuple[int, int], Any] = {}
_strategies: dict[int, dict[tuple[int, ...], None]] = {}


def splits() -> bool:
    """Whether the settings say that operators are spread over several processes."""
    return (settings._is_in_auto_parallel_mode() and settings._get_pipeline_stages() == 1
            and group_of(None, "shard").size > 1)


def splits_stages(network: Any) -> bool:
    """Whether a network's operators are spread over the processes of each stage of a pipeline.

    That is where something in it was given strategies, and a stage has several processes.
    """
    if group_of(None, "shard").size == settings._get_pipeline_stages():
        return False
    return (any("_strategies" in cell.__dict__
                or is_sharded(cell)
                for _, cell in network.cells_and_names())
            or any("strategy" in parameter.__dict__ for parameter in network.get_parameters()))


def is_sharded(cell: Any) -> bool:
    """Whether operators of a Cell's own were given strategies."""
    return any(isinstance(each, _Sharded) for each in cell.__dict__.values())


def in_region() -> bool:
    """Whether a network whose operators are spread over processes is running."""
    return isinstance(state.overlay, _Overlay)


def mesh_here() -> Any:
    """All processes, or those of this one's stage, arranged in axes over which the program's
    strategies can be laid; the first call is made by all processes together."""
    key = ended(), settings._get_pipeline_stages()
    if key not in _meshes:
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.tensor import DTensor, debug

        # DTensor's cache holds groups of an earlier mesh, which may have ended
        debug._clear_sharding_prop_cache()
        if state.trace is not None:
            state.trace.refuse_once("arranges processes for the first time")
        install()
        # plain tensors that an operator meets are the same in all processes
        DTensor._op_dispatcher._allow_implicit_replication = True  # type: ignore[attr-defined]
        size, stages = group_of(None, "shard").size, key[1]
        lengths = arranged(size // stages, list(_strategies.get(ended(), ())))
        kind = context.current_device().type
        names = tuple(f"axis_{i}" for i in range(len(lengths)))
        outer = (stages,) if stages > 1 else ()
        mesh = joined(DeviceMesh(kind, torch.arange(size).reshape(*outer, *lengths),
                                 mesh_dim_names=("stage", *names)[1 - len(outer):]))
        if outer:
            mesh = joined(mesh[names])
        if mesh.ndim > 1:
            mesh._flatten()  # then a sum over all processes is one exchange
        _meshes[key] = mesh
    return _meshes[key]


def _note(*strategies: Any) -> None:
    """Keep strategies; if they don't fit the mesh, the next region gets a new one."""
    known = _strategies.setdefault(ended(), {})
    new = [counts for strategy in strategies for counts in counts_of(strategy)
           if max(counts) > 1 and counts not in known]
    known.update(dict.fromkeys(new))
    if new and not in_region():
        key = ended(), settings._get_pipeline_stages()
        mesh = _meshes.get(key)
        if mesh is not None and arranged(mesh.size(), list(known)) != list(mesh.shape):
            del _meshes[key]


def _axes_of(counts: tuple[int, ...], keys: list[Any], taken: dict[Any, list[int]], mesh: Any,
             where: str) -> list[list[int]]:
    """For each dimension the axes of the mesh that it is cut along.

    Args:
        counts: in how many parts each is cut.
        keys: what each dimension is; those of one key are cut along the same axes.
        taken: what was found for other Tensors, by key; added to.
    """
    found, used = [], {axis for axes in taken.values() for axis in axes}
    for count, key in zip(counts, keys, strict=True):
        axes = taken.get(key, [])
        if math.prod(mesh.size(axis) for axis in axes) != count:
            mine = {axis for others in found for axis in others}
            free = sorted(set(range(mesh.ndim)) - mine, key=lambda axis: axis in used)
            axes = subset(count, mesh.shape, free)
            if axes is None:
                raise ValueError(
                    f"For '{where}', the strategy {counts} can't be laid over {mesh.size()} "
                    f"processes, which are arranged in axes of {list(mesh.shape)} by the "
                    f"strategies that were given before the network ran.")
            axes.sort()
            taken.setdefault(key, axes)
        found.append(axes)
    return found


def _placements(axes: list[list[int]], mesh: Any) -> list[Any]:
    from torch.distributed.tensor import Replicate, Shard

    found: list[Any] = [Replicate() for _ in range(mesh.ndim)]
    for dim, mine in enumerate(axes):
        for axis in mine:
            found[axis] = Shard(dim)
    return found


def _of_layout(layout: Layout, taken: dict[Any, list[int]], mesh: Any, where: str
               ) -> list[list[int]]:
    """For each dimension the axes of the mesh that a layout cuts it along."""
    described = layout.to_dict()
    if sorted(described["rank_list"]) != list(range(mesh.size())):
        raise ValueError(f"For '{where}', a layout must have all processes of the world, but has "
                         f"{described['rank_list']}.")
    matrix = described["device_matrix"]
    axes = _axes_of(matrix, list(described["alias_name"]), taken, mesh, where)
    axes.reverse()  # in tensor maps the last axis is number 0
    return [sorted(axis for place in (places if isinstance(places, tuple) else (places,))
                   if place != -1 for axis in axes[place]) for places in described["tensor_map"]]


def lay_out(raw: torch.Tensor, strategy: Any, where: str, keys: list[Any] | None = None,
            taken: dict[Any, list[int]] | None = None) -> torch.Tensor:
    """A raw tensor, laid out by a strategy.

    Args:
        raw: a DTensor, or a plain tensor that is the same in all processes.
        strategy: in how many parts each dimension is cut, a `Layout`, or None: as it is.
        where: the function that the program called.
        keys: what each dimension is, see `_axes_of`.
    """
    if strategy is None:
        return raw
    mesh, raw, taken = mesh_here(), as_dtensor(raw), {} if taken is None else taken
    if isinstance(strategy, Layout):
        axes = _of_layout(strategy, taken, mesh, where)
    else:
        keys = list(range(-len(strategy), 0)) if keys is None else keys
        axes = _axes_of(tuple(strategy), keys, taken, mesh, where)
    if len(axes) != raw.dim():
        raise ValueError(f"For '{where}', a strategy must have an entry for each dimension, but "
                         f"one of {len(axes)} is for a Tensor of shape {tuple(raw.shape)}.")
    for dim, mine in enumerate(axes):
        if raw.shape[dim] % math.prod(mesh.size(axis) for axis in mine):
            raise ValueError(f"For '{where}', dimension {dim} of a Tensor of shape "
                             f"{tuple(raw.shape)} can't be cut in equal parts as its strategy "
                             f"says.")
    placements = _placements(axes, mesh)
    return raw.redistribute(mesh, placements)  # type: ignore[attr-defined]


def as_dtensor(raw: torch.Tensor) -> torch.Tensor:
    """A DTensor as it is; a plain tensor, the same in all processes, as a replicated DTensor."""
    from torch.distributed.tensor import DTensor, Replicate

    if isinstance(raw, DTensor):
        return raw
    mesh = mesh_here()
    return DTensor.from_local(raw, mesh, [Replicate()] * mesh.ndim, run_check=False)


def whole(raw: torch.Tensor) -> torch.Tensor:
    """A DTensor as a plain tensor, the same in all processes."""
    return raw.full_tensor() if hasattr(raw, "full_tensor") else raw  # type: ignore[attr-defined]


class _Overlay(dict[Any, torch.Tensor]):
    """The aliases of Parameters in a region: DTensors around those outside of it."""

    def __init__(self, around: Any):
        super().__init__(around or {})
        self.around = around
        self.made: dict[Parameter, torch.Tensor] = {}
        self.laid: dict[Parameter, Any] = {}  # how strategies laid whole Parameters out first

    def get(self, key: Parameter, default: Any = None) -> torch.Tensor:
        """The alias of a Parameter."""
        found = self.made.get(key)
        if found is None:
            found = self._slice_of(key)
            if found is None:
                found = as_dtensor(self._outside(key))
                found = lay_out(found, key.__dict__.get("strategy"), f"parameter {key.name!r}")
                self.note(key, found)
            if not isinstance(key, PartParameter):  # of other Parameters, the full data isn't kept
                self.made[key] = found
        return found

    def _outside(self, key: Parameter) -> torch.Tensor:
        """The data of a Parameter outside of the region."""
        state.overlay = self.around
        try:
            return key._raw
        finally:
            state.overlay = self

    def _slice_of(self, key: Parameter) -> torch.Tensor | None:
        """This process's slice of a Parameter that strategies cut, as a DTensor."""
        if not isinstance(key, PartParameter) or not isinstance(key.placement, Slices):
            return None
        if key.placement.mesh is not mesh_here():  # cut before processes were arranged anew
            return None
        alias = (self.around or {}).get(key, key._data)
        return key.placement.around(alias) if alias.shape == key._data.shape else None

    def note(self, key: Parameter, raw: Any) -> None:
        """Note how a strategy laid a Parameter out."""
        if type(key) is Parameter and any(each.is_shard() for each in raw.placements):
            self.laid.setdefault(key, raw.placements)

    def copy(self) -> Any:
        """Refused: a gradient call would take aliases of this process's parts."""
        raise RuntimeError("In a network whose operators are spread over processes, there are no "
                           "gradient calls: give 'AutoParallel' the network with its loss, and "
                           "differentiate what that gives.")


def region(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function with its operators spread over processes; in a region, the function itself.

    Tensors that it is given are this process's part, or as ``dataset_strategy`` says.
    """
    @functools.wraps(function, updated=())
    def spread(*args: Any, **kwargs: Any) -> Any:
        if in_region():
            return function(*args, **kwargs)
        return _run(function, _all_given(args, name), kwargs)

    return spread


def whole_region(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its operators spread over processes, of Tensors that all of them have."""
    def spread(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = map_tensors(lambda t: t if isinstance(t, Parameter) else
                                   wrap(as_dtensor(t._raw)), (args, kwargs))
        return _run(function, args, kwargs)

    return spread


def wholes(inputs: tuple, name: str) -> tuple:
    """Wholes of inputs of which each process was given its part."""
    return map_tensors(lambda t: wrap(whole(t._raw)), _all_given(inputs, name))


def _all_given(args: tuple, name: str) -> tuple:
    """The inputs of a region, of which this process has its parts, as DTensors."""
    strategy = settings.get_auto_parallel_context("dataset_strategy")
    _note(strategy)
    return tuple([map_tensors(lambda t, i=i: _given(t, strategy, i, name), arg)
                  for i, arg in enumerate(args)])


def _run(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run a function as a region, and return its full results."""
    if state.level is not None and (state.level.outer is not None or state.level.forward):
        raise RuntimeError("In a network whose operators are spread over processes, gradient calls "
                           "can't be nested.")
    before = state.overlay
    overlay = state.overlay = _Overlay(before)
    try:
        found = function(*args, **kwargs)
    finally:
        state.overlay = before
        for parameter in overlay.made:
            parameter._data = whole(parameter._data)  # where it was assigned
    _keep_slices(overlay.laid)
    return map_tensors(lambda t: wrap(whole(t._raw)), found)


def _keep_slices(laid: dict[Parameter, Any]) -> None:
    """From now on keep only this process's slices of the Parameters that strategies cut."""
    found = [parameter for parameter in laid if not stays_whole(parameter)]
    if not found or settings.get_auto_parallel_context("enable_parallel_optimizer"):
        return
    if state.trace is not None:
        state.trace.refuse_once("cuts Parameters")
    for parameter in found:
        cut(parameter, Slices(mesh_here(), laid[parameter]))


def _given(tensor: Tensor, strategy: Any, place: int, name: str) -> Tensor:
    """An input of a region: this process's part of it, as a DTensor."""
    from torch.distributed.tensor import DTensor

    if isinstance(tensor, Parameter):
        return tensor
    raw, mesh = tensor._raw, mesh_here()
    axes: list[list[int]] = []
    if strategy == "data_parallel" and raw.dim():
        axes = [list(range(mesh.ndim))]
    elif strategy not in ("full_batch", "data_parallel") and place < len(strategy):
        told, by_rank = strategy[place], True  # as the parts that processes are given
        if isinstance(told, Layout):
            axes, told = _of_layout(told, {}, mesh, name), told.to_dict()
            by_rank = told["rank_list"] == list(range(mesh.size()))
        else:
            axes = _axes_of(tuple(told), list(range(raw.dim())), {}, mesh, name)
        along = [axis for mine in axes for axis in mine]
        if not by_rank or along not in ([], list(range(mesh.ndim))):
            raise ValueError(f"For '{name}', a 'dataset_strategy' must cut an input in as many "
                             f"parts as there are processes, in their order, or in none, but got "
                             f"{told} with {mesh.size()} processes.")
    placements = _placements(axes, mesh)
    return wrap(DTensor.from_local(raw, mesh, placements, run_check=False))


def shard(fn: Callable[..., Any], in_strategy: Any, out_strategy: Any = None,
          name: str = "shard") -> Callable[..., Any]:
    """The function with inputs and results laid out by strategies, where operators are spread."""
    _note(in_strategy, out_strategy)

    @functools.wraps(fn, updated=())
    def sharded(*args: Any, **kwargs: Any) -> Any:
        if not in_region() and not splits():
            return fn(*args, **kwargs)
        taken: dict[Any, list[int]] = {}
        args = tuple([_laid_out(arg, strategy, name, taken) for arg, strategy in
                      zip(args, _for_each(in_strategy, args, name), strict=True)])
        found = fn(*args, **kwargs) if in_region() else _run(fn, args, kwargs)
        several = isinstance(found, tuple)
        results = found if several else (found,)
        laid = tuple([_laid_out(result, strategy, name, taken) for result, strategy in
                      zip(results, _for_each(out_strategy, results, name), strict=True)])
        if not in_region():
            laid = tuple([map_tensors(lambda t: wrap(whole(t._raw)), each) for each in laid])
        return laid if several else laid[0]

    return sharded


def _for_each(strategies: Any, values: tuple, name: str) -> tuple:
    if strategies is None:
        return (None,) * len(values)
    strategies = (strategies,) if isinstance(strategies, Layout) else tuple(strategies)
    if len(strategies) > len(values):
        raise ValueError(f"For '{name}', there are {len(strategies)} strategies, but "
                         f"{len(values)} Tensors.")
    return strategies + (None,) * (len(values) - len(strategies))


def _laid_out(value: Any, strategy: Any, name: str, taken: dict[Any, list[int]],
              keys: list[Any] | None = None) -> Any:
    if strategy is None or not isinstance(value, Tensor):
        return value
    laid = lay_out(value._raw, strategy, name, keys, taken)
    if isinstance(value, Parameter) and isinstance(state.overlay, _Overlay):
        state.overlay.note(value, laid)
    return wrap(laid)


class _ShardedCell:
    """Mixed into the class of a Cell that was given strategies."""

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """As without them."""
        inputs, outputs, _ = self.__dict__["_strategies"]
        call: Any = super().construct  # type: ignore[misc]
        return shard(call, inputs, outputs, "Cell.shard")(*args, **kwargs)


def plan_parameters(network: Any, plan: dict[str, Any], where: str) -> None:
    """Note how Parameters of a network are laid out."""
    known = dict(network.parameters_and_names())
    for name, strategy in plan.items():
        if not isinstance(name, str) or not isinstance(strategy, (tuple, Layout)):
            raise TypeError(f"For '{where}', 'parameter_plan' must have a tuple or a Layout for "
                            f"each name, but got {name!r}: {strategy!r}.")
        name = name.removeprefix("self.")
        if name not in known:
            raise ValueError(f"For '{where}', the network has no parameter {name!r}; it has "
                             f"{', '.join(known)}.")
        known[name].__dict__["strategy"] = strategy
        _note(strategy)


class _Sharded:
    """Mixed into the class of an operator that was given strategies."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call: Any = super().__call__  # type: ignore[misc]
        if not in_region():
            return call(*args, **kwargs)
        attrs, name, taken = self.attrs, self.name, {}  # type: ignore[attr-defined]
        joined = len(args) == 1 and isinstance(args[0], (tuple, list))
        flat: Any = args[0] if joined else args
        strategies = _for_each(attrs["in_strategy"], flat, name)
        outputs = attrs["out_strategy"]
        if name == "OneHot":
            strategies, outputs = self._of_one_hot(strategies, flat, outputs)
        flat = tuple([_laid_out(value, strategy, name, taken, self._keys(i, value))
                      for i, (value, strategy) in enumerate(zip(flat, strategies, strict=True))])
        found = call(flat, **kwargs) if joined else call(*flat, **kwargs)
        if outputs is None or isinstance(found, tuple):
            return found
        return _laid_out(found, outputs[0], name, {})

    def _of_one_hot(self, strategies: tuple, values: tuple, outputs: Any) -> tuple[tuple, Any]:
        """`OneHot`'s first strategy is that of its result, which has a dimension more than it."""
        first = strategies[0]
        if not isinstance(first, tuple) or len(first) != values[0].ndim + 1:
            return strategies, outputs
        axis = self.axis % len(first)  # type: ignore[attr-defined]
        return ((first[:axis] + first[axis + 1:], *strategies[1:]),
                (first,) if outputs is None else outputs)

    def _keys(self, place: int, value: Any) -> list[Any] | None:
        """The role of each dimension of a product's factor."""
        product = self.name in ("MatMul", "BatchMatMul")  # type: ignore[attr-defined]
        if not product or place > 1 or not isinstance(value, Tensor):
            return None
        last = ["rows", "inner"] if place == 0 else ["inner", "columns"]
        if getattr(self, "transpose_b" if place else "transpose_a", False):
            last.reverse()
        return [*range(-value.ndim, -2), *last]


@functools.lru_cache
def mixed(mixin: type, kind: type) -> type:
    """A class of the same name whose methods a mixin comes before."""
    return type(kind.__name__, (mixin, kind), {"__module__": kind.__module__})


def shard_cell(cell: Any) -> None:
    """Have a Cell lay out its inputs and results as its strategies say."""
    _note(*cell.__dict__["_strategies"][:2])
    if not isinstance(cell, _ShardedCell):
        cell.__class__ = mixed(_ShardedCell, type(cell))


class _ByOperators:
    """Mixed into the class of a layer of which an operator was given strategies."""

    def construct(self, *args: Any) -> Any:
        """As without them."""
        call: Any = super().construct  # type: ignore[misc]
        return self.by_operators(*args) if in_region() else call(*args)  # type: ignore[attr-defined]


def shard_operator(operator: Any) -> None:
    """Have an operator lay out its inputs where operators are spread over processes."""
    _note(operator.attrs["in_strategy"], operator.attrs["out_strategy"])
    if not isinstance(operator, _Sharded) and operator.attrs["in_strategy"] is not None:
        operator.__class__ = mixed(_Sharded, type(operator))
    cell, name = operator.__dict__.get("owner", (None, ""))
    if hasattr(cell, "by_operators"):
        cell.__dict__[name] = operator
        if not isinstance(cell, _ByOperators):
            cell.__class__ = mixed(_ByOperators, type(cell))


add_fallback(refused, in_one_axis)
