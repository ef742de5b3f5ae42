"""Transforms a loop: each transformation makes another loop, whose body is the transformed body.

A gradient makes two loops, the second of which runs backwards. A loop with tangents carries these,
too. A loop of many examples (`loop_batch`) takes the steps of all of them. The new bodies are
recorded from the kernels of the first one, so that each of these loops can be transformed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ...autodiff.engine import make_dual
from ...autodiff.forward import DifferentiableTangents
from ...core.dtype import is_inexact
from ...core.state import state
from ...core.wrappers import functorch
from ..ir.loop import Loop, loop_of
from ..ir.loop_halves import Halves, Joint, NoHalves, halves, placeholders, with_inputs
from ..ir.loop_undefined import ABSENT, MASKS
from .loop_masks import Presence, Use, note_uses
from .loop_part import Part, Raws, Unlike, derivatives_follow, untransformed

Run = Callable[[Loop, Raws], Raws]


class Step(NamedTuple):
    """A loop, and what its gradient is made of.

    Attributes:
        loop: the loop.
        results: how many stacks of results there are; what is kept for the backward pass follows.
        backward: the loop of the backward pass; None if there is none yet.
        halves: where `backward` takes its inputs.
        inexact: the numbers of the carried values that may have a gradient.
        fixed: the numbers of the results through which no derivative flows.
        presence: which gradients its backward pass has found.
    """

    loop: Loop
    results: int
    backward: Loop | None = None
    halves: Halves | None = None
    inexact: Sequence[int] = ()
    fixed: frozenset[int] = frozenset()
    presence: Presence | None = None


def pair(joint: Joint, inputs: Raws, kept: Raws, condition: GraphModule | None,
         steps: int | None, backward: bool = False, counted: bool = False) -> Step:
    """A loop that keeps what its backward pass takes, and the loop of the backward pass.

    Args:
        joint: a step and its backward pass.
        inputs: tensors like its inputs.
        kept: of each result of a step, an empty stack.
        condition, steps, backward, counted: as those of `Loop`.

    Raises:
        Unlike: if what the backward pass takes can't be kept.
    """
    try:
        its = halves(joint)
    except NoHalves:
        raise Unlike from None
    loop = Loop(its.forward, joint.carried, joint.elements, [*kept, *its.kept], condition, steps,
                backward=backward, counts=steps is None and not counted, counted=counted)
    back = Loop(its.backward, len(joint.inexact) + len(its.summed),
                len(its.kept) + len(its.elements) + len(its.started),
                [empty_like(inputs[i]) for i in its.of_elements], None, steps,
                backward=not backward, counted=steps is None)
    return Step(loop, len(kept), back, its, joint.inexact)


def reverse_of(trace: Any, loop: Loop, values: Sequence[torch.Tensor], run: Run) -> Step:
    """The loop with its backward pass.

    Args:
        trace: the run that is recorded.
        loop: the loop.
        values: what it is called with.
        run: runs loops inside of it.

    Raises:
        Unlike: if its body has none.
    """
    given = list(values[loop.counted:])
    wanted = [i < loop.carried or raw.requires_grad for i, raw in enumerate(given)]
    part = Part(trace, examples_of(trace, loop.carried, loop.stacks, given), wanted, pulls=True)
    part.derive(lambda raws: split(computed(loop.body, raws, run), loop.carried))
    order = part.aliases
    step = pair(part.joint(order, loop.carried, loop.stacks), order, loop.kept, loop.condition,
                loop.steps, loop.backward, loop.counted)
    if not derivatives_follow():
        return step
    again = Part(trace, order, [raw.requires_grad for raw in order])
    again.derive(lambda raws: split(computed(step.loop.body, raws, run), loop.carried))
    return step._replace(fixed=frozenset(
        i for i, raw in enumerate(again.outs) if i >= loop.carried and not raw.requires_grad))


class Pushed(NamedTuple):
    """A loop that carries tangents.

    Attributes:
        loop: its results are the carried values, the tangents of those in `carried`, the results
            of the first loop if it is `whole`, and the tangents of those in `kept`.
        inputs: the numbers of the first loop's inputs of which it takes tangents: of carried
            values, of stacks, and of values from outside.
        carried: the numbers of the carried values that have tangents.
        kept: the numbers of the results that have tangents.
    """

    loop: Loop
    inputs: list[list[int]]
    carried: list[int]
    kept: list[int]


def pushed_of(trace: Any, loop: Loop, values: Sequence[torch.Tensor], moving: Sequence[bool],
              run: Run, whole: bool) -> Pushed:
    """The loop that carries tangents, too.

    Args:
        trace, loop, values, run: as for `reverse_of`.
        moving: for each value whether it has a tangent.
        whole: whether the results of the loop are results of this one.

    Raises:
        Unlike: if its body has no derivative.
    """
    given, carried = list(values[loop.counted:]), loop.carried
    examples = examples_of(trace, loop.carried, loop.stacks, given)
    moves = [m and is_inexact(raw.dtype)
             for m, raw in zip(moving[loop.counted:], given, strict=True)]
    while True:
        part, ends = _with_tangents_of(trace, loop, examples, moves, run, whole)
        further = [i for i, end in enumerate(ends[:carried])
                   if end.tangent is not None and not moves[i]]
        if not further:
            break
        for i in further:
            moves[i] = True
    inputs = [i for i, m in enumerate(moves) if m]
    primals, tangents = part.aliases[:len(given)], part.aliases[len(given):]
    twins = dict(zip(inputs, tangents, strict=True))
    cuts = [range(carried), range(carried, carried + loop.stacks),
            range(carried + loop.stacks, len(given))]
    order = [[*[primals[i] for i in cut], *[twins[i] for i in cut if i in twins]] for cut in cuts]
    made = Loop(
        part.with_inputs([raw for section in order for raw in section]), len(order[0]),
        len(order[1]), [empty_like(raw) for raw in part.outs[len(order[0]):]],
        condition_for(loop, primals, order), loop.steps, backward=loop.backward,
        counts=loop.counts and whole, counted=loop.counted)
    return Pushed(made, [[i for i in cut if i in twins] for cut in cuts],
                  [i for i in range(carried) if moves[i]],
                  [i for i, end in enumerate(ends[carried:]) if end.tangent is not None])


def _with_tangents_of(trace: Any, loop: Loop, examples: Raws, moves: list[bool], run: Run,
                      whole: bool) -> tuple[Part, list[Any]]:
    """A step with tangents of these inputs, and its results as dual numbers."""
    carried, count = loop.carried, len(examples)
    inputs = [i for i, m in enumerate(moves) if m]
    part, ends = Part(trace, [*examples, *[examples[i] for i in inputs]]), []

    def call(raws: Raws) -> tuple[Raws, Raws]:
        duals = list(raws[:count])
        with computing_tangents():
            for i, tangent in zip(inputs, raws[count:], strict=True):
                duals[i] = make_dual(raws[i], tangent)
            ends.extend(forward_ad.unpack_dual(raw) for raw in computed(loop.body, duals, run))
        also = [torch.zeros_like(end.primal) if end.tangent is None else end.tangent
                for end, m in zip(ends, moves, strict=False) if m][:sum(moves[:carried])]
        return ([*[end.primal for end in ends[:carried]], *also],
                [*[end.primal for end in ends[carried:] if whole],
                 *[end.tangent for end in ends[carried:] if end.tangent is not None]])

    part.derive(call)
    return part, ends


def with_elements(carried: int, stacks: int, given: Sequence[torch.Tensor]) -> Raws:
    """Inputs of a step: an element in place of each stack."""
    return [(raw[0] if len(raw) else raw.new_zeros(raw.shape[1:]))
            if carried <= i < carried + stacks else raw for i, raw in enumerate(given)]


def examples_of(trace: Any, carried: int, stacks: int, given: Sequence[torch.Tensor]) -> Raws:
    """Inputs to record a step with, outside of all transformations: values of one example."""
    with trace.recorder.pause(), untransformed():
        return with_elements(carried, stacks, [example(raw).detach() for raw in given])


def example(raw: torch.Tensor) -> torch.Tensor:
    """The value of the first example of a `vmap`, as a tensor of no transformation."""
    if not functorch.is_functorch_wrapped_tensor(raw):
        return raw
    inner = example(functorch.get_unwrapped(raw))
    return inner.select(functorch.maybe_get_bdim(raw), 0) if functorch.is_batchedtensor(
        raw) else inner


def computed(graph: GraphModule, raws: Sequence[torch.Tensor], run: Run) -> Raws:
    """The results of a graph, kernel by kernel."""
    known: dict[Node, Any] = {}
    given = iter(raws)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(given)
        elif node.op == "output":
            return [known[n] for n in node.args[0]]
        elif node.op == "call_function":
            args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)
            loop = loop_of(node)
            known[node] = node.target(*args, **kwargs) if loop is None else run(
                loop, list(args[0]))
            if MASKS in node.meta:
                _mask_again(known[node], args[0], node.meta[MASKS])
            elif ABSENT in node.meta:
                state.trace.recorder.mark(known[node], ABSENT, True)
        else:  # a random generator
            raise Unlike
    raise Unlike


def _mask_again(found: torch.Tensor, flag: torch.Tensor, place: int) -> None:
    """Note what a kernel masks, which holds for its derivative and for further loops, too."""
    state.trace.recorder.mark(found, MASKS, place)
    if found.grad_fn is not None:
        note_uses(found.grad_fn, {place - 1: Use(flag, place - 1)})


def split(raws: Raws, carried: int) -> tuple[Raws, Raws]:
    """Carried values and the others."""
    return raws[:carried], raws[carried:]


def empty_like(raw: torch.Tensor) -> torch.Tensor:
    """An empty stack of values like this."""
    return torch.empty((0, *raw.shape), dtype=raw.dtype, device=raw.device)


def condition_for(loop: Loop, primals: Raws, order: list[Raws]) -> GraphModule | None:
    """The condition of a loop for one with other inputs, of which `primals` are its own.

    Args:
        order: the other's inputs: carried values, elements, values from outside.
    """
    if loop.condition is None:
        return None
    last = loop.carried + loop.stacks
    nodes = dict(zip(map(id, [*primals[:loop.carried], *primals[last:]]),
                     placeholders(loop.condition), strict=True))
    return with_inputs(loop.condition, [nodes.get(id(raw)) for raw in (*order[0], *order[2])],
                       loop.condition.graph.output_node().args[0])  # type: ignore[arg-type]


@contextmanager
def computing_tangents() -> Iterator[None]:
    """A block that computes tangents."""
    before = torch._C._is_fwd_grad_enabled()
    torch._C._set_fwd_grad_enabled(True)
    try:
        with forward_ad.dual_level() if forward_ad._current_level < 0 else nullcontext(), (
                DifferentiableTangents()):
            yield
    finally:
        torch._C._set_fwd_grad_enabled(before)
