"""SequentialCell, CellList, CellDict."""

from collections import OrderedDict

import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn


class Add(nn.Cell):
    def __init__(self, value):
        super().__init__()
        self.v = Parameter(Tensor(value))

    def construct(self, x):
        return x + self.v


def names(net):
    return [p.name for p in net.get_parameters()]


def values(net):
    return [float(cell.v) for cell in net]


def test_sequential():
    net = nn.SequentialCell(Add(1.0), Add(2.0))
    assert float(net(Tensor(0.0))) == 3.0 and names(net) == ["0.v", "1.v"]
    net.append(Add(4.0))
    assert float(net(Tensor(0.0))) == 7.0 and len(net) == 3 and names(net)[-1] == "2.v"
    assert values(net[1:]) == [2.0, 4.0] and list(net[1:]._cells) == ["1", "2"]
    assert float(net[-1].v) == 4.0
    net[0] = Add(10.0)
    assert values(net) == [10.0, 2.0, 4.0] and names(net)[0] == "0.v"
    del net[0]
    assert values(net) == [2.0, 4.0] and names(net) == ["0.v", "1.v"]
    by_name = nn.SequentialCell(OrderedDict([("x", Add(1.0)), ("y", Add(2.0))]))
    assert names(by_name) == ["x.v", "y.v"] and float(by_name(Tensor(0.0))) == 3.0
    assert values(nn.SequentialCell([Add(1.0)])) == [1.0]
    assert bool(nn.SequentialCell()) and float(nn.SequentialCell()(Tensor(5.0))) == 5.0


def test_cell_list():
    cells = nn.CellList([Add(1.0), Add(2.0)])
    cells.append(Add(3.0)).extend([Add(4.0)])
    assert values(cells) == [1.0, 2.0, 3.0, 4.0]
    cells.insert(0, Add(0.0))
    assert values(cells) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert names(cells) == ["0.v", "1.v", "2.v", "3.v", "4.v"]
    cells.insert(-1, Add(9.0))
    assert values(cells) == [0.0, 1.0, 2.0, 3.0, 9.0, 4.0]
    del cells[1:3]
    assert values(cells) == [0.0, 3.0, 9.0, 4.0]
    assert names(cells) == ["0.v", "1.v", "2.v", "3.v"]
    assert values(cells[::2]) == [0.0, 9.0]
    assert not nn.CellList() and nn.CellList(Add(1.0), Add(2.0))
    with pytest.raises(NotImplementedError, match="a call isn't defined"):
        cells(Tensor(1.0))


def test_a_list_inside_a_network_is_named_by_it():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList([Add(1.0), Add(2.0)])

    net = Net()
    assert names(net) == ["layers.0.v", "layers.1.v"]
    net.layers.insert(0, Add(5.0))
    assert names(net)[1:] == ["layers.1.v", "layers.2.v"]


def appended(kind, size):
    """A Cell with a list that became an attribute first and got its Cells later."""
    net = nn.Cell()
    net.blocks = kind()
    for _ in range(size):
        net.blocks.append(Add(1.0))
    return net


@pytest.mark.parametrize("kind", [nn.CellList, nn.SequentialCell])
def test_what_is_added_to_a_list_is_named_as_what_is_there(kind):
    """Names recorded from MindSpore 2.10; its checkpoints have them."""
    net = nn.Cell()
    net.layers = kind([Add(1.0)])
    net.layers.append(Add(2.0))
    assert names(net) == ["layers.0.v", "layers.1.v"]
    net.layers[0] = Add(3.0)
    assert names(net) == ["layers.0.v", "layers.1.v"]
    del net.layers[0]
    net.layers.extend([Add(4.0), Add(5.0)])
    assert names(net) == ["layers.0.v", "layers.1.v", "layers.2.v"]

    assert names(appended(kind, 3)) == ["0.v", "1.v", "2.v"]
    # a list of lists: with one Parameter in the first, its own number is taken for the outer one
    net = nn.Cell()
    net.layers = kind([])
    for _ in range(3):
        net.layers.append(appended(kind, 1))
    assert names(net) == ["0.blocks.0.v", "0.blocks.1.blocks.0.v", "0.blocks.2.blocks.0.v"]
    net = nn.Cell()
    net.layers = kind([appended(kind, 1), appended(kind, 1)])
    net.layers.append(appended(kind, 1))
    assert names(net) == [f"layers.{n}.blocks.0.v" for n in range(3)]


def test_adding_to_containers_in_place_and_by_name():
    layers = nn.CellList([Add(1.0)])
    layers += [nn.ReLU(), Add(2.0)]
    assert names(layers) == ["0.v", "2.v"]
    net = nn.Cell()
    net.by_name = nn.SequentialCell(OrderedDict([(key, Add(1.0)) for key in "abc"]))
    net.by_name.append(Add(2.0))
    del net.by_name[0]
    assert names(net) == ["by_name.b.v", "by_name.c.v", "by_name.2.v"]
    net.table = nn.CellDict({"a": Add(1.0)})
    net.table["b"] = Add(2.0)
    assert names(net.table) == ["table.a.v", "table.b.v"]


def test_cell_dict():
    cells = nn.CellDict({"a": Add(1.0)})
    cells["b"] = Add(2.0)
    cells.update([("c", Add(3.0))])
    assert list(cells) == list(cells.keys()) == ["a", "b", "c"] and "b" in cells
    assert names(cells) == ["a.v", "b.v", "c.v"]
    assert float(cells.pop("a").v) == 1.0 and len(cells) == 2
    del cells["b"]
    assert [float(c.v) for c in cells.values()] == [3.0]
    assert [k for k, _ in cells.items()] == ["c"]
    cells.clear()
    assert not cells


@pytest.mark.parametrize("act, error, message", [
    (lambda: nn.SequentialCell([1]), TypeError, "each element must be a Cell, but got int"),
    (lambda: nn.SequentialCell(Add(1.0))[5], IndexError, r"must be in \[-1, 1\), but got 5"),
    (lambda: nn.SequentialCell(Add(1.0))["a"], TypeError, "must be an int or a slice, but got str"),
    (lambda: nn.CellList([Add(1.0), 3]), TypeError, "'CellList', each element.*got int"),
    (lambda: nn.CellList().extend(3), TypeError, "must be a list of Cells, but got int"),
    (lambda: nn.CellList().insert(4, Add(1.0)), IndexError, r"must be in \[0, 0\], but got 4"),
    (lambda: nn.CellDict({1: Add(1.0)}), TypeError, "the key must be a str, but got 1"),
    (lambda: nn.CellDict({"a": 1}), TypeError, "each value must be a Cell, but got int"),
    (lambda: nn.CellDict({"keys": Add(1.0)}), KeyError, "'keys' is the name of an attribute"),
    (lambda: nn.CellDict([("a", Add(1.0), 2)]), ValueError, "must be a pair.*got 3 elements"),
    (lambda: nn.CellDict(5), TypeError, "a dict or an iterable of pairs is expected, but got int"),
    (lambda: nn.CellDict({}, {}), TypeError, "got 2 arguments"),
])
def test_errors_say_what_was_wrong(act, error, message):
    with pytest.raises(error, match=message):
        act()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_list_indexed_by_a_tensor_in_a_graph(compiled):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.choices = nn.CellList([nn.ReLU(), nn.Sigmoid()])

        def construct(self, x, i):
            return self.choices[i](x)

    net, x = Net(), Tensor([2.0])
    run = ms.jit(net) if compiled else net
    if not compiled:
        with pytest.raises(TypeError, match="must be an int or a slice"):
            run(x, Tensor(1, ms.int32))
        return
    found = [run(x, Tensor(i, ms.int32)).item() for i in (1, 0, -1, 1)]
    assert found == pytest.approx([0.8807971, 2.0, 0.8807971, 0.8807971])
    for index, kind in ((Tensor(5, ms.int32), IndexError), (Tensor(1.0), ValueError)):
        with pytest.raises(kind):
            run(x, index)


@pytest.mark.parametrize("index", range(-4, 5))
def test_a_cell_is_inserted_where_a_list_would(index):
    numbers, cells = [1.0, 2.0, 3.0], nn.CellList([Add(1.0), Add(2.0), Add(3.0)])
    if -3 <= index <= 3:
        numbers.insert(index, 9.0)
        cells.insert(index, Add(9.0))
    else:
        with pytest.raises(IndexError, match=rf"must be in \[-3, 3\], but got {index}"):
            cells.insert(index, Add(9.0))
    zero = Tensor(0.0)
    assert [cell(zero).item() for cell in cells] == numbers


@pytest.mark.parametrize("part, after", [
    (slice(1, None), ["1", "2", "3", "4", "5"]), (slice(None, None, 2), ["0", "2", "3", "4", "5"]),
    (slice(0, 0), ["0", "1", "2"]), (slice(2, 3), ["2", "1", "3", "4"])])
def test_what_is_added_to_a_part_takes_no_cells_place(part, after):
    numbers = [1.0, 2.0, 4.0]
    net = nn.SequentialCell([Add(number) for number in numbers])[part]
    net.append(Add(8.0))
    net.extend([Add(16.0), Add(32.0)])
    assert values(net) == [*numbers[part], 8.0, 16.0, 32.0]
    assert names(net) == [f"{name}.v" for name in after] and list(net.name_cells()) == after


@pytest.mark.parametrize("kind", [nn.SequentialCell, nn.CellList])
@pytest.mark.parametrize("index", range(-4, 4))
def test_cells_are_found_replaced_and_deleted_where_a_list_has_them(kind, index):
    numbers = [1.0, 2.0, 3.0]
    got, put, left = (kind([Add(number) for number in numbers]) for _ in range(3))
    if not -3 <= index < 3:
        for act in (lambda: got[index], lambda: put.__setitem__(index, Add(9.0)),
                    lambda: left.__delitem__(index)):
            with pytest.raises(IndexError, match=rf"must be in \[-3, 3\), but got {index}"):
                act()
        return
    assert float(got[index].v) == numbers[index]
    put[index] = Add(9.0)
    del left[index]
    changed, fewer = list(numbers), list(numbers)
    changed[index] = 9.0
    del fewer[index]
    assert values(put) == changed and names(put) == ["0.v", "1.v", "2.v"]
    assert values(left) == fewer and names(left) == ["0.v", "1.v"]


def test_a_list_without_prefixes_leaves_names_alone():
    cells = nn.CellList([Add(1.0), Add(2.0)], auto_prefix=False)
    cells.insert(0, Add(3.0))
    del cells[1]
    cells.append(Add(4.0))
    cells[0] = Add(5.0)
    assert values(cells) == [5.0, 2.0, 4.0] and names(cells) == ["v"] * 3


def test_the_list_of_a_sequence_is_its_cells_unless_a_subclass_sets_it():
    net = nn.SequentialCell(Add(1.0), Add(2.0))
    assert net.cell_list == list(net)
    net.cell_list = [net[1]]
    assert net.cell_list == [net[1]] and float(net(Tensor(0.0))) == 3.0
