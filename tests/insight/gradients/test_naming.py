"""Names of Cells and Parameters, each once."""

from lamella import Parameter, Tensor, nn
from lamella.insight.gradients.naming import Names


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(2, 3)
        self.scale = Parameter(Tensor([1.0]), name="scale")

    def construct(self, x):
        return self.layer(x) * self.scale


def test_paths_in_a_network():
    net = nn.SequentialCell(Block(), nn.ReLU())
    names = Names(net, [net])
    assert names.is_cell and names.name == "SequentialCell" and names.roots == [net]
    assert [names.of_cell(cell) for cell in (None, net, net[0], net[0].layer, net[1])] == [
        "", "", "0", "0.layer", "1"]
    assert [names.kind_of(path) for path in ("", "0", "0.layer", "1", "none")] == [
        "SequentialCell", "Block", "Dense", "ReLU", ""]
    assert names.owner(net[0].scale) == "0" and names.owner(net[0].layer.weight) == "0.layer"
    assert names.owner(Parameter(Tensor([1.0]), name="scale")) is None
    assert [p.name for p in names.other_parameters([net[0].scale])] == [
        p.name for p in net.get_parameters() if p is not net[0].scale]


def test_cells_of_a_function():
    first, second, other = Block(), Block(), nn.ReLU()

    def loss(x):
        return first(second(x))

    names = Names(loss, [first, second, first.layer])
    assert (names.is_cell, names.name) == (False, "loss")
    assert [names.of_cell(cell) for cell in (first, second, first.layer)] == [
        "first", "second", "first.layer"]
    assert names.of_cell(other) == "ReLU" and names.of_cell(nn.ReLU()) == "ReLU 4"
    weights = [first.scale, second.scale]
    assert [names.of_parameter(p) for p in (*weights, first.scale)] == [
        "scale", "scale (2)", "scale"]
    assert names.of_parameter(Parameter(Tensor([1.0]), name="scale")) == "scale (3)"
