"""Networks as nodes, changed, and made networks again."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.rewrite import Node, NodeType, ScopedValue, SymbolTree, ValueType

X = Tensor(np.float32([[1.0, -2.0, 0.5]]))
SCALE = 3


def double(x):
    return x * 2


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 3, weight_init="ones")
        self.relu = nn.ReLU()
        self.scale = SCALE

    def construct(self, x, y=2, *, sign=-1):
        """Not part of it."""
        x = self.relu(self.dense(x) * sign)
        z = x + y
        if y:
            z = ops.exp(z)
        low, high = ops.split(z, (1, 2), axis=1)
        return self.relu(high) - low * self.scale


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.steps = nn.SequentialCell(nn.Tanh())

    def construct(self, x):
        y = self.net(x)
        return double(self.steps(y))


def tree_of(network=None):
    return SymbolTree.create(Net() if network is None else network)


def kinds(tree):
    return [(n.get_name(), n.get_node_type().name) for n in tree.nodes()]


def test_nodes_of_a_network():
    assert kinds(tree_of()) == [
        ("input_x", "Input"), ("input_y", "Input"), ("input_sign", "Input"),
        ("dense", "CallCell"), ("binop_mult", "MathOps"), ("relu", "CallCell"),
        ("binop_add", "MathOps"), ("if_node", "ControlFlow"), ("split", "CallFunction"),
        ("relu_1", "CallCell"), ("binop_mult_1", "MathOps"), ("binop_sub", "MathOps"),
        ("return_1", "Output")]
    assert kinds(tree_of(Outer()))[1:] == [
        ("net", "Tree"), ("steps", "CellContainer"), ("double", "CallFunction"),
        ("return_1", "Output")]


def test_what_nodes_take_and_give():
    tree = tree_of()
    node = tree.get_node("split")
    assert [str(t) for t in node.get_targets()] == ["low", "high"]
    assert [str(a) for a in node.get_args()] == ["z", "(1, 2)"]
    assert str(node.get_kwargs()["axis"]) == "1"
    assert [n.get_name() for n in node.get_inputs()] == ["if_node"]
    assert [n.get_name() for n in node.get_users()] == ["relu_1", "binop_mult_1"]
    assert tree.get_node("relu").get_instance_type() is nn.ReLU
    assert node.get_instance() is ops.split and node.get_symbol_tree() is tree
    assert [n.get_name() for n in tree.get_inputs()] == ["input_x", "input_y", "input_sign"]
    assert tree.get_node("nowhere") is None


@pytest.mark.parametrize("args", [(X,), (X, 0), (X, 1)])
def test_the_same_network_again(args):
    network = Net()
    again = SymbolTree.create(network).get_network()
    np.testing.assert_array_equal(again(*args).asnumpy(), network(*args).asnumpy())
    assert type(again).__name__ == "NetOpt" and isinstance(again, Net)
    assert again.dense is network.dense
    assert [p.name for p in again.get_parameters()] == [p.name for p in network.get_parameters()]
    twice = SymbolTree.create(again).get_network()  # its source can be read, too
    np.testing.assert_array_equal(twice(*args).asnumpy(), network(*args).asnumpy())


def test_compiled_and_differentiated():
    again = tree_of().get_network()
    weights = again.trainable_params()
    eager = ms.value_and_grad(lambda x: again(x).sum(), None, weights)
    compiled = ms.jit(eager)
    for _ in range(3):
        for one, other in zip(eager(X)[1], compiled(X)[1], strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5)


def test_a_cell_that_is_inserted_takes_no_name_of_another():
    network = Net()
    network.spare = nn.Tanh()  # which `construct` doesn't call
    tree = tree_of(network)
    for cell in (nn.Sigmoid(), nn.ReLU()):
        tree.insert(tree.after("relu"), Node.create_call_cell(cell, ["x"], ["x"], name="spare"))
    found = tree.get_network()
    assert isinstance(found.spare, nn.Tanh)
    y = ops.sigmoid(ops.relu(network.relu(-network.dense(X)))) + 2
    z = ops.exp(y)
    np.testing.assert_allclose(found(X).asnumpy(),
                               (network.relu(z[:, 1:]) - z[:, :1] * 3).asnumpy(), rtol=1e-6)


def test_insert_erase_and_replace():
    network = Net()
    tree = tree_of(network)
    tree.insert(tree.after("relu"), Node.create_call_cell(nn.Sigmoid(), ["x"], ["x"], name="sig"))
    tree.insert(tree.before(tree.get_node("binop_add")),
                Node.create_call_function(double, ["x"], ["x"]))
    tree.erase("if_node")
    found = tree.get_network()

    def wanted(x):
        z = 2 * ops.sigmoid(network.relu(-network.dense(x))) + 2
        return network.relu(z[:, 1:]) - z[:, :1] * 3

    np.testing.assert_allclose(found(X).asnumpy(), wanted(X).asnumpy(), rtol=1e-6)
    assert found.sig is tree.get_node("sig").get_instance() and not hasattr(network, "sig")
    last = tree.replace("sig", [Node.create_call_cell(nn.Tanh(), ["x"], ["x"]),
                                Node.create_call_cell(nn.Tanh(), ["x"], ["x"])])
    assert last.get_name() == "tanh_1"
    assert "x = self.tanh_1(x)" in tree.get_code() and "self.sig(" not in tree.get_code()
    assert tree.erase("sig") is None


def test_arguments():
    tree = tree_of()
    node = tree.get_node("binop_add")
    node.set_arg(1, ScopedValue.create_variable_value(5))
    node.set_arg_by_node(0, tree.get_node("dense"))
    assert "z = dense_var + 5" in tree.get_code()
    split = tree.get_node("split")
    split.set_arg(2, ScopedValue.create_variable_value(-1))
    split.set_arg(0, "self.scale")
    assert "ops.split(self.scale, (1, 2), axis=-1)" in tree.get_code()
    tree.get_node("relu_1").set_arg_by_node(0, split, 0)
    assert "self.relu(low)" in tree.get_code()


def test_networks_below():
    network = Outer()
    tree = tree_of(network)
    assert tree.get_node("steps").get_sub_tree() is None
    below = tree.get_node("net").get_sub_tree()
    assert tree.get_node("net").get_sub_tree() is below
    below.get_node("binop_add").set_arg(1, ScopedValue.create_variable_value(0))
    assert len(list(tree.nodes(all_nodes=True))) == len(list(tree.nodes())) + len(
        list(below.nodes()))
    found = tree.get_network()
    z = ops.exp(ops.relu(-network.net.dense(X)))
    wanted = ops.tanh(ops.relu(z[:, 1:]) - z[:, :1] * 3) * 2
    np.testing.assert_allclose(found(X).asnumpy(), wanted.asnumpy(), rtol=1e-5)


def test_table(capsys):
    tree_of().print_node_tabulate()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["node", "type", "name", "code", "targets", "args"]
    assert any("x = self.relu(binop_mult_var)" in line for line in lines)


def test_closures_and_super():
    factor = 4

    class Base(nn.Cell):
        def construct(self, x):
            return x + 1

    class Derived(Base):
        def construct(self, x):
            y = super().construct(x)
            return y * factor

    assert SymbolTree.create(Derived()).get_network()(Tensor(2.0)).item() == 12


def test_unique_names():
    tree = tree_of()
    assert [tree.unique_name("x"), tree.unique_name("x"), tree.unique_name("dense")] == [
        "x_1", "x_2", "dense_1"]
    assert tree.unique_name() == "output"


def test_values():
    value = ScopedValue.create_variable_value({"a": [1, (2.0, None)]})
    assert value.type is ValueType.DictValue and str(value) == "{'a': [1, (2.0, None)]}"
    assert [str(v) for v in ScopedValue.create_name_values(["a", "b"], ["self", ""])] == [
        "self.a", "b"]
    assert list(map(str, ScopedValue.create_name_values(["a", "b"]))) == ["a", "b"]
    assert repr(ScopedValue.create_name_values(["a"], ["self"])) == "[self.a]"  # as 2.10's
    thing = ScopedValue.create_variable_value(X)
    assert thing.type is ValueType.CustomObjValue
    with pytest.raises(TypeError, match="attribute of the network"):
        str(thing)


@pytest.mark.parametrize("call, kind, text", [
    (lambda t: SymbolTree.create(3), TypeError, "SymbolTree.create"),
    (lambda t: t.before("nowhere"), TypeError, "'before'"),
    (lambda t: t.insert(3, Node.create_call_function(double, [])), TypeError, "'position'"),
    (lambda t: t.insert(t.before("input_x"), Node.create_call_function(double, [])), ValueError,
     "behind the inputs"),
    (lambda t: t.insert(t.after("return_1"), Node.create_call_function(double, [])), ValueError,
     "before the result"),
    (lambda t: t.insert(tree_of().after("relu"), Node.create_call_function(double, [])),
     ValueError, "in this tree"),
    (lambda t: t.insert(t.after("relu"), t.get_node("relu_1")), ValueError, "already"),
    (lambda t: t.erase("return_1"), ValueError, "can't be erased"),
    (lambda t: t.replace("relu", []), ValueError, "at least one"),
    (lambda t: t.get_node("if_node").set_arg(0, "x"), TypeError, "can't be set"),
    (lambda t: t.get_node("relu").set_arg(1, "x"), ValueError, r"in \[0, 1\)"),
    (lambda t: t.get_node("relu").set_arg_by_node(0, t.get_node("split")), ValueError, "out_idx"),
    (lambda t: t.get_node("relu").set_arg(0, "a.b"), ValueError, "attribute of self"),
    (lambda t: Node.create_call_cell(double, ["x"]), TypeError, "create_call_cell"),
    (lambda t: Node.create_call_function(nn.ReLU(), ["x"]), TypeError, "create_call_function"),
    (lambda t: ScopedValue.create_naming_value(3), TypeError, "'name'"),
    (lambda t: ScopedValue.create_name_values(["a"], []), ValueError, "as many scopes"),
], ids=range(17))
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call(tree_of())


def test_source_that_is_not_there():
    made = {}
    exec("from lamella import nn\nclass A(nn.Cell):\n    def construct(self, x): return x", made)
    with pytest.raises(RuntimeError, match="can't be read"):
        SymbolTree.create(made["A"]())


def test_kinds_have_mindspores_numbers():
    assert {kind.name: kind.value for kind in NodeType} == {
        "Unknown": 0, "CallCell": 1, "CallPrimitive": 2, "CallModule": 3, "CallFunction": 4,
        "CallMethod": 5, "Python": 6, "Input": 7, "Output": 8, "Tree": 9, "CellContainer": 10,
        "MathOps": 11, "ControlFlow": 12}
    assert {kind.name: kind.value for kind in ValueType} == {
        "ConstantValue": 0, "TupleValue": 20, "ListValue": 21, "DictValue": 22, "NamingValue": 40,
        "CustomObjValue": 41, "UnsupportedValue": 50}


def test_what_a_part_of_the_network_gives_is_no_variable():
    tree = SymbolTree.create(Net())
    names = set(tree._reader.variables)
    here, x = (ScopedValue.create_naming_value(*of) for of in (("here", "self"), ("x",)))
    node = Node.create_call_cell(nn.ReLU(), targets=[here], args=[x], name="relu")
    tree.insert(tree.after(list(tree.nodes())[0]), node)
    assert "here" not in tree._reader.variables and names <= set(tree._reader.variables)
