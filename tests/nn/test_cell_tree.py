"""Cell: what it owns, and which names that may have."""

import numpy as np
import pytest

from lamella import Parameter, Tensor, grad, nn


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


def test_buffers_that_are_shared_or_missing():
    net = Layer()
    net.inner = nn.Cell()
    shared = Tensor([1.0])
    net.register_buffer("one", shared)
    net.register_buffer("none", None)
    net.inner.register_buffer("again", shared)
    net.inner.register_buffer("own", Tensor([2.0]))
    assert [name for name, _ in net.named_buffers()] == ["one", "inner.own"]
    assert [name for name, _ in net.named_buffers("net")] == ["net.one", "net.inner.own"]
    assert [name for name, _ in net.named_buffers(remove_duplicate=False)] == [
        "one", "inner.again", "inner.own"]
    assert [name for name, _ in net.named_buffers(recurse=False)] == ["one"]
    assert [one.asnumpy().item() for one in net.buffers()] == [1, 2]
    assert [one.asnumpy().item() for one in net.buffers(recurse=False)] == [1]


@pytest.mark.parametrize("recurse", [False, True])
def test_new_memory_for_what_a_cell_owns(recurse):
    """What is None stays so; with `recurse` Cells below get theirs, too."""
    net = Layer()
    net.inner = Layer()
    for cell in (net, net.inner):
        cell.insert_param_to_cell("nothing", None)
        cell.register_buffer("none", None)
        cell.register_buffer("one", Tensor([[1.0, 2.0]]))

    def places():
        return [value._raw.data_ptr() for cell in (net, net.inner) for value in (cell.b, cell.one)]

    kept = [value._raw for cell in (net, net.inner) for value in (cell.b, cell.one)]
    before = places()
    assert net.to_empty(recurse=recurse) is net
    assert [a != b for a, b in zip(before, places(), strict=True)] == [True, True, recurse, recurse]
    assert len(kept) == 4 and net.b.shape == net.inner.b.shape == (2,)
    assert net.one.shape == (1, 2) and net.none is net.nothing is net.inner.none is None


@pytest.mark.parametrize("given, factor", [
    (lambda g: None, 1), (lambda g: (g[0] * 3,), 3), (lambda g: g[0] * 4, 4)])
def test_what_a_hook_before_the_backward_pass_gives(given, factor):
    """Nothing, a tuple, or one Tensor in place of the gradient; in the order of their adding.

    MindSpore 2.10 calls them in this order, too.
    """
    net, calls = nn.Dense(2, 1), []
    net.register_backward_pre_hook(lambda cell, g: calls.append("first") or (g[0] + 1,))
    handle = net.register_backward_pre_hook(lambda cell, g: calls.append("second") or given(g))
    x = Tensor([[1.0, 2.0]])
    np.testing.assert_allclose(grad(net)(x).asnumpy(), 2 * factor * net.weight.asnumpy(),
                               rtol=1e-6)
    assert calls == ["first", "second"]
    handle.remove()
    np.testing.assert_allclose(grad(net)(x).asnumpy(), 2 * net.weight.asnumpy(), rtol=1e-6)


def test_what_is_read_before_init_says_what_to_call():
    class Early(nn.Cell):
        def __init__(self):
            self.missing  # noqa: B018

    with pytest.raises(AttributeError, match=r"'missing'; call super\(\).__init__\(\) first"):
        Early()


@pytest.mark.parametrize("name", ["", "a.b", "."])
def test_names_of_buffers_have_no_dots(name):
    with pytest.raises(KeyError, match="must not be empty or contain"):
        nn.Cell().register_buffer(name, Tensor(1.0))


def test_only_parameters_without_elements_are_redundant():
    net = nn.SequentialCell(nn.Dense(2, 3))
    net[0].empty = Parameter(Tensor(np.zeros((0, 2), np.float32)), name="empty")
    net[0].insert_param_to_cell("none", None)
    net.remove_redundant_parameters()
    assert [path for path, _ in net.parameters_and_names()] == ["0.weight", "0.bias"]
