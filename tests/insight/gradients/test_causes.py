"""The causes of zero gradients, of runs that are put together by hand."""

from __future__ import annotations

import pytest

from lamella.insight.gradients.causes import Causes
from lamella.insight.gradients.places import Place
from lamella.insight.gradients.record import Recorder, Step, Value
from lamella.insight.gradients.statistics import Numbers

NOWHERE = Place(None, "", 0, "", False, False)
LEAST = 2.0 ** -24  # the smallest float16 above 0


def numbers(low=1.0, high=2.0, count=2, dtype="float32", nans=0):
    zeros = float(low == high == 0)
    return Numbers((count,), dtype, count, abs(high), zeros, low, high, nans, 0)


class Run:
    """A run: its values and steps, and who may be asked about it."""

    def __init__(self):
        self.recorder = Recorder()
        self.causes = Causes(self.recorder, {})

    def value(self, *args, gradient=None, tracked=True, kind="constant", seen=True, name="",
              output=False, **given):
        found = Value(len(self.recorder.values), kind, name)
        found.numbers = numbers(*args, **given) if seen else None
        found.gradient, found.tracked, found.is_output = gradient, tracked, output
        self.recorder.values.append(found)
        return found

    def step(self, operator, inputs, outputs=(), cut="", plain=(), kernel=""):
        found = Step(len(self.recorder.steps), operator, kernel or operator, NOWHERE)
        found.inputs, found.outputs, found.cut, found.plain = [*inputs], [*outputs], cut, [*plain]
        for each in inputs:
            each.uses.append(found)
        for each in outputs:
            each.maker = found
        self.recorder.steps.append(found)
        return found


@pytest.fixture
def run():
    return Run()


@pytest.mark.parametrize("operator, arrived, other, plain, counts, small", [
    ("mul", LEAST, 1.0, (), (2, 2), True), ("mul", 2 * LEAST, 1.0, (), (2, 2), False),
    ("mul", 2 * LEAST, -0.5, (), (2, 2), True), ("mul", 0.0, 1.0, (), (2, 2), False),
    ("mul", 2 * LEAST, None, (0.5,), (2, 2), True), ("mul", LEAST, None, (2,), (2, 2), False),
    ("mul", -2 * LEAST, None, (-0.5,), (2, 2), True), ("mul", 1.0, None, (LEAST, 2), (2, 2), False),
    ("div", 2 * LEAST, None, (2.0,), (2, 2), True), ("div", 2 * LEAST, None, (1.5,), (2, 2), False),
    ("div", LEAST, None, (0,), (2, 2), True), ("div", 2 * LEAST, None, (0,), (2, 2), False),
    ("matmul", LEAST / 4, 1.0, (), (2, 4), True), ("matmul", LEAST / 2, 1.0, (), (2, 4), False),
    ("matmul", LEAST, 1.0, (9.0,), (2, 2), True),  # a number that isn't a factor
    ("to", LEAST, None, (), (2, 2), True), ("to", 2 * LEAST, None, (), (2, 2), False),
    ("add", LEAST / 8, None, (), (2, 2), False), ("mul", 1.0, "not seen", (), (2, 2), False)])
def test_products_that_are_too_small(run, operator, arrived, other, plain, counts, small):
    value = run.value(dtype="float16", count=counts[0])
    factors = [] if other is None else [
        run.value(seen=False) if other == "not seen" else run.value(*sorted((0.0, other)))]
    out = run.value(gradient=numbers(*sorted((0.0, arrived))), count=counts[1])
    step = run.step(operator, [value, *factors], [out], plain=plain)
    assert run.causes._underflows(step, value, {operator}) is small
    for change in ({"tracked": False}, {"numbers": None}):
        value.__dict__.update({"tracked": True, **change})
        assert run.causes._underflows(step, value, {operator}) is False


def flat(run, operator, value, outs=(), **given):
    outs = outs or [run.value(gradient=numbers())]
    step = run.step(operator, [value], outs, **given)
    step.measured.add(value.number)
    return step, run.causes._flat_text(step, value)


@pytest.mark.parametrize("operator, given, words", [
    ("relu", (-3.0, 0.0), "of a dead ReLU: all 2 inputs of 'relu' are 0 or less"),
    ("relu", (-3.0, 0.5), "the derivative of 'relu' is zero at the values there, which lie in "
                          "[-3, 0.5]"),
    ("relu6", (-3.0, 0.5), "outside of the bounds of 'relu6': they lie in [-3, 0.5]"),
    ("tanh", (9.0, 99.0), "'tanh' is saturated: its inputs lie in [9, 99], where its slope"),
    ("cos", (0.0, 0.0), "derivative of 'cos' is zero at the values there, which lie in [0, 0]")])
def test_values_of_slope_zero(run, operator, given, words):
    value = run.value(*given)
    step, text = flat(run, operator, value)
    assert words in text
    value.numbers = None
    assert run.causes._flat_text(step, value) == f"'{operator}' passes no gradient on to it"


def test_what_was_not_measured_has_no_slope_to_tell(run):
    value = run.value()
    step, _ = flat(run, "cos", value)
    step.measured.clear()
    assert run.causes._flat_text(step, value) == "'cos' passes no gradient on to it"
    nothing = run.value(count=0)
    assert flat(run, "cos", nothing)[1] == "'cos' passes no gradient on to it"


@pytest.mark.parametrize("low, high, seen, dropped", [
    (0.0, 0.0, True, True), (0.0, 1.0, True, False), (0.0, 0.0, False, True)])
def test_what_is_dropped(run, low, high, seen, dropped):
    out = run.value(low, high, seen=seen, gradient=numbers())
    _, text = flat(run, "dropout", run.value(), [out])
    assert ("all of it is dropped" in text) is dropped


@pytest.mark.parametrize("tracked, used, discrete", [
    ((True, False), (False, True), True), ((True, False), (True, True), False),
    ((True, False), (False, False), False), ((False, False), (True, True), False),
    ((True, True), (False, False), False), ((True, True), (False, True), False),
    ((True, True, False), (False, False, True), True),
    ((True, True, False), (True, False, True), False), ((), (), False)])
def test_results_without_gradients_alone_are_used(run, tracked, used, discrete):
    outs = [run.value(tracked=one, output=two) for one, two in zip(tracked, used, strict=True)]
    assert run.causes._discrete(run.step("topk", [run.value()], outs)) is discrete


@pytest.mark.parametrize("cut, used, matters", [
    ("numpy", [], True), ("numpy", [False], True), ("cast", [], False), ("cast", [False], False),
    ("cast", [False, True], True)])
def test_cuts_that_matter(run, cut, used, matters):
    outs = [run.value(output=one) for one in used]
    assert run.causes._matters(run.step("f", [run.value()], outs, cut)) is matters


@pytest.mark.parametrize("uses, used", [
    ([], False), ([("exp", "exp", "")], False), ([("f", "numpy", "")], True),
    ([("f", "f", "numpy")], True), ([("exp", "exp", ""), ("item", "item", "")], True)])
def test_what_leaves_the_run_is_used(run, uses, used):
    start = value = run.value()
    for operator, kernel, cut in uses:
        out = run.value()
        run.step(operator, [value], [out], cut, kernel=kernel)
        value = out
    assert run.causes._is_used(start) is used
    value.is_output = True
    assert run.causes._is_used(start)


def test_where_a_gradient_ends(run):
    """What isn't used, what a step cuts, and what a step with a gradient gives none."""
    start, middle, end, lost, output = (run.value() for _ in range(5))
    output.is_output, end.gradient = True, numbers()
    first = run.step("exp", [start], [middle, lost])
    block = run.step("relu", [middle], [end])
    cut = run.step("detach", [start], [run.value(tracked=False)], "stop_gradient")
    both = run.step("add", [middle], [output])
    assert list(run.causes._lost(start)) == [(start, cut), (middle, block), (lost, None)]
    end.gradient = numbers(0.0, 0.0)  # then it ends further on
    assert list(run.causes._lost(start)) == [(start, cut), (lost, None), (end, None)]
    assert first.outputs == [middle, lost] and both.outputs == [output]


@pytest.mark.parametrize("operator, cut, words", [
    ("sin", "other", "'sin' has no gradient"),
    ("grad", "other", "the inner gradient computed by 'grad' does not depend on it"),
    ("grad", "no_grad", "'grad' runs inside _no_grad, where nothing is recorded"),
    ("cast", "cast", "it is cut by an integer cast, 'cast' to int32: integers have no gradient"),
    ("topk", "", "'topk' gives integers or booleans (int32), which have no gradient"),
    ("detach", "stop_gradient", "it is cut: its data is taken there, without its history"),
    ("data", "stop_gradient", "it is cut: its data is taken there, without its history"),
    ("detach", "other", "'detach' has no gradient"),
    ("detach_", "stop_gradient", "it is cut by detach_"),
    ("stop_gradient", "stop_gradient", "it is cut by stop_gradient"),
    ("StopGradient", "stop_gradient", "it is cut by stop_gradient"),
    ("item", "numpy", "it leaves through NumPy or a Python number ('item'); nothing is recorded "
                      "there")])
def test_what_cuts_are_called(run, operator, cut, words):
    outs = [run.value(), run.value(tracked=False, dtype="int32"), run.value(seen=False),
            run.value(tracked=False, seen=False)]
    assert run.causes.cut_text(run.step(operator, [run.value()], outs, cut)) == words


def test_where_zeros_come_from(run):
    values = [run.value(0.0, 0.0) for _ in range(60)]
    for number, (made, given) in enumerate(zip(values, values[1:], strict=False)):
        run.step(f"op{number}", [run.value(seen=False), run.value(), given], [made])
    assert run.causes._zeros_text(values[20]) == "a constant that is all zeros"
    # a search ends at last
    assert run.causes._zeros_text(values[0]) == "the result of 'op50', all zeros"
    assert run.causes._zeros_text(values[8]) == "the result of 'op58', all zeros"
    assert run.causes._zeros_text(values[9]) == "a constant that is all zeros"
    for kind, words in (("parameter", "all of Parameter 'w' is zero"),
                        ("input", "all of the input 'w' is zero")):
        assert run.causes._zeros_text(run.value(0.0, 0.0, kind=kind, name="w")) == words
    dead = run.value(0.0, 0.0)
    run.step("relu", [run.value(0.0, 0.0)], [dead])
    assert run.causes._zeros_text(dead) == "the output of a dead ReLU, 'relu', 100 % zeros"


@pytest.mark.parametrize("between, found", [(0, True), (6, True), (7, False)])
def test_a_normalization_shortly_after(run, between, found):
    start = value = run.value()
    for number in range(between + 1):
        out = run.value()
        last = run.step("add" if number < between else "layer_norm", [value], [out])
        value = out
    assert run.causes.normalized(start) is (last if found else None)


@pytest.mark.parametrize("operator, gradient, sums", [
    ("softmax", (2.0, 2.0), True), ("softmax", (1.0, 2.0), False), ("softmax", (0.0, 0.0), False),
    ("relu", (2.0, 2.0), False), ("softmax", None, False), ("layer_norm", (-1.0, -1.0), True)])
def test_results_of_a_constant_sum(run, operator, gradient, sums):
    value, out = run.value(), run.value(gradient=gradient and numbers(*gradient))
    step = run.step(operator, [value], [out])
    assert run.causes.summed(value) is (step if sums else None)
    lone = run.value()
    run.step(operator, [lone], [])
    assert run.causes.summed(lone) is None


def test_the_first_gradient_of_the_backward_pass_that_is_not_finite(run):
    assert run.causes.nonfinite() is None
    first, second, third, other = (run.value() for _ in range(4))
    run.step("exp", [first], [second])
    run.step("sqrt", [second], [third])
    for bad, want in (((first,), first), ((first, second), second), ((second, first, other), other),
                      ((first, second, third), third), ((first, third), third)):
        for value in (first, second, third, other):
            value.gradient = numbers(nans=int(any(value is one for one in bad)))
        assert run.causes.nonfinite() is want
