"""Training as programs write it: several optimizers, averages, schedules, metrics, callbacks."""

import collections
import contextlib
import dataclasses
import math
import typing

import numpy as np

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from . import plain, program


def data(seed, rows=4, columns=3):
    return Tensor(np.random.RandomState(seed).randn(rows, columns).astype(np.float32))


def dense(columns=3, seed=0, out=1):
    net = nn.Dense(columns, out)
    draw = np.random.RandomState(seed)
    net.weight.set_data(Tensor(draw.randn(out, columns).astype(np.float32)))
    net.bias.set_data(Tensor(draw.randn(out).astype(np.float32)))
    return net


def training(net, optimizer):
    """A function of a batch that makes a step and gives the loss."""
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

    def step(x):
        loss, grads = gradient(x)
        optimizer(grads)
        return loss

    return step


def weights(net):
    return [plain(p.value()) for p in net.get_parameters()]


def rounded(numbers):
    return [round(number, 4) for number in numbers]


@program
def stops_early(wrap):
    net = dense()
    train = training(net, nn.SGD(net.trainable_params(), 0.1))

    class Stop:
        best, waited, stopped = math.inf, 0, False

        def update(self, loss):
            if loss < self.best - 1e-3:
                self.best, self.waited = loss, 0
            else:
                self.waited += 1
                self.stopped = self.waited >= 2

    stop = Stop()

    def step(x):
        if stop.stopped:
            return Tensor(-1.0)
        loss = train(x)
        stop.update(loss.item())
        return loss

    call, found = wrap(step), []
    for k in range(12):
        found += [plain(call(data(k % 3) * (3 if k == 8 else 1))), stop.waited, stop.stopped]
        if k == 9:
            stop.stopped, stop.waited = False, 0
    return rounded(map(float, found)), weights(net)


@program
def weights_averaged(wrap):
    net = dense()
    train = training(net, nn.Momentum(net.trainable_params(), 0.05, 0.9))

    class Average:
        def __init__(self):
            self.decay, self.step = 0.9, 0
            self.shadow = collections.OrderedDict(
                (p.name, p.value().copy()) for p in net.get_parameters())

        def update(self):
            self.step += 1
            decay = min(self.decay, (1 + self.step) / (10 + self.step))
            for p in net.get_parameters():
                self.shadow[p.name] = self.shadow[p.name] * decay + p * (1 - decay)

        @contextlib.contextmanager
        def applied(self):
            kept = {p.name: p.value().copy() for p in net.get_parameters()}
            for p in net.get_parameters():
                p.set_data(self.shadow[p.name])
            try:
                yield
            finally:
                for p in net.get_parameters():
                    p.set_data(kept[p.name])

    average = Average()

    def step(x, evaluate):
        loss = train(x)
        average.update()
        if not evaluate:
            return loss
        with average.applied():
            return net(x).mean()

    call, found = wrap(step), []
    for k in range(9):
        found.append(plain(call(data(k), k % 3 == 2)))
        if k == 5:
            average.decay = 0.1
    return found, plain(average.shadow), weights(net)


@program
def two_optimizers_in_turn(wrap):
    makes, tells = dense(2, 1, 3), dense(3, 2)
    of_makes = nn.SGD(makes.trainable_params(), 0.05)
    of_tells = nn.SGD(tells.trainable_params(), 0.05)
    loss_of = nn.BCEWithLogitsLoss()

    def tells_loss(x, z):
        real, made = tells(x), tells(ops.stop_gradient(makes(z)))
        return loss_of(real, ops.ones_like(real)) + loss_of(made, ops.zeros_like(made))

    def makes_loss(z):
        made = tells(makes(z))
        return loss_of(made, ops.ones_like(made))

    of_real = ms.value_and_grad(tells_loss, None, of_tells.parameters)
    of_made = ms.value_and_grad(makes_loss, None, of_makes.parameters)
    history: dict[str, list] = {"tells": [], "makes": []}
    settings = {"times": 2}

    def step(x, z):
        for _ in range(settings["times"]):
            loss, grads = of_real(x, z)
            of_tells(grads)
        history["tells"].append(loss)
        other, grads = of_made(z)
        of_makes(grads)
        history["makes"].append(float(other))  # known only after the first optimizer's update
        return loss + other

    call, found = wrap(step), []
    for k in range(8):
        settings["times"] = 2 if k < 5 else 1
        found.append(plain(call(data(k), data(k + 50, 4, 2))))
    return found, plain(history["tells"]), rounded(history["makes"]), weights(makes)


@program
def running_means(wrap):
    class Mean:
        def __init__(self):
            self.reset()

        def reset(self):
            self.value = self.mean = self.total = 0.0
            self.count = 0

        def update(self, value, count=1):
            self.value = value
            self.total += value * count
            self.count += count
            self.mean = self.total / self.count

    of_numbers, of_tensors = Mean(), Mean()

    def step(x):
        loss = (x ** 2).mean()
        of_numbers.update(loss.item(), x.shape[0])
        of_tensors.update(loss, 2)
        return loss * (2 if of_numbers.mean > 1 else 1)

    call, found = wrap(step), []
    for k in range(12):
        if k in (5, 8):
            (of_numbers if k == 5 else of_tensors).reset()
        found += [plain(call(data(k))), of_numbers.mean, plain(of_tensors.mean)]
    return rounded(found), of_numbers.count


@program
def counts_in_dicts_of_the_library(wrap):
    counts, totals = collections.Counter(), collections.defaultdict(float)
    latest: collections.OrderedDict[str, Tensor] = collections.OrderedDict()

    def step(x):
        kind = "large" if float(x.sum()) > 0 else "small"
        counts[kind] += 1
        totals[kind] += float(x.sum())
        latest["mean"] = latest.get("mean", 0.0) * 0.5 + x.mean()
        return latest["mean"] * counts["large"]

    call, found = wrap(step), []
    for k in range(14):
        if k == 7:
            del counts["large"], latest["mean"]
        if k == 10:
            totals.default_factory = lambda: 100.0
            totals.clear()
        found.append(plain(call(data(k))))
    return found, dict(counts), list(totals), rounded(totals.values())


@program
def default_values_replaced(wrap):
    values = collections.defaultdict(lambda: 2.0)

    def step(x):
        value = values["a"]
        del values["a"]
        return x * value

    call, found = wrap(step), []
    for k in range(6):
        if k == 3:
            values.default_factory = lambda: 5.0
        found.append(plain(call(data(k))))
    return found


@program
def scale_of_a_loss(wrap):
    net = dense()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x, scale: (net(x) ** 2).mean() * scale, None,
                                 optimizer.parameters)

    class Scale:
        value, steps = 1024.0, 0

    def step(x):
        loss, grads = gradient(x, Scale.value)
        grads = tuple(g / Scale.value for g in grads)
        if all(bool(ops.isfinite(g).all()) for g in grads):
            optimizer(grads)
            Scale.steps += 1
            if Scale.steps % 3 == 0:
                Scale.value *= 2
        else:
            Scale.value, Scale.steps = max(1.0, Scale.value / 2), 0
        return loss

    call, found = wrap(step), []
    for k in range(10):
        found += [plain(call(data(k) * (math.inf if k in (4, 7) else 1))), Scale.value]
    return list(map(repr, found)), weights(net)


@dataclasses.dataclass
class Progress:
    step: int = 0
    loss: typing.Any = None
    history: list = dataclasses.field(default_factory=list)

    @property
    def rate(self):
        return 0.1 / (1 + self.step)


@program
def progress_in_a_dataclass(wrap):
    progress = Progress()

    def step(x):
        progress.step += 1
        progress.loss = (x * progress.rate).sum()
        progress.history.append(progress.loss)
        return progress.loss

    call, found = wrap(step), []
    for k in range(8):
        if k == 5:
            progress.step = 100
        found += [plain(call(data(k))), progress.step, len(progress.history)]
    return found, plain(progress.history)


@program
def samples_in_a_ring(wrap):
    class Memory(nn.Cell):
        def __init__(self):
            super().__init__()
            self.queue = Parameter(ops.zeros((6, 3)), requires_grad=False)
            self.place = Parameter(Tensor(0, ms.int32), requires_grad=False)

        def construct(self, x):
            start = int(self.place)
            self.queue[start:start + 2] = x
            self.place.set_data(Tensor((start + 2) % 6, ms.int32))
            return self.queue.sum(0)

    memory = Memory()
    call, found = wrap(lambda x: memory(x)), []
    for k in range(10):
        if k == 6:
            memory.place.set_data(Tensor(0, ms.int32))
        found += [plain(call(data(k, 2))), int(memory.place)]
    return found, plain(memory.queue)
