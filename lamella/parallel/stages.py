"""Parameters that live in one stage of a pipeline: the processes of other stages hold no data.

Whoever reads such a Parameter gets it from its stage, so all processes have to read it. Gradients
of those of other stages are stand-ins without data, which remember their stage.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from ..communication import exchange, settings
from ..communication.groups import Group, create_group, ended, group_of
from ..core.spreading import as_whole
from ..core.state import state
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from . import parts
from .parts import PartParameter, Placement, stays_whole
from .spread import SpreadParameter

__all__ = ["Elsewhere", "Pipeline", "StageParameter", "StagePartParameter", "computes",
           "here", "is_spread", "latest", "pipeline_of", "place", "place_states", "placement_in",
           "total"]

_latest: Pipeline | None = None  # in whose stages Parameters live


class _Here(threading.local):
    """The state of this thread.

    Attributes:
        run: the run of a network by one stage, or the one that plans it; None outside of both.
        start: gives for a loss the gradient that a step will start from, where that is known
            before the step; else None.
        wholes: in a step, the wholes of Parameters that the processes of this stage hold in parts.
    """

    run: Any = None
    wholes: dict[Parameter, torch.Tensor] = {}
    start: Callable[[Tensor], Tensor] | None = None


here = _Here()


class Pipeline(NamedTuple):
    """The processes of a pipeline, as this one sees them.

    Attributes:
        stages: how many there are.
        stage: this process's.
        chain: one process of each stage, that exchange what their stages compute.
        alike: the processes of this stage.
        born: what `groups.ended` gave when it was made.
    """

    stages: int
    stage: int
    chain: Group
    alike: Group
    born: int  # see `groups.ended`


def in_use() -> bool:
    """Whether the settings say that there are stages on several processes.

    Raises:
        RuntimeError: if they also say something that isn't supported together with stages.
    """
    stages = settings._get_pipeline_stages()
    if stages == 1 or group_of(None, "pipeline").size == 1:
        return False
    get = settings.get_auto_parallel_context
    if not settings._is_in_auto_parallel_mode():
        raise RuntimeError(f"Stages of a pipeline on several processes need the 'parallel_mode' "
                           f"'semi_auto_parallel' or 'auto_parallel', but got "
                           f"{get('parallel_mode')!r}.")
    if get("pipeline_scheduler").startswith("seq"):
        raise RuntimeError(f"Stages of a pipeline are run by the 'pipeline_scheduler' '1f1b', "
                           f"'gpipe' or 'zero_bubble_v', but got {get('pipeline_scheduler')!r}, "
                           f"which also cuts the sequences of a batch.")
    return True


def pipeline_of() -> Pipeline:
    """The pipeline of the settings; the first call is made by all processes together."""
    world, stages = group_of(None, "pipeline"), settings._get_pipeline_stages()
    width = world.size // stages
    mine: dict[str, Group] = {}
    for kind, groups in (("pipeline", [range(i, world.size, width) for i in range(width)]),
                         ("stage", [range(i, i + width) for i in range(0, world.size, width)])):
        for ranks in map(list, groups):
            if len(ranks) == world.size:
                mine[kind] = world
                continue
            name = f"{kind}_{'_'.join(map(str, ranks))}"
            create_group(name, ranks)
            if world.rank in ranks:
                mine[kind] = group_of(name, "pipeline")
    return Pipeline(stages, world.rank // width, mine["pipeline"], mine["stage"], ended())


def latest() -> Pipeline | None:
    """The pipeline in whose stages Parameters live, if there is one."""
    return _latest if _latest is not None and _latest.born == ended() else None


class Elsewhere(torch.Tensor):
    """A tensor that only processes of another stage hold: its shape and type, without data.

    Attributes:
        stage: that stage; what is computed from one has it too.
    """

    stage: int = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for arg in args
                 for each in (arg if isinstance(arg, (list, tuple)) else [arg])]
        found = max(each.stage for each in given if isinstance(each, Elsewhere))
        try:
            with torch._C.DisableTorchFunctionSubclass():
                out = func(*args, **(kwargs or {}))
        except (RuntimeError, NotImplementedError) as error:
            raise RuntimeError(f"This process computes with a gradient that only the processes of "
                               f"stage {found} of the pipeline have: {error}") from error
        if isinstance(out, (list, tuple)):
            return type(out)(map(partial(_like_given, stage=found), out))
        return _like_given(out, found)


def _like_given(out: Any, stage: int) -> Any:
    if isinstance(out, torch.Tensor) and out.is_meta:
        out = out.as_subclass(Elsewhere)
        out.stage = stage
    return out


def stand_in(raw: torch.Tensor, stage: int) -> Elsewhere:
    """A placeholder for a tensor of another stage."""
    return _like_given(torch.empty_like(raw, device="meta"), stage)


class StageParameter(SpreadParameter):
    """A Parameter that the processes of one stage hold; `place` makes one of a Parameter."""

    __slots__ = ()

    @property
    def stage(self) -> int:
        """The stage that holds it."""
        return self.__dict__["stage"]

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that it is a stage of."""
        return self.__dict__["pipeline"]

    @property
    def _raw(self) -> torch.Tensor:  # type: ignore[override]
        alias = None if state.overlay is None else state.overlay.get(self)
        if here.run is not None:
            if alias is not None and not alias.is_meta:
                return alias
            return here.run.stand_in(self) if self._data.is_meta else self._mine()
        if alias is not None:
            if alias.is_meta or isinstance(self, PartParameter):
                raise RuntimeError(f"Parameter '{self.name}' is in stage {self.stage} of a "
                                   f"pipeline: its gradient is computed by 'nn.PipelineCell' "
                                   f"alone.")
            return alias
        chain = self.pipeline.chain
        whole = (torch.empty(self.shape, dtype=self._data.dtype, device=self.__dict__["device"])
                 if self._data.is_meta else self._mine())
        return exchange.broadcast("Parameter", whole, chain.ranks[self.stage], chain)

    def _mine(self) -> torch.Tensor:
        """The full value, in a process of its stage."""
        return self._data

    @_raw.setter
    def _raw(self, raw: torch.Tensor) -> None:
        Parameter._raw.__set__(self, raw.to(self._data.device))  # type: ignore[attr-defined]

    def assign_raw(self, raw: torch.Tensor) -> None:
        """As `Parameter.assign_raw`; only the stage that holds a Parameter changes it."""
        if here.run is not None and self in here.run.borrowed:
            raise RuntimeError(f"Parameter '{self.name}' is in stage {self.stage} of a pipeline: "
                               f"another stage that uses it can't assign it.")
        super().assign_raw(raw)

    def begin(self, weights: list[StageParameter], level: Any) -> list[torch.Tensor]:
        """The tensors of which a gradient call by these Parameters takes aliases.

        Outside of a step the values of parts must not be read.
        """
        return [here.wholes.get(w, w._data if w.shape == tuple(w._data.shape) else
                                w._data.flatten()[:1].expand(w.shape)) for w in weights]

    def recorded(self, function: Any, level: Any) -> Any:
        """The function that a gradient call records."""
        return function

    def gradient_of(self, weights: list[StageParameter], raws: list[torch.Tensor], level: Any
                    ) -> list[Tensor]:
        """The gradients of a gradient call: those of other stages are stand-ins."""
        if here.wholes:
            return [wrap(raw) for raw in raws]
        cut: list[Any] = [w for w in weights
                          if isinstance(w, StagePartParameter) and not w._data.is_meta]
        of = dict(zip(weights, raws, strict=True))
        if cut:
            placement: Placement = cut[0].placement
            sums = placement.scatter_all([of[w].contiguous() for w in cut])
            of.update((w, placement.around(raw / placement.group.size))
                      for w, raw in zip(cut, sums, strict=True))
        mine = [w for w in weights if not w._data.is_meta]
        of.update(zip(mine, as_whole([of[w] for w in mine]), strict=True))
        return [wrap(stand_in(of[w], w.stage) if w._data.is_meta else of[w]) for w in weights]


class StagePartParameter(StageParameter, PartParameter):
    """A Parameter of which each process of one stage holds a part."""

    __slots__ = ()

    @property
    def _raw(self) -> torch.Tensor:  # type: ignore[override]
        return StageParameter._raw.__get__(self)  # type: ignore[attr-defined]

    @_raw.setter
    def _raw(self, raw: torch.Tensor) -> None:
        StageParameter._raw.__set__(self, self._own(raw))  # type: ignore[attr-defined]

    def _mine(self) -> torch.Tensor:
        whole = here.wholes.get(self)
        return self.placement.gather(self._data) if whole is None else whole


_placements: dict[Any, Placement] = {}  # by the stage's group


def placement_in(pipeline: Pipeline, parameter: Parameter) -> Placement | None:
    """How the processes of a stage cut one of its Parameters, by the settings; None: not at all."""
    alike = pipeline.alike
    if (alike.size == 1 or not settings._get_enable_parallel_optimizer()
            or not parameter.requires_grad or stays_whole(parameter)):
        return None
    key = alike.name, pipeline.born
    if key not in _placements:
        least = settings._get("parallel_optimizer_config")["parallel_optimizer_threshold"] << 10
        _placements[key] = Placement(alike, threshold=least, processes=alike.size)
    return _placements[key] if _placements[key].fits(parameter) else None


def place(parameter: Parameter, stage: int, pipeline: Pipeline,
          cut: Callable[[Parameter], Placement | None]) -> None:
    """Move a Parameter to a stage; it remains the same object.

    Args:
        cut: how the processes of the stage cut it, if they do.

    Raises:
        RuntimeError: if it lives elsewhere already.
    """
    global _latest
    _latest = pipeline
    if isinstance(parameter, StageParameter):
        if (parameter.stage, parameter.pipeline.stages) != (stage, pipeline.stages):
            raise RuntimeError(f"Parameter '{parameter.name}' is in stage {parameter.stage} of "
                               f"{parameter.pipeline.stages}, and can't be in stage {stage} of "
                               f"{pipeline.stages}.")
        parameter.__dict__["pipeline"] = pipeline
        return
    parts.unshard(parameter)  # others were to hold it, before there were stages
    parameter.init_data()  # in all processes: they draw the same numbers
    own, placement = parameter.__dict__, cut(parameter)
    own["stage"], own["pipeline"], own["device"] = stage, pipeline, parameter._data.device
    if placement is not None:
        parts.shard(parameter, placement)
    if stage != pipeline.stage:
        parameter._data = torch.empty_like(parameter._data, device="meta")
    parameter.__class__ = StageParameter if placement is None else StagePartParameter


def place_states(parameters: Iterable[Parameter], states: Iterable[Iterable[Parameter]]) -> None:
    """Move an optimizer's states to the stages of their Parameters, cut in the same way."""
    for parameter, *theirs in zip(parameters, *states, strict=True):
        if isinstance(parameter, StageParameter):
            placement = parameter.__dict__.get("placement")
            for each in theirs:
                place(each, parameter.stage, parameter.pipeline,
                      lambda each, p=parameter, cut=placement: cut if each.shape == p.shape
                      else None)


def computes(values: Iterable[Any]) -> bool:
    """Whether these values have data.

    They don't in the run that makes a pipeline's plan, nor those that only other stages compute.
    """
    run = here.run
    if run is None:
        return True
    from torch._subclasses.fake_tensor import FakeTensor

    return not run.plans and not any(isinstance(each, Tensor) and isinstance(each._raw, FakeTensor)
                                     for each in values)


def is_spread(raws: Sequence[torch.Tensor]) -> bool:
    """Whether tensors belong to several stages, so that no process holds all of them."""
    found = {raw.stage if isinstance(raw, Elsewhere) else -1 for raw in raws}
    return len(found) > 1


def total(name: str, raw: torch.Tensor, op: str) -> torch.Tensor:
    """The values of all stages of the pipeline, combined."""
    pipeline = latest()
    if pipeline is None or here.run is not None:
        return raw
    return exchange.all_reduce(name, raw, op, pipeline.chain)
