"""Every kind of statement read into nodes, and made a network again."""

from __future__ import annotations

import ast
import copy
import inspect

import numpy as np
import pytest

from lamella import Tensor, nn, ops
from lamella.rewrite import Node, NodeType, ScopedValue, SymbolTree, ValueType
from lamella.rewrite.scoped_value import variables

X = Tensor(np.float32([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]]))


def shifted(x, by=1, *more, last=0, **named):
    return x + by * 10 + sum(more) * 100 + last * 1000 + sum(named.values()) * 7


class Wide(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu, self.neg, self.count = nn.ReLU(), ops.Neg(), 0
        self.cells = nn.CellList([nn.Tanh(), nn.ReLU()])

    def helper(self, x):
        return x * 3

    def construct(self, x, /, y=2, *rest, scale=1, **named):
        y = -x if y is None else x - y
        unused = relu_var = 5  # two targets, and a name that a part would take
        self.count, self.seen = self.count + 1, x
        self.helper(x)
        for part in rest:
            y = y + part
        z = self.relu(self.neg(y)) + shifted(self.helper(x), 2, *rest, last=scale, **named)
        a, b = x, y
        c = 0 < scale < 5
        w = shifted(x, *(1, 2), **{"last": 3}) if c else x
        both = [self.cells[0](a), b]
        last = ops.stack(both, axis=0)[1] * (scale > 2)
        z += last
        return z, w, unused + relu_var, not c


CALLS = [(X,), (X, None), (X, 3, X, 2), (X, 1.5, 2.0)]


@pytest.mark.parametrize("named", [{}, {"scale": 3}, {"scale": 6, "other": 2, "more": 1}])
@pytest.mark.parametrize("args", CALLS, ids=range(4))
def test_the_same_network_again(args, named):
    network, twin = Wide(), Wide()
    again = SymbolTree.create(network).get_network()
    for got, want in zip(again(*args, **named), twin(*args, **named), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert again.count == 1 and again.seen is X
    assert str(inspect.signature(type(again).construct)) == str(
        inspect.signature(Wide.construct))


def test_its_nodes():
    tree = SymbolTree.create(Wide())
    found = {node.get_name(): node for node in tree.nodes()}
    kinds = {name: node.get_node_type() for name, node in found.items()}
    assert [name for name, kind in kinds.items() if kind is NodeType.Input] == [
        "input_x", "input_y", "input_rest", "input_scale", "input_named"]
    assert tree.get_inputs() == list(found.values())[:5]
    for name, kind in {"neg": NodeType.CallPrimitive, "relu": NodeType.CallCell,
                       "helper": NodeType.CallMethod, "shifted": NodeType.CallFunction,
                       "for_node": NodeType.ControlFlow, "compare_lt": NodeType.MathOps,
                       "compare_gt": NodeType.MathOps, "binop_add": NodeType.MathOps,
                       "python_node": NodeType.Python, "return_1": NodeType.Output}.items():
        assert kinds[name] is kind, name
    assert NodeType.Tree not in kinds.values()
    given = found["shifted"]
    assert [str(arg) for arg in given.get_args()] == ["helper_var", "2", "*rest"]
    assert {key: str(value) for key, value in given.get_kwargs().items()} == {
        "last": "scale", "**1": "named"}
    assert [str(target) for target in found["relu"].get_targets()] == ["relu_var_1"]
    assert found["helper"].get_targets() == [] and found["helper"].get_users() == []
    loop = found["for_node"]
    assert [str(arg) for arg in loop.get_args()] == ["rest", "y", "part"]
    assert loop.writes() == {"part", "y"}
    assert loop in found["neg"].get_inputs() and found["neg"] in loop.get_users()
    assert found["python_node"].get_instance() is None


def test_what_is_called():
    class Inner(nn.Cell):
        def construct(self, x):
            return x

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner, self.steps = Inner(), nn.SequentialCell(nn.Tanh())

        def construct(self, x, f):
            a = self.steps(self.inner(x))
            b = f(a)
            return b.sum(), len(a)

    kinds = [node.get_node_type().name for node in SymbolTree.create(Outer()).nodes()]
    assert kinds == ["Input", "Input", "Tree", "CellContainer", "CallMethod", "CallMethod",
                     "CallFunction", "Output"]


class Empty(nn.Cell):
    def construct(self):
        """Nothing."""


class NoResult(nn.Cell):
    def construct(self, x):
        self.seen = x
        return


def test_networks_without_results():
    tree = SymbolTree.create(Empty())
    assert list(tree.nodes()) == [] and tree.get_network()() is None
    tree = SymbolTree.create(NoResult())
    again = tree.get_network()
    assert again(X) is None and again.seen is X
    assert tree.get_node("return_1").get_args() == []


def changed(change):
    class Net(nn.Cell):
        def construct(self, x, y):
            a = shifted(x, y, last=4)
            return a

    tree = SymbolTree.create(Net())
    change(tree)
    return float(tree.get_network()(Tensor(1.0), Tensor(2.0)))


def call(*args, **kwargs):
    return Node.create_call_function(shifted, ["a"], args, kwargs)


def number(value):
    return ScopedValue.create_variable_value(value)


@pytest.mark.parametrize("change, want", [
    (lambda t: None, 1 + 20 + 4000), (lambda t: t.get_node("shifted").set_arg(0, "y"), 2 + 4020),
    (lambda t: t.get_node("shifted").set_arg(1, number(7)), 1 + 70 + 4000),
    (lambda t: t.get_node("shifted").set_arg(2, number(0)), 1 + 20),
    (lambda t: t.insert(t.after("shifted"), call("a", "y")), 4021 + 20),
    (lambda t: t.insert(t.after("shifted"), call("x", last="y")), 1 + 10 + 2000),
    (lambda t: t.insert(t.after("input_y"), call("y")), 1 + 20 + 4000),
    (lambda t: t.insert(t.before("return_1"), call("a")), 4021 + 10),
    (lambda t: t.replace("shifted", (call("x"), call("a"))), 1 + 10 + 10)])
def test_changes(change, want):
    assert changed(change) == want


@pytest.mark.parametrize("index", [-1, 3])
def test_arguments_that_are_not_there(index):
    def change(tree):
        with pytest.raises(ValueError, match=rf"in \[0, 3\), but got {index}"):
            tree.get_node("shifted").set_arg(index, "x")
        for place in (index, 1):
            with pytest.raises(ValueError, match=r"'out_idx' must be in \[0, 1\)"):
                tree.get_node("shifted").set_arg_by_node(0, tree.get_node("shifted"), place)
        for name in ("input_x", "input_y"):
            with pytest.raises(TypeError, match="Input can't be set"):
                tree.get_node(name).set_arg(0, "x")
            with pytest.raises(ValueError, match="the place must be behind the inputs"):
                tree.insert(tree.before(name), call("x"))

    assert changed(change) == 4021


def test_a_node_that_is_erased_can_be_inserted_again():
    def change(tree):
        node = tree.erase("shifted")
        assert node.get_symbol_tree() is None and node.get_inputs() == node.get_users() == []
        with pytest.raises(ValueError, match="isn't in this tree"):
            tree.before(node)
        tree.insert(tree.before("return_1"), call("x"))

    assert changed(change) == 11
    with pytest.raises(TypeError, match="must be a function, but got type"):
        Node.create_call_function(int, ["x"])


@pytest.mark.parametrize("value, kind, shown, named", [
    (3, ValueType.ConstantValue, "3", []), ((1, [2]), ValueType.TupleValue, "(1, [2])", []),
    ([1], ValueType.ListValue, "[1]", []), ({1: "a"}, ValueType.DictValue, "{1: 'a'}", []),
    (ScopedValue.create_naming_value("x"), ValueType.NamingValue, "x", ["x"]),
    (ScopedValue.create_naming_value("x", "self"), ValueType.NamingValue, "self.x", []),
    ((ScopedValue.create_naming_value("x"), {2: ScopedValue.create_naming_value("y")}),
     ValueType.TupleValue, "(x, {2: y})", ["x", "y"]), (b"a", ValueType.ConstantValue, "b'a'", []),
    (1j, ValueType.ConstantValue, "1j", []), (True, ValueType.ConstantValue, "True", [])])
def test_values(value, kind, shown, named):
    found = ScopedValue.create_variable_value(value)
    assert (found.type, str(found), variables(found)) == (kind, shown, named)
    assert variables(ScopedValue.create_variable_value(object())) == []


def test_the_table(capsys):
    SymbolTree.create(NoResult()).print_node_tabulate()
    rows = capsys.readouterr().out.splitlines()
    assert rows == ["node type  name         code           targets  args",
                    "Input      input_x                     x",
                    "Python     python_node  self.seen = x           x",
                    "Output     return_1     return"]


class Box(nn.Cell):
    def construct(self, x):
        return x


class Assigning(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu, self.box = nn.ReLU(), Box()

    def construct(self, x, box):
        y = self.relu(x)
        self.seen = self.relu(y)
        self.a, b = ops.split(x, 1)
        box.seen = self.relu(x)
        self.box.seen = ops.exp(x)
        box[0] = self.relu(x)
        self.b, box.c = ops.split(x, 1)
        c, *d = ops.split(x, 1)
        e = f = self.relu(x)
        z = x > 1
        return y, b, c, d, e, f, z


def test_what_is_assigned():
    """Calls with other targets than names and attributes of self stay as they are."""
    network, again = Assigning(), SymbolTree.create(Assigning()).get_network()
    nodes = list(SymbolTree.create(network).nodes())[2:-1]
    assert [node.get_node_type().name for node in nodes] == [
        "CallCell", "CallCell", "CallFunction", *["Python"] * 6, "MathOps"]
    assert [str(arg) for arg in nodes[-1].get_args()] == ["x", "1"]
    assert [str(target) for node in nodes[:3] for target in node.get_targets()] == [
        "y", "self.seen", "self.a", "b"]
    boxes = [type("Held", (dict,), {})() for _ in range(2)]
    for got, want in zip(again(X, boxes[0]), network(X, boxes[1]), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert np.array_equal(again.seen.asnumpy(), network.seen.asnumpy())
    assert np.array_equal(boxes[0].c.asnumpy(), boxes[1].c.asnumpy())
    assert np.array_equal(again.box.seen.asnumpy(), network.box.seen.asnumpy())


def test_what_a_statement_reads_is_its_variables():
    factor = 3

    class Net(nn.Cell):
        def construct(self, x, last=2):
            for n in range(last):
                x = shifted(x * factor, n) + self.count
            return x

    loop = SymbolTree.create(Net()).get_node("for_node")
    assert sorted(map(str, loop.get_args())) == ["last", "n", "x"]


def test_statements_can_be_compiled():
    for network in (Wide(), Assigning(), NoResult()):
        for node in SymbolTree.create(network).nodes():
            line = node.statement()
            if line is not None and node.get_node_type() is not NodeType.Output:
                module = ast.Module([copy.deepcopy(line)], [])
                compile(ast.fix_missing_locations(module), "", "exec")


@pytest.mark.parametrize("name, want", [
    ("ReLU", "relu"), ("MaxPool2d", "max_pool2d"), ("Conv2dTranspose", "conv2d_transpose"),
    ("dense", "dense"), ("SiLU", "silu")])
def test_names_of_calls(name, want):
    cell = type(name, (nn.Cell,), {})()
    assert Node.create_call_cell(cell, ["y"]).get_name() == want
    node = Node.create_call_cell(cell, ["y"], ["x"], {"z": "self.w"}, is_sub_net=True)
    assert node.get_node_type() is NodeType.Tree and node.get_sub_tree() is None
    assert node.reads() == ["x"] and node.writes() == {"y"} and not node.get_users()
    assert node.get_instance_type() is type(cell) and node.get_symbol_tree() is None
