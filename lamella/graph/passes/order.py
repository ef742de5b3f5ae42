"""The pass manager: which passes run, in which order, and which of them have to pay in a trial."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule

from ...machine import cache
from ...machine.memory import release
from ..ir import logs
from ..ir.lazy_module import copied, dismantle
from ..ir.loop import loops_of
from ..ir.operations import sweep
from ..ir.stages import lift_constants
from ..ir.text import NoText, metas_of, name_of
from .activations import fuse_activations
from .attention import route_attention
from .batch_norms import fuse_batch_norms
from .channels_last import channels_last
from .common_subexpressions import eliminate_common_subexpressions
from .constants import fold
from .convolutions import await_kernels, convolutions
from .cross_entropies import fuse_cross_entropies
from .embeddings import add_rows
from .halves import halves
from .layer_norms import fuse_layer_norms
from .memory import MOST_MEMORY, Liveness, Memory, reshapes_in_place
from .parts import join_parts
from .peephole import peephole
from .pools import pool_channels_last
from .recomputation import recompute_casts
from .relus import relu_after_pools
from .routes import route
from .trial import NotYet, pays

Attempt = Callable[[GraphModule, Sequence[torch.Tensor]], GraphModule | None]
LONG = 1.0  # seconds of a rewriting after which its trial waits for the next call
FORMAT = 16  # of the decisions on disk; after a change the older ones are not used

def _with_products(first: Attempt) -> Attempt:
    """A rewriting, and convolutions as products of matrices on top of that.

    If there is more to time than fits in one call, the next one continues with the graph of the
    first rewriting, since that compares results, which takes as long as a few runs.
    """

    def attempt(graph: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
        half_done: dict[Attempt, GraphModule] = graph.meta.get("half done", {})
        found = half_done.pop(first, None)
        if found is None:
            found = first(graph, inputs)
            if found is None:
                return None
            simplify(found)
        try:
            return convolutions(found, inputs)
        except NotYet:
            half_done[first] = found
            raise

    return attempt


LAYOUTS: dict[str, Attempt] = {"halves": halves, "channels last": channels_last}
# rewritings that pay on some machines, for some graphs; the fastest of them is kept
ATTEMPTS: dict[str, Attempt] = {
    **LAYOUTS, "products": convolutions,
    **{f"{name}, products": _with_products(attempt) for name, attempt in LAYOUTS.items()},
}
_known_last = functools.partial(channels_last, known=True)
# those that are made again without comparing, since an earlier process found that they pay
AGAIN: dict[str, Attempt] = {"channels last": _known_last,
                             "channels last, products": _with_products(_known_last)}


def improve(graph: GraphModule, inputs: Sequence[torch.Tensor], measure: bool = False,
            in_place: bool = False) -> GraphModule:
    """A faster graph with the same results and mutations as `graph`, up to rounding.

    Args:
        graph: the recorded kernels; not changed unless `in_place`.
        inputs: inputs that it may be called with, in the order of its placeholders; not changed.
        measure: whether rewritings that pay only on some machines are tried, by running the graph
            on copies of its inputs. Without this, the call takes a fraction of one run.
        in_place: whether the graph itself may be changed.

    Returns:
        A new graph with the same placeholders. Constants are its attributes, read by ``get_attr``.
    """
    better = graph if in_place else copied(graph)
    if reshapes_in_place(better.graph):
        return better
    recorded = len(better.graph.nodes)
    for loop in loops_of(better.graph.nodes):
        loop.simplify(_simplified)
    simplify(better)
    relu_after_pools(better)
    if join_parts(better):
        sweep(better.graph)
    recompute_casts(better.graph)
    await_kernels(better)
    if measure:
        better.recompile()
        better = _settled(graph, better, inputs)
    fuse_batch_norms(better, measure and not better.meta.get("open"))
    if route(better.graph, measure):
        simplify(better)  # transposes of transposes
    route_attention(better.graph, measure)
    fuse_cross_entropies(better, measure)
    fuse_layer_norms(better, measure)
    fuse_activations(better, measure)
    add_rows(better)
    better.recompile()
    logs.show("passes", f"{recorded} operations became {len(better.graph.nodes)}",
              logs.kernels(better.graph))
    return better


def was_measured_before(graph: GraphModule, inputs: Sequence[torch.Tensor]) -> bool:
    """Whether an earlier process has measured which rewritings pay for this graph."""
    return bool(Decisions(graph, inputs))


def simplify(module: GraphModule) -> None:
    """Remove dead code, fold constants, and run peephole and common subexpression elimination.

    In this order, since each leaves less for the next one.
    """
    _until_nothing_is_left(module, (fold, peephole, eliminate_common_subexpressions))


def _simplified(body: GraphModule) -> None:
    """Simplify a graph of a loop, which has no constants of its own."""
    for loop in loops_of(body.graph.nodes):
        loop.simplify(_simplified)
    if not reshapes_in_place(body.graph):
        _until_nothing_is_left(body, (peephole, eliminate_common_subexpressions))
        body.recompile()


# passes that find nothing in what they have just changed themselves
_FINDS_ALL = (fold, eliminate_common_subexpressions)


def _until_nothing_is_left(module: GraphModule, passes: tuple[Any, ...]) -> None:
    graph = module.graph
    sweep(graph)
    memory, idle = Memory(graph), 0
    for run in itertools.cycle(passes):
        if run(module, memory):
            idle = run in _FINDS_ALL
            sweep(graph)
            if run is eliminate_common_subexpressions:  # the others keep the analysis up to date
                memory = Memory(graph)
        else:
            idle += 1
        if idle == len(passes):  # a fixed point: none of them finds anything
            return


@dataclass
class Search:
    """What is known of a graph's rewritings, from one call of `improve` to the next.

    Attributes:
        decisions: by names, whether a rewriting pays.
        best: the graph with those that do; None if it isn't made yet, or not needed any more.
        untried: a rewriting that took long, with its graph, which the next call tries.
        half_done: graphs of rewritings that others build on, which the next call goes on with.
    """

    decisions: Decisions
    best: GraphModule | None = None
    untried: tuple[str, GraphModule] | None = None
    half_done: dict[Attempt, GraphModule] = field(default_factory=dict)

    def open(self, best: GraphModule) -> GraphModule:
        """A copy of the best graph so far, as the result of a call that leaves some untried."""
        self.best = best
        found = copied(best)
        found.meta["open"] = True
        return found


def _settled(recorded: GraphModule, graph: GraphModule, inputs: Sequence[torch.Tensor]
             ) -> GraphModule:
    """The graph with the rewritings that pay on this machine, which are remembered.

    Each call tries one of them, so that none takes long; ``meta["open"]`` tells if some are left.
    """
    if "search" not in recorded.meta:
        recorded.meta["search"] = Search(Decisions(graph, inputs))
    search: Search = recorded.meta["search"]
    graph.meta["half done"] = search.half_done
    known, best, tried = search.decisions, search.best or graph, False
    if search.untried is not None:
        (name, other), search.untried = search.untried, None
        known.note(name, _pays(graph, best, other, inputs), other)
        return search.open(other if known[name] else best)
    paid = [name for name in ATTEMPTS if known.get(name)]
    rebuilt = paid[-1] if paid and search.best is None else None
    bound = Liveness(graph.graph).peak
    for name, attempt in ATTEMPTS.items():
        if name in known and name != rebuilt:
            continue
        if tried:
            return search.open(best)
        start = time.perf_counter()
        try:
            again = AGAIN.get(name, attempt) if name == rebuilt else attempt
            other = again(graph, inputs)
        except NotYet:
            return search.open(best)
        release()  # the memory that it took, before the next one takes its own
        if other is None:
            known[name] = False
            continue
        simplify(other)
        other.recompile()
        if name == rebuilt:
            best = other
        elif Liveness(other.graph).peak > MOST_MEMORY * bound:
            known[name] = False
        elif time.perf_counter() - start > LONG:
            search.untried = name, other
            return search.open(best)
        else:
            tried = True
            known.note(name, _pays(graph, best, other, inputs), other)
            if known[name]:
                best = other
    logs.show("passes", "rewritings that were tried on copies of the data", (
        f"{name}: {'kept' if paid else 'left out'}" for name, paid in known.items()))
    known.keep()
    search.best = None
    search.half_done.clear()
    best.meta["open"] = False
    return best


def _pays(recorded: GraphModule, known: GraphModule, other: GraphModule,
          inputs: Sequence[torch.Tensor]) -> bool:
    """Whether a rewriting pays, each graph with its pools as they will run."""
    before, after = (pool_channels_last(each, recorded) or each for each in (known, other))
    paid = pays(before, after, inputs)
    other.meta.update({key: after.meta[key] for key in ("unsure",) if key in after.meta})
    return paid


class Decisions(dict[str, bool]):
    """Which rewritings paid for a graph, in this process or an earlier one."""

    def __init__(self, graph: GraphModule, inputs: Sequence[torch.Tensor]):
        super().__init__()
        self.key, self.folder = None, None
        self.are_sure = True
        with contextlib.suppress(NoText):
            if cache.cache_folder() is not None:
                lifted, constants = lift_constants(graph)
                name = name_of(lifted, metas_of([*inputs, *constants]))
                if lifted is not graph:
                    dismantle(lifted)
                self.key = cache.key_of("passes", FORMAT, name)
                self.folder = cache.entry(self.key)
        if self.folder is not None:
            try:
                for line in (self.folder / "paid").read_text(encoding="utf-8").splitlines():
                    name, paid = line.rsplit(" ", 1)
                    self[name] = {"yes": True, "no": False}[paid]
            except (OSError, ValueError, KeyError) as damage:
                self.clear()
                cache.discard(self.folder, f"what paid: {damage!r}")
                self.folder = None

    def note(self, name: str, paid: bool, graph: GraphModule) -> None:
        """Note whether a rewriting pays, which was tried with this graph."""
        self[name] = paid
        self.are_sure &= not graph.meta.get("unsure")

    def keep(self) -> None:
        """Write the decisions to disk, for later processes, if the times were clear."""
        if self.key is None or self.folder is not None or not self or not self.are_sure:
            return
        folder = cache.draft()
        if folder is not None:
            with contextlib.suppress(OSError):
                lines = [f"{name} {'yes' if paid else 'no'}" for name, paid in self.items()]
                (folder / "paid").write_text("\n".join(lines), encoding="utf-8")
                cache.publish(folder, self.key)
