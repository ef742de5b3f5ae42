"""Graphs of MindIR files, put together by hand: calls, closures, free values, and what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

import lamella as ms
from lamella.train.mindir import messages as of
from lamella.train.mindir import reading
from lamella.train.mindir.builder import attribute
from lamella.train.mindir.program import Program
from lamella.train.mindir.values import Weights
from lamella.train.wire_format import Message, parse, write


def constant(name: str, held: Any) -> Message:
    return Message(output=[name], name=name, op_type="Constant",
                   attribute=[attribute("value", held)])


def node(output: str, kind: str, *inputs: str) -> Message:
    return Message(output=[output], name=output, op_type=f"REF::{kind}", input=list(inputs))


def graph(name: str, inputs: str, nodes: list[Message], *outputs: str) -> Message:
    return Message(name=name, node=nodes, output=[Message(name=each) for each in outputs],
                   input=[Message(name=each) for each in inputs.split()])


def program(main: Message, *functions: Message, **others: Any) -> Program:
    """What a file with these graphs describes; its primitives are those that graphs name."""
    graphs = {each.__dict__["name"] for each in (main, *functions)}
    kinds = {kind for each in (main, *functions) for one in each.__dict__["node"]
             if (kind := one.__dict__["op_type"].removeprefix("REF::")) != "Constant"}
    taken = {output for each in (main, *functions) for one in each.__dict__["node"]
             for output in one.__dict__["output"]} | graphs
    model = Message(graph=main, functions=list(functions), primitives=[
        Message(name=kind, op_type=kind, prim_type=2) for kind in sorted(kinds - taken)], **others)
    return Program(parse(write(model, of.MODEL), of.MODEL), Weights("."))


def numbers(found: Any) -> Any:
    return tuple(numbers(each) for each in found) if isinstance(found, tuple) else float(found)


X = ms.Tensor(3.0)


def test_nodes_run_in_their_order():
    made = program(graph("main", "x", [constant("two", 2.0), node("a", "Mul", "x", "two"),
                                       node("b", "Add", "a", "x")], "b"))
    assert numbers(made([], [X])) == 9.0 and made.parameters == []


def test_several_results_are_a_tuple():
    made = program(graph("main", "x y", [node("a", "Mul", "x", "y")], "a", "y", "x"))
    assert numbers(made([], [X, ms.Tensor(5.0)])) == (15.0, 5.0, 3.0)


def test_graphs_are_called_with_what_they_take():
    twice = graph("twice", "v", [node("t", "Add", "v", "v")], "t")
    made = program(graph("main", "x", [node("a", "twice", "x"), node("b", "twice", "a"),
                                       node("c", "Sub", "b", "x")], "c"), twice)
    assert numbers(made([], [X])) == 9.0


def test_inner_graphs_see_the_values_around_them():
    """Also through one that only names them."""
    inner = graph("inner", "v", [node("i", "Add", "v", "a")], "i")  # `a` is main's
    middle = graph("middle", "v", [node("m", "inner", "v")], "m")
    made = program(graph("main", "x", [node("a", "Mul", "x", "x"), node("b", "middle", "x"),
                                       node("c", "Mul", "b", "a")], "c"), middle, inner)
    assert numbers(made([], [X])) == (3 + 9) * 9.0
    assert made.graphs["middle"].free == made.graphs["inner"].free == {"a"}
    assert made.main.free == set()


def test_graphs_with_their_first_inputs():
    part = graph("part", "u v w", [node("p", "Sub", "u", "v"), node("q", "Mul", "p", "w")], "q")
    made = program(graph("main", "x y", [
        node("one", "Partial", "part", "y"), node("two", "Partial", "one", "x"),
        node("c", "two", "x")], "c"), part)
    assert numbers(made([], [X, ms.Tensor(5.0)])) == (5 - 3) * 3.0


def test_one_of_two_graphs():
    yes = graph("yes", "v", [node("t", "Add", "v", "v")], "t")
    no = graph("no", "v", [node("f", "Neg", "v")], "f")
    made = program(graph("main", "x y", [node("c", "Greater", "x", "y"),
                                         node("s", "Switch", "c", "yes", "no"),
                                         node("r", "s", "x")], "r"), yes, no)
    assert numbers(made([], [X, ms.Tensor(1.0)])) == 6.0
    assert numbers(made([], [X, ms.Tensor(5.0)])) == -3.0


def test_one_of_several_graphs():
    parts = [graph(f"g{i}", "v", [constant(f"k{i}", float(i)), node(f"o{i}", "Add", "v", f"k{i}")],
                   f"o{i}") for i in range(3)]
    made = program(graph("main", "x i", [
        node("all", "MakeTuple", "g0", "g1", "g2"), node("s", "SwitchLayer", "i", "all"),
        node("r", "s", "x")], "r"), *parts)
    assert [numbers(made([], [X, ms.Tensor(i)])) for i in range(3)] == [3.0, 4.0, 5.0]


def loop(*last: Message, result: str) -> list[Message]:
    """Counts up to `n` from 0, in steps of 1, by a graph that ends by calling itself."""
    return [
        graph("again", "i n", [constant("one", 1.0), node("j", "Add", "i", "one"),
                               node("next", "head", "j", "n"), *last], result),
        graph("done", "i n", [node("d", "Mul", "i", "n")], "d"),
        graph("head", "i n", [node("c", "Less", "i", "n"),
                              node("s", "Switch", "c", "again", "done"),
                              node("r", "s", "i", "n")], "r")]


@pytest.mark.parametrize("last, result, is_last", [
    ((), "next", True), ((node("e", "Return", "next"),), "e", True),
    ((node("e", "Depend", "next", "j"), node("f", "Return", "e")), "f", True),
    ((node("u", "UpdateState", "j"), node("e", "Depend", "next", "u")), "e", True),
    ((node("t", "MakeTuple", "j"),), "next", True),
    ((node("e", "Neg", "j"),), "next", False),  # something is computed after it
    ((node("e", "Neg", "next"), node("f", "Neg", "e")), "f", False)])
def test_a_last_call_takes_the_place_of_its_graph(last, result, is_last):
    main = graph("main", "x", [constant("zero", 0.0), node("r", "head", "zero", "x")], "r")
    made = program(main, *loop(*last, result=result))
    assert (made.graphs["again"].last == 1) is is_last
    assert made.graphs["head"].last == 2 and made.graphs["done"].last is None
    assert numbers(made([], [X])) == 9.0
    if is_last:
        assert numbers(made([], [ms.Tensor(2000.0)])) == 4e6  # no deeper than the stack


def test_a_graph_of_two_results_has_no_last_call():
    pair = graph("pair", "v", [node("p", "Neg", "v")], "p", "v")
    made = program(graph("main", "x", [node("a", "pair", "x")], "a"), pair)
    assert made.graphs["pair"].last is None and made.main.last == 0
    assert numbers(made([], [X])) == (-3.0, 3.0)
    both = graph("main", "x", [node("a", "pair", "x")], "a", "x")
    assert program(both, pair).main.last is None


def test_parameters_by_their_names():
    main = graph("main", "x", [node("v", "Load", "w"), node("a", "Mul", "x", "v")], "a")
    main.__dict__["parameter"] = [Message(name="w", dims=[], data_type=1, float_data=[2.0])]
    made = program(main)
    assert made.parameters == ["w"]
    assert numbers(made([ms.Parameter(7.0, name="w")], [X])) == 21.0


@pytest.mark.parametrize("nodes, words", [
    ([node("a", "Neg", "y")], "it uses 'y', which isn't in it"),
    ([Message(output=["a", "b"], name="n", op_type="REF::Neg", input=["x"])],
     "the node 'n' has 2 results"),
    ([Message(output=[], name="n", op_type="REF::Neg", input=["x"])], "the node 'n' has 0 results"),
    ([Message(output=["a"], name="k", op_type="Constant")], "the constant 'a' has no value"),
    ([Message(output=["a"], name="k", op_type="Constant", attribute=[attribute("other", 1)])],
     "the constant 'a' has no value"),
    ([node("a", "Sneeze", "x")], "'Sneeze', which Lamella does not have")])
def test_graphs_that_are_wrong(nodes, words):
    with pytest.raises(ValueError, match=words):
        program(graph("main", "x", nodes, "a"))


def test_what_is_called_is_a_graph():
    made = program(graph("main", "x", [node("a", "Neg", "x"), node("b", "a", "x")], "b"))
    with pytest.raises(ValueError, match="'a' is called, which is none of the file's graphs"):
        made([], [X])


def with_forms(*forms: Message) -> Program:
    names = " ".join(f"x{i}" for i in range(len(forms)))
    main = graph("main", names, [], "x0")
    for each, said in zip(main.__dict__["input"], forms, strict=True):
        each.__dict__["tensor"] = [] if said is None else [said]
    return program(main)


def sizes(*dims: int, kind: int = 1) -> Message:
    return Message(dims=list(dims), data_type=kind)


@pytest.mark.parametrize("form, shape, fits", [
    (sizes(2, 3), (2, 3), True), (sizes(2, 3), (2, 4), False), (sizes(2, 3), (3, 3), False),
    (sizes(-1, 3), (7, 3), True), (sizes(-1, 3), (7, 4), False), (sizes(-1, 3), (3,), False),
    (sizes(-2), (4, 5, 6), True), (sizes(-2), (), True), (sizes(), (), True),
    (sizes(), (1,), False)])
def test_the_sizes_of_inputs(form, shape, fits):
    made = with_forms(form)
    if fits:
        assert made([], [ms.ops.ones(shape)]).shape == shape
        return
    wanted = str(tuple(form.__dict__["dims"])).replace("-1", "any")
    with pytest.raises(ValueError) as caught:
        made([], [ms.ops.ones(shape)])
    assert str(caught.value) == (f"For 'GraphCell', input 0 must be a Tensor of float32 with shape "
                                 f"{wanted}, but got one of Float32 with shape {shape}.")


def test_the_types_and_the_number_of_inputs():
    made = with_forms(sizes(2, kind=6), None)
    given = ms.Tensor([1, 2], ms.int32)
    assert made([], [given, "anything"]) is given
    for wrong, words in ((ms.Tensor([1, 2], ms.int64), "but got one of Int64 with shape"),
                         (7, "input 0 must be a Tensor of int32 with shape .2,., but got 7"),
                         ("y" * 200, f"but got '{'y' * 79}.$")):
        with pytest.raises(ValueError, match=words):
            made([], [wrong, None])
    for few in ([given], [given, 1, 2]):
        with pytest.raises(ValueError, match=f"takes 2 inputs, but got {len(few)}"):
            made([], few)


@pytest.mark.parametrize("others, words", [
    ({"little_endian": 0, "ir_version": "1.1"}, "its numbers are big-endian"),
    ({"little_endian": 0}, None), ({"little_endian": 1, "ir_version": "1.1"}, None)])
def test_files_of_other_machines(others, words):
    model = Message(graph=graph("main", "x", [], "x"), **others)
    data = memoryview(write(model, of.MODEL))
    if words is None:
        assert numbers(ms.nn.GraphCell(reading._read(data, "."))(X)) == 3.0
    else:
        with pytest.raises(ValueError, match=words):
            reading._read(data, ".")
    with pytest.raises(ValueError, match="it has no graph"):
        reading._read(memoryview(write(Message(little_endian=1), of.MODEL)), ".")
