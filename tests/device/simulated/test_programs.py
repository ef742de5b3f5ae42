"""Programs that change what a captured graph reads, between its replays: results are the CPU's."""

import os
import tempfile
import threading
from unittest import mock

import numpy as np
import pytest

import lamella as ms
from lamella import amp, nn, ops
from lamella.graph.runtime import execution, stage
from tests.device.simulated import target

RNG = np.random.default_rng(5)
X = RNG.standard_normal((8, 6)).astype(np.float32)
Y = RNG.standard_normal((8, 3)).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(6, 16)
        self.norm = nn.BatchNorm1d(16)
        self.last = nn.Dense(16, 3)

    def construct(self, x):
        return self.last(ops.tanh(self.norm(self.dense(x))))


def training(seed=2, kind=nn.Adam):
    """A network, its optimizer, and a function that returns a loss and gradients."""
    ms.set_seed(seed)
    net = Net()
    net.set_train()
    optimizer = kind(net.trainable_params(), 0.02)
    return net, optimizer, ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None,
                                             optimizer.parameters)


def weights_are_replaced(wrap):
    net, *_ = training()
    net.set_train(False)
    answer, found = wrap(lambda x: net(x)), []
    for i in range(14):
        if i % 3 == 0:
            net.dense.weight.set_data(net.dense.weight * 1.25)
        if i == 9:
            net.last.weight = ms.Parameter(net.last.weight * 2, name="other")
        net.last.bias[0] = float(i)
        found.append(answer(ms.Tensor(X + i)))
    return found


def checkpoints_are_loaded(wrap):
    net, optimizer, gradient = training()

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    step, found = wrap(step), []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("net.ckpt", "optimizer.ckpt")]
        for i in range(18):
            for each, path in zip((net, optimizer), paths, strict=True):
                if i == 7:
                    ms.save_checkpoint(each, path)
                if i in (11, 15):
                    ms.load_param_into_net(each, ms.load_checkpoint(path))
            found.append(step(ms.Tensor(X), ms.Tensor(Y)))
    return found


def losses_overflow(wrap):
    net, optimizer, _ = training(kind=nn.SGD)
    scaler = amp.DynamicLossScaler(1024, 2, 4)
    gradient = ms.value_and_grad(lambda x, y: scaler.scale(((net(x) - y) ** 2).mean()), None,
                                 optimizer.parameters)

    def step(x, y):
        _, gradients = gradient(x, y)
        gradients = scaler.unscale(gradients)
        finite = amp.all_finite(gradients)
        if finite:
            optimizer(gradients)
        scaler.adjust(finite)
        return finite

    step, found = wrap(step), []
    for i in range(18):
        finite = step(ms.Tensor(X), ms.Tensor(Y * (np.float32("inf") if i in (6, 7, 13) else 1)))
        found += [finite, scaler.scale_value.copy()]
    return found + list(net.trainable_params())


def optimizers_take_turns(wrap):
    net, optimizer, gradient = training()
    both, used = [optimizer, nn.SGD(net.trainable_params(), 0.1)], []

    def step(x, y):
        loss, gradients = gradient(x, y)
        used[-1](gradients)
        return loss, gradients[0]

    step, found = wrap(step), []
    for i in range(20):
        used[:] = [both[i // 4 % 2]]
        found += step(ms.Tensor(X), ms.Tensor(Y))
    return found


def values_are_written(wrap):
    """Results, arguments, and a Tensor that the function holds."""
    held = ms.Tensor(X)
    function = wrap(lambda x: (x, x[2:], (ops.tanh(x + held).sum(0) * x).cumsum(1), x * held))
    x, found = ms.Tensor(X), []
    for i in range(14):
        _, view, made, product = function(x)
        view[0] = 9.0 + i
        made[0] = 1.0
        x[1] = float(i)
        held += 0.5
        found += [view, made, product, x.copy()]
    return found


def strides_and_aliases_differ(wrap):
    function = wrap(lambda a, b: (ops.tanh(a) * b).cumsum(0) - (a - b).sum(0))
    x, other, turned = ms.Tensor(X[:6]), ms.Tensor(X[2:]), ms.Tensor(X[:6]).T
    pairs = [(x, other), (x, x), (turned, x), (x[:], x), (ms.Tensor(X[0]).broadcast_to((6, 6)), x)]
    return [function(*pair) for _ in range(5) for pair in pairs]


def threads_train(wrap):
    made, found = [], [[], [], []]
    for seed in range(3):
        _, optimizer, gradient = training(seed)

        def step(x, y, optimizer=optimizer, gradient=gradient):
            loss, gradients = gradient(x, y)
            optimizer(gradients)
            return loss

        made.append(wrap(step))

    def work(number):
        for _ in range(12):
            found[number].append(made[number](ms.Tensor(X + number), ms.Tensor(Y)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [loss for each in found for loss in each]


def batches_come_from_workers(wrap):
    _, optimizer, gradient = training()

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    step, found = wrap(step), []
    rows = ms.dataset.NumpySlicesDataset({"x": np.tile(X, (6, 1)), "y": np.tile(Y, (6, 1))},
                                         shuffle=False)
    rows = rows.map(lambda x: x * np.float32(1.5), ["x"], num_parallel_workers=2).batch(8)
    for _ in range(3):
        for x, y in rows.create_tuple_iterator():
            found += [step(x, y), x]
    return found


def numbers_draw(wrap):
    """The same draws as on the device without capture; a CPU draws others."""
    generator = ms.Generator()
    function = wrap(lambda x: (ops.tanh(x + ms.mint.rand(8, 6, generator=generator)).cumsum(0),
                               ops.dropout(x, 0.5) * 2))
    found = []
    for i in range(18):
        if i in (0, 12):
            generator.manual_seed(7)
            ms.set_seed(i)
        found += function(ms.Tensor(X))
    return found


PROGRAMS = {program.__name__: program for program in (
    weights_are_replaced, checkpoints_are_loaded, losses_overflow, optimizers_take_turns,
    values_are_written, strides_and_aliases_differ, threads_train, batches_come_from_workers,
    numbers_draw)}


@pytest.mark.parametrize("names", [sorted(PROGRAMS)[0::2], sorted(PROGRAMS)[1::2]])
def test_results_of_captured_programs(names):
    for name in names:
        program, captured = PROGRAMS[name], []

        class Only(stage.Autotuner):
            """The captured way alone, so that a slow machine chooses it too."""

            def __init__(self, candidates, decided, captured=captured):
                ways = {kind: way for kind, way in candidates.items() if "captured" in kind}
                captured.extend(ways)
                super().__init__(ways or candidates, decided)

        ms.set_device(target.NAME, target.INDEX)
        with mock.patch.multiple(execution, HOT=0.0, WARM=0.0), mock.patch.object(
                stage, "Autotuner", Only):
            found = program(ms.jit)
        if program is not numbers_draw:
            ms.set_device("CPU")
        wanted = program(lambda function: function)
        assert captured, name
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=1e-4,
                                       err_msg=name)
