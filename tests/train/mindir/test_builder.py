"""Constants and names of MindIR graphs, in the making."""

import pytest
import torch

from lamella.train.mindir import messages as of
from lamella.train.mindir.builder import Builder, Unwritable, Value, attribute, form

SEVERAL = {"i": "ints", "f": "floats", "s": "strings"}


@pytest.mark.parametrize("value, kind, field, held", [
    (True, of.BOOL, "i", 1), (False, of.BOOL, "i", 0), (-3, of.INT64, "i", -3),
    (0.5, of.FLOAT, "f", 0.5), ("né", of.STRING, "s", "né".encode())])
def test_constants(value, kind, field, held):
    found = attribute("value", value)
    assert vars(found) == {"name": "value", "type": kind, field: held}
    inside = attribute("value", (value,))
    assert inside.type == of.TUPLE
    assert vars(inside.values[0]) == {"name": "", "type": kind, SEVERAL[field]: [held]}


def test_nothing_and_what_has_no_place():
    assert vars(attribute("value", None)) == {"name": "value", "type": of.NONE}
    for value in (1j, {}, object, b"bytes"):
        with pytest.raises(Unwritable, match=f"a constant of type {type(value).__name__}"):
            attribute("value", value)
    with pytest.raises(Unwritable, match="the type torch.float8_e5m2"):
        form(torch.empty(2, dtype=torch.float8_e5m2))


def test_equal_constants_are_one_node():
    graph = Builder()
    count = len(graph.nodes)
    values = (1, True, 1.0, "1", (1,), [1], (1, 1), torch.ones(1), torch.ones(1, 1),
              torch.ones(1).double(), None)
    names = [graph.name_of(value) for value in values]
    assert len(set(names)) == len(values) == len(graph.nodes) - count
    again = [graph.name_of(value) for value in (*values[:7], torch.ones(1))]
    assert again == names[:8] and len(graph.nodes) == count + len(values)


def test_tuples_with_values_are_made_by_nodes():
    graph = Builder()
    x = graph.node("Abs", 1.5)
    nodes = len(graph.nodes)
    assert graph.name_of(x) == x.name and len(graph.nodes) == nodes
    graph.name_of((2, 3))
    assert graph.nodes[-1].op_type == "Constant"
    name = graph.name_of([2, (x, 3)])
    made = [node for node in graph.nodes if node.name.partition("MakeTuple")[1]]
    assert [node.name for node in made][-1] == name and len(made) == 2
    assert made[1].input == [graph.name_of(2), made[0].name]
    assert made[0].input == [x.name, graph.name_of(3)]


def test_primitives_are_kept_once_by_their_attributes():
    graph = Builder()
    x = Value("x", torch.ones(2))
    for axis in (0, 1, 0, True):
        graph.node("Sort", x, axis=axis)
    graph.node("Abs", x)
    graph.node("Lgamma", x)
    kinds = [(each.op_type, each.prim_type) for each in graph.primitives.values()]
    assert kinds == [*[("Sort", 1)] * 3, ("Abs", 2), ("Lgamma", 1)]
    uses = [node.op_type for node in graph.nodes if node.op_type != "Constant"]
    assert uses[0] == uses[2] != uses[1] != uses[3] != uses[0]


@pytest.mark.parametrize("dims, is_one", [
    ((1, 0), True), ((0, 2, 1), True), ((0, 1, 3, 2), True), ((0, 1), False), ((0,), False),
    ((2, 1, 0), False), ((1, 0, 2), False), ((1, 0, 3, 2), False), ((1, 2, 0), False)])
def test_what_a_matrix_is_the_transpose_of(dims, is_one):
    graph = Builder()
    x = Value("x", torch.ones((2,) * len(dims)))
    turned = graph.node("Transpose", x, dims)
    assert graph.before_transpose(turned) == ((x, True) if is_one else (turned, False))
    assert graph.before_transpose(x) == (x, False)
