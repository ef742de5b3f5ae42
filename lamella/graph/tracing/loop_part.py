"""Records a part of a loop (its step, its condition) as a graph of its own."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.fx import GraphModule, Node

from ...autodiff.engine import backpropagate
from ...core.dtype import is_inexact
from ...core.state import state
from ..guards.ran import uninspected
from ..guards.reachable import Reachable
from ..ir.loop_halves import Joint, placeholders, with_inputs
from .changes import Snapshot
from .dry import has_changed, marks, running_dry
from .held import data_of, set_data
from .loop_masks import differentiated
from .recorder import Recorder
from .refusals import CannotTrace, Cause

aten = torch.ops.aten
# functions and attributes that tell the class of an object
_OF_CLASSES = frozenset(("type", "__class__", "isinstance", "issubclass", "isscalar"))
Raws = list[torch.Tensor]
# from the inputs to the carried values and the results; None if these can't be recorded
Call = Callable[[Raws], tuple[Raws, Raws] | None]


class Unlike(BaseException):
    """The steps of a loop aren't alike, or do more than computing.

    A `BaseException`, so that no ``except Exception`` of the program catches it.
    """


class BodyRecorder(Recorder):
    """Records a part of a run, which may only change memory that it has made itself.

    Args:
        inputs: what the part is given.
        around: the recorder of the run.

    Attributes:
        level: the level around a part that is recorded outside of all transformations, and
            transformed afterwards; None for other parts.
        watch: checks such a part while it runs.
        is_strict: whether a loop in it that can't be transformed ends the recording.
        is_differentiable: whether all of its kernels are PyTorch's own.
    """

    is_part = True

    def __init__(self, inputs: Raws, around: Recorder):
        super().__init__(inputs)
        self._around = around
        self.is_differentiable, self.is_strict = True, around.is_strict

    def _run(self, func: Any, args: tuple, kwargs: dict, call: Any = None) -> Any:
        self.is_differentiable &= func.namespace == "aten"
        if func is aten._to_copy.default and not isinstance(args[0], torch.Tensor):
            func = aten.scalar_tensor.default  # a number, of which `vmap` makes a tensor
        return super()._run(func, args, kwargs, call)

    def _node_of(self, raw: torch.Tensor) -> Node:
        count = len(self.constants)
        node = super()._node_of(raw)
        if len(self.constants) > count:
            self._given.add(raw.untyped_storage()._cdata)
        return node

    def exchange(self, call: Any, given: Any) -> Any:
        state.trace.stop_dry_run("communicates with other processes")
        return super().exchange(call, given)

    def from_numpy(self, array: Any) -> torch.Tensor:
        return self._around.from_numpy(array)


class _Before:
    """The state of all that a part of the program leaves as it is, if it only computes."""

    def __init__(self, trace: Any, reach: Reachable):
        self._trace, self._objects, self._marks = trace, Snapshot(reach), marks(trace)
        self._held = [(t, data_of(t)) for t in reach.tensors.all()]
        level = state.level
        self._overlay = dict(level.overlay) if level is not None else {}
        self._changed = len(level.changed) if level is not None else 0

    def is_left(self) -> bool:
        """Whether all is as it was."""
        level = state.level
        return (self._marks == marks(self._trace) and not has_changed(self._objects)
                and all(data_of(t) is raw for t, raw in self._held)
                and (level is None or len(level.changed) == self._changed
                     and level.overlay.keys() == self._overlay.keys()
                     and all(level.overlay[p] is raw for p, raw in self._overlay.items())))

    def restore(self) -> None:
        """Make it as it was."""
        self._objects.restore()
        for tensor, raw in self._held:
            if data_of(tensor) is not raw:
                set_data(tensor, raw)
        del self._trace.fresh[self._marks[3]:]
        del self._trace.outside.queries[self._marks[4]:]
        if state.level is not None:
            del state.level.changed[self._changed:]
            state.level.overlay.clear()
            state.level.overlay.update(self._overlay)


class Part:
    """A part of the program that runs dry, and is recorded as a graph of its own.

    Args:
        trace: the run that it belongs to.
        inputs: what it is given.
        wanted: for each input whether the tape records what depends on it; None: on none.
        pulls: whether its backward pass is recorded, too.
        unread: the numbers of the carried values that nothing reads after the loop.

    Attributes:
        aliases: what stands for the inputs.
        outs: its results: carried values, then `results` others.
        ends: these off the tape.
        recorder: of its kernels.
        sees_more: whether its backward pass would go on through tensors from outside of it.
    """

    def __init__(self, trace: Any, inputs: Raws, wanted: Sequence[bool] | None = None,
                 pulls: bool = False, unread: Collection[int] = ()):
        self.trace, self.pulls, self._unread = trace, pulls, unread
        with trace.recorder.pause(), untransformed():
            self.aliases = [raw.detach().contiguous() for raw in inputs]
            for raw, is_wanted in zip(self.aliases, wanted or (), strict=False):
                if is_wanted and is_inexact(raw.dtype):
                    raw.requires_grad_()
        self.recorder = BodyRecorder(self.aliases, trace.recorder)
        self.outs: Raws = []
        self.ends: Raws = []
        self.results = 0
        self.gradients: list[torch.Tensor | None] = []
        self.starts: list[torch.Tensor | None] = []
        self.wanted: Raws = []
        self.passes: dict[Node, int] = {}
        self.sees_more = False

    def run(self, reach: Reachable, call: Call,
            inside: Callable[[], AbstractContextManager] = nullcontext) -> None:
        """Record a function of the program's.

        Args:
            reach: what the program can reach.
            call: the function.
            inside: makes a block for the recording.

        Raises:
            Unlike: if it does more than computing; then that is undone.
        """
        trace, before, unknown = self.trace, _Before(self.trace, reach), uninspected(reach)

        def check(code: CodeType) -> None:
            if unknown(code):
                trace.stop_dry_run(f"may use in {code.co_name!r} objects not found before the run")

        try:
            only_computes = self._dry(call, check, inside)
        except BaseException:
            before.restore()
            raise
        if not before.is_left() or not only_computes:
            before.restore()
            raise Unlike

    def derive(self, call: Call) -> None:
        """Record a function of ours, of kernels alone, outside of all transformations.

        Raises:
            Unlike: if PyTorch can't do it, or it needs a value.
        """
        before = marks(self.trace)
        if not self._dry(call, lambda _: None, untransformed) or before != marks(self.trace):
            raise Unlike

    def _dry(self, call: Call, check: Callable[[CodeType], None],
             inside: Callable[[], AbstractContextManager]) -> bool:
        trace, around = self.trace, self.trace.recorder
        trace.recorder, had_numbers = self.recorder, trace.loops.has_numbers
        trace.loops.has_numbers = False
        try:
            with around.pause(), running_dry(trace, check), inside(), self.recorder:
                return self._computes(call) and trace.run_dry and not (
                    trace.loops.has_numbers and any(map(_tells_apart, trace.outside.codes)))
        finally:
            trace.recorder = around
            trace.loops.has_numbers |= had_numbers

    def _computes(self, call: Call) -> bool:
        """Call the function, and say whether it only computes, as far as it has been seen."""
        try:
            found = call(self.aliases)
            if found is None:
                return False
            self.outs = [raw.contiguous() for raw in (*found[0], *found[1])]
            self.results = len(found[1])
            self.ends = [raw.detach() for raw in self.outs]
            if self.pulls:
                self._pull()
        except CannotTrace as reason:
            if reason.cause is not Cause.DRY:
                raise
            return False
        except (Exception, Unlike):  # noqa: BLE001  (the program's own loop will raise it)
            return False
        return not self.recorder.failures

    def _pull(self) -> None:
        """Record the backward pass, from any gradients of the results."""
        recorder, nodes = self.recorder, self.recorder.graph.nodes
        self.sees_more = any(raw.grad_fn is not None for raw in recorder.constants)
        if self.sees_more:
            raise Unlike
        with recorder.pause():
            used = differentiated(self.outs, self.aliases, self._unread)
        last = next(iter(reversed(nodes)))
        with recorder.pause():
            self.starts = [torch.ones_like(raw).detach() if raw.requires_grad and i in used
                           else None for i, raw in enumerate(self.outs)]
        self.wanted = [raw for raw in (*self.aliases, *recorder.constants) if raw.requires_grad]
        pairs = [(raw, start) for raw, start in zip(self.outs, self.starts, strict=True)
                 if start is not None]
        # if its derivative is asked for, it is computed by kernels that have one
        nested = derivatives_follow()
        self.gradients = list(backpropagate(pairs, self.wanted, nested, nested))
        for node in reversed(nodes):
            if node is last:
                break
            self.passes[node] = 0

    def with_inputs(self, order: Raws) -> GraphModule:
        """The graph of it, with inputs in this order."""
        graph = self.recorder.finished(self.ends)
        nodes = self._nodes(graph)
        return with_inputs(graph, [nodes.get(id(raw)) for raw in order],
                           graph.graph.output_node().args[0])  # type: ignore[arg-type]

    def joint(self, order: Raws, carried: int, elements: int) -> Joint:
        """The graph with its backward pass, of inputs in this order."""
        found = [raw for raw in self.gradients if raw is not None]
        graph = self.recorder.finished([*self.ends, *found])
        nodes = self._nodes(graph)
        outs: Any = graph.graph.output_node().args[0]
        ends = iter(outs[len(self.outs):])
        places = {id(raw): i for i, raw in enumerate(order)}
        return Joint(
            graph, [nodes.get(id(raw)) for raw in order], carried, elements,
            len(self.outs), {i: nodes.get(id(raw)) for i, raw in enumerate(self.starts)
                             if raw is not None},
            {places[id(raw)]: next(ends) for raw, gradient in
             zip(self.wanted, self.gradients, strict=True) if gradient is not None},
            [i for i, raw in enumerate(order[:carried]) if raw.requires_grad], self.passes)

    def _nodes(self, graph: GraphModule) -> dict[int, Node]:
        """The inputs of the graph, by the identity of their tensors."""
        return dict(zip(map(id, (*self.aliases, *self.recorder.constants)), placeholders(graph),
                        strict=True))


def derivatives_follow() -> bool:
    """Whether what is differentiated here will be differentiated again."""
    return state.level is not None and state.level.order() > 1


@functools.lru_cache(maxsize=1024)
def _tells_apart(code: CodeType) -> bool:
    """Whether code may notice that a number is held by a tensor: by its class, or `is True`."""
    if not _OF_CLASSES.isdisjoint(code.co_names):
        return True
    before: list[bool] = []  # whether None is loaded, which no number is
    for one in dis.get_instructions(code):
        if one.opname == "MATCH_CLASS" or one.opname == "IS_OP" and not any(before[-2:]):
            return True
        before.append(one.opname == "LOAD_CONST" and one.argval is None)
    return False


@contextmanager
def untransformed() -> Iterator[None]:
    """A block outside of all transformations of PyTorch's: nothing is batched, nor has tangents."""
    forward = torch._C._is_fwd_grad_enabled()
    torch._C._set_fwd_grad_enabled(False)
    try:
        with temporarily_clear_interpreter_stack(), torch.enable_grad():
            yield
    finally:
        torch._C._set_fwd_grad_enabled(forward)
