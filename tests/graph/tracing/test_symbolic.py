"""Runs on fake tensors: their symbols, the guards on these, and what they can't do."""

import logging
import threading
from contextlib import nullcontext

import pytest
import torch
from torch.fx import Node
from torch.utils._sympy.value_ranges import ValueRanges

import lamella as ms
from lamella import Tensor, ops
from lamella.core.wrappers import functorch
from lamella.graph.guards.search import reachable_from
from lamella.graph.ir.metadata import meta_of_value
from lamella.graph.ir.shapes import ShapeGuard
from lamella.graph.tracing.refusals import CannotTrace, Cause
from lamella.graph.tracing.symbolic import (
    Observed,
    Preparation,
    Symbolic,
    SymbolicRecorder,
    SymbolicTrace,
    _condition,
    _function,
    _names,
    _rules_alone,
    preparation,
    record,
)


@pytest.fixture(scope="module", autouse=True)
def _prepared():
    preparation.begin()
    assert preparation.finished.wait(120)


def like(*shape):
    return torch.zeros(shape)


def run_of(*arguments, observed=None):
    """A run, and stand-ins for arguments, each given as its shape and the sizes that vary."""
    symbolic = Symbolic([varying for _, varying in arguments], observed)
    return symbolic, [symbolic.data(like(*shape), True) for shape, _ in arguments]


# -- guards on sizes -------------------------------------------------------------------------------


@pytest.mark.parametrize("condition, holds_for", [
    (lambda n: n > 4, range(5, 40)), (lambda n: n >= 4, range(4, 40)),
    (lambda n: n < 9, range(2, 9)),
    (lambda n: n != 9, [*range(2, 9), *range(10, 40)]), (lambda n: n % 2 == 0, range(2, 40, 2)),
    (lambda n: n * n > 30, range(6, 40)), (lambda n: True, range(2, 40)),
    (lambda n: n // 2 == 3, (6, 7)), (lambda n: 30 // n > 4, range(2, 7))])
def test_a_graph_holds_for_sizes_that_meet_the_decisions_of_its_run(condition, holds_for):
    symbolic, (x,) = run_of(((6, 3), {0}))
    with symbolic.mode:
        assert condition(x.shape[0])
    hold = symbolic.sizes()
    assert [n for n in range(40) if hold([like(n, 3)])] == list(holds_for)
    assert not hold([like(6, 4)])


def test_sizes_that_were_equal_have_one_symbol_in_any_place():
    symbolic, (x, y, z) = run_of(((6, 3), {0}), ((3, 6), {1}), ((4, 5), {0, 1}))
    with symbolic.mode:
        assert x.shape[0] == y.shape[1] and z.shape[0] < z.shape[1]
    hold = symbolic.sizes()
    for a, b, c, d, want in ((6, 6, 4, 5, True), (7, 7, 4, 5, True), (7, 6, 4, 5, False),
                             (6, 7, 4, 5, False), (6, 6, 9, 11, True), (6, 6, 5, 5, False),
                             (6, 6, 1, 5, False), (1, 1, 4, 5, False)):
        assert hold([like(a, 3), like(3, b), like(c, d)]) is want
    assert not hold([like(6, 3), like(6, 3).T, like(4, 5)])  # in another order in memory


def test_sizes_that_do_not_vary_are_those_of_the_run():
    symbolic, (x, y) = run_of(((6, 6), {0}), ((), set()))
    assert not isinstance(x.shape[1], torch.SymInt) and isinstance(x.shape[0], torch.SymInt)
    other = symbolic.data(like(6), False)
    assert other.shape == (6,) and not isinstance(other.shape[0], torch.SymInt)
    hold = symbolic.sizes()
    assert hold([like(7, 6), like()]) and not hold([like(7, 7), like()])


@pytest.mark.parametrize("use", [int, lambda n: n == 6 and n, lambda n: like(6) + like(n)])
def test_a_size_that_varies_may_not_be_needed_as_a_number(use):
    symbolic, (x,) = run_of(((6, 3), {0}))
    with symbolic.mode:
        use(x.shape[0])
    with pytest.raises(CannotTrace, match="needs the value of a size that varies"):
        symbolic.sizes()


def test_a_size_that_is_computed_of_another_one():
    symbolic, (x, y) = run_of(((3,), {0}), ((7,), {0}))
    with symbolic.mode:
        assert y.shape[0] == 2 * x.shape[0] + 1
    hold = symbolic.sizes()
    assert [(n, m) for n in range(9) for m in range(20) if hold([like(n), like(m)])] == [
        (n, 2 * n + 1) for n in range(2, 9)]


@pytest.mark.parametrize("lower, upper, holds_for", [
    (2, 2**31, range(2, 20)), (3, 2**31, range(3, 20)), (2, 9, range(2, 10)), (4, 9, range(4, 10))])
def test_what_pytorchs_rules_have_found_of_a_size(lower, upper, holds_for):
    symbolic, (x, y) = run_of(((6,), {0}), ((5,), set()))
    symbol = x.shape[0].node.expr
    symbolic.environment.var_to_range[symbol] = ValueRanges(lower, upper)
    hold = symbolic.sizes()
    assert [n for n in range(20) if hold([like(n), like(5)])] == list(holds_for)


# -- results whose shapes depend on data -----------------------------------------------------------


def observed_results(*shapes, varying):
    metas = tuple([meta_of_value(like(*shape)) for shape in shapes])
    return Observed([metas], [varying])


def test_guards_on_a_result_know_the_arguments_and_the_results_before():
    observed = Observed([(meta_of_value(like(4)),), 2.5, (meta_of_value(like(4, 6)),)],
                        [[{0}], [], [{0, 1}]])
    symbolic, (x,) = run_of(((6, 3), {0}), observed=observed)
    first, = symbolic.result()
    assert symbolic.next_observed() == 2.5
    second, = symbolic.result()
    symbolic.guards = [ShapeGuard.of(like(4)), ShapeGuard.of(like(4, 6))]
    with symbolic.mode:
        assert second.shape[0] == first.shape[0] and second.shape[1] == x.shape[0]
        assert first.shape[0] < x.shape[0]
    hold = symbolic.sizes()
    one, two = symbolic.guards
    assert hold([like(3, 3)]) and hold([like(9, 3)]) and not hold([like(6, 4)])
    for n, chosen, want in ((6, 4, True), (9, 8, True), (9, 2, True), (4, 4, False), (9, 1, False)):
        assert one.holds([like(n, 3), like(chosen)]) is want
    for n, chosen, shape, want in ((6, 4, (4, 6), True), (9, 5, (5, 9), True),
                                   (6, 4, (5, 6), False), (6, 4, (4, 7), False)):
        assert two.holds([like(n, 3), like(chosen), like(*shape)]) is want
    assert not two.holds([like(6, 3), like(4), like(6, 4).T])  # another order in memory


def test_several_results_of_one_kernel():
    symbolic, _ = run_of(((6,), {0}), observed=observed_results((3,), (5,), varying=[{0}, set()]))
    first, second = symbolic.result()
    assert isinstance(first.shape[0], torch.SymInt) and second.shape == (5,)
    assert symbolic.results == [first, second]
    with pytest.raises(CannotTrace, match="other values off tensors"):
        symbolic.result()


def trace_of(symbolic):
    trace = SymbolicTrace(reachable_from(), [], SymbolicRecorder([], symbolic))
    trace.symbolic = symbolic
    return trace


def test_a_run_that_observes_something_else_ends():
    meta = (meta_of_value(like(3)),)
    for observed, call in ((Observed([2.5], [[]]), lambda s: s.result()),
                           (Observed([meta], [[set()]]), lambda s: trace_of(s).guard(like())),
                           (Observed([], []), lambda s: trace_of(s).guard(like())),
                           (None, lambda s: s.next_observed())):
        symbolic, _ = run_of(((6,), {0}), observed=observed)
        with pytest.raises(CannotTrace, match="reads other values off tensors than in the record"):
            call(symbolic)


def test_what_a_run_without_data_cannot_do():
    symbolic, _ = run_of(((6,), {0}), observed=Observed([True], [[]]))
    trace = trace_of(symbolic)
    assert trace.guard(like()) is True and trace.guards[0].expected is True
    for call, text in ((lambda: trace.peek(like()), "turns a tensor into a Python value"),
                       (lambda: trace.exchange(max, ()), "communicates with other processes"),
                       (lambda: trace.refuse("writes"), "writes")):
        with pytest.raises(CannotTrace, match=text) as found:
            call()
        assert found.value.cause is Cause.ALWAYS
    with pytest.raises(CannotTrace) as found:
        trace.refuse("draws", Cause.RARE)
    assert found.value.cause is Cause.RARE and trace.symbolic is symbolic
    array = torch.ones(3).numpy()
    assert trace.from_numpy(array).tolist() == [1, 1, 1]


# -- sizes in the graph ----------------------------------------------------------------------------


def test_sizes_that_a_graph_computes():
    symbolic, (x, y) = run_of(((6, 3), {0}), ((6, 5), {0, 1}))
    recorder = SymbolicRecorder([x, y], symbolic)
    with symbolic.mode:
        n, m = x.shape[0], y.shape[1]
        sizes = [n, 2 * n + 1, n, n + m, 3]
    described = recorder._described(sizes)
    assert described[0] is described[2] and described[4] == 3
    sizes = {recorder._node_of(x): like(9, 3), recorder._node_of(y): like(9, 4)}

    def value(node):
        return sizes.get(node, node) if not isinstance(node, Node) or node in sizes else (
            node.target(*map(value, node.args)))

    assert [value(node) for node in described] == [9, 19, 9, 13, 3]
    assert recorder._described([2 * n + 1])[0] is described[1]
    assert value(recorder._described(n > 8)) is True is not value(recorder._described(m > n))
    assert symbolic.text(3.5) == "3.5" and symbolic.text(n).isidentifier()


def test_a_size_that_is_not_known_before_the_run_is_not_computed_with():
    symbolic, (x,) = run_of(((6, 3), {0}))
    recorder = SymbolicRecorder([x], symbolic)
    unknown = symbolic.environment.create_unbacked_symint()
    for size in (unknown, unknown + x.shape[0]):
        with pytest.raises(CannotTrace, match="a size that is not known before the run"):
            recorder._described(size)


@pytest.mark.parametrize("text, names", [
    ("s0 + 2*s17", {"s0", "s17"}), ("tensors[0].shape[1] == 4", {"tensors", "shape"}), ("3", set()),
    ("math.floor(_a/2)", {"math", "floor", "_a"})])
def test_the_names_in_an_expression(text, names):
    assert _names(text) == names


def test_functions_of_sizes():
    double = _function("a, b", "2*a + b", "double")
    assert double(3, 4) == 10 and double.__name__ == double.__qualname__ == "double"
    met = _condition({"a": "tensors[0].shape[0]", "b": "tensors[1].shape[1]"},
                     ["a < b", "b == 3 or a"])
    assert met([like(2), like(2, 3)])
    assert not met([like(3), like(2, 3)]) and not met([like(0), like(2, 2)])
    assert _condition({"a": "tensors[0].shape[0]"}, ["a == 2"])([like(2)])
    assert _condition({}, [])([like(2)]) is True


# -- runs ------------------------------------------------------------------------------------------


def recorded(fn, *shape):
    """A run of a function of a Tensor whose first size varies."""
    args, symbolic = (Tensor(like(*shape)),), Symbolic([{0}])
    return record(fn, args, {}, reachable_from(fn), symbolic), symbolic


def test_an_error_of_the_function_is_its_own():
    def fails(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        recorded(fails, 5, 2)


def test_an_error_after_a_rule_has_asked_for_a_size_ends_the_run():
    def fails(x):
        def each(row):
            return row[1:] * 2

        found = ops.vmap(ms.grad(lambda row: (row[1:] ** 2).sum()))(x)
        raise RuntimeError(str(found.shape[1]))

    with pytest.raises(CannotTrace, match="computes with a size that varies in a rule of PyTorch"):
        recorded(fails, 5, 2)


@pytest.mark.parametrize("fn, refused", [
    (lambda x: x.shape[0] > 3, "returns a new SymBool"),
    (lambda x: [x, {"a": x.shape[0] == 5}], "returns a new SymBool"),
    (lambda x: f"{x.shape[0]}", "a size as text"), (lambda x: ("rows", x.shape[0]), ""),
    (lambda x: [x.shape[0] * 0.5, "a s"], ""), (lambda x: x.shape[0] + 1, "")], ids=range(6))
def test_results_that_a_replay_cannot_compute_of_sizes(fn, refused):
    with pytest.raises(CannotTrace, match=refused) if refused else nullcontext():
        trace, symbolic = recorded(fn, 5, 2)
        assert symbolic.said(trace)


def test_what_two_runs_have_said():
    def said(fn, shape=(5, 2)):
        trace, symbolic = recorded(fn, *shape)
        return symbolic.said(trace)

    def big(x):
        return x * 2 if x.shape[0] > 3 else x

    assert said(big) == said(big) != said(lambda x: x * 2)
    assert said(lambda x: (x, x.shape[0])) != said(lambda x: (x, x.shape[0] + 1))
    assert said(lambda x: (x, 2)) != said(lambda x: (x, 3))
    assert said(lambda x: (x, x.shape[0] / 2)) != said(lambda x: (x, x.shape[0] / 4))


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("disabled", [True, False])
def test_settings_around_a_run_are_those_from_before(fallback, disabled):
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = functorch._is_vmap_fallback_enabled(), logger.disabled
    functorch._set_vmap_fallback_enabled(fallback)
    logger.disabled = disabled
    try:
        with _rules_alone():
            assert logger.disabled and not functorch._is_vmap_fallback_enabled()
        assert (functorch._is_vmap_fallback_enabled(), logger.disabled) == (fallback, disabled)
    finally:
        functorch._set_vmap_fallback_enabled(before[0])
        logger.disabled = before[1]


# -- the import ------------------------------------------------------------------------------------


def test_the_import_begins_once():
    own = Preparation()
    assert not own.is_running and not own.finished.is_set()
    own.begin()
    own.begin()
    assert own.finished.wait(60) and not own.is_running
    own.finished.clear()
    assert own.is_running
    own.begin()  # nothing begins again
    assert not own.finished.wait(0.05)


def test_a_forked_process_begins_anew():
    own = Preparation()
    own.begin()
    assert own.finished.wait(60)
    done = own.finished
    own.forget()
    assert own.finished is done
    done.clear()
    own.forget()
    assert own.finished is not done and isinstance(own.finished, threading.Event)
    assert not own.is_running
