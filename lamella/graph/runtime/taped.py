"""Compiled functions inside of eager gradient calls: a call is one node of the tape.

The first call of a kind runs eagerly, on the tape, and is recorded with its backward pass
(`tracing.taping`), which is cut off as a graph of its own (`ir.partition`). A replay runs the first
graph, whose results hang on one node of the tape; that runs the second graph when the tape asks for
gradients. What the tape knows of the inputs decides which graph applies, like a guard.

Where the gradient is differentiated again, or batched, the node runs the second graph kernel by
kernel on the tape instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ...autodiff.level import batching
from ...core.state import state
from ...machine.collector import not_collecting
from ...tensors.views import alias_of
from ..guards.reachable import Reachable
from ..ir import partition
from ..ir.lazy_module import copied
from ..ir.unused_results import without_unused
from ..tracing.outcome import Outcome
from ..tracing.recorder import Recorder
from ..tracing.refusals import CannotTrace
from ..tracing.results import numbers_in
from ..tracing.taping import Pull, is_plain, on_tape, with_pulls
from ..tracing.trace import Trace, data_of
from .compiled import Compiled
from .plan import KernelFailed
from .replay import Replay

aten = torch.ops.aten


class _Tied(NamedTuple):
    """A new Tensor that hangs on the node.

    Attributes:
        number: its number among the graph's results.
        place: the number of the node's result.
        is_part: whether it is a part of a Tensor that isn't returned.
        is_twin: whether it is all of such a Tensor, of which other results are views.
    """

    number: int
    place: int
    is_part: bool
    is_twin: bool


class _View(NamedTuple):
    """A new Tensor that is a view of another.

    Attributes:
        number: its number among the graph's results.
        whole: the number of an input, or of a result of the node.
        of_input: which of these.
        is_part: whether it is only a part of that.
    """

    number: int
    whole: int
    of_input: bool
    is_part: bool


class _Like(NamedTuple):
    """The form of a result, in which the recorded backward pass got its gradient.

    Attributes:
        order: its dimensions as they lie in memory, the outermost first; None for row by row.
    """

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device
    order: list[int] | None

    @classmethod
    def of(cls, raw: torch.Tensor) -> _Like:
        order = None if raw.is_contiguous() else sorted(
            range(raw.dim()), key=lambda d: -raw.stride(d))
        return cls(raw.shape, raw.dtype, raw.device, order)

    def start(self, gradient: Any) -> torch.Tensor:
        """What a pass starts from: a gradient in this layout, or zeros. The tape sees the copy."""
        if gradient is None:
            return torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        if self.order is None:
            return gradient.contiguous()
        turned = gradient.permute(self.order)
        return gradient if turned.is_contiguous() else turned.contiguous().permute(
            sorted(self.order, key=self.order.__getitem__))


class TapedReplay(Replay):
    """A recorded run whose replays are nodes of the tape.

    Attributes:
        known: for each argument's Tensor and each that the run finds elsewhere, whether the tape
            knows it.
        tied: the new Tensors that hang on the node.
        views: the new Tensors that are views of these, or of inputs.
        passes: the backward passes, by the results that have gradients.
    """

    @not_collecting()
    def __init__(self, trace: Trace, inputs: list[torch.Tensor], level: str,
                 sizes: Callable[[list[torch.Tensor]], bool] | None = None):
        pulls, outcome = trace.pulls, trace.outcome
        assert pulls is not None and outcome is not None
        joint: Any = outcome.graph
        self.known: list[bool] = pulls.inputs
        front = len(trace.guards) + len(outcome.recorded)
        outs = list(joint.graph.output_node().args[0])
        self._new = len(outcome.recorded)
        self.tied, self.views = _tied(trace, outs[len(trace.guards):front])
        places = [n for n in joint.graph.nodes if n.op == "placeholder"]
        first = len(places) - len(outcome.constants)
        stands = {id(raw): node
                  for raw, node in zip(outcome.constants, places[first:], strict=True)}
        starts = [stands.get(id(raw)) for raw in pulls.starts]
        total = len(outs) - len(pulls.gradients)
        found = outs[total:]
        outcome.graph, kept, parts = partition.cut(
            joint, pulls.kernels, [[starts[i] for i in one.starts] for one in pulls.passes],
            [[found[i] for i in one.gradients if i is not None] for one in pulls.passes],
            front, total)
        ours = {id(raw) for raw in pulls.starts}
        outcome.constants = [raw for raw in outcome.constants if id(raw) not in ours]
        self._kept = [node.meta.get("tensor_meta") for node in kept]
        self.results = len(pulls.starts)
        if len({tied.place for tied in self.tied}) != self.results:
            raise CannotTrace("returns a differentiated value that is not a new Tensor")
        self.passes = {frozenset(one.starts): _Pass(one, part, trace.reach, level)
                       for one, part in zip(pulls.passes, parts, strict=True)}
        super().__init__(trace, inputs, level, sizes)

    @property
    def only_computes(self) -> bool:
        """Never: each replay makes a node of the tape."""
        return False

    def run(self, given: list[torch.Tensor], numbers: Sequence[Any] = ()) -> list[Any] | None:
        """As `Replay.run`; the results hang on the tape."""
        roots = self._roots(given)
        if roots is None:
            return None
        found = super().run(given, numbers)
        if found is None:
            return None
        end = self._new + len(self._kept)
        kept, rest = found[self._new:end], found[end:]
        found[self._new:] = rest
        if not self.tied and not self.views:
            return found
        kept = [raw if meta is None or raw.stride() == meta.stride else meta.copied(raw)
                for raw, meta in zip(kept, self._kept, strict=True)]
        results: list[Any] = [None] * self.results
        for number, place, *_ in self.tied:
            results[place] = found[number].detach()
        outs = _Node.apply(self, results, kept, *[
            root for root, is_known in zip(roots, self.known, strict=True) if is_known])
        for number, place, is_part, is_twin in self.tied:
            raw = outs[place]
            found[number] = (aten.alias.default(raw) if is_part else raw.view_as(raw) if is_twin
                             else raw)
        for number, place, of_input, is_part in self.views:
            raw, whole = found[number], (roots if of_input else outs)[place]
            found[number] = whole.as_strided(
                raw.shape, raw.stride(), raw.storage_offset()) if is_part else alias_of(whole)
        return found

    def _roots(self, given: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """What the tape knows of the inputs; None if it is other than in the recording."""
        others = [t._raw for t in self.inputs.others]
        others.extend([source.get()._raw for source in self.inputs.sources])
        roots, known = [*given, *map(on_tape, self.inputs.parameters), *others], self.known
        for root, is_known in zip(roots, known, strict=True):
            if root.requires_grad is not is_known or type(root) is not torch.Tensor:
                return None
        start = len(given)
        for root, parameter in zip(roots[start:], self.inputs.parameters, strict=False):
            if not is_plain(root, parameter._data):
                return None
        return roots

    def pull(self, kept: Sequence[torch.Tensor], gradients: Sequence[Any], likes: Sequence[_Like]
             ) -> list[Any]:
        """The gradients by the inputs that the tape knows, from those of the node's results.

        Args:
            likes: the form of each result.
        """
        given = frozenset([i for i, gradient in enumerate(gradients) if gradient is not None])
        one = self.passes.get(given)
        if one is None:  # threads may make it at the same time, and one is kept
            whole = self.passes[frozenset(range(self.results))]
            one = self.passes.setdefault(given, whole.without_unused(given))
        return one.run(kept, gradients, likes, self.known)


def _tied(trace: Trace, new: list[Node]) -> tuple[list[_Tied], list[_View]]:
    """The new Tensors of a run that the tape has recorded, as in `TapedReplay`.

    Raises:
        CannotTrace: if there are some elsewhere than in what the function returned.
    """
    outcome: Any = trace.outcome
    pulls = trace.pulls
    assert pulls is not None
    places = {node: i for i, node in enumerate(pulls.results)}
    returned = set(numbers_in(outcome.out_tree[0]))
    wholes = {view.whole for view in pulls.views.values()}
    tied, views = [], []
    for number in returned:
        if outcome.recorded[number]:
            node = new[number]
            whole, is_twin = pulls.views.get(node, (None, True))
            if isinstance(whole, int):
                views.append(_View(number, whole, True, not is_twin))
            elif whole is not None:
                views.append(_View(number, places[whole], False, not is_twin))
            elif node in places:
                tied.append(_Tied(number, places[node], not is_twin,
                                  node in pulls.views and node in wholes))
            else:
                raise CannotTrace("returns a differentiated Tensor inside of an object of an "
                                  "unknown class")
    if any(outcome.recorded[n] for n in set(numbers_in(outcome.out_tree[1])) - returned) or any(
            data_of(trace.held[i].tensor).requires_grad for i in outcome.assigned):
        raise CannotTrace("keeps a differentiated Tensor outside of its result")
    return tied, views


class _Pass:
    """A backward pass as a graph.

    Args:
        pull: what it starts from and gives.
        part: its graph.
        reach: the objects that the recorded run could reach.
        level: the optimization level of the replay.

    Raises:
        CannotTrace: if it can't run apart from the function.
    """

    def __init__(self, pull: Pull, part: partition.Backward, reach: Reachable, level: str):
        if partition.changes_what_it_takes(part.graph):
            raise CannotTrace("has a backward pass that changes its own inputs")
        self.starts, self.gradients, self.takes = pull.starts, pull.gradients, part.takes
        self.graph: GraphModule = part.graph
        self._reach, self._level = reach, level
        self._made: Replay | None = None

    def without_unused(self, given: Collection[int]) -> _Pass:
        """This pass, of all results, from those with these numbers alone."""
        inputs = [node for node in self.graph.graph.nodes if node.op == "placeholder"]
        graph, there = without_unused(self.graph, inputs[len(self.takes):], given)
        left = iter(there)
        pull = Pull(self.starts, [None if place is None or not next(left) else place
                                  for place in self.gradients])
        return _Pass(pull, partition.Backward(graph, self.takes), self._reach, self._level)

    def _replay(self, inputs: list[torch.Tensor]) -> Replay:
        made = self._made  # read once: threads may make it at the same time, and one is kept
        if made is None:
            trace = Trace(self._reach, [], Recorder(()))
            trace.outcome = Outcome(copied(self.graph), ((), [], []))
            self._made = made = Replay(trace, inputs, self._level)
        return made

    def run(self, kept: Sequence[torch.Tensor], gradients: Sequence[Any], likes: Sequence[_Like],
            known: list[bool]) -> list[Any]:
        """The gradients by the inputs that the tape knows; None for some that it doesn't reach."""
        inputs = [kept[i] for i in self.takes]
        inputs += [likes[i].start(gradients[i]) for i in self.starts]
        if state.trace is not None or batching() or torch.is_grad_enabled() and any(
                raw.requires_grad for raw in inputs):
            found = _by_kernels(self.graph, inputs)
        else:
            try:
                found = self._replay(inputs).run(inputs)
            except KernelFailed as failed:
                raise (failed.__cause__ or failed) from None
            assert found is not None  # it has no guards
        return [None if place is None else found[self._order[place]]
                for place, is_known in zip(self.gradients, known, strict=True) if is_known]

    @functools.cached_property
    def _order(self) -> dict[int, int]:
        """For each gradient's number in the recording, its number among this pass's results."""
        return {place: i for i, place in enumerate(p for p in self.gradients if p is not None)}


def _by_kernels(graph: GraphModule, inputs: list[torch.Tensor]) -> list[Any]:
    """What a graph gives, called kernel by kernel, so that the tape sees each."""
    found: dict[Node, Any] = {}
    left = iter(inputs)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            found[node] = next(left)
        elif node.op == "get_attr":
            found[node] = getattr(graph, str(node.target))
        elif node.op == "call_function":
            target: Any = node.target
            found[node] = target(*map_arg(node.args, found.__getitem__),
                                 **map_arg(node.kwargs, found.__getitem__))
    return [found[n] for n in graph.graph.output_node().args[0]]  # type: ignore[index, union-attr]


class _Node(torch.autograd.Function):
    """A replay as a node of the tape."""

    @staticmethod
    def forward(ctx: Any, replay: TapedReplay, results: list[torch.Tensor],  # type: ignore[override]
                kept: list[torch.Tensor], *roots: torch.Tensor) -> Any:
        ctx.replay = replay
        ctx.likes = [_Like.of(raw) for raw in results]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*kept)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, None, None, *ctx.replay.pull(ctx.saved_tensors, gradients, ctx.likes))


class Taped(Compiled):
    """The graphs of a compiled function for calls inside of gradient calls.

    Args:
        outside: the function's graphs for other calls, whose settings hold here, too.
    """

    kind_of_replay = TapedReplay

    def __init__(self, outside: Compiled):
        super().__init__(outside.fn, False, outside.level, outside.dynamic)
        self.name = outside.name
        self.meaning = outside.meaning

    def recorded_as(self, inputs: list[torch.Tensor], apart: bool = False) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return with_pulls(self.fn, inputs, apart, self.scope.ran, args, kwargs)

        return call
