"""Rules of values that grow, one by one: what is run instead, and how far its result counts."""

import math

import pytest
import torch

from lamella.graph.xla.lowering.boxes import FILL, PLACE, PUT, TAKE
from lamella.graph.xla.lowering.growing import Growing
from lamella.graph.xla.lowering.growing_rules import Length, is_pointwise, made

from . import evaluated

F32, I64 = "float32", "int64"
LONG = Length(5, 8)


def graph_of(*inputs, clean=None):
    """A graph whose inputs, each a shape and its lengths (and a type), have grown."""
    graph = Growing([], [[shape, kind[0] if kind else F32] for shape, _, *kind in inputs], {})
    graph.lengths = {n: given[1] for n, given in enumerate(inputs)}
    graph.clean = {0: frozenset(clean or ())}
    return graph


def ran(graph, op, args, shape, kind=F32):
    args = [{"n": a[1:]} if isinstance(a, tuple) else a for a in args]
    return made(graph, {"op": op, "to": 99, "args": args, "aval": [shape, kind]})


def n(number):
    return {"n": number}


def test_one_of_several_results():
    graph = graph_of(([5, 4], {}))
    step = [n(7), 1]
    assert ran(graph, "getitem", step, [5]) is None
    graph.several[7] = [{}, {0: LONG}]
    assert ran(graph, "getitem", step, [5]).lengths == {0: LONG}


@pytest.mark.parametrize("op, args, shape, own, view, wanted, longest", [
    ("view.default", [[15]], [5, 3], {0: LONG}, [15], {0: Length(5, 8, 1, 3)}, [24]),
    ("unsqueeze.default", [0], [3, 5], {1: LONG}, [1, 3, 5], {2: LONG}, [1, 3, 8]),
    ("view.default", [[15]], [5, 3], {0: LONG, 1: Length(3, 4)}, [15], None, None)])
def test_views(op, args, shape, own, view, wanted, longest):
    found = ran(graph_of((shape, own), clean=own), op, [n(0), *args], view)
    if wanted is None:  # two dimensions that grow become one
        assert found is None
    else:
        assert found.op == "view.default" and found.args == [n(0), longest]
        assert found.lengths == wanted and found.clean == frozenset(wanted)


@pytest.mark.parametrize("clean", [(), (1,)])
def test_expansions(clean):
    graph = graph_of(([1, 5], {1: LONG}), clean=clean)
    found = ran(graph, "expand.default", [n(0), [2, 3, 5], "rest"], [2, 3, 5])
    assert found.args == [n(0), [2, 3, 8], "rest"] and found.lengths == {2: LONG}
    assert found.clean == frozenset([2] if clean else [])
    one = graph_of(([1], {0: Length(1, 8)}))
    assert ran(one, "expand.default", [n(0), [4]], [4]) is None
    assert ran(one, "expand.default", [n(0), [1]], [1]).args == [n(0), [8]]


@pytest.mark.parametrize("op, rest, shape, at", [
    ("permute.default", [[2, 0, -2]], [5, 2, 3], {2: 0, 0: 1, 1: 2}),
    ("transpose.int", [0, -1], [5, 3, 2], {2: 0, 1: 1, 0: 2}),
    ("transpose.int", [-2, 0], [3, 2, 5], {1: 0, 0: 1, 2: 2})])
def test_other_orders_of_dimensions(op, rest, shape, at):
    for dim in range(3):
        own = {dim: Length([2, 3, 5][dim], 8)}
        found = ran(graph_of(([2, 3, 5], own), clean=[dim]), op, [n(0), *rest], shape)
        assert found.lengths == {at[dim]: own[dim]} and found.clean == {at[dim]}
    found = ran(graph_of(([2, 5], {1: LONG}), clean=[1]), "t.default", [n(0)], [5, 2])
    assert found.lengths == {0: LONG} and found.clean == {0}


@pytest.mark.parametrize("dim, start, end, lengths, sizes, is_clean", [
    (1, 0, 2, {0: LONG}, [8, 2], True), (0, 0, 5, {0: LONG}, [8, 4], True),
    (0, 0, 3, {0: Length(3, 8)}, [8, 4], False), (0, 1, 4, {}, [3, 4], False),
    (0, 0, 1, {}, [1, 4], False), (0, 0, 2, {0: Length(2, 8)}, [8, 4], False)])
def test_parts(dim, start, end, lengths, sizes, is_clean):
    graph = graph_of(([5, 4], {0: LONG}), clean=[0])
    shape = [end - start, 4] if dim == 0 else [5, end - start]
    found = ran(graph, "slice.Tensor", [n(0), dim, start, end, 1], shape)
    assert found.op == TAKE and found.lengths == lengths
    assert found.args == [n(0), [start, 0] if dim == 0 else [0, start], sizes]
    assert found.clean == frozenset([0] if is_clean else [])


@pytest.mark.parametrize("most, clean", [(8, ()), (9, (0, 1)), (7, ())])
def test_three_joined_are_put_one_after_the_other(most, clean):
    first = Length(5, most)
    graph = graph_of(([5, 2], {0: first}), ([1, 2], {}), ([2, 2], {}), clean=clean)
    found = ran(graph, "cat.default", [[n(0), n(1), n(2)], -2], [8, 2])
    if most < 8:
        assert found is None
        return
    (step,) = graph.steps
    assert (step["op"], step["args"]) == (PUT, [n(0), n(1), [5, 0], [1, 2]])
    assert step["aval"] == [[most, 2], F32] and graph.avals[step["to"]] == [[6, 2], F32]
    assert graph.lengths[step["to"]] == {0: Length(6, most)}
    assert (found.op, found.args) == (PUT, [n(step["to"]), n(2), [6, 0], [2, 2]])
    assert found.lengths == {0: Length(8, most)}
    assert found.clean == graph.clean[step["to"]] == frozenset([0] if clean else [])


@pytest.mark.parametrize("second", [
    ([1, 2], {}, I64), ([2], {}), ([1, 2], {0: Length(1, 4)}), ([1, 2], {1: Length(2, 5)}),
    ([1, 2], {1: Length(1, 4, 2, 1)})])
def test_what_is_joined_otherwise_has_no_rule(second):
    graph = graph_of(([5, 2], {0: LONG, 1: Length(2, 4)}), second)
    assert ran(graph, "cat.default", [[n(0), n(1)], 0], [6, 2]) is None


def test_joined_along_another_dimension_others_are_as_long():
    graph = graph_of(([5, 2], {0: LONG}), ([5, 3], {}))
    found = ran(graph, "cat.default", [[n(0), n(1)], 1], [5, 5])
    (step,) = graph.steps
    assert (step["op"], step["args"]) == (PLACE, [n(1), [0, 0], [5, 3]])
    assert step["aval"] == [[8, 3], F32]
    assert found.args == [[n(0), n(step["to"])], 1] and found.lengths == {0: LONG}


@pytest.mark.parametrize("start, most, has_rule", [(0, 8, True), (2, 8, True), (3, 8, False)])
def test_what_is_written_has_room(start, most, has_rule):
    graph = graph_of(([10, 3], {}), ([5, 3], {0: Length(5, most)}))
    found = ran(graph, PUT, [n(0), n(1), [start, 0], [5, 3]], [10, 3])
    assert (found is not None) == has_rule
    if has_rule:
        before, filled = graph.steps
        assert before["op"] == TAKE and before["args"] == [n(0), [start, 0], [8, 3]]
        # what is there stays beyond the length
        assert filled["op"] == FILL and filled["args"] == [n(1), [5], 0, n(before["to"]), 1, 8]
        assert found.args == [n(0), n(filled["to"]), [start, 0], [8, 3]] and not found.lengths
    grown = graph_of(([10, 3], {0: Length(10, 12)}), ([5, 3], {0: LONG}))
    assert ran(grown, PUT, [n(0), n(1), [0, 0], [5, 3]], [10, 3]) is None


@pytest.mark.parametrize("op, shapes, own, lengths", [
    ("mm", ([5, 2], [2, 3]), {0: LONG}, {0: LONG}), ("mv", ([5, 2], [2]), {0: LONG}, {0: LONG}),
    ("bmm", ([4, 5, 2], [4, 2, 3]), {1: LONG}, {1: LONG}), ("mm", ([2, 5], [5, 3]), {1: LONG}, {}),
    ("dot", ([5], [5]), {0: LONG}, {}), ("mv", ([2, 5], [5]), {1: LONG}, {})])
def test_products(op, shapes, own, lengths):
    graph = graph_of((shapes[0], own), (shapes[1], {}))
    found = ran(graph, f"{op}.default", [n(0), n(1)], [1])
    assert found.lengths == lengths and found.op == f"{op}.default"
    if lengths:
        assert found.args == [n(0), n(1)] and not graph.steps
    else:  # what is added up: zeros beyond
        filled, placed = sorted(graph.steps, key=lambda step: step["op"] != FILL)
        assert filled["op"] == FILL and filled["args"][:4] == [n(0), [5], len(shapes[0]) - 1, 0]
        assert placed["op"] == PLACE and placed["aval"][0][0] == 8
        assert found.args == [n(filled["to"]), n(placed["to"])]
    other = graph_of((shapes[0], own), (shapes[1], {0: Length(5, 9)}))
    if shapes[1][0] == 5:
        assert ran(other, f"{op}.default", [n(0), n(1)], [1]) is None


@pytest.mark.parametrize("addend, own, has_rule, is_placed", [
    ([3], {}, True, False), ([5, 3], {}, True, True), ([5, 3], {0: LONG}, True, False),
    ([5, 3], {0: Length(5, 9)}, False, False), ([3], {0: Length(3, 8)}, False, False)])
def test_products_that_are_added(addend, own, has_rule, is_placed):
    graph = graph_of((addend, own), ([5, 2], {0: LONG}), ([2, 3], {}))
    found = ran(graph, "addmm.default", [n(0), n(1), n(2)], [5, 3])
    assert (found is not None) == has_rule
    if has_rule:
        assert found.lengths == {0: LONG} and found.args[1:] == [n(1), n(2)]
        assert [s["op"] for s in graph.steps] == ([PLACE] if is_placed else [])
        assert (found.args[0] == n(0)) != is_placed


@pytest.mark.parametrize("op, rest, shape, neutral, lengths", [
    ("sum.default", [], [], 0, {}), ("sum.dim_IntList", [[0], False], [3], 0, {}),
    ("sum.dim_IntList", [[-1], False], [5], None, {0: LONG}),
    ("sum.dim_IntList", [[-1], True], [5, 1], None, {0: LONG}),
    ("amax.default", [[0], False], [3], -math.inf, {}),
    ("amin.default", [[-2], True], [1, 3], math.inf, {}),
    ("logsumexp.default", [[0]], [3], -math.inf, {}), ("argmax.default", [0], [3], -math.inf, {}),
    ("argmin.default", [0], [3], math.inf, {})])
def test_reductions(op, rest, shape, neutral, lengths):
    graph = graph_of(([5, 3], {0: LONG}))
    found = ran(graph, op, [n(0), *rest], shape)
    assert found.op == op and found.lengths == lengths and found.args[1:] == rest
    assert [s["args"] for s in graph.steps] == (
        [] if neutral is None else [[n(0), [5], 0, neutral, 1, 8]])


def test_reductions_that_come_before_what_grows_and_means():
    graph = graph_of(([3, 5], {1: LONG}))
    assert ran(graph, "sum.dim_IntList", [n(0), [0], False], [5]).lengths == {0: LONG}
    assert ran(graph, "sum.dim_IntList", [n(0), [0], True], [1, 5]).lengths == {1: LONG}
    for rest, shape, dims, count in ((([1],), [3], [1], 5.0), ((), [], [0, 1], 15.0)):
        graph = graph_of(([3, 5], {1: LONG}))
        op = "mean.dim" if rest else "mean.default"
        found = ran(graph, op, [n(0), *rest], shape)
        assert found.op == "div.Scalar" and found.args[1] == count
        total = graph.steps[-1]
        assert total["op"] == "sum.dim_IntList" and total["args"][1:] == [dims, False, None]
        assert graph.steps[0]["op"] == FILL and graph.steps[0]["args"][3] == 0


@pytest.mark.parametrize("op, rest, kind, own, has_rule", [
    ("sum.default", [], I64, {0: LONG}, True), ("mean.default", [], I64, {0: LONG}, False),
    ("amax.default", [[0]], I64, {0: LONG}, False), ("amax.default", [[0]], "float64", {0: LONG},
                                                     True),
    ("argmax.default", [None], F32, {0: LONG}, False),
    ("argmax.default", [0], F32, {0: Length(1, 2, 5, 1)}, False)])
def test_reductions_without_a_neutral_element_have_no_rule(op, rest, kind, own, has_rule):
    graph = graph_of(([5, 3], own, kind))
    assert (ran(graph, op, [n(0), *rest], [], kind) is not None) == has_rule


@pytest.mark.parametrize("dim", [0, -2, 1])
def test_softmax_and_its_gradient(dim):
    for name, clean in (("_softmax", {dim % 2}), ("_log_softmax", set())):
        graph = graph_of(([5, 3], {0: LONG}))
        found = ran(graph, f"{name}.default", [n(0), dim, False], [5, 3])
        assert found.args[1:] == [dim % 2, False] and found.clean == clean
        assert [s["args"][3] for s in graph.steps] == ([] if dim == 1 else [-math.inf])
        back = graph_of(([5, 3], {0: LONG}), ([5, 3], {0: LONG}))
        found = ran(back, f"{name}_backward_data.default", [n(0), n(1), dim, F32], [5, 3])
        assert found.lengths == {0: LONG} and found.args[2:] == [dim % 2, F32]
        assert [s["args"][3] for s in back.steps] == [0] * len(back.steps)
        filled = [s["args"][0] for s in back.steps]
        assert filled == ([] if dim == 1 else [n(0)] if "log" in name else [n(0), n(1)])


@pytest.mark.parametrize("own, normed, weight, has_rule", [
    ({0: LONG}, [3], {}, True), ({1: Length(3, 4)}, [3], {}, False),
    ({0: LONG}, [5, 3], {}, False), ({0: LONG}, [3], {0: Length(3, 4)}, False)])
def test_layer_norms(own, normed, weight, has_rule):
    graph = graph_of(([5, 3], own), (normed, weight), (normed, {}))
    args = [n(0), normed, n(1), n(2), 1e-5]
    found = ran(graph, "native_layer_norm.default", args, [5, 3])
    assert (found is not None) == has_rule
    if has_rule:
        assert found.args == args and found.several == [own] * 3


def test_rows_by_places_that_grow():
    graph = graph_of(([9, 3], {}), ([5], {0: LONG}, I64))
    assert ran(graph, "embedding.default", [n(0), n(1)], [5, 3]).lengths == {0: LONG}
    graph.lengths[0] = {0: Length(9, 10)}
    assert ran(graph, "embedding.default", [n(0), n(1)], [5, 3]) is None


def test_what_begins_to_grow_by_joining():
    graph = graph_of(([4, 2], {}), ([1, 2], {}))
    graph.begun = {99: {0: Length(5, 7)}}
    found = ran(graph, "cat.default", [[n(0), n(1)], 0], [5, 2])
    (placed,) = graph.steps
    assert placed["op"] == PLACE and placed["args"] == [n(0), [0, 0], [4, 2]]
    assert placed["aval"] == [[7, 2], F32] and graph.lengths[placed["to"]] == {0: Length(4, 7)}
    assert (found.op, found.args) == (PUT, [n(placed["to"]), n(1), [4, 0], [1, 2]])
    assert found.lengths == {0: Length(5, 7)} and found.clean == {0}


def test_elementwise_operations_broadcast_what_grows():
    graph = graph_of(([5, 3], {0: LONG}), ([5, 1], {}), ([3], {}))
    found = ran(graph, "add.Tensor", [n(0), n(2)], [5, 3])
    assert found.args == [n(0), n(2)] and found.lengths == {0: LONG} and not graph.steps
    found = ran(graph, "add.Tensor", [n(0), n(1)], [5, 3])
    assert found.args == [n(0), n(graph.steps[0]["to"])] and found.lengths == {0: LONG}
    other = graph_of(([5, 3], {0: LONG}), ([5, 3], {0: Length(5, 9)}))
    assert ran(other, "add.Tensor", [n(0), n(1)], [5, 3]) is None
    wider = graph_of(([1, 3], {0: Length(1, 8)}), ([5, 3], {}))
    assert ran(wider, "add.Tensor", [n(0), n(1)], [5, 3]) is None


@pytest.mark.parametrize("first, second, shape, lengths, padded", [
    (([5, 5], {0: LONG}), [5], [5, 5], {0: LONG}, None),
    (([2, 5], {1: LONG}), [5], [2, 5], {1: LONG}, 0), (([5], {0: LONG}), [2, 5], [2, 5], {1: LONG},
                                                      1),
    (([5], {0: LONG}), [2, 1], [2, 5], {1: LONG}, None),
    (([4, 5, 3], {1: LONG}), [5, 1], [4, 5, 3], {1: LONG}, 0)])
def test_operands_of_other_ranks(first, second, shape, lengths, padded):
    found = ran(graph := graph_of(first, (second, {})), "mul.Tensor", [n(0), n(1)], shape)
    assert found.lengths == lengths and found.args[0] == n(0)
    if padded is None:
        assert found.args[1] == n(1) and not graph.steps
    else:
        (placed,) = graph.steps
        assert placed["op"] == PLACE and found.args[1] == n(placed["to"])
        assert placed["aval"][0] == [8 if dim == padded else size
                                     for dim, size in enumerate(second)]
        assert graph.lengths[placed["to"]] == {padded: LONG}


@pytest.mark.parametrize("length, size, longest, plain", [
    (Length(5, 8), 5, 8, True), (Length(5, 8, 2, 1), 10, 16, False),
    (Length(5, 8, 1, 3), 15, 24, False), (Length(5, 8, 2, 3), 30, 48, False)])
def test_sizes_of_dimensions_that_views_have_joined(length, size, longest, plain):
    assert (length.size, length.longest, length.is_plain) == (size, longest, plain)


@pytest.mark.parametrize("op, several, expected", [
    ("exp.default", False, True), ("zeros_like.default", False, True), ("where.self", False, True),
    ("relu.default", False, True), ("exp.default", True, False), ("sum.default", False, False),
    ("_softmax.default", False, False), ("cumsum.default", False, False), ("mm.default", False,
                                                                          False),
    ("flip.default", False, False), ("no.such", False, False), (PLACE, False, False)])
def test_which_operations_compute_each_element_by_itself(op, several, expected):
    aval = [[5], F32]
    step = {"op": op, "to": 1, "args": [n(0)], "aval": [aval, aval] if several else aval}
    assert is_pointwise(step) == expected


@pytest.mark.parametrize("own, rest, shape", [
    ({0: Length(5, 8, 2, 1)}, [1, 0, 2, 1], [10, 2]), ({0: Length(10, 12)}, [0, 0, 9, 2], [5, 4]),
    ({0: Length(10, 12)}, [1, 0, 4, 2], [10, 2])])
def test_parts_that_are_no_boxes_or_of_joined_dimensions_have_no_rule(own, rest, shape):
    assert ran(graph_of(([10, 4], own)), "slice.Tensor", [n(0), *rest], shape) is None


@pytest.mark.parametrize("op, rest, sizes, shape, begun", [
    ("slice.Tensor", [0, 2, 7, 1], [8, 4, 3], [5, 4, 3], {0: LONG}),
    ("slice.Tensor", [1, 0, 5, 1], [20, 8, 3], [20, 5, 3], {1: LONG})])
def test_parts_that_begin_to_grow(op, rest, sizes, shape, begun):
    graph = graph_of(([20, 4 if rest[0] == 0 else 9, 3], {}))
    graph.begun = {99: begun}
    found = ran(graph, op, [n(0), *rest], shape)
    starts = [rest[1] if dim == rest[0] else 0 for dim in range(3)]
    assert (found.op, found.args) == (TAKE, [n(0), starts, sizes])
    assert found.lengths == begun and found.clean == frozenset()


def test_rows_joined_along_an_inner_dimension():
    first = Length(5, 9)
    graph = graph_of(([2, 5, 3], {1: first}), ([2, 1, 3], {}), ([2, 2, 3], {}))
    found = ran(graph, "cat.default", [[n(0), n(1), n(2)], 1], [2, 8, 3])
    (step,) = graph.steps
    assert step["aval"] == [[2, 9, 3], F32] and graph.avals[step["to"]] == [[2, 6, 3], F32]
    assert step["args"] == [n(0), n(1), [0, 5, 0], [2, 1, 3]]
    assert found.args == [n(step["to"]), n(2), [0, 6, 0], [2, 2, 3]]


@pytest.mark.parametrize("part, own, sizes", [
    ([5, 5], {0: LONG, 1: LONG}, [25]),  # two dimensions that grow become one
    ([10], {0: Length(5, 8, 2, 1)}, [10]), ([2, 5], {1: LONG}, [10])])
def test_writes_of_joined_dimensions_have_no_rule(part, own, sizes):
    graph = graph_of(([30], {}), (part, own))
    for op, whole in ((PUT, [n(0)]), (PLACE, [])):
        assert ran(graph, op, [*whole, n(1), [0], sizes], [30]) is None
    assert not graph.steps


@pytest.mark.parametrize("shape, own, split, longest", [
    ([5, 4], {0: LONG}, [5, 4], [8, 4]), ([5, 4], {0: LONG, 1: Length(4, 6)}, [5, 4], [8, 6]),
    ([10, 4], {0: Length(5, 8, 2, 1)}, [2, 5, 1, 4], [2, 8, 1, 4]),
    ([10, 4], {0: Length(5, 8, 2, 1), 1: Length(4, 6)}, [2, 5, 1, 4], [2, 8, 1, 6]),
    ([3, 30], {0: Length(3, 7), 1: Length(5, 8, 2, 3)}, [3, 2, 5, 3], [7, 2, 8, 3])])
def test_the_part_that_counts(shape, own, split, longest):
    graph = graph_of((shape, own))
    part = graph.cut(n(0))
    assert graph.cut(n(0)) == part and graph.cut(n(part["n"])) == part
    x = torch.arange(float(math.prod(longest))).reshape(longest)
    given = x.reshape(graph.longer(n(0)))
    wanted = x[tuple(slice(size) for size in split)].reshape(shape)
    assert torch.equal(evaluated.run(graph.steps, {0: given})[part["n"]], wanted)
    assert len(graph.steps) == (1 if split == shape else 3)


@pytest.mark.parametrize("op, args, longer", [
    ("zeros.default", [[5, 4], None, None, None, None], [[8, 4], None, None, None, None]),
    ("new_ones.default", [n(0), [5, 4], None, None, None, None],
     [n(0), [8, 4], None, None, None, None]),
    ("ones.default", [[5, 4], None], [[8, 4], None]),
    ("full.default", [[5, 4], 2.5], [[8, 4], 2.5]),
    ("new_zeros.default", [n(0), [5, 4]], [n(0), [8, 4]]),
    ("new_full.default", [n(0), [5, 4], 2.5], [n(0), [8, 4], 2.5]),
    ("expand.default", [n(1), [5, 4], False], [n(1), [8, 4], False])])
def test_what_follows_from_sizes_alone_is_made_longer(op, args, longer):
    step = {"op": op, "to": 2, "args": args, "aval": [[5, 4], F32]}
    graph = Growing([step], [[[3], F32], [[4], F32]], {})
    found = graph.padded(n(2), {0: LONG})
    (made_longer,) = graph.steps
    assert (made_longer["op"], made_longer["args"]) == (op, longer)
    assert made_longer["aval"] == [[8, 4], F32] and found == n(made_longer["to"])
    assert graph.padded(n(2), {0: LONG}) == found and graph.padded(found, {0: LONG}) == found
    assert graph.lengths[found["n"]] == {0: LONG}
