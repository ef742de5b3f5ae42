"""Values that have grown: what is filled, padded or made longer, beside what counted."""

import math

import pytest
import torch

from lamella.graph.xla.lowering import graph as lowered
from lamella.graph.xla.lowering.boxes import FILL, PLACE
from lamella.graph.xla.lowering.growing import Growing, with_equal_sizes
from lamella.graph.xla.lowering.growing_rules import Length
from lamella.graph.xla.lowering.moving import with_boxes
from lamella.graph.xla.lowering.rolling import operations_in, rolled
from lamella.graph.xla.lowering.slices import with_parts
from lamella.graph.xla.lowering.writes import without_writes
from lamella.graph.xla.text import described
from tests.graph.passes.checks import recorded

from . import evaluated
from .test_growing_rules import LONG, graph_of, n
from .test_rolled_steps import shape

F32 = "float32"


def counted(x, lengths):
    """The part that counts of these dimensions."""
    for dim, length in lengths.items():
        places = torch.arange(x.shape[dim])
        x = x.index_select(dim, places[places // length.inner % length.most < length.now])
    return x


@pytest.mark.parametrize("shape, own, missing", [
    ([5, 4], {}, {0: LONG}), ([5, 4], {0: LONG}, {1: Length(4, 6)}),
    ([10, 4], {}, {0: Length(5, 8, 2, 1)}), ([10, 4], {0: Length(5, 8, 2, 1)}, {1: Length(4, 6)}),
    ([10, 4], {0: Length(5, 8, 2, 1)}, {1: Length(2, 3, 2, 1)}),
    ([10, 6], {1: Length(3, 7, 1, 2)}, {0: Length(5, 8, 2, 1)}),
    ([3, 4, 5], {2: Length(5, 9)}, {0: Length(3, 4), 1: Length(2, 6, 1, 2)})])
def test_what_is_padded_is_zero_beyond_its_length(shape, own, missing):
    graph, both = graph_of((shape, own), clean=own), {**own, **missing}
    found = graph.padded(n(0), both)
    steps = [*graph.steps]
    assert graph.padded(n(0), both) == graph.padded(found, both) == found and graph.steps == steps
    assert graph.lengths[found["n"]] == both and graph.clean[found["n"]] == {*both}
    given = torch.randn(graph.longer(n(0)), generator=torch.Generator().manual_seed(0))
    value = evaluated.run(steps, {0: given})[found["n"]]
    assert [*value.shape] == graph.longer(found)
    assert torch.equal(counted(value, missing), given)
    assert value.count_nonzero() == given.count_nonzero()


def test_what_has_grown_already_or_not_at_all_is_not_padded():
    graph = graph_of(([5, 4], {0: LONG}))
    assert graph.padded(n(0), {0: LONG}) == graph.padded(n(0), {}) == n(0) and not graph.steps


def test_what_is_filled_is_so_once():
    graph = graph_of(([5, 3, 2], {0: LONG, 1: Length(3, 4)}), clean=[1])
    assert graph.filled(n(0), 2, 0) == graph.filled(n(0), 1, 0) == n(0) and not graph.steps
    zeros = graph.filled(n(0), 0, 0)
    assert graph.filled(n(0), 0, 0) == graph.filled(zeros, 0, 0) == zeros
    assert graph.clean[zeros["n"]] == {0, 1}
    most = graph.filled(n(0), 0, -math.inf)
    other = graph.filled(zeros, 1, -math.inf)
    assert len({zeros["n"], most["n"], other["n"]}) == 3
    assert graph.clean[most["n"]] == graph.clean[other["n"]] == frozenset()
    assert [step["op"] for step in graph.steps] == [FILL] * 3
    assert all(graph.lengths[each["n"]] == graph.lengths[0] for each in (zeros, most, other))


@pytest.mark.parametrize("op, source, args, missing, wanted", [
    ("expand.default", [1, 4], [n(0), [5, 4], False], {0: LONG}, [n(0), [8, 4], False]),
    ("broadcast_to.default", [1], [n(0), [5, 4]], {0: LONG, 1: Length(4, 6)}, [n(0), [8, 6]]),
    ("expand.default", [1, 4], [n(0), [5, 4], False], {1: Length(4, 6)}, None),
    ("expand.default", [5, 1], [n(0), [5, 4], False], {0: LONG, 1: Length(4, 6)}, None),
    (PLACE, [2, 4], [n(0), [1, 0], [2, 4]], {0: LONG}, [n(0), [1, 0], [2, 4]]),
    (PLACE, [2, 4], [n(0), [1, 0], [2, 4]], {1: Length(2, 3, 2, 1)}, None),
    ("cumsum.default", [5, 4], [n(0), 0, None], {0: LONG}, None)], ids=str)
def test_what_follows_from_sizes_and_what_does_not(op, source, args, missing, wanted):
    step = {"op": op, "to": 1, "args": args, "aval": [[5, 4], F32]}
    graph = Growing([step], [[source, F32]], {})
    found = graph.padded(n(1), missing)
    first = graph.steps[0]
    if wanted is None:
        assert (first["op"], first["args"][0]) in ((PLACE, n(1)), ("view.default", n(1)))
    else:
        assert (first["op"], first["args"]) == (op, wanted) and len(graph.steps) == 1
        assert graph.clean[found["n"]] == (frozenset(missing) if op == PLACE else frozenset())
    given = torch.randn(source, generator=torch.Generator().manual_seed(0))
    before = evaluated.run([step], {0: given})
    after = evaluated.run(graph.steps, {**before})
    assert torch.equal(counted(after[found["n"]], missing), before[1])


def test_elementwise_operations_of_what_follows_from_sizes_are_made_longer():
    steps = [{"op": "ones.default", "to": 1, "args": [[5, 1], None, None, None, None],
              "aval": [[5, 1], F32]},
             {"op": "mul.Tensor", "to": 2, "args": [n(1), n(0)], "aval": [[5, 4], F32]},
             {"op": "exp.default", "to": 3, "args": [n(2)], "aval": [[5, 4], F32]}]
    graph = Growing(steps, [[[4], F32]], {})
    found = graph.padded(n(3), {0: LONG})
    assert [step["op"] for step in graph.steps] == ["ones.default", "mul.Tensor", "exp.default"]
    assert [step["aval"][0] for step in graph.steps] == [[8, 1], [8, 4], [8, 4]]
    assert graph.steps[1]["args"][1] == n(0) and found == n(graph.steps[-1]["to"])



def rewritten(fn, *inputs):
    """The steps and results of a function without copies and writes, and its description."""
    text = described(recorded(fn, *inputs), [*inputs])
    steps, ends = without_writes(text["steps"], text["inputs"],
                                 [number for number, *_ in text["results"]])
    return *with_boxes(steps, text["inputs"], ends), text


def test_values_that_grow_get_one_size_if_that_saves_enough(monkeypatch):
    def fn(w, x):
        h, keys = x[0], x[:0]
        for t in range(12):
            keys = torch.cat([keys, (h @ w)[None]])
            h = torch.tanh(torch.softmax(keys @ h, 0) @ keys + x[t])
        return h

    steps, ends, text = rewritten(fn, torch.eye(4), torch.ones(12, 4))
    plain = operations_in(lowered._looped(steps, text["inputs"], ends))
    monkeypatch.setattr(lowered, "ENOUGH", -plain)
    longer = operations_in(lowered._with_loops(steps, text["inputs"], ends)[0])
    assert longer + 64 <= plain
    for enough, count in ((plain - longer, longer), (plain - longer + 1, plain)):
        monkeypatch.setattr(lowered, "ENOUGH", enough)
        assert operations_in(lowered._with_loops(steps, text["inputs"], ends)[0]) == count


def test_one_of_several_results_grows_as_its_operation_does():
    """Normalized rows of a cache, as a decoder reads them."""
    def fn(w, x):
        h, keys = x[0], x[:1]
        for t in range(8):
            keys = torch.cat([keys, (h @ w)[None]])
            rows = torch.layer_norm(keys, (4,))
            h = torch.tanh(torch.softmax(rows @ h, 0) @ rows + x[t])
        return h

    made = torch.Generator().manual_seed(0)
    inputs = [torch.randn(4, 4, generator=made), torch.randn(8, 4, generator=made)]
    steps, ends, text = rewritten(fn, *inputs)
    found, results = with_equal_sizes(steps, text["inputs"], ends)
    several = [step for step in found if step["op"] == "native_layer_norm.default"]
    assert {step["aval"][0][0][0] for step in several} == {9}  # all but the first by rule
    value = evaluated.run(found, dict(enumerate(inputs)))[results[0]]
    torch.testing.assert_close(value, fn(*inputs))
    assert shape(rolled(with_parts(found, text["inputs"]), text["inputs"], results))
