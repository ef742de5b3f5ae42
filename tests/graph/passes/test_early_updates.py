"""Parameters are updated once their gradients are complete, with equal results and less memory."""

import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops
from lamella.graph.passes import early_updates
from lamella.graph.passes.early_updates import update_early
from lamella.graph.passes.embeddings import add_rows
from lamella.graph.passes.memory import Liveness
from lamella.graph.passes.order import simplify
from lamella.graph.runtime import execution
from lamella.graph.runtime.program import extension
from tests.graph.passes.checks import check_same, recorded, used
from tests.graph.passes.training import (
    LAYERS,
    WIDTH,
    adam,
    chain,
    decayed_before,
    inputs_of,
    let_every_size_pay,
    momentum,
    places,
    step_of,
)
from tests.zygote import run


@pytest.fixture(autouse=True)
def every_size_pays(monkeypatch):
    """Also small steps, each gradient by itself; and nothing is tried meanwhile."""
    let_every_size_pay(monkeypatch)
    monkeypatch.setattr(execution, "HOT", float("inf"))
    monkeypatch.setattr(execution, "WARM", float("inf"))


def check_exact(step, inputs):
    """The graph with early updates, which gives the same in each bit."""
    graph = recorded(step, *inputs)
    simplify(graph)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)
    assert Liveness(early.graph).peak < early_updates.PAYS * Liveness(graph.graph).peak
    return early


@pytest.mark.parametrize("update, name", [(adam, "_fused_adamw_"), (momentum, "_fused_sgd_"),
                                          (decayed_before, "_fused_adamw_")])
def test_each_update_runs_before_the_next_layers_gradient(update, name):
    early = check_exact(step_of(chain, update), inputs_of())
    found = places(early, name)
    assert len(found) == LAYERS
    backward = places(early, "tanh_backward")
    assert all(any(a < i < b for i in found)
               for a, b in zip(backward[1:], backward[2:], strict=False))


def test_a_weight_is_read_for_the_gradient_before_it_changes():
    early = check_exact(step_of(chain, momentum), inputs_of())
    nodes = list(early.graph.nodes)
    for place, node in enumerate(nodes):
        if "_fused_sgd_" in str(node.target):
            for weight in node.args[0]:
                readers = [n for n in nodes if weight in n.all_input_nodes and n is not node]
                views = [v for r in readers for v in r.users]
                assert all(nodes.index(n) < place for n in [*readers, *views])


def test_small_gradients_share_a_call(monkeypatch):
    monkeypatch.setattr(early_updates, "TOGETHER", 2 * 4 * WIDTH * WIDTH)
    early = check_exact(step_of(chain, adam), inputs_of(8))
    assert len(places(early, "_fused_adamw_")) == 4


def tied(x, weights):
    """A table that is read and multiplied with, around two layers."""
    read = F.embedding(torch.tensor([1, 3, 3]), weights[0])
    for weight in weights[1:]:
        read = torch.tanh(read @ weight[:WIDTH])
    return (read @ weights[0].t()).logsumexp(-1).sum() + x.sum()


def test_a_tied_table_is_updated_last():
    early = check_exact(step_of(tied, adam), inputs_of(4, rows=40))
    updates = [n for n in early.graph.nodes if "_fused_adamw_" in str(n.target)]
    table = next(iter(early.graph.nodes)).next  # the second input
    assert [table in n.args[0] for n in updates] == [False] * (len(updates) - 1) + [True]


def test_what_waits_for_a_second_gradient_is_made_later():
    """The table's gradient by the product is as large as the table, its inputs are small."""
    def loss(x, weights):
        read = F.embedding(torch.arange(5), weights[0])
        for weight in weights[1:]:
            read = torch.tanh(read @ weight)
        for _ in range(40):  # values that are kept for the backward pass
            read = read.sin()
        return (read @ weights[0].t()).logsumexp(-1).sum()

    inputs = inputs_of()
    inputs[1::LAYERS] = [torch.rand(400, WIDTH) for _ in range(3)]
    graph = recorded(step_of(loss, adam), *inputs)
    simplify(graph)
    assert add_rows(graph) == 1
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)
    made = next(i for i, n in enumerate(early.graph.nodes) if n.target is torch.ops.aten.mm.default
                and n.meta["tensor_meta"].shape == (400, WIDTH))
    assert made > max(places(early, "tanh_backward"))


def clipped(gradients):
    norm = torch.stack([(g * g).sum() for g in gradients]).sum().sqrt()
    return [g * (1.0 / norm) for g in gradients]


def scaled_back(gradients):
    finite = torch.stack([g.isfinite().all() for g in gradients]).all()
    return [torch.where(finite, g, torch.zeros_like(g)) for g in gradients]


@pytest.mark.parametrize("change", [clipped, scaled_back])
def test_where_all_gradients_decide_nothing_changes(change):
    graph = recorded(step_of(chain, adam, change), *inputs_of())
    found = update_early(graph)
    if found is not None:  # each scaled gradient may still die before the next is made
        check_same(graph, found, inputs_of(), tolerance=0)
        assert min(places(found, "_fused_adamw_")) > max(places(found, "tanh_backward"))


@pytest.mark.parametrize("after", [
    lambda weights, gradients: [weights[0] * 2],
    lambda weights, gradients: [sum(w.sum() for w in weights)],
    lambda weights, gradients: [weights[1].t()],
    lambda weights, gradients: [weights[0].mul_(0.5), weights[0].sum()],
    lambda weights, gradients: [gradients[0], gradients[1][:2]],
    lambda weights, gradients: [gradients[0].add_(weights[0])],
])
def test_what_reads_or_changes_weights_and_gradients_afterwards(after):
    inputs = inputs_of(6)
    graph = recorded(step_of(chain, adam, after=after), *inputs)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)


def test_a_weight_that_two_layers_share():
    check_exact(step_of(lambda x, w: chain(x, [*w, w[-1], *w[:1]]), momentum), inputs_of(6))


def test_two_weights_with_one_gradient():
    def loss(x, weights):
        return chain(x, [weights[0] + weights[1], *weights[2:]])

    check_exact(step_of(loss, adam), inputs_of(6))


def test_no_update_runs_before_a_kernel_that_data_may_stop():
    def loss(x, weights):
        x = torch.tanh(x @ weights[0])
        x = x + x.detach()[x.detach()[:, 0].long().abs() % 3]
        return chain(x, weights[1:])

    early = update_early(recorded(step_of(loss, adam), *inputs_of()))
    assert early is not None

    class Checked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):  # an index of the data's in the backward pass
            return g[(g[:, 0] > 9).long()] * 0 + g

    def stopped(x, weights):
        return chain(Checked.apply(torch.tanh(x @ weights[0])), weights[1:])

    graph = recorded(step_of(stopped, adam), *inputs_of())
    found = update_early(graph) or graph
    assert min(places(found, "_fused_adamw_")) > max(places(found, "index"))


def test_random_updates_keep_their_place():
    def noisy(weights, gradients, moments, lr):
        adam(weights, gradients, moments, lr)
        weights[0].add_(torch.randn(WIDTH, WIDTH))

    assert update_early(recorded(step_of(chain, noisy), *inputs_of())) is None


def test_small_steps_stay(monkeypatch):
    monkeypatch.undo()
    assert update_early(recorded(step_of(chain, adam), *inputs_of())) is None


class Net(nn.Cell):
    def __init__(self, width=64, layers=6):
        super().__init__()
        self.table = nn.Embedding(32, width)
        self.layers = nn.CellList([nn.Dense(width, width) for _ in range(layers)])
        self.norm = nn.LayerNorm((width,))

    def construct(self, tokens):
        x = self.table(tokens)
        for layer in self.layers:
            x = x + ops.gelu(layer(x))
        return self.norm(x) @ self.table.embedding_table.swapaxes(0, 1)


def schedule():
    return nn.learning_rate_schedule.ExponentialDecayLR(1e-2, 0.9, 2)


OPTIMIZERS = {
    "adam": lambda p: nn.Adam(p, 1e-2),
    "adamw": lambda p: nn.AdamWeightDecay(p, 1e-2, weight_decay=0.1),
    "momentum": lambda p: nn.Momentum(p, 1e-2, 0.9),
    "adagrad": lambda p: nn.Adagrad(p, learning_rate=1e-2),
    "schedule": lambda p: nn.AdamWeightDecay(p, schedule()),
    "groups": lambda p: nn.Adam([{"params": p[:3], "lr": 1e-2}, {"params": p[3:]}], 1e-3),
}


def trained(make, compiled, clip=None, half=False):
    ms.set_seed(5)
    net = Net()
    optimizer = make(net.trainable_params())
    tokens = ms.Tensor(np.random.default_rng(0).integers(0, 32, (2, 5)), ms.int32)

    def forward(tokens):
        return ops.cross_entropy(net(tokens).reshape(-1, 32), tokens.reshape(-1))

    if half:
        forward = ms.amp.auto_mixed_precision(forward, "auto", ms.bfloat16)
    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(tokens):
        loss, gradients = gradient(tokens)
        optimizer(gradients if clip is None else ops.clip_by_global_norm(gradients, clip))
        return loss

    step = ms.jit(step) if compiled else step
    losses = [float(step(tokens)) for _ in range(4)]
    step.network = net
    return step, tokens, [*losses, *(p.asnumpy() for p in optimizer.parameters)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_compiled_steps_train_as_eager_ones(name):
    _, _, wanted = trained(OPTIMIZERS[name], compiled=False)
    step, _, got = trained(OPTIMIZERS[name], compiled=True)
    assert step.report()["replays"] == 3
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("options", [{}, {"clip": 0.1}, {"half": True}])
def test_early_updates_change_no_bit(options, monkeypatch):
    _, _, early = trained(OPTIMIZERS["adamw"], True, **options)
    monkeypatch.setattr(early_updates, "LEAST", 2**40)
    _, _, late = trained(OPTIMIZERS["adamw"], True, **options)
    for a, b in zip(early, late, strict=True):
        assert np.array_equal(a, b)


def test_gradients_die_early():
    step, tokens, found = trained(OPTIMIZERS["adamw"], True)
    weights = sum(p.nbytes for p in found[4:])
    assert used(lambda: step(tokens))[0] < 0.6 * weights


def test_a_kernel_that_fails_leaves_the_weights_as_they_were():
    """The run goes on eagerly, and raises what an eager step does."""
    step, tokens, _ = trained(OPTIMIZERS["adamw"], True)
    net = step.network
    before = [p.asnumpy().copy() for p in net.trainable_params()]
    with pytest.raises(RuntimeError, match="For .embedding., the rows in .input. must be in"):
        step(ms.Tensor(np.full((2, 5), 99), ms.int32))
    for p, old in zip(net.trainable_params(), before, strict=True):
        assert np.array_equal(p.asnumpy(), old)
    assert np.isfinite(float(step(tokens)))


@pytest.mark.parametrize("read, added, bad", [
    (lambda p: p, lambda p: ops.zeros((40, 30)).index_add_(1, p.reshape(-1), ops.ones((40, 10))),
     31),  # along the other dimension
    (lambda p: p[:1], lambda p: ops.zeros((32, 4)).index_add_(0, p[1], ops.ones((5, 4))), 99),
    (lambda p: p, lambda p: ops.zeros((32, 4)).index_add_(0, p.mul_(3).reshape(-1),
                                                          ops.ones((10, 4))), 31)])
def test_places_that_a_table_of_another_length_has_may_fail_later(read, added, bad):
    """The table has 32 rows; the places are others then, or those of something shorter."""
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), 1e-2)
    gradient = ms.value_and_grad(lambda tokens: net(tokens).logsumexp(-1).sum(), None,
                                 optimizer.parameters)

    @ms.jit
    def step(tokens):
        places = tokens * 1
        loss, gradients = gradient(read(places))
        found = added(places)
        optimizer(gradients)
        return loss, found.sum()

    good = np.arange(10).reshape(2, 5)
    for _ in range(3):
        step(ms.Tensor(good, ms.int64))
    before = [p.asnumpy().copy() for p in net.trainable_params()]
    good[1, 2] = bad
    with pytest.raises((RuntimeError, IndexError), match="ind(ex|ices)"):
        step(ms.Tensor(good, ms.int64))
    for p, old in zip(net.trainable_params(), before, strict=True):
        assert np.array_equal(p.asnumpy(), old)


def test_what_an_interrupt_could_end_between_two_updates_stays(monkeypatch):
    """Python's executor looks for interrupts between two kernels."""
    monkeypatch.setattr(extension, "load", lambda: None)
    step, tokens, found = trained(OPTIMIZERS["adamw"], True)
    weights = sum(p.nbytes for p in found[4:])
    assert used(lambda: step(tokens))[0] > 0.9 * weights


PROGRAM = """
import numpy as np
import lamella as ms
from lamella import nn

WIDTH, LAYERS = 1024, 12

def most():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

net = nn.SequentialCell(*[nn.Dense(WIDTH, WIDTH, has_bias=False) for _ in range(LAYERS)])
optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

@ms.jit
def step(x):
    loss, gradients = gradient(x)
    optimizer(gradients)
    return loss

x = ms.Tensor(np.ones((8, WIDTH), np.float32))
for _ in range(2):
    step(x)
from lamella.machine.memory import release
release()
before = int(open("/proc/self/statm").read().split()[1]) * 4096
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
step(x)
print((most() - before) / (4 * LAYERS * WIDTH * WIDTH))
"""


def test_the_peak_of_a_process():
    own = {name: value for name, value in os.environ.items() if name != "LAMELLA_CACHE"}
    ended = run("-c", PROGRAM, env=own)  # where the executor in C++ has been built
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) < 0.6  # of the bytes of all gradients; they were 1.1
