"""Parameters cut in parts, one for each process: the base of ZeRO (Rajbhandari et al. 2020).

A `PartParameter` keeps the rows of its part; whoever reads it gets the whole, gathered from the
other processes. A gradient call gathers all wholes first, and scatters their gradients when it has
all, both in the order of its Parameters: an order that followed the backward pass would be that of
kernels, which each process chooses for itself. Or it gathers each where it is used, see `on_use`.
What it gives is a Tensor around a DTensor: norms of
it are norms of the whole, and what can't be right raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch

from ..communication import exchange, rules, settings
from ..communication.buckets import cut
from ..communication.functional import install, joined
from ..communication.groups import Group, create_group, group_of
from ..core import context
from ..core.errors import describe
from ..core.spreading import local
from ..core.state import state
from ..tensors.construction import Waiting
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .on_use import uses_in
from .spread import SpreadParameter

__all__ = ["PartParameter", "Placement", "check_elementwise", "fit_states", "keep_whole",
           "parts_of", "place", "placement_of", "shard", "stays_whole", "unshard"]

in_use = False  # whether some Parameter has been cut


class Placement:
    """How Parameters are cut in parts, along their first dimension.

    Attributes:
        group: the processes that hold the parts of one Parameter.
        others: the processes that hold the same part as this one, or None if there are none.
        divisor: what gradients, added up over all processes, are divided by.
        threshold: Parameters of fewer bytes are left whole.
        alike: whether all processes have the same gradients, as each computes those of the whole
            batch: then nothing has to be added up.
        on_use: whether gradient calls gather wholes where they are used, and keep none.
        processes: how many hold a part; 0 for all of the world.
        takes_parts: whether gradient calls differentiate by parts, and not by wholes.
        mesh: the group as torch's arrangement of devices.
    """

    def __init__(self, group: Group, others: Group | None = None, divisor: int = 1,
                 threshold: int = 0, on_use: bool = False, alike: bool = False,
                 processes: int = 0):
        self.group, self.others = group, None if alike else others
        self.processes = processes
        self.divisor = 1 if alike else divisor
        self.threshold, self.alike = threshold, alike
        self.on_use = self.takes_parts = on_use
        from torch.distributed.device_mesh import DeviceMesh

        install()
        kind = context.current_device().type
        self.mesh = joined(DeviceMesh.from_group(group.process_group, kind))

    def fits(self, parameter: Parameter) -> bool:
        """Whether a Parameter is to be cut, and can be."""
        raw = parameter._data
        return (parameter.parallel_optimizer and raw.dim() > 0 and raw.is_floating_point()
                and raw.shape[0] % self.group.size == 0 and raw.nbytes >= self.threshold
                and raw.shape[0] > 0)

    def whole_shape(self, part: tuple[int, ...]) -> tuple[int, ...]:
        """The lengths of a whole's dimensions, from those of its part."""
        return (part[0] * self.group.size, *part[1:])

    def arrangement(self) -> tuple[list[int], dict[int, list[int]], int]:
        """How all processes are arranged along axes; for each dimension that is cut its axes; in
        how many parts the first dimension is cut once more by processes that would hold the same.
        """
        processes = self.processes or group_of(None, "parallel optimizer").size
        return [processes], {}, self.group.size

    def part(self, whole: torch.Tensor) -> torch.Tensor:
        """This process's part of a whole."""
        return whole.chunk(self.group.size)[self.group.rank]

    def gather(self, part: torch.Tensor) -> torch.Tensor:
        """The whole, on the tape."""
        return rules.all_gather("Parameter", part, self.group)

    def whole_of(self, parameter: PartParameter, alias: torch.Tensor) -> torch.Tensor:
        """The whole of a Parameter, in a gradient call that has an alias of its part."""
        return uses_in(state.level, self).whole(parameter, alias)

    def gather_all(self, parts: list[torch.Tensor]) -> list[torch.Tensor]:
        """The wholes of several parts, which travel in few messages."""
        found = parts.copy()
        for bucket in cut(parts):
            flat = torch.cat([parts[i].reshape(-1) for i in bucket])
            rows = exchange.all_gather("Parameter", flat, self.group)
            pieces = rows.split([parts[i].numel() for i in bucket], 1)
            for i, piece in zip(bucket, pieces, strict=True):
                found[i] = piece.reshape(-1, *parts[i].shape[1:])
        return found

    def scatter_all(self, wholes: list[torch.Tensor]) -> list[torch.Tensor]:
        """This process's parts of the sums of the group's gradients, in few messages."""
        if self.alike:
            return [self.part(whole).contiguous() for whole in wholes]
        found, size = wholes.copy(), self.group.size
        for bucket in cut(wholes):
            flat = torch.cat([wholes[i].reshape(size, -1) for i in bucket], 1)
            pending = exchange.begin_scatter("Parameter", flat, self.group)
            total = exchange.end_scatter("Parameter", pending, self.group).sum((0, 1))
            pieces = total.split([wholes[i].numel() // size for i in bucket])
            for i, piece in zip(bucket, pieces, strict=True):
                found[i] = piece.view(-1, *wholes[i].shape[1:])
        return found

    def scattered(self, raw: torch.Tensor) -> torch.Tensor:
        """This process's part of the sum of the group's gradients of a whole."""
        if self.alike:
            return self.part(raw).contiguous()
        return rules.reduce_scatter("Parameter", raw, "sum", self.group)

    def reduced(self, weights: list[PartParameter], raws: list[torch.Tensor], level: Any
                ) -> list[torch.Tensor]:
        """This process's parts of the gradients by some Parameters, added up over the group."""
        if not self.on_use:
            return self.scatter_all(raws)
        uses = uses_in(level, self)
        return [uses.gradient(weight) for weight in weights]

    def gradient(self, raw: torch.Tensor) -> Tensor:
        """The gradient of all processes, of which each has its part.

        Args:
            raw: this process's part of the group's.
        """
        if self.others is not None:
            raw = exchange.all_reduce("Parameter", raw, "sum", self.others)
        if self.divisor != 1:
            raw = raw / self.divisor
        return wrap(self.around(raw))

    def around(self, part: torch.Tensor) -> torch.Tensor:
        """The whole as a DTensor, of which this process has its part."""
        from torch.distributed.tensor import DTensor, Shard

        return DTensor.from_local(part, self.mesh, [Shard(0)], run_check=False)


class PartParameter(SpreadParameter):
    """A Parameter of which this process holds a part. `shard` makes one of a Parameter."""

    __slots__ = ()

    @property
    def placement(self) -> Placement:
        """How it is cut."""
        return self.__dict__["placement"]

    @property
    def _raw(self) -> torch.Tensor:  # type: ignore[override]
        overlay = state.overlay
        alias = None if overlay is None else overlay.get(self)
        if alias is None:
            return self.placement.gather(self._data)
        if alias.shape == self._data.shape:
            return self.placement.whole_of(self, alias)
        return alias

    @_raw.setter
    def _raw(self, raw: torch.Tensor) -> None:
        Parameter._raw.__set__(self, self._own(raw))  # type: ignore[attr-defined]

    def _own(self, raw: torch.Tensor) -> torch.Tensor:
        return self.placement.part(raw) if tuple(raw.shape) == self.shape else raw

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the whole's dimensions."""
        return self.placement.whole_shape(tuple(self._data.shape))

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """As `Parameter.init_data`: all processes make the whole, and each keeps its part."""
        if self.init is not None:
            self._data = torch.zeros((), dtype=self._data.dtype,
                                     device=self._data.device).expand(self.shape)
            super().init_data()
            self._data = self.placement.part(self._data).clone()
        return self

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replace the data, given as the whole or, with `slice_shape`, as this process's part."""
        if isinstance(data, Tensor) and (data.shape == self.shape or slice_shape):
            if data.init is not None:
                data = data.init_data()
            part = self._own(data._raw)
            if part.shape != self._data.shape:
                raise ValueError(f"For 'Parameter.set_data', the part of parameter '{self.name}' "
                                 f"has shape {tuple(self._data.shape)}, but got {data.shape}.")
            self.init = None
            super().assign_raw(part)
            return self
        raise ValueError(f"For 'Parameter.set_data', the shape of 'data' must be {self.shape} as "
                         f"that of parameter '{self.name}', but got {describe(data)}.")

    def assign_raw(self, raw: torch.Tensor) -> None:
        """As `Parameter.assign_raw`, of the whole or of the part."""
        super().assign_raw(self._own(raw))

    def begin(self, weights: list[PartParameter], level: Any) -> list[torch.Tensor]:
        """What a gradient call by several such Parameters takes aliases of: parts or wholes."""
        if level.outer is not None or state.overlay is not None:
            return [w._data if w.placement.takes_parts and level.outer is None else w._raw
                    for w in weights]
        found = {id(w): w._data for w in weights}
        for placement, its in _by_placement(weights):
            if not placement.takes_parts:
                wholes = placement.gather_all([w._data for w in its])
                found.update(zip(map(id, its), wholes, strict=True))
        return [found[id(w)] for w in weights]

    def recorded(self, function: Any, level: Any) -> Any:
        """The function of a gradient call, as it has to be called."""
        if not self.placement.on_use or level.outer is not None:
            return function
        return partial(uses_in(level, self.placement).run, function)

    def gradient_of(self, weights: list[PartParameter], raws: list[torch.Tensor], level: Any
                    ) -> list[Tensor]:
        """The gradients of a gradient call as Tensors of which each process holds its part."""
        if level.outer is not None or any(raw.requires_grad for raw in raws):
            return [w.placement.gradient(w.placement.scattered(raw))
                    for w, raw in zip(weights, raws, strict=True)]
        of, found = dict(zip(map(id, weights), raws, strict=True)), {}
        for placement, its in _by_placement(weights):
            parts = placement.reduced(its, [of[id(w)] for w in its], level)
            found.update((id(w), placement.gradient(part))
                         for w, part in zip(its, parts, strict=True))
        return [found[id(w)] for w in weights]


def _by_placement(weights: list[PartParameter]) -> list[tuple[Placement, list[PartParameter]]]:
    found: dict[int, tuple[Placement, list[PartParameter]]] = {}
    for weight in weights:
        found.setdefault(id(weight.placement), (weight.placement, []))[1].append(weight)
    return list(found.values())


def shard(parameter: Parameter, placement: Placement) -> None:
    """Keep only this process's part of a Parameter, which remains the same object."""
    global in_use
    in_use = True
    if parameter.init is None:
        parameter._data = placement.part(parameter._data).clone()
    else:
        with torch._C.DisableTorchFunctionSubclass():  # which refuses all but its form
            parameter._data = placement.part(parameter._data).as_subclass(Waiting)
    parameter.__dict__["placement"] = placement
    parameter.__class__ = PartParameter


def unshard(parameter: Parameter) -> None:
    """Keep the whole of a Parameter that was cut, if it was."""
    if isinstance(parameter, PartParameter):
        parameter._data = parameter.placement.gather(parameter.init_data()._data)
        parameter.__class__ = Parameter  # type: ignore[assignment]


def place(parameters: Iterable[Parameter], placement: Placement | None) -> None:
    """Cut those Parameters that fit."""
    if placement is None:
        return
    for parameter in parameters:
        if type(parameter) is Parameter and placement.fits(parameter):
            shard(parameter, placement)


def placement_of(size: int = -1, threshold: int | None = None) -> Placement | None:
    """How Parameters are cut as the settings say; None in a world of one.

    Args:
        size: how many parts; -1: as the settings say, by default as many as there are processes.
        threshold: Parameters of fewer KB stay whole; default: the setting.
    """
    world = group_of(None, "parallel optimizer")
    if world.size == 1 or size == 1 or settings._get_pipeline_stages() > 1:
        return None  # where there are stages, see `stages`
    config = settings.get_auto_parallel_context("parallel_optimizer_config")
    if size == -1:
        size = config.get("optimizer_weight_shard_size", settings.get_auto_parallel_context(
            "optimizer_weight_shard_size"))
    on_use, alike = (config.get("optimizer_level") == "level3",
                     settings._is_in_auto_parallel_mode())
    least = (config["parallel_optimizer_threshold"] if threshold is None else threshold) << 10
    divisor = world.size if settings.get_auto_parallel_context("gradients_mean") else 1
    if size in (-1, world.size):
        return Placement(world, None, divisor, least, on_use, alike)
    if world.size % size:
        raise ValueError(f"Weights can't be cut in {size} parts among {world.size} processes: the "
                         f"number of processes must be a multiple of the number of parts.")
    mine: dict[str, Group] = {}
    groups = [("part", list(range(start, start + size))) for start in range(0, world.size, size)]
    groups += [("same", list(range(start, world.size, size))) for start in range(size)]
    for kind, ranks in groups:  # every process makes all groups
        name = f"{kind}s_of_weights_{'_'.join(map(str, ranks))}"
        create_group(name, ranks)
        if world.ranks[world.rank] in ranks:
            mine[kind] = group_of(name, "parallel optimizer")
    return Placement(mine["part"], mine["same"], divisor, least, on_use, alike)


def parts_of(gradients: Iterable[Tensor], parameters: Iterable[Parameter]) -> tuple[Tensor, ...]:
    """Gradients around plain tensors, of the shapes of what is held of the Parameters."""
    raws = local(gradient._raw for gradient in gradients)
    return tuple(
        wrap(p.placement.part(raw) if isinstance(p, PartParameter) and tuple(raw.shape) == p.shape
             else raw) for raw, p in zip(raws, parameters, strict=True))


def fit_states(parameters: Iterable[Parameter], states: Iterable[Iterable[Parameter]]) -> None:
    """Cut states that were made before their Parameters were cut."""
    for parameter, *theirs in zip(parameters, *states, strict=True):
        if isinstance(parameter, PartParameter):
            for each in theirs:
                if type(each) is Parameter and each.shape == parameter.shape:
                    shard(each, parameter.placement)


def keep_whole(parameters: Iterable[Parameter]) -> None:
    """Have Parameters stay whole whatever strategies say, for an optimizer that needs that."""
    for parameter in parameters:
        parameter.__dict__["stays_whole"] = True


def stays_whole(parameter: Parameter) -> bool:
    """Whether a Parameter is not to be cut by strategies."""
    return "stays_whole" in parameter.__dict__


def check_elementwise(optimizer: Any) -> None:
    """Refuse an optimizer that needs whole Parameters where some are cut.

    Raises:
        RuntimeError: if its rule needs norms or means of whole Parameters.
    """
    if not optimizer._elementwise and any(isinstance(p, PartParameter)
                                          for p in optimizer.parameters):
        raise RuntimeError(f"'{type(optimizer).__name__}' needs whole parameters, but they are cut "
                           f"in parts for several processes. Use Adam, AdamWeightDecay or "
                           f"Momentum, or leave out 'enable_parallel_optimizer'.")
