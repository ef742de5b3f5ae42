"""Numbers that change, counters, lists that grow: one graph, which gives what eager code gives."""

import collections
import math
import types
from math import exp

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

X = Tensor([1.0, -2.0, 3.0])


def same(make, calls, traces):
    """Check twins that `make` gives, a function and its state, and how often it is recorded."""
    eager, want = make()
    function, state = make()
    compiled = jit(function)
    for args in calls:
        np.testing.assert_allclose(compiled(*args).asnumpy(), eager(*args).asnumpy(), rtol=1e-6)
        assert repr(state()) == repr(want())
    report = compiled.report()
    assert not report["eager"]
    assert report["traces"] <= traces, report
    assert report["replays"] == len(calls) - report["traces"]
    return compiled


def stateless(fn):
    return lambda: (fn, lambda: None)


@pytest.mark.parametrize("fn", [
    lambda x, b: x * b + 1, lambda x, b: b - x / (b + 2), lambda x, b: (x > b) * 2.0 + b * b,
    lambda x, b: x * (1 - b) + abs(-b) * x, lambda x, b: ms.grad(lambda y: (y * y * b).sum())(x),
    lambda x, b: x.astype(ms.float16) * b, lambda x, b: x.astype(ms.int32) * b,
    lambda x, b: x.sum() * b, lambda x, b: [x * 2, x * 3][b > 100]],
    ids=[f"fn{n}" for n in range(9)])
def test_a_number_that_changes_is_an_input_from_its_second_value_on(fn):
    same(stateless(fn), [(X, b) for b in (0.1, 0.2, 0.3, 0.45, 2.5, 1e-3)], 2)
    same(stateless(fn), [(X, b) for b in (1, 2, 7, 40, -3, 0)], 2)


def test_mutable_numbers_and_numbers_in_structures():
    same(stateless(lambda x, b: x * b), [(X, ms.mutable(b)) for b in (0.1, 0.2, 0.3)], 2)
    pairs = ((0.1, 1), (0.2, 1), (0.3, 5), (0.5, 7), (1.5, 9))
    same(stateless(lambda x, t: x * t["a"][0] + t["b"]),
         [(X, {"a": (b, 1), "b": c}) for b, c in pairs], 3)


def test_a_branch_on_a_number_is_a_guard():
    fn = stateless(lambda x, b: x * b if b > 0.5 else x - b)
    same(fn, [(X, b) for b in (0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.4, 0.9)], 3)


class Functions:
    """Functions of `math` in a class, an object and a dict."""

    cosine = math.cos

    def __init__(self):
        self.sine, self.more = math.sin, {"exp": math.exp}


FUNCTIONS = Functions()
FORMULAS = {
    "float": lambda x, b: x * float(b) / (1 + b),
    "int": lambda x, b: x * int(b * 0.7) + int(float(b)),
    "power": lambda x, b: ops.abs(x) ** b, "exponent": lambda x, b: x * (1 - 0.9 ** b),
    "power of a number": lambda x, b: b ** x,
    "Tensor": lambda x, b: x * Tensor(b, ms.float32), "tensor": lambda x, b: x * ms.tensor(b),
    "full": lambda x, b: x + ops.full((3,), b, dtype=ms.float32), "cast": lambda x, b: x * ops.cast(
        b, ms.float32), "clip": lambda x, b: ops.clip(x, 0.0, b),
    "masked_fill": lambda x, b: ops.masked_fill(x, x > 1, b), "where": lambda x, b: ops.where(
        x > 1, x, b), "maximum": lambda x, b: ops.maximum(x, b), "lerp": lambda x, b: ops.lerp(
        x, x * 2, b), "sub": lambda x, b: ops.sub(b, x), "remainder": lambda x, b: x % b,
    "cosine": lambda x, b: x * 0.5 * (1 + math.cos(math.pi * b / 100)),
    "imported": lambda x, b: x * exp(-b), "rounded": lambda x, b: x * round(b, 1),
    "held by objects": lambda x, b: x * FUNCTIONS.cosine(b) + FUNCTIONS.sine(b) * FUNCTIONS.more[
        "exp"](b),
    "a gradient": lambda x, b: ms.grad(lambda y: (ops.abs(y) ** b).sum())(x),
    "changed in place": lambda x, b: x * Tensor(b, ms.float32).add_(1) + Tensor(b, ms.float32)}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_of_a_number_are_one_graph(name):
    same(stateless(FORMULAS[name]), [(X, b) for b in (0.5, 1.5, 2.0, 3.25, 0.25)], 2)


OF_NUMPY = {
    "counter": (np.int64(0), lambda n: n + 1, lambda x, n: x * n + n / 2),
    "counter of 32 bits": (np.int32(1), lambda n: n * np.int32(3), lambda x, n: x.int() * n),
    "float": (np.float64(1), lambda n: np.float64(0.9) * n - 1e-3, lambda x, n: n * x),
    "float of 32 bits": (np.float32(1), lambda n: 0.9 * n + np.float32(0.1), lambda x, n: x * n),
    "power": (np.float64(0.5), lambda n: np.float64(0.9) ** n, lambda x, n: x * n ** 2),
    "whole power": (np.int64(3), lambda n: n ** 2, lambda x, n: x * float(n)),
    "functions": (np.float64(1), lambda n: np.sqrt(n) + 1, lambda x, n: x * np.cos(math.pi * n)),
    "schedule": (0, lambda n: n + 1, lambda x, n: x * (1 + np.cos(np.pi * np.minimum(n, 9) / 9))),
    "conversions": (np.int64(0), lambda n: n + 1, lambda x, n: x * int(n) + round(float(n) / 3)),
    "branch": (np.int64(9), lambda n: n - 1, lambda x, n: x if np.int64(20) > n else x * n)}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_numbers_of_numpy_that_change(name):
    first, after, use = OF_NUMPY[name]

    def make():
        s = types.SimpleNamespace(number=first, seen=[])

        def step(x):
            s.number = after(s.number)
            s.seen.append(s.number)
            return use(x, s.number)

        return step, lambda: (s.number, s.seen)

    same(make, [(X,)] * 6, 2)


@pytest.mark.parametrize("use", [
    lambda n: np.add(n, 1.5), lambda n: np.subtract(n, n * 2), lambda n: np.hypot(np.float64(3), n),
    lambda n: np.less(n, 2), lambda n: np.power(np.float64(2), n), lambda n: np.divide(8.0, n),
    lambda n: np.arctan2(n, 2.0)], ids=range(7))
def test_functions_of_numpy_with_a_number_on_either_side(use):
    eager = [float(use(b)) for b in (0.5, 1.5, 2.5, 4.0)]
    compiled = jit(lambda x, b: x * float(use(b)))
    for b, want in zip((0.5, 1.5, 2.5, 4.0), eager, strict=True):
        np.testing.assert_allclose(compiled(X, b).asnumpy(), X.asnumpy() * want, rtol=1e-6)


def test_numbers_of_numpy_as_arguments():
    for kind in (np.float32, np.float64, np.int64):
        same(stateless(lambda x, b: x * b + b / 3), [(X, kind(b)) for b in (1, 2, 3.5, 4)], 2)


class Meter:
    __slots__ = ("__history", "count", "last", "mean")

    def __init__(self):
        self.__history, self.count, self.last, self.mean = [], 0, ops.zeros(3), 0.0

    def update(self, x):
        self.count += 1
        self.mean += (float(x.sum()) - self.mean) / self.count
        self.last = self.last * 0.9 + x
        self.__history.append(self.mean)
        return self.last * self.count

    def state(self):
        return self.__history, self.count, self.last, self.mean


def test_numbers_tensors_and_lists_in_slots():
    def make():
        meter = Meter()
        return meter.update, meter.state

    same(make, [(X * n,) for n in range(1, 8)], 3)


def test_private_slots_changed_from_outside():
    class Private:
        __slots__ = ("__factor",)

        def put(self, factor):
            self.__factor = factor

        def times(self, x):
            return x * self.__factor

    thing = Private()
    times = jit(thing.times)
    for factor in (2.0, 2.0, 3.0, 4.0, 5):
        thing.put(factor)
        assert times(X).asnumpy().tolist() == (X * factor).asnumpy().tolist()


class Nested:
    def __init__(self):
        self.config = {"rate": {"now": 1.0}, "last": [0.0, 1.0], "names": ("a", 2)}
        self.pair = (0, (1.0, ops.zeros(3)))
        self.history = {"step": 0, "loss": [], "mean": None}
        self.average = {"w": ops.zeros(3), "count": 0}


def nested(name):
    def counts(s, x):
        s.config["rate"]["now"] *= 0.9
        s.config["last"][0] += 1
        return x * s.config["rate"]["now"] + s.config["last"][0] * s.config["names"][1]

    def replaces(s, x):
        step, (scale, mean) = s.pair
        s.pair = (step + 1, (scale * 0.5, mean * 0.9 + x * 0.1))
        return s.pair[1][1] * scale + step

    def notes(s, x):
        s.history["step"] += 1
        s.history["loss"].append(x.sum() * s.history["step"])
        s.history["mean"] = x.mean()
        return s.history["loss"][-1] if False else x * s.history["step"]

    def averages(s, x):
        s.average["count"] += 1
        decay = min(0.9, (1 + s.average["count"]) / (10 + s.average["count"]))
        for key in ("w",):
            s.average[key] = s.average[key] * decay + x * (1 - decay)
        return s.average["w"] * 2

    step = {"counts": counts, "replaces": replaces, "notes": notes, "averages": averages}[name]

    def make():
        s = Nested()
        return (lambda x: step(s, x)), lambda: (s.config, s.pair, s.history, s.average)

    return make


@pytest.mark.parametrize("name", ["counts", "replaces", "notes", "averages"])
def test_numbers_in_containers_of_the_program_change(name):
    same(nested(name), [(X * n,) for n in range(1, 9)], 2)


def test_a_container_with_such_numbers_may_be_replaced():
    def make():
        s = Nested()

        def fn(x, other):
            s.config["rate"]["now"] += 1.0
            return x * s.config["rate"]["now"]

        def call(x, other):
            if other is not None:
                s.config = {"rate": {"now": other}, "last": []}
            return fn(x, None)

        return fn, call, s

    eager, call, s = make()
    fn, _, own = make()
    compiled = jit(fn)
    for other in (None, None, None, 5.0, None, 2, None, None):
        if other is not None:
            own.config = {"rate": {"now": other}, "last": []}
        np.testing.assert_allclose(compiled(X, None).asnumpy(), call(X, other).asnumpy())
        assert own.config == s.config


def divided(s, x):
    s.count -= 1
    try:
        return x * (1 / s.count)
    except ZeroDivisionError:
        return x * 9.0


def rooted(s, x):
    s.count -= 1
    try:
        return x * math.sqrt(s.count)
    except ValueError:
        return x * math.pow(-s.count, 2)


@pytest.mark.parametrize("step", [divided, rooted], ids=["divided", "rooted"])
def test_an_error_that_a_number_causes_is_caught_for_that_number_alone(step):
    def make():
        s = types.SimpleNamespace(count=4)
        return (lambda x: step(s, x)), lambda: s.count

    same(make, [(X,)] * 9, 9)


def test_too_many_branches_on_a_number_end_in_eager_calls():
    fn = jit(lambda x, b: x * len(f"{b}") + b)
    with pytest.warns(UserWarning, match="called with other numbers again and again") as warned:
        for number in range(60):
            assert float(fn(Tensor(1.0), number)) == len(f"{number}") + number
    assert len(warned) == 1 and fn.report()["traces"] < 40


@pytest.mark.parametrize("fn", [
    lambda x, b: x * float(b), lambda x, b: ops.ones(int(b * 10)).sum() * x,
    lambda x, b: x * len(f"{b}"), lambda x, b: x * (2 if type(b) is float else 3),
    lambda x, b: x * (b if isinstance(b, int) else math.floor(b))],
    ids=["float", "int", "text", "type", "class"])
def test_programs_that_need_the_value_are_recorded_for_each(fn):
    compiled = jit(fn)
    for b in (0.5, 0.25, 0.75, 0.5, 0.25):
        np.testing.assert_allclose(compiled(X, b).asnumpy(), fn(X, b).asnumpy(), rtol=1e-6)


def test_types_and_special_numbers():
    compiled = jit(lambda x, b: x * b)
    for b in (0.5, 1.5, 2, 3, True, False, 4, math.inf, -0.0, 0.0, math.nan, 2.5, 2**20, 7):
        for x in (X, X.astype(ms.int32), X.astype(ms.float16), X.sum()):
            got, want = compiled(x, b), x * b
            assert got.dtype is want.dtype
            np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_counters_lists_of_losses_and_rates():
    def make():
        own = types.SimpleNamespace(n=0, tau=1.0, losses=[], state=(ops.zeros(3), ops.ones(3)),
                                    means={"w": ops.zeros(3)})

        def step(x):
            own.n += 1
            own.tau *= 0.99
            own.losses.append(x.sum())
            h, c = own.state
            own.state = (h + x, c * 0.5)
            own.means["w"] = own.means["w"] * 0.9 + x * 0.1
            y = x * own.tau + own.n
            return y * 2 if own.n % 4 == 0 else y + own.means["w"]

        return step, lambda: (own.n, own.tau, [float(loss) for loss in own.losses])

    same(make, [(X * i,) for i in range(20)], 3)


def test_a_cell_that_counts_and_accumulates_gradients():
    def make():
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
                self.calls = 0

            def construct(self, x):
                self.calls += 1
                return (x * self.w).sum()

        net = Net()
        update = nn.SGD([net.w], 0.1)
        kept = Parameter(ops.zeros(3), name="kept", requires_grad=False)
        gradient = ms.value_and_grad(net, None, [net.w])
        count = 0

        def step(x):
            nonlocal count
            loss, gradients = gradient(x)
            ops.assign_add(kept, gradients[0])
            count += 1
            if count % 3 == 0:
                update((kept.value(),))
                ops.assign(kept, ops.zeros(3))
            return loss

        return step, lambda: (net.calls, count, net.w.asnumpy().tolist())

    same(make, [(X,)] * 12, 4)


def test_a_list_that_is_read_too_and_one_that_is_emptied():
    losses: list = []

    def read(x):
        losses.append(x.sum())
        return x * len(losses)

    compiled = jit(read)
    for i in range(1, 5):
        np.testing.assert_allclose(compiled(X).asnumpy(), X.asnumpy() * i)
    seen: list = []
    appending = jit(lambda x: (seen.append(x * 2), x)[1])
    for i in range(6):
        appending(X * i)
        if i == 3:
            seen.clear()
    assert [float(t[0]) for t in seen] == [8.0, 10.0]
    other = seen
    appending(X)
    assert len(other) == 3


def test_numbers_changed_from_outside():
    own = types.SimpleNamespace(scale=1.0, n=0)

    def step(x):
        own.n += 2
        return x * own.scale + own.n

    compiled = jit(step)
    for i, scale in enumerate((1.0, 2.0, 3.5, 4.5, 5.5), 1):
        own.scale = scale
        np.testing.assert_allclose(compiled(X).asnumpy(), X.asnumpy() * scale + 2 * i)
    own.n, own.scale = 100, 3  # of another type
    np.testing.assert_allclose(compiled(X).asnumpy(), X.asnumpy() * 3 + 102)
    own.scale = "no"
    with pytest.raises(TypeError):
        compiled(X)


total, kept = ops.zeros(3), {"mean": ops.zeros(3)}


def in_a_closure():
    mean, parts = ops.zeros(3), {"w": (ops.zeros(3), 1.0)}

    def fn(x):
        nonlocal mean
        mean = mean * 0.5 + x
        parts["w"] = parts["w"][0] + mean, parts["w"][1] * 0.5
        return parts["w"][0] * parts["w"][1]

    return fn, lambda: parts


def in_globals():
    global total, kept
    total, kept = ops.zeros(3), {"mean": ops.zeros(3)}

    def fn(x):
        global total
        total = total + x
        kept["mean"] = kept["mean"] * 0.9 + total
        return kept["mean"] * 1

    return fn, lambda: None


def test_tensors_that_closures_and_globals_hold_are_replaced():
    same(in_a_closure, [(X * n,) for n in range(1, 9)], 2)
    eager, _ = in_globals()
    wanted = [eager(X * n).asnumpy() for n in range(1, 9)]
    compiled = jit(in_globals()[0])
    for number, want in enumerate(wanted, 1):
        np.testing.assert_allclose(compiled(X * number).asnumpy(), want, rtol=1e-6)
    assert compiled.report()["replays"] == 6


@pytest.mark.parametrize("most", [None, 3])
def test_a_deque_is_appended_to(most):
    def make():
        latest = collections.deque(maxlen=most)
        losses = {"train": latest, "best": collections.deque([9.0], maxlen=1)}

        def fn(x):
            losses["train"].append(x.sum())
            losses["best"].extend([float(x.max())])
            return x * 2

        return fn, lambda: (list(map(float, losses["train"])), list(losses["best"]))

    same(make, [(X * n,) for n in range(1, 12)], 3)


@pytest.mark.filterwarnings("ignore:For .jit.")
def test_a_deque_that_is_read_or_replaced():
    def make():
        own = types.SimpleNamespace(latest=collections.deque(maxlen=3), means=[])

        def fn(x):
            own.latest.append(x.sum())
            return x + (own.latest[0] if own.latest[-1] > 20 else 0)

        return fn, own

    (eager, known), (fn, own) = make(), make()
    compiled = jit(fn)
    for n in range(14):
        if n == 6:
            known.latest, own.latest = collections.deque([X]), collections.deque([X])
        if n == 9:
            known.latest.clear()
            own.latest.clear()
        np.testing.assert_allclose(compiled(X * n).asnumpy(), eager(X * n).asnumpy())
        assert repr(own.latest) == repr(known.latest)


def test_a_dry_run_puts_back_tensors_of_pytorch_that_the_function_keeps():
    class Counted:
        def __init__(self):
            self.kept = 5, torch.zeros(())

        def __call__(self, x):
            if self.kept[0] != 7:
                self.kept = 7, torch.zeros(())
            self.kept[1].copy_(self.kept[1] + 1)
            return Tensor(x._raw + self.kept[1])

    counted, eager = Counted(), Counted()
    step = jit(lambda x: counted(x))
    for _ in range(5):
        assert step(X).tolist() == eager(X).tolist()
    assert step.report()["replays"] >= 2
