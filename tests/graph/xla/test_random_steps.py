"""Random programs as steps: each rewriting of these gives what PyTorch's kernels gave."""

import random

import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.xla.lowering import growing, rolling
from lamella.graph.xla.lowering.boxes import FILL, TAKE
from lamella.graph.xla.lowering.moving import with_boxes
from lamella.graph.xla.lowering.slices import with_parts
from lamella.graph.xla.lowering.writes import without_writes
from lamella.graph.xla.text import described
from lamella.tensors.tensor import wrap
from tests.graph import random_growing, random_tables
from tests.graph.passes.checks import recorded
from tests.graph.random_loops import compile_source

from . import evaluated

KINDS = {"growing": (random_growing, ((3,), (14, 3), (2, 14, 3), (3, 3))),
         "tables": (random_tables, ((3,), (14, 3), (14, 3)))}


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, (tuple, list)) else [
        value]


def program(kind, seed, derive):
    """A program's steps and results, its inputs with their avals, and the results it should have.
    """
    module, shapes = KINDS[kind]
    text = module.source(random.Random(seed))
    fn = compile_source(text, f"{kind}_{seed}", {"ops": ops, "ms": ms})
    made = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(shape, generator=made) * 0.5 for shape in shapes]

    def called(*args):
        return [x * 1 for x in flat(fn(*[x * 1 for x in args]))]

    def total(*args):
        return sum((x * x).sum() for x in called(*args) if x.is_floating_point())

    chosen = ms.grad(total, (0, 1)) if derive else called
    graph = recorded(lambda *raws: [x._raw for x in flat(chosen(*map(wrap, raws)))], *inputs)
    text = described(graph, inputs)
    assert text["taken"] == [*range(len(inputs))] and not any(text["orders"])
    return (text["steps"], [number for number, *_ in text["results"]], inputs, text["inputs"],
            graph(*inputs))


def agree(values, ends, wanted):
    for number, want in zip(ends, wanted, strict=True):
        torch.testing.assert_close(values[number], want, rtol=2e-4, atol=1e-5)


def beyond(shape, dim, length):
    """Which elements lie beyond the length of a dimension."""
    place = torch.arange(shape[dim]) // length.inner % length.most >= length.now
    return place.reshape([-1 if d == dim else 1 for d in range(len(shape))]).expand(shape)


def spoilt(graph):
    """Puts NaN wherever a value that has grown may hold anything; elsewhere it has to be 0."""
    first = 1 + max(step["to"] for step in graph.given)

    def after(step, value):
        number, places = step["to"], {True: torch.tensor(False), False: torch.tensor(False)}
        if step["op"] == TAKE and number >= first:
            return value  # for what it holds beyond the length
        for dim, length in graph.lengths.get(number, {}).items():
            assert [value.shape[dim], graph.avals[number][0][dim]] == [
                length.longest, length.size]
            if not (step["op"] == FILL and dim == step["args"][2]):
                is_clean = dim in graph.clean.get(number, ())
                places[is_clean] = places[is_clean] | beyond(value.shape, dim, length)
        assert not value[places[True] & ~places[False]].any(), step
        return value.masked_fill(places[False], torch.nan) if value.is_floating_point() else value

    return after


@pytest.mark.parametrize("kind, seed, derive", [
    *[("growing", seed, False) for seed in (0, 1, 3, 4, 6, 13, 14, 15, 17, 21, 24, 30, 33, 34, 38)],
    *[("growing", seed, True) for seed in (2, 10, 16, 22, 25, 27, 32, 36, 37, 39)],
    *[("tables", seed, False) for seed in (0, 2, 4, 5, 8, 10, 11, 16, 18, 22, 27, 33)]])
def test_each_rewriting_keeps_the_results(monkeypatch, kind, seed, derive):
    steps, ends, inputs, avals, wanted = program(kind, seed, derive)
    given = dict(enumerate(inputs))
    steps, ends = without_writes(steps, avals, ends)
    agree(evaluated.run(steps, {**given}), ends, wanted)
    steps, ends = with_boxes(steps, avals, ends)
    agree(evaluated.run(steps, {**given}), ends, wanted)
    loops = rolling.rolled(with_parts(steps, avals), avals, ends)
    agree(evaluated.run(loops, {**given}), ends, wanted)
    graphs, grow = [], growing.Growing

    def noted(steps, *rest):
        graphs.append(grow(steps, *rest))
        graphs[0].given = steps
        return graphs[0]

    monkeypatch.setattr(growing, "Growing", noted)
    found = growing.with_equal_sizes(steps, avals, ends)
    assert (found is None) == (graphs == [])
    if found is not None:
        agree(evaluated.run(found[0], {**given}, spoilt(graphs[0])), found[1], wanted)
        loops = rolling.rolled(with_parts(found[0], avals), avals, found[1])
        agree(evaluated.run(loops, {**given}), found[1], wanted)
