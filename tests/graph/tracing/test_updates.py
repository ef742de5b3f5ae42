"""Updates of an optimizer in a recorded run."""

import operator

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.ir.operations import effects_of
from lamella.graph.tracing.updates import Update, Updates, may_wait, written_by
from tests.graph.passes.checks import used

OPTIMIZERS = {
    "adam": lambda p: nn.Adam(p, 0.1), "adamw": lambda p: nn.AdamWeightDecay(p, 0.1),
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9), "rmsprop": lambda p: nn.RMSProp(p, 0.1),
    "lamb": lambda p: nn.Lamb(p, 0.1)}
WIDE = 1536  # a copy of the weights would double the peak; states of random streams add little
X = ms.Tensor(np.linspace(-1, 1, 8 * 64).reshape(8, 64).astype(np.float32))


def training(optimizer="adam", width=64, after=lambda net, loss: loss, compiled=ms.jit):
    """A network, and a training step that gives what `after` makes of it."""
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(64, width), nn.ReLU(), nn.Dense(width, width))
    update = OPTIMIZERS[optimizer](net.trainable_params())
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, update.parameters)

    def step(x):
        loss, gradients = gradient(x)
        update(gradients)
        return after(net, loss)

    return net, compiled(step)


def values(net):
    return [p.asnumpy().copy() for p in net.trainable_params()]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "momentum"])
def test_the_first_call_takes_no_more_memory_than_later_ones(optimizer):
    _, step = training(optimizer, WIDE)
    first = used(lambda: step(X))[0]
    step(X)
    assert first <= 1.3 * used(lambda: step(X))[0]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weights_are_those_of_eager_steps(optimizer):
    found = []
    for compiled in (ms.jit, lambda step: step):
        net, step = training(optimizer, compiled=compiled)
        for _ in range(3):
            step(X)
            found.append(values(net))
    for ours, eager in zip(found[:3], found[3:], strict=True):
        for a, b in zip(ours, eager, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("optimizer", ["adam", "lamb"])
def test_an_error_after_the_update_leaves_it(optimizer, fullgraph):
    """As eagerly: also in the calls after so many that it isn't recorded any more."""
    def fail(net, loss):
        raise ValueError("afterwards")

    found = []
    for compiled in (lambda step: ms.jit(step, fullgraph=fullgraph), lambda step: step):
        net, step = training(optimizer, after=fail, compiled=compiled)
        for _ in range(6):
            with pytest.raises(ValueError, match="afterwards"):
                step(X)
            found.append(values(net))
    for ours, eager in zip(found[:6], found[6:], strict=True):
        for a, b in zip(ours, eager, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _printed(net, loss):
    print(float(net[0].bias.sum()))
    return loss


def _to_numpy(net, loss):
    return float(net[0].bias.asnumpy().sum())


AFTERWARDS = {
    "a sum": lambda net, loss: net[0].bias.sum(),
    "a view": lambda net, loss: net[0].weight[0],
    "a Parameter": lambda net, loss: net[0].bias,
    "a number": lambda net, loss: float(net[0].bias.sum()),
    "a branch": lambda net, loss: loss if net[0].bias.sum() > 0 else -loss,
    "printed": _printed, "an array": _to_numpy,
    "changed again": lambda net, loss: ops.assign_add(net[0].bias, ops.ones_like(net[0].bias)),
    "a forward pass": lambda net, loss: (net(X) ** 2).mean()}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("what", AFTERWARDS)
def test_what_comes_after_the_update_sees_it(what, capsys):
    found = []
    for compiled in (ms.jit, lambda step: step):
        net, step = training(after=AFTERWARDS[what], compiled=compiled)
        got = [np.array(ms.Tensor(step(X)).asnumpy()) for _ in range(3)]
        found.append([*got, *values(net), np.array(capsys.readouterr().out.split(), float)])
    for ours, eager in zip(*found, strict=True):
        np.testing.assert_allclose(ours, eager, rtol=1e-5, atol=1e-6)


def test_a_number_that_varies():
    """The dry run is undone without copies of the weights, and so it takes no more memory."""
    def training_with(compiled, width):
        net, _ = training(width=width)
        update = nn.Adam(net.trainable_params(), 0.1)
        gradient = ms.value_and_grad(lambda x, s: (net(x) ** 2).mean() * s, None,
                                     update.parameters)

        def step(x, scale):
            loss, gradients = gradient(x, scale)
            update(gradients)
            return loss

        return net, compiled(step)

    scales = (1.0, 0.5, 0.25, 0.125)
    _, step = training_with(ms.jit, WIDE)
    peaks = [used(lambda: step(X, s))[0] for s in scales]  # noqa: B023
    assert max(peaks) <= 1.3 * peaks[-1]
    (net, step), (other, eager) = [training_with(kind, 256) for kind in (ms.jit, lambda f: f)]
    for scale in scales:
        step(X, scale)
        eager(X, scale)
    for a, b in zip(values(net), values(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_fullgraph_undoes_a_run_that_is_no_graph():
    def later(net, loss):
        net[0].bias.asnumpy()
        return loss

    net, step = training(after=later, compiled=lambda step: ms.jit(step, fullgraph=True))
    before = values(net)
    with pytest.raises(RuntimeError, match="can't be one graph"):
        step(X)
    for a, b in zip(before, values(net), strict=True):
        np.testing.assert_array_equal(a, b)


aten = torch.ops.aten
W, OTHER, TABLE = torch.zeros(3), torch.zeros(3), torch.eye(2).to_sparse()


@pytest.mark.parametrize("kernel, may", [
    (aten._foreach_add_.Scalar, True), (aten._fused_sgd_.default, True),
    (aten._foreach_add.Scalar, False), (aten.add_.Tensor, False), (aten._fused_sgd.default, False),
    (aten._amp_foreach_non_finite_check_and_unscale_.default, False)])
def test_an_optimizers_kernels_may_wait(kernel, may):
    assert may_wait(kernel) is may


@pytest.mark.parametrize("kernel, args, kwargs, needed", [
    (aten.add.Tensor, (W, OTHER), {}, True), (aten.add.Tensor, (OTHER, OTHER), {}, False),
    (aten.add.Tensor, (OTHER, 1), {}, False), (aten.cat.default, ([OTHER, W],), {}, True),
    (aten.view.default, (W, [3]), {}, False), (aten.reshape.default, (W, [3]), {}, True),
    (aten.add_.Tensor, (W, 1), {}, True), (aten.add_.Tensor, (W[1:], 1), {}, True),
    (aten.add_.Tensor, (OTHER, W), {}, True), (aten.add_.Tensor, (OTHER, 1), {}, False),
    (aten.mm.default, (TABLE, OTHER), {}, True), (aten.sin.out, (OTHER,), {"out": W}, True),
    (aten.sin.out, (OTHER,), {"out": OTHER}, False), (aten.ones.default, ([2],), {}, False)])
def test_which_kernels_need_updates_that_wait(kernel, args, kwargs, needed):
    updates = Updates()
    assert not updates and not updates.change([W])
    update = Update(aten._foreach_add_.Scalar, effects_of(aten._foreach_add_.Scalar), ([W], 1), {})
    updates.add(update)
    assert updates.are_needed_by(effects_of(kernel), args, kwargs) is needed
    assert updates and updates.change([OTHER, W[:1]]) and not updates.change([OTHER])
    assert updates.taken() == [update] and not updates and not updates.change([W])


def test_what_an_update_reads_may_not_change_before_it():
    updates, add = Updates(), aten._foreach_add_.List
    updates.add(Update(add, effects_of(add), ([W], [OTHER]), {}))
    change, read = effects_of(aten.add_.Tensor), effects_of(aten.sin.default)
    assert updates.are_needed_by(change, (OTHER, 1), {})
    assert not updates.are_needed_by(read, (OTHER,), {})


def test_what_kernels_write_to():
    running, x = (torch.zeros(2), torch.ones(2)), torch.ones(3, 2)
    for kernel, args, kwargs, wanted in (
            (aten.native_batch_norm.default, (x, None, None, *running, True, 0.1, 1e-5), {},
             running),
            (aten.native_batch_norm.default, (x, None, None, None, None, True, 0.1, 1e-5), {}, ()),
            (aten.sin.out, (x,), {"out": OTHER}, (OTHER,)), (aten.sin.default, (x,), {}, ()),
            (aten._foreach_add_.List, ([W, OTHER], [x, x]), {}, (W, OTHER))):
        found = list(written_by(effects_of(kernel), args, kwargs))
        assert len(found) == len(wanted) and all(map(operator.is_, found, wanted))
