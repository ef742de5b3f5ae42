"""The lines of the user's program that recorded kernels come from."""

from __future__ import annotations

import inspect
import json

import lamella as ms
from lamella import nn, ops
from lamella.graph.guards.search import reachable_from_call
from lamella.graph.passes.insert import inserted
from lamella.graph.tracing.lines import NOWHERE, Line, line_of, line_reading, nearest_line
from lamella.graph.tracing.run import run_traced


def lines_of(fn, *args):
    """The line of the program that each kernel comes from, by its name."""
    graph = run_traced(fn, args, {}, reachable_from_call(fn, args, {})).outcome.graph
    found: dict[str, list[Line]] = {}
    for node in graph.graph.nodes:
        if "line" in node.meta:
            found.setdefault(node.target.overloadpacket.__name__, []).append(node.meta["line"])
    return found


def number_of(fn, text: str) -> int:
    """The number of the line of a function that has this text."""
    source, start = inspect.getsourcelines(fn)
    return start + next(i for i, line in enumerate(source) if text in line)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2)

    def construct(self, x):
        y = self.dense(x)
        return ops.tanh(y)


def test_a_step():
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())

    def step(x):
        value, grads = gradient(x)
        optimizer(grads)
        return value

    found = lines_of(step, ms.ops.ones((4, 3), ms.float32))
    dense = number_of(Net.construct, "self.dense(x)")
    tanh = number_of(Net.construct, "ops.tanh(y)")
    assert found["addmm"] == [Line(__file__, dense, "forward")]
    assert set(found["mm"]) == {Line(__file__, dense, "backward")}
    assert found["tanh"] == [Line(__file__, tanh, "forward")]
    assert found["tanh_backward"] == [Line(__file__, tanh, "backward")]
    update = {line for lines in found.values() for line in lines if line.phase == "update"}
    assert update == {Line(__file__, number_of(step, "optimizer(grads)"), "update")}


def test_rules_and_hooks_have_lines_of_their_own():
    class Double(nn.Cell):
        def construct(self, x):
            return ops.sin(x)

        def bprop(self, x, out, dout):
            return (dout * ops.cos(x),)

    cell = Double()
    found = lines_of(ms.grad(lambda x: cell(x).sum()), ms.Tensor([1.0, 2.0]))
    assert found["cos"] == [Line(__file__, number_of(Double.bprop, "ops.cos"), "backward")]


def test_code_that_was_typed():
    room = {"__name__": "__main__", "ops": ops}
    exec(compile("def f(x):\n    return ops.exp(x)\n", "<stdin>", "exec"), room)
    assert lines_of(room["f"], ms.Tensor([1.0]))["exp"] == [Line("<stdin>", 2, "forward")]


def test_operations_of_passes_have_the_line_of_those_they_replace():
    def step(x):
        return ops.tanh(x)

    x = ms.Tensor([1.0])
    graph = run_traced(step, (x,), {}, reachable_from_call(step, (x,), {})).outcome.graph
    (tanh,) = [n for n in graph.graph.nodes if n.op == "call_function"]
    (found,) = inserted(graph, tanh, lambda raw: [raw.exp()], tanh.all_input_nodes)
    assert found.meta["line"] == Line(__file__, number_of(step, "ops.tanh"), "forward")


def reads_it(thing):
    first = thing.other

    return first + thing.size \
        + thing.size


def test_the_line_that_reads_a_name():
    start = reads_it.__code__.co_firstlineno
    codes = [inspected.__code__ for inspected in (number_of, reads_it)]
    assert line_reading(codes, "size") == Line(__file__, start + 3, "forward")
    assert line_reading(codes, "other") == Line(__file__, start + 1, "forward")
    assert line_reading(codes, "thing") == Line(__file__, start + 1, "forward")
    assert line_reading(codes, "first") == Line(__file__, start + 3, "forward")
    assert line_reading(codes, "nothing") is NOWHERE is line_reading([], "size")


def test_the_line_of_an_error():
    def fails():
        ops.concat([ms.Tensor([1.0]), ms.Tensor([[1.0]])])

    try:
        json.loads("{")
    except ValueError as error:  # a library isn't the program
        assert line_of(error) == Line(__file__, error.__traceback__.tb_lineno, "forward")
    try:
        fails()
    except Exception as error:
        assert line_of(error) == Line(__file__, number_of(fails, "ops.concat"), "forward")
    assert line_of(ValueError()) is NOWHERE


def test_a_line_as_the_end_of_a_message():
    assert str(Line("a.py", 3, "forward")) == " (a.py:3)" and str(NOWHERE) == ""
    assert NOWHERE.number == 0 and nearest_line().file == __file__


def test_kernels_of_several_backward_passes_have_the_lines_of_their_own_operations():
    def step(x):
        first = ms.grad(lambda x: ops.sin(x).sum())(x)
        second = ms.grad(lambda x: ops.exp(x).sum())(x)
        return first + second

    found = lines_of(step, ms.Tensor([1.0, 2.0]))
    sine, exponential = (number_of(step, f"ops.{name}(x)") for name in ("sin", "exp"))
    assert found["cos"] == [Line(__file__, sine, "backward")]
    assert {(line.number, line.phase) for line in found["mul"]} == {
        (sine, "backward"), (exponential, "backward")}
    assert Line(__file__, number_of(step, "first + second"), "forward") in found["add"]
