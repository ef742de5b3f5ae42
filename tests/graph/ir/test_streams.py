"""Which generators a graph advances, and how they are put back."""

import pytest
import torch

from lamella.graph.ir.streams import generators_restored, put_back, streams_of
from tests.graph.passes.checks import recorded

aten = torch.ops.aten
X = torch.rand(1, 1, 2, 4)


@pytest.mark.parametrize("fn, draws", [
    (lambda x: x * 2, False), (lambda x: torch.rand_like(x), True),
    (lambda x: [x * 2, x.clone().normal_()], True),
    (lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x, 0.0)[0], False)])
def test_a_graph_that_draws_advances_the_default_generator(fn, draws):
    found = streams_of(recorded(fn, X))
    assert found == ([torch.default_generator] if draws else [])


def own(value):
    """A graph that draws from a generator of its own, if that is one."""
    graph, root = torch.fx.Graph(), torch.nn.Module()
    root.stream = value
    x = graph.placeholder("x")
    held = graph.get_attr("stream")
    drawn = graph.call_function(aten.bernoulli.default, (x,), {"generator": held})
    graph.output([drawn, graph.call_function(aten.neg.default, (x,))])
    return torch.fx.GraphModule(root, graph)


def test_a_generator_of_its_own():
    stream = torch.Generator()
    graph = own(stream)
    assert streams_of(graph) == [torch.default_generator, stream]
    x, held, drawn, negative, _ = graph.graph.nodes
    for part, found in (([negative], []), ([held, negative], []),
                        ([held, drawn], [torch.default_generator, stream]),
                        ([drawn], [torch.default_generator])):
        assert streams_of(graph, part) == found
    assert streams_of(own(torch.ones(2))) == [torch.default_generator]  # a constant


@pytest.mark.parametrize("fails", [True, False])
def test_generators_are_put_back_whatever_happens(fails):
    streams = [torch.Generator().manual_seed(n) for n in range(2)]
    before = [s.get_state() for s in streams]
    drawn = []
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) if fails else generators_restored([]):
            with generators_restored(streams):
                drawn.append([torch.rand(3, generator=s).tolist() for s in streams])
                if fails:
                    raise ZeroDivisionError
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]
    assert all(torch.equal(s.get_state(), b) for s, b in zip(streams, before, strict=True))


def test_as_many_states_as_generators():
    stream = torch.Generator()
    with pytest.raises(ValueError, match="zip"):
        put_back([stream], [])
