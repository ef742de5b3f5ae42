"""Limits on recordings: how often each kind of call counts."""

import pytest

import lamella as ms
from lamella import Tensor
from lamella.graph.runtime import limits


def function(x, mode, *, scale=1):
    return x


@pytest.fixture
def its():
    return limits.Limits(function)


def test_runs_that_raise(its):
    args, others = (Tensor([1.0]), 1), (Tensor([1.0]), "t")
    assert its.may_record(args, {})
    for _ in range(limits.MOST_RAISED):
        assert its.may_record(args, {})
        its.raised(args, {})
    assert not its.may_record(args, {}) and its.may_record(others, {})
    its.succeeded(others, {})
    assert not its.may_record(args, {})
    its.succeeded(args, {})
    assert its.may_record(args, {})


def test_a_function_that_raises_once_is_still_recorded():
    fails = [True]

    @ms.jit
    def step(x):
        if fails.pop():
            raise ValueError("mine")
        return x * 2

    fails[:] = [False, True]
    with pytest.raises(ValueError, match="mine"):
        step(Tensor([1.0]))
    assert step(Tensor([1.0])).tolist() == [2.0] and fails == []


def test_objects_that_differ_each_time(its):
    x = Tensor([1.0])
    for number in range(limits.MOST_OBJECTS):
        assert its.admits((x, f"t{number}"), {})
        its.note((x, f"t{number}"), {})
    assert not its.admits((x, "another"), {}) and its.admits((x, "t3"), {})
    assert its.admits((x, 1), {})
    assert "its argument 'mode' had" in its.refusal((x, "another"), {})


def test_kinds_of_calls_that_are_told_apart(its):
    for number in range(limits.MOST_OUTLINES + 1):
        assert len(its._kinds) == number
        its.note((1,) * number, {})
    assert len(its._kinds) == limits.MOST_OUTLINES
    known = [len(classes) for classes, _ in its._kinds]
    assert known == list(range(1, limits.MOST_OUTLINES + 1))  # the first is forgotten


def test_names_of_arguments(its):
    args, kwargs = (Tensor([1.0]), "a"), {"scale": 2}
    assert its._names(args, kwargs) == ["x", "mode", "scale"]
    assert limits.Limits(lambda *rest: None)._names((1, 2), {}) == ["rest", "rest"]
    assert its._names((1, 2, 3), {}) == ["0", "1", "2"]  # too many
    assert its._listed(["a"]) == "argument 'a'"
    assert its._listed(["a", "b"]) == "arguments 'a' and 'b'"


def test_arguments_that_cannot_be_compared(its):
    nested = []
    nested.append(nested)
    text = its.without_key((Tensor([1.0]), nested), {}, RecursionError())
    assert text == "its argument 'mode' contains itself, or is nested too deeply"


@pytest.mark.parametrize("differing, named", [
    (limits.MOST_OBJECTS // 2, False), (limits.MOST_OBJECTS // 2 + 1, True)])
def test_an_argument_is_named_if_most_of_its_values_differed(its, differing, named):
    for number in range(limits.MOST_OBJECTS):
        its.note((f"x{number}", "m"), {"scale": "other" if number < differing else "this"})
    refusal = its.refusal(("new", "m"), {"scale": "this"})
    assert refusal.startswith("its arguments 'x' and 'scale' had 32 other" if named else
                              "its argument 'x' had 32 other values so far, each a new object")


def test_named_arguments_that_differ_by_name():
    its = limits.Limits(lambda x, **named: None)
    for number in range(limits.MOST_OBJECTS):
        its.note(("x",), {f"n{number}": 1, "last": 2})
    assert its.refusal(("x",), {"another": 1, "last": 2}).startswith("its argument '**' had")


@pytest.mark.parametrize("name, most", [
    ("may_be_first_object", limits.MOST_NEW), ("may_be_last_error", limits.MOST_RAISED),
    ("may_be_last_warning", limits.MOST_WARNINGS)])
def test_runs_that_are_counted(its, name, most):
    assert [getattr(its, name)() for _ in range(most + 2)] == [True] * most + [False] * 2
    for other in ("may_be_first_object", "may_be_last_error", "may_be_last_warning"):
        assert getattr(its, other)() is (other != name)


def test_graphs_that_hold_for_no_other_call_are_counted_by_kind(its):
    counts = [its.left((1,), {}) for _ in range(limits.MOST_LEFT + 2)]
    assert counts == [False] * limits.MOST_LEFT + [True] * 2
    assert not its.left((1, 2), {})


def test_errors_of_so_many_kinds_are_told_apart(its):
    for number in range(limits.MOST_OUTLINES + 1):
        for _ in range(limits.MOST_RAISED):
            its.raised((1,) * number, {})
    assert not any(its.may_record((1,) * number, {}) for number in range(limits.MOST_OUTLINES))
    assert its.may_record((1,) * limits.MOST_OUTLINES, {})


def test_names_of_arguments_that_are_numbers():
    its = limits.Limits(lambda x, y=1, *rest, last=0, **others: None)
    assert its._names((5, 6, 7), {"last": 0, "more": 1}) == ["x", "y", "rest", "last", "more"]
    assert its._names((5,), {"y": 0}) == ["x", "y"] and its._names((), {"x": 0}) == ["x"]
