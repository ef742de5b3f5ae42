"""The pass that runs convolutions in channels-last layout."""

import sys

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.lazy_module import copied
from lamella.graph.passes import order, trial
from lamella.graph.passes.channels_last import channels_last
from lamella.graph.passes.order import simplify
from lamella.graph.passes.trial import pays
from lamella.graph.tracing.recorder import Recorder
from tests.graph.passes.checks import check_same, count, recorded, used


def rewritten(function, inputs):
    graph = recorded(function, *inputs)
    better = copied(graph)
    found = channels_last(better, inputs)
    if found is not None:
        simplify(found)
        found.recompile()
        check_same(graph, found, inputs, 1e-9)
    return graph, found


def step(x, w1, b1, w2, w3, velocity, running):
    """A training step of a small network, with everything that is used around convolutions."""
    weights = [w.detach().requires_grad_() for w in (w1, b1, w2, w3)]
    y = F.max_pool2d(F.conv2d(x, weights[0], weights[1], padding=1).tanh(), 2)
    z = F.conv2d(y, weights[2], padding=1)
    mean = z.mean((0, 2, 3))
    running.copy_(0.9 * running + 0.1 * mean.detach())
    z = F.batch_norm(z, None, None, training=True) + y
    z = F.avg_pool2d(z.sigmoid(), 2)
    loss = (z.flatten(1) @ weights[3]).square().mean()
    gradients = torch.autograd.grad(loss, weights)
    velocity.mul_(0.9).add_(gradients[2])
    w1.sub_(0.1 * gradients[0])
    w2.sub_(velocity)
    return loss.detach(), z.detach(), gradients[0], gradients[3]


@pytest.fixture
def inputs():
    torch.manual_seed(0)
    shapes = [(2, 3, 8, 8), (4, 3, 3, 3), (4,), (4, 4, 3, 3), (16, 5), (4, 4, 3, 3), (4,)]
    return [torch.randn(s, dtype=torch.float64) for s in shapes]


def test_a_training_step_is_the_same(inputs):
    graph, found = rewritten(step, inputs)
    assert found is not None
    clones = [n for n in found.graph.nodes if "clone" in str(n.target)
              and n.kwargs.get("memory_format") is torch.channels_last]
    assert clones
    metas = [n.meta.get("tensor_meta") for n in found.graph.nodes if n not in clones]
    assert any(f and len(f.shape) == 4 and f.stride[1] == 1 for f in metas)  # the chain stays so
    assert count(found, "clone") - count(graph, "clone") <= 12


def test_mixed_precision_stays_in_this_layout():
    """Casts of activations pass it on."""
    def step(x, w, v, scale):
        y = F.conv2d(x.bfloat16(), w.bfloat16(), padding=1)
        y = F.batch_norm(y.float(), None, None, scale, scale, training=True).bfloat16().relu()
        return F.conv2d(F.max_pool2d(y, 2), v.bfloat16()).float().mean((2, 3))

    inputs = [torch.randn(2, 16, 8, 8), torch.randn(16, 16, 3, 3), torch.randn(4, 16, 1, 1),
              torch.ones(16)]
    graph, found = rewritten(step, inputs)
    assert found is not None
    assert count(found, "clone") - count(graph, "clone") <= 1


def test_graphs_without_convolutions_stay():
    _, found = rewritten(lambda x: x * 2, [torch.randn(2, 3, 4, 4)])
    assert found is None
    _, found = rewritten(lambda x, w: F.conv1d(x, w), [torch.randn(1, 2, 8), torch.randn(3, 2, 3)])
    assert found is None


@pytest.mark.parametrize("channels, stride, stays", [(3, 2, True), (3, 1, False), (16, 2, False)])
def test_convolutions_whose_gradient_would_write_past_its_memory_stay(channels, stride, stays):
    def function(x, w):
        given = [x.detach().requires_grad_(), w.detach().requires_grad_()]
        return torch.autograd.grad(F.conv2d(*given, stride=stride).square().sum(), given)

    inputs = [torch.randn(2, channels, 8, 8, dtype=torch.float64),
              torch.randn(4, channels, 1, 1, dtype=torch.float64)]
    assert (rewritten(function, inputs)[1] is None) == stays


def test_values_changed_in_place_keep_their_layout():
    def function(x, w):
        y = F.conv2d(x, w)
        rows = y.view(-1)
        y.mul_(2)
        return rows.clone(), y

    _, found = rewritten(function, [torch.randn(2, 3, 5, 5, dtype=torch.float64),
                                    torch.randn(4, 3, 2, 2, dtype=torch.float64)])
    assert found is not None


def test_results_keep_their_strides():
    _, found = rewritten(lambda x, w: F.conv2d(x, w).tanh(),
                         [torch.randn(2, 3, 5, 5, dtype=torch.float64),
                          torch.randn(4, 3, 2, 2, dtype=torch.float64)])
    assert found is not None


def test_the_pass_draws_no_random_numbers():
    stream = torch.Generator().manual_seed(1)

    def function(x, w):
        y = F.dropout(F.conv2d(x, w), 0.5, True)
        return y + torch.rand(y.shape, generator=stream)

    inputs = [torch.randn(2, 3, 5, 5), torch.randn(4, 3, 2, 2)]
    trace = Recorder(inputs)
    with trace:
        found = function(*inputs)
    graph = trace.finished([found])
    before = torch.get_rng_state(), stream.get_state()
    other = channels_last(graph, inputs)
    assert other is not None
    assert pays(graph, other, inputs) in (True, False)
    for was, now in zip(before, (torch.get_rng_state(), stream.get_state()), strict=True):
        assert torch.equal(was, now)


def test_a_trial_draws_the_same_numbers_twice(monkeypatch):
    stream = torch.Generator().manual_seed(1)
    trace = Recorder([torch.zeros(3)])
    with trace:
        found = torch.rand(3, generator=stream)
    graph = trace.finished([found])
    seen = []
    monkeypatch.setattr(trial, "agree_but_for_kinks",
                        lambda wanted, got, again: seen.extend([wanted, got]))
    pays(graph, copied(graph), [torch.zeros(3)])
    assert torch.equal(seen[0][0], seen[1][0])


def test_kernels_are_compared_one_by_one():
    """Where rounding decides on signs, whole graphs differ though each kernel is right."""
    torch.manual_seed(0)
    x, w = torch.randn(2, 32, 9, 9), torch.randn(32, 32, 3, 3)
    inputs = [x, w, F.conv2d(x, w, padding=1)]
    graph = recorded(lambda x, w, y: (F.conv2d(x, w, padding=1) - y).sign(), *inputs)
    found = channels_last(graph, inputs)
    assert found is not None and found.meta["verified"]


LAYOUTS = torch.library.Library("lamella_layouts", "DEF")  # noqa: TOR901
LAYOUTS.define("tilted(Tensor x) -> Tensor", tags=(torch.Tag.pointwise,))
LAYOUTS.impl("tilted", lambda x: x + (0 if x.is_contiguous() else 1e-3), "CPU")


def test_a_kernel_that_is_wrong_in_the_new_layout_is_rejected():
    inputs = [torch.randn(2, 3, 5, 5), torch.randn(4, 3, 2, 2)]

    def rewriting_of(function):
        graph = recorded(function, *inputs)
        return channels_last(graph, inputs)

    assert rewriting_of(lambda x, w: F.conv2d(x, w).tanh()) is not None
    assert rewriting_of(
        lambda x, w: torch.ops.lamella_layouts.tilted(F.conv2d(x, w)).tanh()) is None


def test_kernels_are_compared_in_one_process_only(monkeypatch, tmp_path, inputs):
    """A later one makes the graph again by what it reads from disk."""
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    monkeypatch.setattr(order, "ATTEMPTS", {"channels last": channels_last})
    monkeypatch.setattr(order, "pays", lambda *_: True)
    graph, compared = recorded(step, *inputs), []

    def agree(wanted, got, *rest):
        compared.append(len(got))
        return True

    monkeypatch.setattr(sys.modules[channels_last.__module__], "agree_but_for_kinks", agree)
    made = []
    for _ in range(2):
        graph.meta.clear()  # as in another process
        made.append(order.improve(graph, inputs, measure=True))
    count_first = len(compared)
    assert count_first and len(made[0].graph.nodes) == len(made[1].graph.nodes)
    graph.meta.clear()
    order.improve(graph, inputs, measure=True)
    assert len(compared) == count_first
    check_same(graph, made[1], inputs, 1e-9)


def test_weights_are_not_copied_for_the_whole_step(inputs):
    _, found = rewritten(step, inputs)
    assert found is not None
    copies = [n for n in found.graph.nodes if n.target is torch.ops.aten.clone.default
              and n.args[0].op == "placeholder"
              and n.args[0].meta["tensor_meta"].shape[2:] == (3, 3)]
    assert not copies


def test_convolutions_after_a_mutation_of_inputs_are_rewritten():
    def step(x, weight):
        weight.sub_(0.1 * F.conv2d(x, weight).mean())
        return F.conv2d(x, weight).tanh()

    given = [torch.randn(2, 4, 6, 6, dtype=torch.float64),
             torch.randn(4, 4, 3, 3, dtype=torch.float64)]
    _, found = rewritten(step, given)
    assert found is not None
    layouts = [n.args[0].meta["tensor_meta"].stride[1] for n in found.graph.nodes
               if n.target is torch.ops.aten.convolution.default]
    assert layouts == [1, 1]


def test_large_states_that_are_written_last_take_no_memory():
    def step(x, weight, state):
        state.mul_(0.9).add_(F.conv2d(x, weight).mean())
        return state * 1

    given = [torch.randn(1, 2, 4, 4), torch.randn(2, 2, 3, 3), torch.randn(1000, 1000)]
    graph = recorded(step, *given)
    most, _ = used(lambda: channels_last(graph, given))
    assert most < given[2].nbytes / 2


def is_last(node):
    return node.meta["tensor_meta"].stride[1] == 1


@pytest.mark.parametrize("function, shapes, is_rewritten", [
    (lambda x: F.max_pool2d(x, 2), [(2, 4, 8, 8)], True),
    (lambda x: F.max_pool2d(x, 2), [(4, 8, 8)], False),
    (F.conv3d, [(1, 2, 3, 4, 4), (3, 2, 2, 2, 2)], False),
    (lambda x, w: F.conv2d(x, w, stride=2), [(2, 3, 8, 8), (4, 3, 3, 3)], True),
    (lambda x, w: F.conv2d(x, w, stride=2), [(2, 3, 8, 8), (4, 3, 3, 1)], True),
    (lambda x, w: F.conv2d(x, w, stride=(1, 2)), [(2, 3, 8, 8), (4, 3, 1, 1)], False),
    (lambda x, w: F.conv2d(x, w, stride=(2, 1)), [(2, 15, 8, 8), (4, 15, 1, 1)], False),
    (lambda x, w: F.conv2d(x, w, stride=(2, 2)), [(2, 16, 8, 8), (4, 16, 1, 1)], True),
    (lambda x, w: F.conv2d(x, w, padding=1), [(2, 3, 8, 8), (4, 3, 1, 1)], True)])
def test_which_kernels_take_channels_last(function, shapes, is_rewritten):
    _, found = rewritten(function, [torch.randn(shape, dtype=torch.float64) for shape in shapes])
    assert (found is not None) is is_rewritten
    if found is not None:
        (kernel,) = [n for n in found.graph.nodes if n.target in (
            torch.ops.aten.convolution.default, torch.ops.aten.max_pool2d_with_indices.default)]
        assert is_last(kernel.args[0])


def test_a_gradient_takes_both_values_with_channels_last(inputs):
    _, found = rewritten(step, inputs)
    assert found is not None
    kernels = [n for n in found.graph.nodes
               if n.target is torch.ops.aten.convolution_backward.default]
    assert len(kernels) == 2
    for kernel in kernels:
        gradient, x, weight = kernel.args[:3]
        assert is_last(gradient) and is_last(x) and weight.op == "placeholder"


def test_a_value_beside_one_with_channels_last_is_converted_once():
    """Else each sum would have the order of the first term, and each convolution would convert."""
    def function(x, w, b):
        y = b + F.conv2d(x, w)
        return (F.conv2d(y, w) * F.conv2d(y.sin(), w)).sum((2, 3))

    shapes = [(2, 4, 8, 8), (4, 4, 3, 3), (2, 4, 6, 6)]
    graph, found = rewritten(function, [torch.randn(s, dtype=torch.float64) for s in shapes])
    assert found is not None and count(found, "clone") - count(graph, "clone") == 2


@pytest.mark.parametrize("function", [
    lambda y, b: y.mean(2).cumsum(1), lambda y, b: y.mean(2).view(-1) * 2,
    lambda y, b: y.sum(1).flip(0), lambda y, b: [y.view(-1), y.flip(1), y.permute(0, 2, 3, 1)],
    lambda y, b: b.sin().add_(y), lambda y, b: b.sin()[0].copy_(y[0]),
    lambda y, b: [(parts := y.split(2, 1))[0] * 2, parts[1].mul_(2), y.sin()],
    lambda y, b: [b.add_(y).sum(), y], lambda y, b: [b.add_(y.mean()), y.sin()],
    lambda y, b: [b.sub_(y.view(-1).sum()), b.mul_(y)], lambda y, b: [y.mul_(2).view(-1), y]])
def test_what_depends_on_strides_reads_the_recorded_ones(function):
    """Results, their strides and the memory that they share are the same."""
    inputs = [torch.randn(s, dtype=torch.float64) for s in [(2, 3, 8, 8), (4, 3, 3, 3),
                                                            (2, 4, 6, 6)]]
    _, found = rewritten(lambda x, w, b: function(F.conv2d(x, w), b), inputs)
    assert found is not None


LAYOUTS.define("tilt_(Tensor(a!) x, Tensor y) -> ()", tags=(torch.Tag.pointwise,))
LAYOUTS.impl("tilt_", lambda x, y: (x.add_(y if y.is_contiguous() else y + 1e-3), None)[1], "CPU")
LAYOUTS.define("last_is_second(Tensor x) -> (Tensor, Tensor)", tags=(torch.Tag.pointwise,))
LAYOUTS.impl("last_is_second", lambda x: (x * 1, x * (1 if x.is_contiguous() else 2)), "CPU")


@pytest.mark.parametrize("change, is_rewritten", [
    (lambda y: torch.ones(y.shape).add_(y), True),
    (lambda y: (value := torch.ones(y.shape), torch.ops.lamella_layouts.tilt_(value, y))[0], False),
    (lambda y: torch.ops.lamella_layouts.last_is_second(y)[1], False)])
def test_all_that_a_kernel_gives_and_writes_is_compared(change, is_rewritten):
    inputs = [torch.randn(2, 3, 5, 5), torch.randn(4, 3, 2, 2)]
    graph = recorded(lambda x, w: change(F.conv2d(x, w)) * 1, *inputs)
    found = channels_last(graph, inputs)
    assert (found is not None) is is_rewritten
    if found is not None:
        check_same(graph, found, inputs)
