"""Descriptions of graphs: arguments, layouts of inputs and results, and what XLA doesn't get."""

import json
import operator

import pytest
import torch
from torch.fx import Graph, GraphModule

from lamella.graph.ir.metadata import meta_of_value
from lamella.graph.ir.stages import Part
from lamella.graph.xla.lowering import TABLE, NotLowered
from lamella.graph.xla.numbers import Number
from lamella.graph.xla.text import MOST_GAPS, MOST_PACKED, check, described, functional, text_of
from tests.graph.passes.checks import recorded

aten = torch.ops.aten


def graph_of(func, *args, **kwargs):
    """A graph of one call; arguments "x", "y" are inputs."""
    graph = Graph()
    inputs = {name: graph.placeholder(name) for name in "xy" if name in args}
    made = graph.call_function(func, tuple(inputs.get(a, a) if isinstance(a, str) else a
                                           for a in args), kwargs)
    graph.output([made])
    return GraphModule(torch.nn.Module(), graph)


X, COLUMN = torch.arange(12.0).reshape(3, 4) + 1, torch.ones(3, 1)


@pytest.mark.parametrize("func, args, kwargs, wanted", [
    (aten.add.Tensor, ("x", 2), {}, [{"n": 0}, 2, 1]),
    (aten.add.Tensor, ("x", 2.5), {"alpha": 3}, [{"n": 0}, 2.5, 3]),
    (aten.mul.Tensor, ("x", 1 - 2j), {}, [{"n": 0}, {"complex": [1.0, -2.0]}]),
    (aten._to_copy.default, ("x",), {"dtype": torch.float64}, [
        {"n": 0}, {"dtype": "float64"}, None, None, None, False, None]),
    (aten._to_copy.default, ("x",), {"layout": torch.strided, "device": torch.device("cpu")}, [
        {"n": 0}, None, None, None, None, False, None]),
    (aten.clone.default, ("x",), {"memory_format": torch.contiguous_format}, [{"n": 0}, None]),
    (aten.gelu.default, ("x",), {"approximate": "tanh"}, [{"n": 0}, "tanh"]),
    (aten.sum.dim_IntList, ("x", (0, 1)), {}, [{"n": 0}, [0, 1], False, None]),
    (aten.full.default, ([2], True), {}, [[2], True, None, None, None, None])])
def test_all_arguments_in_the_order_of_the_schema(func, args, kwargs, wanted):
    (step,) = described(graph_of(func, *args, **kwargs), [X] * ("x" in args))["steps"]
    assert step["op"] == str(func)[5:] and step["args"] == wanted
    assert [type(a) for a in step["args"]] == [type(a) for a in wanted]
    assert "writes" not in step


@pytest.mark.parametrize("args, kwargs, reason", [
    ((torch.ones(2),), {}, "Tensor"), (("x",), {"device": torch.device("meta")}, "device"),
    (("x",), {"dtype": torch.complex32}, "dense tensor|complex32")])
def test_other_arguments_are_not_described(args, kwargs, reason):
    with pytest.raises(NotLowered, match=reason):
        described(graph_of(aten._to_copy.default, *args, **kwargs), [X] * ("x" in args))


@pytest.mark.parametrize("fn, reason", [
    (lambda x: x * COLUMN, "an attribute"), (lambda x: torch.rand_like(x), "rand_like"),
    (lambda x: torch.linalg.matrix_exp(x @ x.T), "matrix_exp"),
    (lambda x: x[1:] + 0 if x.is_complex() else x.view(4, 3), "shares memory with an input"),
    (lambda x: x.as_strided((2, 2), (1, 1)) + 1, "as_strided of a view, or of an input"),
    (lambda x: (x * 2)[1:].as_strided((2, 2), (1, 1)) + 1, "as_strided of a view"),
    (lambda x: (x.T * 2).as_strided((2, 2), (1, 1)) + 1, "another order")],
    ids=["attribute", "random", "row", "input", "strided", "view", "order"])
def test_graphs_that_are_not_for_xla(fn, reason):
    with pytest.raises(NotLowered, match=reason):
        described(recorded(fn, X), [X])


def test_a_tensor_that_is_reshaped_in_place_is_read_under_its_new_name_alone():
    def fn(x):
        y = x * 2
        return y.t_() + 1

    steps = described(recorded(fn, X), [X])["steps"]
    assert [step["op"] for step in steps] == ["mul.Tensor", "t.default", "add.Tensor"]
    assert not any("writes" in step for step in steps)

    def before(x):
        y = x * 2
        z = y.exp()
        return y.t_() + 1, z

    with pytest.raises(NotLowered, match="changes its shape"):
        described(recorded(before, X), [X])


@pytest.mark.parametrize("x", [torch.ones(2, device="meta"), torch.ones(2).to_sparse()])
def test_inputs_that_are_no_dense_tensors_of_the_cpu(x):
    with pytest.raises(NotLowered, match="dense tensor"):
        described(graph_of(aten.neg.default, "x"), [x])


def test_operations_of_the_table_write_their_first_argument_alone_if_any():
    for schema in torch._C._jit_get_all_schemas():
        written = [i for i, one in enumerate(schema.arguments)
                   if one.alias_info is not None and one.alias_info.is_write]
        name = schema.name.removeprefix("aten::")
        if written and written != [0] or not schema.returns:
            assert functional(f"{name}.{schema.overload_name or 'default'}") not in TABLE


def test_what_is_written_is_the_first_argument():
    def fn(x):
        y = x * 2
        y.add_(1)
        return y.exp()

    steps = described(recorded(fn, X), [X])["steps"]
    assert [(step["op"], step.get("writes")) for step in steps] == [
        ("mul.Tensor", None), ("add.Tensor", True), ("exp.default", None)]


@pytest.mark.parametrize("x, place", [
    (X, None), (X.T, [1, 0]), (torch.ones(2, 3, 4).permute(2, 0, 1), [1, 2, 0]),
    (X[:, :3], None), (X[:1].expand(3, 4), None), (torch.ones(3, 1).expand(3, 4), None),
    (torch.ones(0, 3), None)])
def test_where_inputs_lie(x, place):
    """Those with gaps, or elements that repeat, are copied row by row."""
    found = described(graph_of(aten.exp.default, "x"), [x])
    assert found["places"] == [place]
    shape = [x.shape[dim] for dim in place or range(x.dim())]
    assert found["inputs"] == [[shape, "float32"]] and found["taken"] == [0]
    if place is None:
        assert found["orders"] == [None]
    else:
        assert torch.equal(x.permute(place).permute(found["orders"][0]), x)


@pytest.mark.parametrize("fn, layout", [
    (lambda x: x * 2, [[], None, None]), (lambda x: x.T * 2, [[], [1, 0], None]),
    (lambda x: (x.sum(0) + 1).expand(3, 4), [[0], [1, 0], None]),
    (lambda x: (x.sum(1, keepdim=True) + 1).expand(3, 4), [[1], None, None]),
    (lambda x: (x * 2)[:, :2], [[], None, [4, 1]]),
    (lambda x: (x * 2)[:, 1], [[], None, [4]])])
def test_how_results_lie_in_memory(fn, layout):
    found = described(recorded(fn, X), [X])
    (number, *rest), = found["results"]
    assert rest == layout and number == found["steps"][-1]["to"]
    assert found["strides"] == [list(fn(X).stride())] and found["shapes"] == [list(fn(X).shape)]


@pytest.mark.parametrize("rows, step, is_described", [
    (MOST_PACKED // 8, 8, True), (MOST_PACKED, 1, True), (2 * MOST_PACKED, MOST_GAPS, True),
    (2 * MOST_PACKED, MOST_GAPS + 1, False), (MOST_PACKED // 8 + 2, 8, False)])
def test_results_with_gaps_may_take_a_few_times_as_much_memory(rows, step, is_described):
    x = torch.ones(rows, step)
    graph = recorded(lambda x: (x * 2)[:, 0], x)
    if is_described:
        ((_, _, order, gaps),) = described(graph, [x])["results"]
        assert order is None and gaps == (None if step == 1 else [step])
    else:
        with pytest.raises(NotLowered, match="gaps"):
            described(graph, [x])


@pytest.mark.parametrize("x, is_turned", [
    (torch.eye(3), True), (torch.arange(9.0).reshape(3, 3).T, False),
    (torch.eye(4)[:3, :3], False), (torch.eye(3, dtype=torch.complex64), False)])
def test_which_matrices_are_factorized_transposed(x, is_turned):
    for func in (aten._linalg_det.default, aten._linalg_slogdet.default):
        graph = Graph()
        node = graph.call_function(func, (graph.placeholder("x"),))
        graph.output([graph.call_function(aten.exp.default, (
            graph.call_function(operator.getitem, (node, 0)),))])
        steps = described(GraphModule(torch.nn.Module(), graph), [x])["steps"]
        assert steps[0]["args"][-1] is is_turned and steps[1]["args"] == [{"n": 1}, 0]


@pytest.mark.parametrize("numbers, taken", [({}, [0, 1]), ({1: 2.0}, [0]), ({0: 3.0}, [1]),
                                            ({0: 3.0, 1: 2.0}, [])])
def test_constants_of_one_number_are_made_by_the_code(numbers, taken):
    graph = graph_of(aten.mul.Tensor, "x", "y")
    values = [torch.full((2, 3), numbers.get(0, 5.0)), torch.full((2, 1), numbers.get(1, 7.0)
                                                                  ).expand(2, 3)]
    constants = {i: Number(value, meta_of_value(values[i])) for i, value in numbers.items()}
    found = described(graph, values, constants=constants)
    assert found["taken"] == taken and len(found["inputs"]) == len(taken)
    *made, step = found["steps"]
    assert [s["op"] for s in made] == ["full.default"] * (0 in numbers) + [
        "full.default", "expand.default"] * (1 in numbers)
    assert [s["to"] for s in found["steps"]] == [*range(len(taken), len(taken) + len(made) + 1)]
    if numbers == {0: 3.0, 1: 2.0}:
        assert step["args"] == [{"n": 0}, {"n": 2}]
    assert found["results"] == [[step["to"], [], None, None]]
    assert json.loads(text_of(graph, values, constants=constants)) == found


def test_a_constant_in_which_a_result_lies_is_an_input():
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.output([graph.call_function(aten.view.default, (y, [6])),
                  graph.call_function(aten.exp.default, (x,))])
    part = Part.whole(GraphModule(torch.nn.Module(), graph))
    with pytest.raises(NotLowered, match="with an input"):
        check(part, {1: Number(1.0, meta_of_value(X))})


@pytest.mark.parametrize("checks", [0, 1, 2])
def test_the_last_results_may_be_checks(checks):
    def fn(x):
        y = x * 2
        return y, (y > 3).any(), (y < 0).any()

    found = described(recorded(fn, X), [X], checks)
    numbers = {step["op"]: [s["to"] for s in found["steps"] if s["op"] == step["op"]]
               for step in found["steps"]}
    assert len(found["results"]) == 3 - checks
    assert found["checks"] == (numbers["any.default"][-checks:] if checks else [])
    assert found["flag"] == ([0, 12] if checks else None)


def test_memory_that_may_be_shared_is_not_written():
    def fn(x):
        y = x * 2
        z = y.reshape(12)
        z.add_(1)
        return y.exp(), z.sin()

    assert described(recorded(fn, X), [X])  # which is known here to be a view
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(aten.mul.Tensor, (x, 2))
    z = graph.call_function(aten.reshape.default, (y, [12]))
    graph.call_function(aten.add_.Tensor, (z, 1))
    graph.output([graph.call_function(aten.exp.default, (y,))])
    with pytest.raises(NotLowered, match="may share"):
        described(GraphModule(torch.nn.Module(), graph), [X])
