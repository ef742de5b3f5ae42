"""Arguments that are new objects in each call: recorded once, or up to a limit."""

import dataclasses
import functools
import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops
from lamella.graph.runtime import cache, limits

X = Tensor(np.arange(12, dtype=np.float32).reshape(4, 3) / 7)


@dataclasses.dataclass
class Batch:
    x: Tensor
    scale: float
    name: str = "a"


@dataclasses.dataclass(frozen=True)
class Nested:
    batch: Batch
    more: Any


@dataclasses.dataclass
class WithSlots:
    __slots__ = ("x", "scale")
    x: Tensor
    scale: float


class Model:
    state: Any
    pair: Any

    def __init__(self):
        self.net, self.scale = nn.Dense(3, 2), 2.0

    def loss(self, x):
        return (self.net(x) * self.scale).sum()


MODEL = Model()


def square(x):
    return (x * x).sum()


def with_default(value):
    return lambda x, k=value: x.sum() * k


def with_closure(value):
    return lambda x: x * value


def with_both(value):
    inner = with_closure(value)
    return lambda x, *, more=inner: more(x) + value


def primitive(kind: Any, **settings):
    return kind(**settings)


# each: what the function is given in call i, and in how many recordings at most
CALLED = {
    "a bound method": (lambda i: MODEL.loss, 1),
    "a lambda": (lambda i: lambda x: x * 2, 1),
    "a lambda with a number": (lambda i: with_closure(i * 0.5), 2),
    "a lambda with a default": (lambda i: with_default(i * 0.5), 2),
    "a lambda with a Tensor": (lambda i: with_closure(X * i), 1),
    "a lambda with a tuple": (lambda i: (lambda pair: lambda x: x * pair[0] + pair[1])((X * i, i)),
                              2),
    "a lambda with a lambda": (lambda i: with_both(i * 1.5), 2),
    "a lambda with a module": (lambda i: (lambda net: lambda x: net(x))(MODEL.net), 1),
    "a partial": (lambda i: functools.partial(ops.sub, X * i), 1),
    "a gradient": (lambda i: ms.grad(square), 1),
    "a gradient of a lambda": (lambda i: ms.grad(lambda x: (x * i).sum()), 2),
    "a value and gradient": (lambda i: ms.value_and_grad(lambda x: (x * i).sum()), 2),
    "a gradient operation": (lambda i: ops.GradOperation()(square), 1),
    "a vmap": (lambda i: ops.vmap(lambda x: x * i), 2),
    "a Primitive": (lambda i: primitive(ops.ReLU), 1),
    "Primitives of two kinds": (lambda i: primitive(ops.Softmax, axis=i % 2), 2),
    "a Cell": (lambda i: nn.ReLU(), 1),
    "Cells of two kinds": (lambda i: nn.Softmax(axis=i % 2), 2),
    "a Cell of Cells": (lambda i: nn.SequentialCell(nn.ReLU(), nn.Tanh()), 1),
}


def numbers(value):
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return [numbers(part) for part in value]
    if dataclasses.is_dataclass(value):
        return [numbers(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return value


@pytest.mark.parametrize("name", CALLED)
def test_new_callables_are_recorded_once(name):
    make, most = CALLED[name]
    step = jit(lambda fn, x: fn(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(8):
            fn = make(i)
            got, wanted = step(fn, X + i), fn(X + i)
            assert np.allclose(_flat(got), _flat(wanted))
    assert step.report()["traces"] <= most


def _flat(value):
    return np.concatenate([np.ravel(v) for v in (value if isinstance(value, tuple) else (value,))
                           for v in [v.asnumpy()]])


def test_what_a_new_function_reads_is_guarded():
    model = Model()
    step = jit(lambda fn, x: fn(x))
    for scale in (2.0, 2.0, 3.0, 3.0, 5.0):
        model.scale = scale
        assert step(model.loss, X) == model.loss(X)
    other = Model()
    assert step(other.loss, X) == other.loss(X)


def test_functions_that_assign_variables_keep_their_own():
    def counter():
        count = 0

        def fn(x):
            nonlocal count
            count += 1
            return x * count
        return fn

    step = jit(lambda fn, x: fn(x))
    for _ in range(3):
        fn = counter()
        assert [numbers(step(fn, X)) for _ in range(3)] == [numbers(X * k) for k in (1, 2, 3)]


def test_functions_that_share_a_list_change_their_own():
    step = jit(lambda fn, x: fn(x))
    for i in range(3):
        seen: list[Any] = []
        step(lambda x, seen=seen: seen.append(x.sum()), X * i)
        assert numbers(seen) == numbers([(X * i).sum()])


@pytest.mark.parametrize("make", [Batch, WithSlots, lambda x, s: Nested(Batch(x, s), [x, (s,)])])
def test_new_dataclass_objects_are_recorded_once(make):
    def fn(batch):
        inner = batch.batch if isinstance(batch, Nested) else batch
        return inner.x * inner.scale

    step = jit(fn)
    for i in range(8):
        batch = make(X + i, i * 0.5)
        assert numbers(step(batch)) == numbers(fn(batch))
    assert step.report()["traces"] <= 2


def test_dataclass_objects_of_other_kinds_are_told_apart():
    def fn(batch):
        return batch.x * batch.scale if batch.name == "a" else batch.x - 1

    step = jit(fn)
    for i in range(12):
        batch = Batch([X, X[:2]][i % 2], [1.5, 2][i % 3 == 0], "ab"[i % 4 == 0])
        assert numbers(step(batch)) == numbers(fn(batch))


def test_a_dataclass_object_is_changed_and_returned():
    def fn(batch, x):
        batch.x = batch.x + x
        batch.scale += 1
        return batch

    step = jit(fn)
    mine, wanted = Batch(X, 0.0), Batch(X, 0.0)
    for i in range(6):
        assert step(mine, X * i) is mine
        assert numbers(fn(wanted, X * i)) == numbers(mine)
        if i % 2:
            mine, wanted = Batch(X, 0.5), Batch(X, 0.5)
    assert step.report()["traces"] <= 2


def test_a_dataclass_object_that_is_also_found_elsewhere():
    holder = Model()
    holder.state = Batch(X, 1.0)

    def fn(state, x):
        state.x = state.x * 0.5 + x
        return holder.state.x.sum() + state.scale

    step = jit(fn)
    for i in range(8):
        given = holder.state if i < 5 else Batch(X, 1.0)
        before = given.x
        got = step(given, X * i)
        assert numbers(given.x) == numbers(before * 0.5 + X * i)
        assert got == holder.state.x.sum() + 1.0
    assert step.report()["traces"] <= 2


def test_a_tensor_that_is_an_argument_and_found_elsewhere_is_recorded_once():
    holder = Model()
    holder.pair = (X, X * 2)
    step = jit(lambda pair, x: pair[0] + holder.pair[1] * x)
    for i in range(6):
        assert numbers(step(holder.pair, X * i)) == numbers(X + X * 2 * (X * i))
    assert step.report()["traces"] <= 2
    other = (X * 3, X * 4)
    assert numbers(step(other, X)) == numbers(X * 3 + X * 2 * X)
    assert numbers(step(holder.pair, X)) == numbers(X + X * 2 * X)


def test_new_dataclass_and_own_objects_as_results():
    class Own:
        def __init__(self, x, n):
            self.x, self.n, self.more = x, n, [x]

    def fn(x, n):
        return Batch(x * 2, n), Own(x - 1, n), WithSlots(x, 2.0)

    step = jit(fn)
    made = []
    for i in range(6):
        batch, own, slots = step(X * i, i)
        made.append((batch, own))
        assert type(batch) is Batch and type(own) is Own and own.more[0] is own.x
        assert numbers(batch) == [numbers(X * i * 2), i, "a"]
        assert numbers(own.x) == numbers(X * i - 1) and own.n == i and slots.scale == 2.0
    assert step.report()["traces"] <= 2 and len({id(own) for _, own in made}) == 6


def test_a_given_dict_is_changed():
    def fn(metrics, x):
        metrics["loss"] = x.sum()
        metrics["count"] = metrics.get("count", 0) + 1
        metrics.pop("old", None)
        return x * 2

    step = jit(fn)
    mine, wanted = {"old": 1}, {"old": 1}
    for i in range(8):
        step(mine, X * i)
        fn(wanted, X * i)
        assert numbers(list(mine.items())) == numbers(list(wanted.items()))
    assert step.report()["traces"] <= 4 and not step.report()["eager"]


def test_one_dict_given_twice():
    def fn(a, b):
        a["n"] = X * 2
        b["n"] = X * 3
        return a

    step = jit(fn)
    for i in range(6):
        one, two = {"n": X}, {"n": X * i}
        two = one if i % 2 else two
        assert step(one, two) is one
        assert numbers([one["n"], two["n"]]) == numbers([X * (3 if i % 2 else 2), X * 3])


def test_a_limit_on_objects_with_one_warning():
    def fn(loss, x, net):
        return loss(net(x))

    step, refs = jit(fn), []
    with pytest.warns(UserWarning) as found:
        for _ in range(limits.MOST_OBJECTS + 20):
            net = nn.Dense(3, 1)
            refs.append(weakref.ref(net))
            assert numbers(step(square, X, net)) == numbers(fn(square, X, net))
        kept = nn.Dense(3, 1)
        for _ in range(3):
            step(square, X, kept)
    assert len(found) == 1 and "its argument 'net' had 32 other values" in str(found[0].message)
    assert step.report()["traces"] == limits.MOST_OBJECTS
    del net
    gc.collect()
    assert sum(ref() is not None for ref in refs) <= limits.MOST_OBJECTS


def test_networks_that_come_again_are_replayed():
    nets = [nn.Dense(3, 1) for _ in range(20)]
    step = jit(lambda net, x: net(x))
    for _ in range(3):
        for net in nets:
            assert numbers(step(net, X)) == numbers(net(X))
    assert step.report()["traces"] == 20


def test_a_limit_on_texts():
    step = jit(lambda x, name: x * len(name))
    with pytest.warns(UserWarning, match="'name' had 32 other values"):
        for i in range(60):
            assert numbers(step(X, f"step {i}")) == numbers(X * len(f"step {i}"))
    assert step.report()["traces"] <= limits.MOST_OBJECTS


def test_what_was_learnt_of_arguments_is_dropped_with_their_graphs(monkeypatch):
    monkeypatch.setattr(cache, "MOST_LINES", 8)
    step = jit(lambda x, *rest: x * len(rest))
    with pytest.warns(UserWarning, match="again and again"):
        for i in range(30):
            step(X, *([None] * i))
    assert len(step.cache.lines) <= 8


def test_a_function_that_raises_keeps_nothing_and_is_not_recorded_again():
    runs = []

    def fn(net, x):
        runs.append(1)
        if x.shape[0] == 4:
            raise ValueError("four rows")
        return net(x)

    step, refs = jit(fn), []
    for _ in range(10):
        net = nn.Dense(3, 1)
        refs.append(weakref.ref(net))
        with pytest.raises(ValueError, match="four rows"):
            step(net, X)
    del net
    gc.collect()
    assert sum(ref() is not None for ref in refs) == 0
    assert not step.cache.lines
    assert len(runs) == 10
    net = nn.Dense(3, 1)
    for _ in range(4):
        assert numbers(step(net, X[:2])) == numbers(net(X[:2]))
    assert step.report()["replays"] > 0


def test_a_new_network_under_a_new_jit_leaves_nothing():
    def once():
        net = nn.Dense(3, 1)
        step = jit(lambda x: net(x).sum())
        for _ in range(3):
            step(X)
        return weakref.ref(net), weakref.ref(step)

    def count():
        for _ in range(3):
            gc.collect()
        return sum(str(type(thing).__module__).startswith(("lamella", "torch.fx"))
                   for thing in gc.get_objects())

    for _ in range(3):
        once()
    before = count()
    refs = [once() for _ in range(20)]
    left = count() - before
    assert not any(ref() is not None for pair in refs for ref in pair)
    assert left < 20


@pytest.mark.parametrize("make", [
    lambda i: (([X] * (i + 1),), {}), lambda i: (({f"a{i}": X},), {}),
    lambda i: ((), {f"a{i}": X})], ids="lengths keys keywords".split())
def test_a_limit_on_lengths_keys_and_keywords(make):
    compiled = jit(lambda *args, **kwargs: sum(ms.tree.leaves((args, kwargs))))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(limits.MOST_OBJECTS + 5):
            args, kwargs = make(i)
            count = len(ms.tree.leaves((args, kwargs)))
            np.testing.assert_allclose(compiled(*args, **kwargs).asnumpy(), X.asnumpy() * count,
                                       rtol=1e-5)
    assert compiled.report()["traces"] == limits.MOST_OBJECTS
    assert [str(w.message).count("with other keys or another length") for w in seen] == [1]


def test_a_limit_on_generators_of_random_numbers():
    """A run that draws from a new generator is recorded again, since the next one may not."""
    compiled = jit(lambda x, generator: x * float(generator.random()))
    with pytest.warns(UserWarning, match="its argument 'generator' had 32 other values"):
        for i in range(limits.MOST_OBJECTS + 2):
            got = compiled(X, np.random.default_rng(i))
            want = X.asnumpy() * np.float32(np.random.default_rng(i).random())
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_an_argument_that_holds_itself_is_named():
    held = [X]
    held.append(held)
    with pytest.warns(UserWarning, match="its argument 'held' contains itself, or is nested too"):
        jit(lambda x, held: x + held[0])(X, held)
    with pytest.raises(RuntimeError, match="can't be one graph: its argument 'held' contains itse"):
        jit(lambda x, held: x + held[0], fullgraph=True)(X, held)


def test_lists_that_are_inside_of_others_many_times_over():
    held: list = [Tensor([1.0])]
    for _ in range(60):  # which is there 2 to the 60th times
        held = [held, held]
    step = ms.jit(lambda x, held: x * len(held))
    with pytest.warns(UserWarning, match="its argument 'held' can't be compared .*many times over"):
        assert float(step(Tensor([1.5]), held).asnumpy()[0]) == 3
    many = [[Tensor([1.0])] * 3, *[Tensor([1.0]) for _ in range(5000)]]  # as it may be
    step = ms.jit(lambda x, held: x * len(held))
    for _ in range(2):
        assert float(step(Tensor([1.0]), many).asnumpy()[0]) == 5001
    assert step.report()["replays"] == 1


def test_a_lambda_of_a_module_is_recorded_once_and_is_still_itself():
    module: dict[str, Any] = {"jit": jit, "x": X}
    exec("double = lambda x: x * 2\n"
         "apply = jit(lambda fn, x: fn(x) if fn is double else x + 1)\n"
         "given = [(apply(double, x), apply(lambda x: x * 2, x)) for _ in 'abcde']", module)
    for its, other in module["given"]:
        np.testing.assert_array_equal(its.asnumpy(), X.asnumpy() * 2)
        np.testing.assert_array_equal(other.asnumpy(), X.asnumpy() + 1)
    assert module["apply"].report()["traces"] == 2
