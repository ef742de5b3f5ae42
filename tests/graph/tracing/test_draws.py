"""Random numbers of Python and NumPy that a compiled function draws: the eager stream."""

import random
import warnings
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops

CALLS = 14


def plain(value: Any) -> Any:
    """A value that can be compared exactly."""
    if isinstance(value, ms.Tensor):
        return str(value.dtype), value.asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return type(value), [plain(part) for part in value]
    return (type(value), value.tolist()) if isinstance(value, np.ndarray) else (
        type(value), repr(value))


def outcomes(function: Any, calls: int) -> list[Any]:
    """What calls give, each with a draw of the caller's between them."""
    random.seed(3)
    np.random.seed(3)
    ms.manual_seed(3)
    found: list[Any] = []
    for number in range(calls):
        x = ms.Tensor(np.random.RandomState(number).randn(4).astype(np.float32))
        try:
            found.append(plain(function(x)))
        except (ValueError, ZeroDivisionError, IndexError) as error:
            found.append((type(error), str(error)))
        found.append((random.random(), np.random.rand()))
    return found


def checked(make: Any, calls: int = CALLS) -> dict[str, Any]:
    """Compare calls eagerly and compiled; returns the report."""
    compiled = ms.jit(make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcomes(compiled, calls)
    wanted = outcomes(make(), calls)
    for number, pair in enumerate(zip(found, wanted, strict=True)):
        assert pair[0] == pair[1], (number, *pair)
    return compiled.report()


def scale():
    return lambda x: x * random.random()


def greedy():
    def step(x):
        if random.random() < 0.5:
            return random.randrange(4), x
        return int(x.argmax()), x + 1

    return step


def of_numpy():
    return lambda x: x * np.random.rand() + np.random.randint(10) - np.random.normal(0.0, 2.0)


def array():
    return lambda x: x + ms.Tensor(np.random.randn(4).astype(np.float32))


def noise():
    return lambda x: x + ms.Tensor(np.random.uniform(-1, 1, (4,)), ms.float32)


def own_python():
    rng = random.Random(5)
    return lambda x: (x * rng.uniform(-1, 1), rng.gauss(0, 1))


def own_numpy():
    rng = np.random.default_rng(5)
    return lambda x: (x * rng.random() + ms.Tensor(rng.normal(size=4), ms.float32), rng.integers(9))


def old_numpy():
    rng = np.random.RandomState(5)
    return lambda x: x * rng.rand() + rng.randn()


def in_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rng = np.random.default_rng(1)
            self.dense = nn.Dense(4, 2, weight_init="ones", has_bias=False)
            self.eps = 0.9

        def construct(self, x):
            self.eps *= 0.95
            return self.dense(x.reshape(1, 4)) * self.rng.uniform(0, self.eps)

    return Net()


def in_loop():
    def step(x):
        for number in range(5):
            x = x * random.random() + number
        return x

    return step


def permuted():
    return lambda x: x[ms.Tensor(np.random.permutation(4))]


def shuffled():
    def step(x):
        order = [0, 1, 2, 3]
        random.shuffle(order)
        return x * order[0] + order[1]

    return step


def kept_shuffled():
    order = list(range(6))

    def step(x):
        random.shuffle(order)
        return x * 2, list(order)

    return step


def sampled():
    return lambda x: (random.sample(range(100), 3), x * random.choices([1.0, 2.0], k=2)[0])


def chosen():
    return lambda x: {"a": x + 1, "b": x * 2}[random.choice(["a", "b"])]


def in_gradient():
    def loss(x):
        return (x * x * random.random()).sum()

    return ms.value_and_grad(loss)


def in_hook():
    def step(x):
        halve = ops.InsertGradientOf(lambda gradient: gradient * random.uniform(0, 1))
        return ms.grad(lambda x: (halve(x) * x).sum())(x)

    return step


def raising():
    def step(x):
        first = random.random()
        if first < 0.3:
            raise ValueError("too small")
        return x * first + np.random.rand()

    return step


def after_a_read():
    def step(x):
        first = random.random()
        if x.sum() > 0:
            return x * first * random.random()
        return x + first

    return step


def kept():
    history = []

    def step(x):
        history.append(random.random())
        return x * 2, history[-1]

    return step


def only_appended():
    history: list[float] = []

    def step(x):
        history.append(random.random())
        return x * history[0]

    def called(x):
        return step(x), list(history)

    return called


def compared_with_tensor():
    return lambda x: x + 1 if random.random() < float(x.sum()) else x - 1


def beside_lamellas():
    return lambda x: (x * random.random() > 0.1).astype(ms.float32) * np.random.rand()


def dropping():
    def step(x):
        return x * 0 if random.random() < 0.5 else x

    return step


def drawn_bounds():
    def step(x):
        low = random.randint(1, 5)
        return x * random.randint(low, low + 5), random.randint(0, low)

    return step


def training():
    net = nn.Dense(4, 1, weight_init="ones", has_bias=False)
    optimizer = nn.SGD(net.trainable_params(), 0.01)
    gradients = ms.value_and_grad(lambda x: (net(x.reshape(1, 4)) ** 2).sum(), None,
                                  optimizer.parameters)
    losses = []

    def step(x):
        noise = ms.Tensor(np.random.normal(0, 0.1, 4).astype(np.float32))
        loss, grads = gradients(x + noise if random.random() < 0.7 else x)
        optimizer(grads)
        losses.append(float(loss))
        return float(loss), net.weight * 1

    return step


def listed():
    return lambda x: (x * ms.Tensor([random.random() for _ in range(4)], ms.float32),
                      x + ms.Tensor([1, random.random(), np.random.rand(), 2]))


def reduced():
    def step(x):
        noise = np.random.rand(4)
        return x * noise.mean() + noise[1], noise.tolist() + [noise.max()]

    return step


def of_a_class():
    class Noise:
        draw = random.uniform

    return lambda x: x * Noise.draw(0, 1) + Noise().draw(1, 2)


REPLAYED = [training, listed, of_a_class, reduced, scale, greedy, of_numpy, array, noise,
            own_python, own_numpy, old_numpy, in_loop, permuted, sampled, chosen, in_gradient,
            in_hook, raising, after_a_read, compared_with_tensor, dropping, drawn_bounds, in_cell,
            beside_lamellas]


@pytest.mark.parametrize("make", REPLAYED, ids=lambda make: make.__name__)
def test_replays_draw_what_the_program_draws(make):
    report = checked(make)
    assert report["replays"] >= 4 and not report["eager"], report


@pytest.mark.parametrize("make", [shuffled, kept_shuffled, kept, only_appended],
                         ids=lambda make: make.__name__)
def test_draws_that_are_kept(make):
    checked(make)
