"""The short path of calls, in C++: taken if and only if a call is like the last."""

import gc
import random
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.graph.runtime import program
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.tracing.symbolic import preparation

SCALE = 2.0


@pytest.fixture(autouse=True)
def _there():
    if program.extension.module is None:
        pytest.skip("the C++ executor isn't there")
    preparation.begin()  # sizes vary here
    assert preparation.finished.wait(120)


def ready(fn, *args):
    """A compiled function whose next call with such arguments takes the short path."""
    compiled = fn if isinstance(fn, Compiled) else Compiled(fn)
    for _ in range(4):
        compiled(*args)
    assert compiled._direct is not None
    return compiled


def long_ways(compiled, monkeypatch):
    """A list that grows with each call that takes the long path."""
    seen = []
    whole = compiled._replayed
    monkeypatch.setattr(compiled, "_replayed", lambda *args: seen.append(1) or whole(*args))
    return seen


def test_calls_take_the_short_path(monkeypatch):
    x = ops.ones((3, 2))
    compiled = ready(lambda x, y: x * y + 1, x, x * 2)
    seen = long_ways(compiled, monkeypatch)
    for number in range(5):
        out = compiled(x * number, x)
        assert type(out) is Tensor and out.asnumpy().tolist() == [[number + 1.0] * 2] * 3
    assert not seen and compiled.report()["replays"] == 3 + 5


@pytest.mark.parametrize("make", [
    lambda x: x[:2], lambda x: x.T, lambda x: x.astype(ms.float64), lambda x: x[0],
    lambda x: ops.ones((6, 3))[::2][:, 1:]], ids=range(5))
def test_other_shapes_and_types_take_the_long_path(make, monkeypatch):
    x = ops.ones((3, 2))
    compiled = ready(lambda x: x * 2, x)
    seen = long_ways(compiled, monkeypatch)
    other = make(x)
    assert compiled(other).shape == other.shape and compiled(other).dtype == other.dtype
    assert compiled(x).asnumpy().tolist() == [[2.0, 2.0]] * 3 and seen


def test_an_argument_given_twice_takes_the_long_path(monkeypatch):
    x, y = ops.ones((2,)), ops.zeros((2,))
    compiled = ready(lambda x, y: x + y, x, y)
    seen = long_ways(compiled, monkeypatch)
    assert compiled(x, x).asnumpy().tolist() == [2.0, 2.0] and seen
    assert compiled(x, y).asnumpy().tolist() == [1.0, 1.0]


def test_attributes_of_one_argument_are_not_those_of_another():
    x, y = ops.ones((2,)), ops.ones((2,))
    x.factor = 3.0
    compiled = Compiled(lambda x, z: x * getattr(x, "factor", 1.0) + z)
    for _ in range(4):
        assert compiled(x, x).asnumpy().tolist() == [4.0, 4.0]
        assert compiled._direct is None
        assert compiled(x, y).asnumpy().tolist() == [4.0, 4.0]
    assert compiled(y, x).asnumpy().tolist() == [2.0, 2.0]


def test_values_that_are_read_are_guarded(monkeypatch):
    net = nn.Dense(2, 2)
    net.factor = 2.0
    compiled = ready(lambda x: net(x) * net.factor * SCALE, ops.ones((1, 2)))
    x = ops.ones((1, 2))
    before = compiled(x).asnumpy()
    net.factor = 4.0
    np.testing.assert_allclose(compiled(x).asnumpy(), before * 2, rtol=1e-6)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    np.testing.assert_allclose(compiled(x).asnumpy(), before * 4, rtol=1e-6)
    net.weight.set_data(net.weight * 2)
    net.bias.set_data(net.bias * 2)
    np.testing.assert_allclose(compiled(x).asnumpy(), before * 8, rtol=1e-6)
    weight = Parameter(ops.zeros((2, 2)), name="weight")
    net.weight = weight
    np.testing.assert_allclose(compiled(x).asnumpy(), net.bias.asnumpy()[None] * 16, rtol=1e-6)


def test_replaced_data_is_used(monkeypatch):
    weight = Parameter(ops.ones((2,)), name="weight")
    compiled = ready(lambda x: x * weight, ops.ones((2,)))
    seen = long_ways(compiled, monkeypatch)
    for number in range(9):
        weight._data = (ops.ones((2,)) * number)._raw
        assert compiled(ops.ones((2,))).asnumpy().tolist() == [number] * 2
    assert not seen
    weight._data = ops.ones((3, 2))._raw
    assert compiled(ops.ones((2,))).shape == (3, 2) and seen


def test_replaced_data_is_freed():
    weight = Parameter(ops.ones((2,)), name="weight")
    compiled = ready(lambda x: x * weight, ops.ones((2,)))
    gone = weakref.ref(weight._data)
    weight._data = ops.zeros((2,))._raw
    gc.collect()  # what recording left
    assert gone() is None
    assert compiled(ops.ones((2,))).asnumpy().tolist() == [0.0, 0.0]


def test_tensors_that_are_held_may_change():
    held = ops.ones((2,))
    compiled = ready(lambda x: x + held, ops.ones((2,)))
    held[0] = 5.0
    assert compiled(ops.ones((2,))).asnumpy().tolist() == [6.0, 2.0]
    held.scale = 3
    assert compiled(ops.ones((2,))).asnumpy().tolist() == [6.0, 2.0]


def test_gradients_and_attributes_and_keywords_take_the_long_path():
    x = ops.ones((2,))
    compiled = ready(lambda x: (x * x * 3).sum(), x)
    assert ms.grad(compiled)(x).asnumpy().tolist() == [6.0, 6.0]
    assert float(compiled(x=x)) == 6.0
    x.scale = 2
    assert float(compiled(x)) == 6.0
    assert float(compiled(Parameter(ops.ones((2,)), name="p"))) == 6.0
    with pytest.raises(TypeError):
        compiled(x, x, x)


@pytest.mark.parametrize("fn", [
    lambda x: (x, x * 2), lambda x: print("") or x * 2, lambda x: ops.rand_like(x),
    lambda x: x.add_(1), lambda x: x * 2 if float(x.sum()) > 0 else x], ids=range(5))
def test_functions_without_a_short_path(fn, capsys):
    compiled = Compiled(fn)
    for _ in range(4):
        compiled(ops.ones((2,)))
    assert compiled._direct is None


def test_a_value_that_is_read_after_all_else_is_compared_there(monkeypatch):
    def until_large(x):
        for _ in range(5):
            x = x * 2
            if x.sum() > 100:
                break
        return x  # whether the loop ended by itself is a guard

    compiled, x = Compiled(until_large), ops.ones((4,))
    for number in (1, 3, 7, 1, 3, 7, 0.5, 1, 3, 7):
        compiled(x * number)
    compiled = ready(compiled, x * 3)
    seen = long_ways(compiled, monkeypatch)
    for number in (7, 3, 20, 3):
        assert compiled(x * number).asnumpy().tolist() == until_large(x * number).asnumpy().tolist()
    assert not seen
    for number in (0.5, 0.25, float("nan"), 3, 0.5):  # these end by themselves, but for one
        np.testing.assert_array_equal(compiled(x * number).asnumpy(),
                                      until_large(x * number).asnumpy())
    assert len(seen) >= 3


@pytest.mark.parametrize("make", [
    lambda x: float(x.sum()), lambda x: x.astype(ms.int64).sum().item()], ids=["float", "int"])
def test_numbers_that_are_read_off_results(make, monkeypatch):
    x = ops.ones((4,))
    compiled = Compiled(lambda x: (x * 2, [make(x)]))
    for number in range(8):
        compiled(x * number)
    compiled = ready(compiled, x)
    seen = long_ways(compiled, monkeypatch)
    for number in (2, 0.5, -0.0, float("inf"), 2**20 + 0.5):
        if number == float("inf") and type(make(x)) is int:
            continue
        (out, (found,)), wanted = compiled(x * number), make(x * number)
        assert type(found) is type(wanted) and repr(found) == repr(wanted)
        assert out.asnumpy().tolist() == [2 * number] * 4
    assert len(seen) <= 1


def test_an_interrupt_is_no_guard_failure(monkeypatch):
    x = ops.ones((2,))
    compiled = ready(lambda x: x * 2, x)

    def interrupted(self):
        raise KeyboardInterrupt

    entry, = compiled.cache.all_entries()
    monkeypatch.setattr(type(entry.guard._state), "holds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(x)


def test_an_error_of_a_guard_is_raised_by_the_long_path(monkeypatch):
    x = ops.ones((2,))
    compiled = ready(lambda x: x * 2, x)
    entry, = compiled.cache.all_entries()

    def failing(self):
        raise ValueError("while comparing")

    monkeypatch.setattr(type(entry.guard._state), "holds", failing)
    with pytest.raises(ValueError, match="while comparing"):
        compiled(x)


def test_an_error_of_a_kernel_is_that_of_an_eager_call():
    rows = ops.arange(3)
    compiled = ready(lambda x, i: x.index_select(0, i) * 2, ops.ones((4, 2)), rows)
    with pytest.raises(RuntimeError, match="index_select"):
        compiled(ops.ones((4, 2)), rows + 2)
    assert compiled(ops.ones((4, 2)), rows).asnumpy().tolist() == [[2.0, 2.0]] * 3


def test_kinds_of_calls_in_turns():
    compiled = Compiled(lambda x: x * 2 + x.shape[0])
    many = [ops.ones((n, 2)) for n in (2, 3)] + [ops.ones((2, 2), ms.int32), ops.ones((2,))]
    for _ in range(9):
        for x in many:
            out = compiled(x)
            assert out.dtype == x.dtype and out.asnumpy().tolist() == (x * 2 + len(x)).tolist()


def test_settings_are_guarded(monkeypatch):
    x = ops.ones((2,))
    compiled = ready(lambda x: x * 2, x)
    seen = long_ways(compiled, monkeypatch)
    ms.set_deterministic(True)
    try:
        assert compiled(x).asnumpy().tolist() == [2.0, 2.0] and seen
    finally:
        ms.set_deterministic(False)


def test_functions_that_call_each_other_and_themselves():
    x = ops.ones((2,))
    inner = ready(lambda x: x * 2, x)
    outer = ready(lambda x: inner(x) + 1, x)
    assert outer(x).asnumpy().tolist() == [3.0, 3.0] == (inner(x) + 1).asnumpy().tolist()

    def times(x, depth):
        return x if depth == 0 else compiled(x, depth - 1) * 2

    compiled = Compiled(times)
    for depth in (0, 1, 2, 3, 2, 1, 0) * 2:
        assert compiled(x, depth).asnumpy().tolist() == [2.0 ** depth] * 2


def networks():
    """Networks with a compiled function each, that refer to each other in several ways."""
    class Plain(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, 2)

        def construct(self, x):
            return self.dense(x) * 2

    class Own(Plain):
        @ms.jit
        def construct(self, x):
            return self.dense(x) * 2

    plain, kept = Plain(), Plain()
    kept.run = Compiled(lambda x: kept(x))
    own = Own()
    return [(plain, Compiled(plain)), (kept, kept.run), (own, own)]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["alone", "in an attribute", "own construct"])
def test_networks_are_freed(which):
    x = ops.ones((1, 2))
    network, function = networks()[which]
    for _ in range(4):
        function(x)
    compiled = function if which < 2 else next(iter(network.__dict__["_compiled_methods"].values()))
    assert compiled._direct is not None
    gone = weakref.ref(network), weakref.ref(network.dense.weight)
    del compiled, function, network
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_the_collector_may_run_at_any_time():
    before = gc.get_threshold()
    x = ops.ones((1, 2))
    gc.set_threshold(1)
    try:
        for _ in range(3):
            for _, function in networks():
                for _ in range(4):
                    assert function(x).shape == (1, 2)
    finally:
        gc.set_threshold(*before)


def test_threads_that_replace_data_meanwhile():
    """Each result is computed from one version of the data, never from a mixture."""
    weight = Parameter(ops.zeros((512,)), name="weight")
    x = ops.ones((512,))
    compiled = ready(lambda x: x * weight, x)
    stop, wrong = threading.Event(), []

    def replace():
        number = 0
        while not stop.is_set():
            number += 1
            weight._data = (ops.ones((512,)) * (number % 7))._raw  # in one write

    def call():
        for _ in range(300):
            found = compiled(x).asnumpy()
            if len(set(found.tolist())) != 1:
                wrong.append(found)

    replacing, callers = threading.Thread(target=replace), [
        threading.Thread(target=call) for _ in range(3)]
    for thread in (replacing, *callers):
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    replacing.join()
    assert not wrong


class Rows:
    """What a program holds: a Parameter, a number, a text, and maybe a Tensor in a dict."""

    def __init__(self, **held):
        self.__dict__.update(held)
        self.weight = Parameter(ops.ones((2,)), name="weight")
        self.number, self.text = 2.0, "a"


def compares(own, x):
    return x * 2 if x is own.table["t"] else x * 3


def assigns(own, x):
    ops.assign(own.weight, own.weight + x)
    return x * 2


def counts(own, x):
    own.number += 1
    return x * 2


# what a call does, and whether the next one may take the short path
KINDS = {
    "an attribute": (lambda own, x: x * own.number, True),
    "a text": (lambda own, x: x * 2 if own.text == "a" else x * 3, True),
    "a Tensor in a dict": (lambda own, x: x * own.table["t"], None),
    "compared": (compares, False), "assigned": (assigns, False), "counted": (counts, False),
    "drawn": (lambda own, x: x * random.random(), False),
    "returned": (lambda own, x: (x, x * 2), False), "a dict": (lambda own, x: {"a": x * 2}, False),
    "held": (lambda own, x: (own.weight, x * 2), False),
    "a list and None": (lambda own, x: [x * 2, None, (x + 1, "b", 3)], True),
    "a dataclass": (lambda own, x: types.SimpleNamespace(a=x * 2).a, True),
    "a setting": (lambda own, x: x * 2 if ms.get_context("mode") == 1 else x * 3, None)}


@pytest.mark.parametrize("name", KINDS)
def test_which_functions_have_a_short_path_and_what_they_give(name):
    function, is_short = KINDS[name]
    found = []
    for wrap in (Compiled, lambda f: f):
        random.seed(3)
        table = {"t": ops.ones((2,))}
        own: Any = Rows(table=table) if is_short is None or function is compares else Rows()
        call = wrap(lambda x, own=own: function(own, x))
        results: list[Any] = []
        for number in range(14):
            if number == 6:
                if isinstance(call, Compiled) and is_short is not None:
                    assert (call._direct is not None) is is_short
                own.number, own.text = 5.0, "b"
                table["t"] = table["t"] * 4
                own.weight._data = own.weight._data * 2
            x = table["t"] if number % 4 == 3 else ops.ones((2,)) * number
            results.append([ms.tree.map(lambda part: part.tolist() if isinstance(part, Tensor)
                                        else part, call(x)), own.weight.tolist(), own.number])
        found.append(results)
    assert found[0] == found[1]
