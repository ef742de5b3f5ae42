"""Numbers that a program reads from tensors (`item`, `float`) stay values of the graph."""

import math
import random
import threading
import types
import warnings
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops
from lamella.graph.tracing.python_functions import conversions
from lamella.graph.tracing.stand_ins import in_place

CALLS = 10


def tensor(*shape, seed):
    return ms.Tensor(np.random.RandomState(seed).randn(*shape).astype(np.float32))


def same(make, inputs):
    """Call a function eagerly and compiled; returns the compiled one's report."""
    eager, compiled = make(), ms.jit(make())
    for x in inputs:
        wanted, found = (_outcome(f, x) for f in (eager, compiled))
        assert _alike(found, wanted), (x, found, wanted)
    return compiled.report()


def _outcome(function, x):
    try:
        return function(x)
    except (TypeError, ZeroDivisionError, ValueError, OverflowError) as error:
        return type(error), str(error)


def _alike(a, b):
    if isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(b, ms.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(
            a.asnumpy(), b.asnumpy(), 1e-5, 1e-6, equal_nan=True)
    if isinstance(b, float):
        return type(a) is float and (a == b or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
                                     or a != a and b != b)
    return type(a) is type(b) and a == b


def appended():
    kept = []

    def step(x):
        kept.append(float((x ** 2).mean()))
        return x * 2

    return step


def trained():
    ms.set_seed(1)
    net = nn.Dense(4, 1)
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

    def step(x):
        loss, gradients = gradient(x)
        number = loss.item()
        optimizer(gradients)
        return number, net.weight * 1

    return step


def clipped(x):
    norm = float(ops.norm(x))
    if norm > 2.0:
        x = x / norm
    return x * 3, norm


def computed(x):
    a, b = x.sum().item(), int((x > 0).sum())
    c = (a * 2 - b / 8 + 1) / (abs(a) + 1.5)
    return c, -b, b * 3 + 1, x * c + b, 2 - c, 1 / (b + 1)


def changed_afterwards(x):
    total = x.sum()
    before = float(total)
    total += 1
    return before, total


def as_whole_tensors(x):
    filled = ops.full((2,), x.mean().item(), dtype=ms.float32)
    return filled, ms.Tensor([1, 2]) * x.argmax().item()


def best():
    class Best:
        value = 1e9

    own = Best()

    def step(x):
        loss = float((x ** 2).sum())
        if loss < own.value:
            own.value = loss
        return own.value

    return step


@pytest.mark.parametrize("make", [
    appended, trained, lambda: clipped, lambda: computed, lambda: changed_afterwards,
    lambda: as_whole_tensors, best], ids="appended trained clipped computed changed whole best"
    .split())
def test_numbers_that_are_read_stay_in_the_graph(make):
    report = same(make, [tensor(3, 4, seed=i) for i in range(CALLS)])
    assert not report["eager"] and report["replays"] >= CALLS - 6


def test_numbers_that_are_printed(capsys):
    def step(x):
        print("loss", float(x.sum()), x.argmax().item())
        return x + 1

    inputs = [tensor(3, seed=i) for i in range(CALLS)]
    for x in inputs:
        step(x)
    wanted = capsys.readouterr().out
    compiled = ms.jit(step)
    for x in inputs:
        compiled(x)
    assert capsys.readouterr().out == wanted
    assert compiled.report()["replays"] >= CALLS - 4


def test_special_values():
    def step(x):
        a = x.sum().item()
        return a * 2, a > 1, a == a, bool(x.sum()), x * a, 1 / (a + 1)

    values = [1.0, 2.5, -0.0, 0.0, math.inf, -math.inf, math.nan, 1e30, -1.0, 1e-40, 3.0, 4.0]
    report = same(lambda: step, [ms.Tensor([v], ms.float32) for v in values])
    assert report["replays"] and not report["eager"]


def test_a_fraction_is_compared_exactly():
    def step(x):
        return float(x[0]) > 0.1, float(x[0]) < 0.3

    values = [0.1, 0.3, 0.2, 0.1, 0.3, 0.5, np.nextafter(np.float32(0.1), np.float32(0))]
    report = same(lambda: step, [ms.Tensor([v], ms.float32) for v in values * 2])
    assert report["replays"] and not report["eager"]


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_large_whole_numbers():
    def step(x):
        n = x.max().item()
        return n, n > 2**31, n == 2**62 + 1

    values = [1, 2, 3, 2**31 + 1, 2**53 + 1, 2**62 + 1, 2**63 - 1, -2**63, 5]
    same(lambda: step, [ms.Tensor(np.array([v], np.int64)) for v in values * 2])


# an int and a float that are read, and an int among the arguments
FEW = [(3, 0.5, 2), (4, 1.5, 3), (-5, -2.5, 4), (6, 7.25, 5), (7, 9.5, 3)]
LARGE = [(2**31 - 1, 2.0**31, 2**31), (-2**31, -1e12, -2**31), (2**53 + 1, 2.0**53, 2**53 + 1),
         (2**62, 2.0**63, 2**62), (-2**63, math.inf, 2**31 + 5), (5, math.nan, 7)]


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("largest", [LARGE[:3], LARGE[3:]], ids=["large", "largest"])
@pytest.mark.parametrize("use", [
    "n * n", "n + n", "n - n * 3", "-n", "abs(n)", "n * (2**31 - 1)", "n * 2**31", "n + 2**62",
    "n / 7", "1 / n", "n // 7, n % 7", "divmod(n, 7)", "divmod(7, n)", "divmod(a, 0.75)",
    "n * k", "k - n", "n < k, k <= n", "a * k", "a < k, k == a", "n == a, n > a", "n + a, a / n",
    "a * n + k", "float(n), int(n), float(a)", "int(a)", "math.hypot(a, k)",
    "max(n, k), min(a, n)", "math.floor(a), round(a)", "float(n) * 2 + k", "n ** 2", "n + True"])
def test_numbers_that_64_bits_may_not_hold(use, largest):
    names = {"math": math}
    exec(f"def step(n, a, k):\n    n, a = n.item(), float(a)\n    return {use}\n", names)
    step = names["step"]
    compiled = ms.jit(step)
    for n, a, k in [*FEW, *largest, *FEW]:
        wanted, found = (_outcome(lambda given, f=f: f(*given), (
            ms.Tensor(np.int64(n)), ms.Tensor(np.float64(a)), k)) for f in (step, compiled))
        assert repr(found) == repr(wanted)
    assert compiled.report()["replays"] > 0


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_programs_that_need_the_value_agree_with_eager_calls():
    def step(x):
        n = int((x > 0).sum())
        return ops.arange(n) * 2, [0] * n, f"{n:03d}", round(float(x[0]), 2)

    same(lambda: step, [tensor(12, seed=i) for i in range(CALLS)])


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through:UserWarning")
def test_a_gradient_through_a_factor_that_was_read():
    def step(x):
        return ms.grad(lambda x: (x * float(ops.stop_gradient(x).sum()) + x.max().item()).sum())(x)

    report = same(lambda: step, [tensor(3, seed=i) for i in range(CALLS)])
    assert report["replays"] >= CALLS - 3


USES = {
    "append": lambda n, x, own: own.append(n),
    "scale": lambda n, x, own: x * n,
    "shift": lambda n, x, own: n - x,
    "branch": lambda n, x, own: x + 1 if n > 0.25 else x - 1,
    "nested": lambda n, x, own: x if -1 < n <= 1 else x / (abs(n) + 1),
    "truth": lambda n, x, own: x * 2 if n else x,
    "formula": lambda n, x, own: own.append((n * 3 - 1) / 4 + n),
    "with another": lambda n, x, own: own.append(n + own[-1] if own else -n),
    "whole": lambda n, x, own: x + ops.full((3,), n, dtype=ms.float32),
    "text": lambda n, x, own: own.append(str(n)[:2]),
    "power": lambda n, x, own: x * (n ** 2) % 3,
    "least": lambda n, x, own: ops.clamp(x, -abs(n) - 1.0, abs(n) + 1.0),
}
READS = {
    "float": lambda x: float(x.sum()), "item": lambda x: x.mean().item(),
    "count": lambda x: int((x > 0).sum()), "as float": lambda x: float((x > 0).sum()),
    "place": lambda x: x.argmax().item(), "element": lambda x: float(x[1]),
    "cut": lambda x: int(x.sum()),
}


def program(seed):
    draw = random.Random(seed)
    steps = tuple((READS[draw.choice(sorted(READS))], USES[draw.choice(sorted(USES))])
                  for _ in range(draw.randint(1, 4)))

    def step(x):
        own = []
        for read, use in steps:
            found = use(read(x), x, own)
            x = x if found is None else found
        return x, own

    return step


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    same(lambda: program(seed), [tensor(3, seed=100 * seed + i) for i in range(7)])


def test_lists_of_numbers():
    def make():
        kept = []

        def step(x):
            kept.append(x.tolist())
            first, second = (x * 2).astype(ms.int32).tolist()
            rows = ops.stack([x, x + 1]).tolist()
            return x * rows[0][1], rows, first + second, (x > 0).tolist()

        return step

    report = same(make, [tensor(2, seed=i).abs() for i in range(CALLS)])
    assert report["replays"] > 4 and not report["eager"]


def test_a_long_list_of_numbers_runs_eagerly():
    step = ms.jit(lambda x: sum(x.tolist()))
    with pytest.warns(UserWarning, match=r"makes Python numbers of a tensor .*test_read_scalars"):
        assert step(ops.ones(100)) == 100


def test_a_module_that_another_thread_runs_keeps_its_names():
    source = "def wait(begun, ended):\n    begun.set()\n    ended.wait()\n"
    busy: dict[str, Any] = {}
    exec(source, busy)
    idle: dict[str, Any] = {}
    reach: Any = types.SimpleNamespace(names=types.SimpleNamespace(spaces={
        number: (None, space, {"float": None, "int": None})
        for number, space in enumerate((busy, idle))}))
    begun, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=busy["wait"], args=(begun, ended))
    thread.start()
    try:
        assert begun.wait(120)
        with in_place(conversions(reach)):
            assert "float" not in busy and "int" not in busy
            assert isinstance(1.0, idle["float"]) and not isinstance(1, idle["float"])
    finally:
        ended.set()
        thread.join()
    assert not idle


UNSIGNED = [1, 2, 3, 4, 2**63 + 5, 2**64 - 1, 7]


@pytest.mark.parametrize("use", [
    lambda x: x.item(), lambda x: x.item() > 5, lambda x: float(x.item()), lambda x: [x.item()] * 2,
    lambda x: ms.Tensor([1.0]) * x.item(), lambda x: int(x), lambda x: -x.item()])
def test_numbers_that_64_bits_hold_only_without_a_sign(use):
    compiled = ms.jit(lambda x: (x.float() * 1, use(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for number in [*UNSIGNED, *UNSIGNED[::-1]]:
            x = ms.Tensor(np.array(number, np.uint64))
            assert repr(compiled(x)[1]) == repr(use(x))
