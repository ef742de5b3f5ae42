"""How often a function is recorded: causes after which the next call is recorded all the same, and
limits of graphs for sizes, numbers, warnings and decisions."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, ops
from lamella.graph.runtime import limits, recording, scalar_profile
from lamella.graph.runtime.cache import Cache
from lamella.graph.runtime.execution import Phase
from lamella.graph.runtime.recording import MOST_GRAPHS, Recording
from lamella.graph.runtime.scalar_profile import ScalarProfile
from lamella.graph.tracing.refusals import Cause
from lamella.graph.tracing.symbolic import preparation

X = Tensor([1.0, 2.0])
NUMBERS = Tensor([3.0])


class Own:
    """A program's object."""

    def __init__(self, **held):
        self.__dict__.update(held)


def made(fullgraph=False, known=()):
    """A recording of a call, without the call."""
    found = Recording.__new__(Recording)
    found.of = SimpleNamespace(fullgraph=fullgraph, limits=limits.Limits(max),  # type: ignore
                               cache=Cache(None))
    found.known = known
    return found


OFTEN = {Cause.RARE: 9, Cause.ERROR: limits.MOST_RAISED, Cause.DRAW: scalar_profile.MOST_DRAWN,
         Cause.NEW_OBJECT: limits.MOST_NEW}


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_after_which_causes_the_next_call_is_recorded(cause, fullgraph):
    found, varying = made(fullgraph), ScalarProfile()
    often = OFTEN.get(cause, 0) if cause is Cause.RARE or not fullgraph else 0
    rare = [found._is_rare(cause, varying) for _ in range(9)]
    assert rare == [True] * often + [False] * (9 - often)
    assert varying.draws is (cause is Cause.DRAW and not fullgraph)


@pytest.mark.parametrize("count, many, over", [
    (MOST_GRAPHS - 1, False, False), (MOST_GRAPHS - 1, True, False), (MOST_GRAPHS, True, True),
    (MOST_GRAPHS + 1, True, True)])
def test_many_graphs_of_which_one_is_for_several_sizes_are_no_reason_to_give_up(count, many, over):
    known: list[Any] = [SimpleNamespace(replay=SimpleNamespace(inputs=SimpleNamespace(
        for_many_sizes=many and i == 2))) for i in range(count)]
    found = made(known=known)
    assert found._is_over_the_limit() is over and found.of.cache.reasons() == []


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_a_size_that_has_a_graph_is_recorded_again_beyond_the_limit_of_sizes(monkeypatch):
    monkeypatch.setattr(recording, "MOST_RECORDED", 4)
    preparation.begin()
    assert preparation.finished.wait(120)
    own = Own(kind="a")
    step = jit(lambda x: (x * (2 if own.kind == "a" else 3), f"{x.shape[0]} rows"))

    def check(size):
        (found, text), (wanted, its) = (f(ops.ones(size)) for f in (step, step.fn))
        assert found.asnumpy().tolist() == wanted.asnumpy().tolist() and text == its

    for size in (2, 3, 4, 5):
        check(size)
    assert step.report()["traces"] == 4
    own.kind = "b"
    for size in (3, 3, 2, 2):
        check(size)
    assert step.report()["traces"] == 6 and step.report()["eager"] == []
    for size in (9, 9, 10):
        check(size)
    assert step.report()["traces"] == 6 and len(step.report()["eager"]) == 1
    assert step.report()["eager"][0].startswith("its arguments have other sizes again and again")


@pytest.mark.parametrize("often", [1, limits.MOST_WARNINGS, limits.MOST_WARNINGS + 1])
def test_a_function_that_warns_is_compiled_once_it_is_quiet(often):
    own = Own(loud=True)

    def step(x):
        if own.loud:
            warnings.warn("mine", stacklevel=1)
        return x * 2

    compiled = jit(step)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number in range(9):
            own.loud = number < often
            assert compiled(X).tolist() == [2.0, 4.0]
    assert sum("mine" == str(warning.message) for warning in said) == often
    report = compiled.report()
    quiet = often <= limits.MOST_WARNINGS
    assert report["eager"] == ([] if quiet else ["it issues warnings"])
    assert report["replays"] == (8 - often if quiet else 0)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("level", ["O0", "O1"])
def test_kernels_are_chosen_by_time_unless_all_is_to_be_deterministic(deterministic, level):
    ms.set_deterministic(deterministic)
    try:
        compiled = jit(lambda x: x * 2, jit_level=level)
        compiled(X)
        (graph,) = compiled.graphs(X)
    finally:
        ms.set_deterministic(False)
    assert (graph.execution.phase is Phase.SETTLED) is (deterministic or level == "O0")


def branching(x, n):
    """Nine ways, each for one number."""
    for limit in range(1, 9):
        if n < limit:
            return x * n + limit
    return x - n


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_decisions_on_a_number_have_graphs_up_to_a_limit():
    compiled = jit(branching)
    for n in [0, *range(1, 30), *range(8)]:
        assert compiled(X, n).tolist() == branching(X, n).tolist()
    report = compiled.report()
    assert report["traces"] <= 1 + MOST_GRAPHS + scalar_profile.MOST_RECORDINGS
    before = report["replays"]
    for n in range(1, 7):
        assert compiled(X, n + 0).tolist() == branching(X, n).tolist()
    assert compiled.report()["replays"] == before + 6


def by_attribute(wrap):
    own = Own(n=1)
    f = wrap(lambda x: x * own.n if own.n > 3 else x + own.n)

    def call(x, n):
        own.n = n
        return f(x)

    return call, f


def by_argument(wrap):
    f = wrap(lambda x, n: x * n if n > 3 else x + n)
    return f, f


@pytest.mark.parametrize("make", [by_attribute, by_argument])
def test_graphs_for_fixed_numbers_give_way_to_those_that_take_them(make):
    call, compiled = make(jit)
    eager, _ = make(lambda f: f)
    for count, n in enumerate([1, 2, 5, 3, 7, 1, 2, 9]):
        assert call(X, n).tolist() == eager(X, n).tolist()
        assert compiled.report()["graphs"] == (1 if count < 2 else 2)
    assert compiled.report()["traces"] == 3 and compiled.report()["replays"] == 5
    assert compiled.report()["eager"] == []


def test_graphs_of_other_kinds_stay_beside_one_for_several_sizes():
    preparation.begin()
    assert preparation.finished.wait(120)
    step = jit(lambda x: x[x > 0].sum() if x.sum() > 0 else x[x < 0].max() * 3)

    def check(count):
        signs = np.r_[np.ones(abs(count)), -np.ones(9 - abs(count))] * np.sign(count)
        x = Tensor(signs.astype(np.float32))
        assert float(step(x)) == float(step.fn(x))
        return x

    x = [check(count) for count in (-7, 7, 6, 8)][-1]
    assert sorted(graph.inputs.for_many_sizes for graph in step.graphs(x)) == [False, True]
    traces = step.report()["traces"]
    for count in (-7, 7, 6, 8, 9):
        check(count)
    assert step.report()["traces"] == traces == 4


def test_arguments_with_gaps_in_memory_have_graphs_for_one_size():
    preparation.begin()
    assert preparation.finished.wait(120)
    step = jit(lambda x: (x * 2, x.T.reshape(-1)))
    for size in (2, 3, 4, 5, 6):
        x = Tensor(np.arange(size * 3.0).reshape(size, 3)).T
        for found, wanted in zip(step(x), step.fn(x), strict=True):
            assert found.asnumpy().tolist() == wanted.asnumpy().tolist()
        assert not any(graph.inputs.for_many_sizes for graph in step.graphs(x))
    assert step.report()["traces"] == 5
    for size in (2, 3, 4, 5):  # without gaps
        x = Tensor(np.arange(size * 3.0).reshape(size, 3))
        assert step(x)[0].tolist() == (x * 2).tolist()


def test_a_tensor_of_a_global_that_is_replaced_is_found_by_its_name(monkeypatch):
    step = jit(lambda x: x * NUMBERS)
    for number in range(6):
        monkeypatch.setitem(globals(), "NUMBERS", Tensor([float(number)]))
        assert step(X).tolist() == [number, 2.0 * number]
    assert step.report()["traces"] == 2


def test_a_function_that_raised_is_recorded_again_once_it_has_returned():
    own = Own(fails=True)

    def step(x):
        if own.fails:
            raise ValueError("mine")
        return x * 2

    compiled = jit(step)
    for _ in range(4):
        with pytest.raises(ValueError, match="mine"):
            compiled(X)
    own.fails = False
    assert [compiled(X).tolist() for _ in range(4)] == [[2.0, 4.0]] * 4
    assert compiled.report()["traces"] == 1 and compiled.report()["replays"] == 2


@pytest.mark.parametrize("make", [by_attribute, by_argument])
def test_a_function_that_must_be_one_graph_takes_numbers_as_inputs(make):
    call, compiled = make(lambda f: jit(f, fullgraph=True))
    eager, _ = make(lambda f: f)
    for n in range(40):
        assert call(X, n).tolist() == eager(X, n).tolist()
    assert compiled.report()["traces"] <= 4 and compiled.report()["eager"] == []


def test_a_function_that_must_be_one_graph_is_undone_for_a_number_for_which_it_is_none():
    weight = ms.Parameter(ops.ones(2), name="w")

    def step(x, n):
        ops.assign_add(weight, x * n)
        return x if n < 5 else Tensor(weight.asnumpy())

    compiled = jit(step, fullgraph=True)
    for n in (1, 2, 3):
        compiled(X, n)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't be one graph: it hands a tensor to NumPy"):
            compiled(X, 6)
        assert weight.tolist() == [7.0, 13.0]
    compiled(X, 4)
    assert weight.tolist() == [11.0, 21.0]


def reads_later(wrap):
    weight = ms.Parameter(ops.ones(2), name="w")

    def step(x):
        ops.assign_add(weight, x)
        return x * float(weight.sum())

    return wrap(step), weight


def test_a_number_that_is_read_after_an_update_becomes_a_value_of_the_next_graph():
    (call, weight), (eager, other) = (reads_later(wrap) for wrap in (jit, lambda f: f))
    for number in range(6):
        assert call(X * number).tolist() == eager(X * number).tolist()
        assert weight.tolist() == other.tolist()
    assert call.report()["eager"] == [] and call.report()["replays"] >= 3
    (call, weight), _ = reads_later(lambda f: jit(f, fullgraph=True)), None
    with pytest.raises(RuntimeError, match="can't be one graph: it turns a tensor into a Python"):
        call(X)
    assert weight.tolist() == [1.0, 1.0]


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("often", [limits.MOST_LEFT, limits.MOST_LEFT + 1])
def test_an_argument_that_shares_memory_now_and_then_does_not_count(often):
    def change(a, b):
        a.add_(1)
        return a + b

    compiled = jit(change)
    for number in range(often + 3):
        a = ops.ones(4) * number
        b = a[1:2] if number < often else ops.ones(1)
        assert compiled(a, b).tolist() == ([number * 2.0 + 2] * 4 if number < often else
                                           [number + 2.0] * 4)
    is_compiled = often == limits.MOST_LEFT
    assert len(compiled.report()["eager"]) == (not is_compiled)
    assert compiled.report()["replays"] == (2 if is_compiled else 0)
