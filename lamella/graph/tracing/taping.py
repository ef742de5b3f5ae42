"""A run inside of a gradient call, recorded together with its backward pass.

The run stays what it is eagerly, on the tape of the gradient call. Its inputs are views of what the
tape knows, so that afterwards the tape can be followed from the results to exactly these. That pass
is a dry run: it starts from ones instead of gradients, and is given up before any side effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from itertools import combinations, takewhile
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch._C._autograd import _top_saved_tensors_default_hooks  # type: ignore
from torch.autograd import forward_ad
from torch.fx import Node

from ...autodiff.engine import backpropagate
from ...autodiff.level import Level, batching, entered
from ...autodiff.tree import tensors
from ...core.state import state
from ...tensors.inplace import repeats_elements
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ...tensors.views import alias_of, is_part
from ..guards.arguments import given_tensors
from ..guards.ran import uninspected
from ..ir.unused_results import sources_of
from .changes import Snapshot
from .dry import has_changed, marks, running_dry
from .refusals import CannotTrace, Cause

MOST_RESULTS = 3  # if each choice of results needs a pass of its own
_VIEWS = frozenset("""
    Alias AsStrided Chunk Diagonal Expand Movedim Permute Real Imag Select Slice Split
    SplitWithSizes Squeeze SwapAxes T Transpose Unbind Unfold Unsqueeze UnsafeView View ViewAs
    ViewAsComplex ViewAsReal""".split())


class Pull(NamedTuple):
    """A backward pass from some of the results.

    Attributes:
        starts: which results, by their number in `Pulls.results`, it starts from.
        gradients: for each input of the run, the number of its gradient among `Pulls.gradients`;
            None if there is none.
    """

    starts: list[int]
    gradients: list[int | None]


class View(NamedTuple):
    """What a result is a view of.

    Attributes:
        whole: the node of another result, or the number of an input; None for a Tensor that isn't
            returned.
        is_twin: whether it is a view of all of it.
    """

    whole: Node | int | None
    is_twin: bool


class Pulls:
    """The backward passes that belong to a run.

    Attributes:
        inputs: for each Tensor among the arguments and each that the run finds elsewhere, whether
            the tape knows it.
        results: the nodes of the results that the tape has recorded, and that are no views of
            inputs or of others of them.
        views: the results that are views, by their nodes.
        starts: for each of `results`, the tensor that stands for its gradient.
        passes: one from all results; then one from each choice of some, unless these can be derived
            from the first.
        bends: whether a pass has run code of the program, other than second runs for its values.
        gradients: what the passes found.
        kernels: for each node that belongs to a pass, the number of the pass.
        refused: why the run can't be replayed inside of a gradient call; None if it can.
    """

    def __init__(self, inputs: list[bool]):
        self.inputs = inputs
        self.results: list[Node] = []
        self.views: dict[Node, View] = {}
        self.starts: list[torch.Tensor] = []
        self.passes: list[Pull] = []
        self.gradients: list[torch.Tensor] = []
        self.kernels: dict[Node, int] = {}
        self.bends = False
        self.refused: str | None = None


def may_be_taped() -> bool:
    """Whether this is a gradient call of the first order, where a graph may be a node of the tape.

    Inside of others (of higher order, in forward mode, under `vmap`) a function is part of what
    they differentiate, and inside of `state.whole` everything is meant to run eagerly.
    """
    level = state.level
    return (state.trace is None and not state.whole and level is not None
            and level.kind == "reverse" and level.outer is None
            and level.overlay is state.overlay and level.journal is None
            and torch.is_grad_enabled() and not batching() and forward_ad._current_level < 0
            and _top_saved_tensors_default_hooks(False) is None)


def on_tape(tensor: Tensor) -> torch.Tensor:
    """The raw tensor that a Tensor or a Parameter stands for inside of a gradient call."""
    overlay = state.overlay
    if overlay is not None and isinstance(tensor, Parameter):
        return overlay.get(tensor, tensor._data)
    return tensor._raw


def is_plain(raw: torch.Tensor, own: torch.Tensor) -> bool:
    """Whether the tape stands for a tensor's own data, not for a conversion of it, or for what a
    program has put in its place."""
    return type(raw) is torch.Tensor and (
        raw is own or raw.dtype is own.dtype and raw.data_ptr() == own.data_ptr())


def with_pulls(fn: Callable[..., Any], given: Sequence[torch.Tensor], apart: bool,
               ran: Set[str], args: tuple, kwargs: dict) -> Any:
    """Call `fn` inside of a run that is recorded, and record the backward passes.

    Args:
        given: what the tape knows of the arguments.
        apart: whether the run will be discarded: then it leaves the tape as it is.
        ran: names of functions that ran in earlier recordings though the search hadn't found them.
    """
    trace = state.trace
    data, tensors_held = [one.data for one in trace.held], [one.tensor for one in trace.held]
    held = [on_tape(t) if isinstance(t, Parameter) else raw
            for t, raw in zip(tensors_held, data, strict=True)]
    roots = [*given, *held]
    pulls = trace.pulls = Pulls([raw.requires_grad for raw in roots])
    level = Level(None) if apart else state.level
    if not all(map(is_plain, held, data)) or any(
            type(raw) is not torch.Tensor for raw in given):
        pulls.refused = "is differentiated by other numbers than it computes with"
    things = [*given_tensors((args, kwargs)), *tensors_held]
    hooks = level.hooks
    with entered(level), _aliases(things, roots, apart, pulls) as aliases:
        value = fn(*args, **kwargs)
    if _has_recorded(things, pulls.inputs, apart):
        pulls.refused = "keeps what is differentiated"
    if trace.refused is None and pulls.refused is None:
        _run_dry(pulls, value, aliases, ran, None if apart else Snapshot(trace.reach))
        if level.hooks != hooks and any(view.whole is not None for view in pulls.views.values()):
            pulls.refused = "returns a part of a Tensor, and registers a hook"
    if pulls.refused is not None:
        if apart:
            raise CannotTrace(pulls.refused)
        trace.refuse(pulls.refused)
    return value


@contextmanager
def _aliases(things: list[Tensor], roots: list[torch.Tensor], apart: bool, pulls: Pulls
             ) -> Iterator[list[torch.Tensor | None]]:
    """A block in which inputs of the run are aliases; gives these, None where there is none."""
    trace, level = state.trace, state.level
    recorder, overlay = trace.recorder, level.overlay
    before, probes, given = dict(overlay), len(level.probes), level.given
    level.given = list(given)
    made: list[torch.Tensor | None] = []
    own: dict[int, tuple[Tensor, torch.Tensor, torch.Tensor]] = {}
    for thing, root in zip(things, roots, strict=True):
        data = thing._data if isinstance(thing, Parameter) else thing._raw
        made.append(None)
        if not root.requires_grad:
            if isinstance(thing, Parameter) and overlay.pop(thing, None) is not None and not apart:
                recorder.stands_for(root, data)
                overlay[thing] = root
            continue
        if id(thing) in own:
            continue
        if apart:
            alias = data.detach().requires_grad_()
        else:
            with recorder.pause():
                alias = alias_of(root)
            recorder.stands_for(alias, data)
            alias.root = root  # type: ignore[attr-defined]  # where hooks belong
        made[-1] = alias
        own[id(thing)] = thing, data, alias
        if isinstance(thing, Parameter):
            overlay[thing] = alias
        else:
            thing._raw = alias
            level.given.append((thing, alias))
    during = dict(overlay)
    try:
        yield made
    finally:
        level.given = given
        if len(level.probes) != probes or overlay.keys() != during.keys() or any(
                overlay[p] is not raw for p, raw in during.items()):
            pulls.refused = "assigns to a Parameter what is differentiated"
        for thing, data, alias in own.values():
            if alias._backward_hooks or hasattr(alias, "is_hooked"):
                pulls.refused = "registers a hook on a Tensor that it was given"
            if isinstance(thing, Parameter):
                if overlay.get(thing) is alias:
                    overlay[thing] = before.get(thing, alias)
            elif thing._raw is alias:
                thing._raw = data


def _has_recorded(things: list[Tensor], known: list[bool], apart: bool) -> bool:
    """Whether the run has changed a Tensor in place to what is differentiated.

    Args:
        known: whether the tape knew each of the things before.
        apart: whether they are cut off the tape again. New Tensors aren't: they go with the run.
    """
    found = [thing._raw for thing, was in zip(things, known, strict=True)
             if not was and not isinstance(thing, Parameter) and thing._raw.requires_grad]
    for raw in found if apart else ():
        if raw._base is None:
            raw.detach_()
    return bool(found)


def _run_dry(pulls: Pulls, value: Any, aliases: list[torch.Tensor | None], ran: Set[str],
              before: Snapshot | None) -> None:
    """Run the backward passes from what the run returned.

    Args:
        ran: as for `with_pulls`.
        before: the objects as they are; None if they will be restored anyway.
    """
    trace = state.trace
    results = {}
    for tensor in tensors(value):
        raw = tensor._raw
        if raw.requires_grad and not isinstance(tensor, Parameter):
            results.setdefault(trace.recorder.nodes_of([raw])[0], raw)
    _tell_views(pulls, results, aliases)
    pulls.results = [node for node in results
                     if node not in pulls.views or pulls.views[node].whole is None]
    raws = [results[node] for node in pulls.results]
    with trace.recorder.pause():
        pulls.starts = [torch.ones_like(raw).detach() for raw in raws]
    done, every = marks(trace), range(len(raws))
    try:
        with running_dry(trace, _checked(trace, ran)):
            _pull(pulls, 0, list(every), raws, aliases)
            for number, starts in enumerate(_further(pulls, every), 1):
                _pull(pulls, number, list(starts), raws, aliases)
    except CannotTrace as reason:
        if reason.cause is not Cause.DRY:
            raise
        pulls.refused = f"{reason} when it is differentiated"
    if pulls.refused is None and done != marks(trace):
        pulls.refused = "does more than computing when it is differentiated"
    if before is not None and has_changed(before):
        before.restore()
        pulls.refused = "changes an object when it is differentiated"


def _tell_views(pulls: Pulls, results: dict[Node, torch.Tensor],
                aliases: list[torch.Tensor | None]) -> None:
    """Tell which results are views: where they are changed in place, so is what they are part of.
    """
    wholes = {id(alias if alias._base is None else alias._base): number
              for number, alias in enumerate(aliases) if alias is not None}
    nodes: dict[int, Node] = {id(raw): node for node, raw in results.items()}
    hidden: dict[int, list[Node]] = {}
    for node, raw in results.items():
        base = raw if id(raw) in wholes else raw._base  # an input itself, in a run apart
        if base is None or not _is_plain_view(raw, base):
            continue
        whole = wholes.get(id(base), nodes.get(id(base)))
        pulls.views[node] = View(whole, not is_part(raw))
        if whole is None:
            hidden.setdefault(id(base), []).append(node)
        elif is_part(raw) and (raw.dtype is not base.dtype or repeats_elements(base)):
            pulls.refused = ("returns a part of a Tensor in another type, or of one whose elements "
                             "share memory")
    for several in hidden.values():
        raws = [results[node] for node in several]
        with state.trace.recorder.pause():
            if not any(_overlap(*pair) for pair in combinations(raws, 2)):
                continue
        whole = next((node for node, raw in zip(several, raws, strict=True) if _is_whole(raw)),
                     None)
        if whole is not None:
            pulls.views.update({node: pulls.views[node]._replace(whole=whole)
                                for node in several if node is not whole})
        elif type(raws[0]) is torch.Tensor:
            pulls.refused = "returns parts of a Tensor that share memory, but not this Tensor"


def _is_whole(raw: torch.Tensor) -> bool:
    """Whether a view has each element of what it is a view of, once."""
    base = raw._base
    return (base is not None and raw.numel() == base.numel() and raw.dtype is base.dtype
            and not repeats_elements(raw))


def _is_plain_view(raw: torch.Tensor, base: torch.Tensor) -> bool:
    """Whether the tape has only views between two tensors."""
    node, end = raw.grad_fn, base.grad_fn
    while node is not end and node is not None:
        name = type(node).__name__
        if name == "AccumulateGrad":
            break
        if name.removesuffix("Backward0") not in _VIEWS:
            return False
        node = node.next_functions[0][0]
    return True


def _overlap(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two views of a tensor have an element in common."""
    if type(first) is not torch.Tensor:
        return True  # it has no memory; those of the size that was recorded shared none
    storage = first.untyped_storage()
    taken = torch.zeros(storage.nbytes() // first.element_size(), dtype=torch.bool,
                        device=first.device)

    def place(raw: torch.Tensor) -> torch.Tensor:
        return taken.as_strided(raw.shape, raw.stride(), raw.storage_offset())

    if first.element_size() != second.element_size():
        return True
    place(first).fill_(True)
    return bool(place(second).any())


def _further(pulls: Pulls, every: range) -> list[tuple[int, ...]]:
    """The choices of results from which passes are recorded as well.

    Each choice could have a pass of its own. Where PyTorch's rules only add what they compute from
    each gradient, it can be derived from the pass of all results. Code of the program may do
    anything.
    """
    if len(every) == 1:
        return []
    recorder = state.trace.recorder
    if not pulls.bends and sources_of(
            list(recorder.graph.nodes), recorder.nodes_of(pulls.starts)) is not None:
        return []
    if len(every) > MOST_RESULTS:
        pulls.refused = (f"returns more than {MOST_RESULTS} differentiated Tensors whose gradients "
                         f"meet in a rule or a hook")
        return []
    return [starts for count in every[1:] for starts in combinations(every, count)]


def _checked(trace: Any, ran: Set[str]) -> Callable[[CodeType], None]:
    """What is called with the program's code before it runs dry.

    Code that may change what wasn't inspected doesn't run. The next recording may know it.
    """
    unknown, codes = uninspected(trace.reach), trace.outside.codes

    def check(code: CodeType) -> None:
        trace.pulls.bends |= not trace.recorder.runs_again
        if unknown(code):
            codes[code] = {}
            if code.co_name not in ran:
                trace.run_dry = False
                trace.refuse_once(f"may use in {code.co_name!r} objects not found before the run")
                raise CannotTrace(str(trace.refused), Cause.DRY)
            trace.stop_dry_run(f"may use in {code.co_name!r} what can't be found")

    return check


def _pull(pulls: Pulls, number: int, starts: list[int], raws: list[torch.Tensor],
          aliases: list[torch.Tensor | None]) -> None:
    recorder = state.trace.recorder
    last = next(iter(reversed(recorder.graph.nodes)))
    wanted = [alias for alias in aliases if alias is not None]
    found = iter(backpropagate([(raws[i], pulls.starts[i]) for i in starts], wanted, True, False))
    places: list[int | None] = []
    for alias in aliases:
        gradient = None if alias is None else next(found)
        places.append(None if gradient is None else len(pulls.gradients))
        if gradient is not None:
            pulls.gradients.append(gradient)
    pulls.passes.append(Pull(starts, places))
    made = takewhile(lambda node: node is not last, reversed(recorder.graph.nodes))
    pulls.kernels.update({node: number for node in made})
