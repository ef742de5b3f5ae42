"""Cell: what it owns, and which names that may have."""

import pytest

from lamella import Parameter, Tensor, nn


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.b = Parameter(Tensor([0.0, 0.0]))


def names(net):
    return [p.name for p in net.get_parameters()]


class Named(nn.Cell):
    width = None

    @property
    def shape(self):
        return self.size

    def area(self):
        return 0


@pytest.mark.parametrize("name", ["width", "area", "shape", "to", "cls_name"])
@pytest.mark.parametrize("give", [
    lambda n, name: setattr(n, name, Parameter(Tensor([1.0]))),
    lambda n, name: n.insert_param_to_cell(name, Parameter(Tensor([1.0]))),
    lambda n, name: n.insert_child_to_cell(name, Layer()),
    lambda n, name: n.register_buffer(name, Tensor([1.0])),
])
def test_names_of_the_class_are_not_free(give, name):
    net = Named()
    net.size = 3
    with pytest.raises(KeyError, match=f"has an attribute '{name}' already"):
        give(net, name)
    assert not names(net) and not net.name_cells()


def test_cells_take_the_place_of_methods_but_not_of_properties():
    net = Named()
    for name in ("area", "width"):
        setattr(net, name, Layer())
        assert getattr(net, name) is net.name_cells()[name]
    # the property has no value yet: it reads what is registered
    setattr(net, "shape", Layer())  # noqa: B010
    assert names(net)[-1] == "shape.b" and net.shape is net.name_cells()["shape"]
    net = Named()
    net.size = 3
    with pytest.raises(KeyError, match="has an attribute 'shape' already"):
        setattr(net, "shape", Layer())  # noqa: B010
    assert net.shape == 3


def test_a_child_that_is_none_is_no_cell():
    net = nn.Cell()
    net.first, net.second = Layer(), Layer()
    net.insert_child_to_cell("nothing", None)
    net.insert_child_to_cell("again", net.first)
    assert list(net.name_cells()) == ["first", "second"]
    assert list(net.cells()) == [net.first, net.second]
    assert [n for n, _ in net.cells_and_names()] == ["", "first", "second"]
