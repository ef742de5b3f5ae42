"""`check_grads`: how far numbers may be apart, and which words say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import GradientError, Tensor, check_grads, nn, ops

X = Tensor([1.0, -2.0, 0.5])


def told(fn, *args, **options):
    with pytest.raises(GradientError) as caught:
        check_grads(fn, *args, **options)
    return str(caught.value)


def traced():
    return ms.core.state.state.trace is not None


@pytest.mark.parametrize("kind, within, beyond", [
    (ms.float64, 0.5e-8, 3e-8), (ms.float32, 0.5e-4, 3e-4), (ms.float16, 1e-2, 6e-2),
    (ms.complex128, 0.5e-8, 3e-8), (ms.complex64, 0.5e-4, 3e-4)])
def test_how_far_a_compiled_value_may_be_apart(kind, within, beyond):
    """Beside values of about one, so both tolerances count."""
    def fn(x, off):
        y = ops.cast(x * x, kind)
        return y + Tensor(off if traced() else 0.0, ms.float64).astype(kind)

    x = Tensor([1.0, -1.0])
    check_grads(lambda x: fn(x, within), x, order=1, modes="rev")
    assert "The value of " in told(lambda x: fn(x, beyond), x, order=1, modes="rev")


def test_integers_must_be_the_same_when_compiled():
    def fn(x, off):
        return x * 2, (x > 0).astype(ms.int32) + (off if traced() else 0)

    check_grads(lambda x: fn(x, 0), X, order=1)
    assert "output[1], when the graph was recorded" in told(lambda x: fn(x, 1), X, order=1)


def half_right(gradient):
    """A rule that is right for the gradient of one output alone, and not for both."""
    alone = ops.logical_or((gradient[0] == 0).all(), (gradient[1] == 0).all())
    return ops.where(alone, gradient, 2 * gradient)


def test_a_rule_that_is_wrong_for_all_outputs_together_alone():
    def fn(x):
        both = ops.InsertGradientOf(half_right)(ops.stack([x, x]))
        return both[0] * 1, both[1] * 1

    text = told(fn, Tensor([1.0, 2.0]), modes="rev", order=1, compiled=False)
    assert "of its outputs together by 'x', of order 1, in reverse mode." in text
    lines = text.splitlines()
    assert lines[2] == "  output     its outputs together"
    expected, got = (float(line.split()[1]) for line in lines[4:6])
    assert got == pytest.approx(2 * expected, rel=1e-4)


class Steep(nn.Cell):
    """A steep line with a wrong rule: no jump."""

    def __init__(self, slope, rule):
        super().__init__()
        self.slope, self.rule = slope, rule

    def construct(self, x):
        return x * self.slope

    def bprop(self, x, out, dout):
        return dout * self.rule


@pytest.mark.parametrize("slope, rule, x, jumps", [
    (1e4, 2e4, 0.0, False),  # the rule says as much
    (1e4, 0.0, 0.0, True), (1e4, 0.0, 1.0, False),  # little beside the value there
    (50.0, 0.0, 0.0, False)])  # too little for a jump
def test_what_looks_like_a_jump(slope, rule, x, jumps):
    text = told(Steep(slope, rule), Tensor(x), order=1, modes="fwd", compiled=False)
    assert ("seems to jump here" in text) is jumps


@pytest.mark.parametrize("modes", ["rev", "fwd"])
def test_numbers_that_are_not_finite_are_said_to_be(modes):
    for fn, x in ((ops.sqrt, 0.0), (lambda x: ops.log(x), 0.0), (lambda x: x / 0, 1.0)):
        assert "One of them is not finite" in told(fn, Tensor(x), order=1, modes=modes,
                                                   compiled=False)


class Quarter(nn.Cell):
    """x ** 2 / 2 with a rule that is right in first order only."""

    def construct(self, x):
        return x * x / 2

    def bprop(self, x, out, dout):
        return ops.stop_gradient(x) * dout


@pytest.mark.parametrize("modes, outputs, name", [
    ("rev", 1, "of the gradient of output by x by 'x', of order 2, in reverse mode, of the "
               "derivative in reverse mode."),
    ("rev", 2, "of the gradient of the outputs by x by 'x', of order 2, in reverse mode, of the "
               "derivative in reverse mode."),
    ("fwd", 1, "of the tangent of output by 'x', of order 2, in forward mode, of the derivative in "
               "forward mode."),
    ("fwd", 2, "of the tangent of output[1] by 'x', of order 2, in forward mode, of the derivative "
               "in forward mode.")])
def test_what_a_wrong_second_derivative_is_called(modes, outputs, name):
    cell = Quarter()
    fn = cell if outputs == 1 else lambda x: (x * 3, cell(x))
    text = told(fn, Tensor([0.5, -1.5]), modes=modes, compiled=False)
    assert text.splitlines()[0].endswith(name)
    assert f"  order      2    mode  {modes}" in text


def test_derivatives_of_third_order_are_told_with_those_before():
    class Cubic(nn.Cell):
        def construct(self, x):
            return x * x * x

        def bprop(self, x, out, dout):
            return 3 * x * x * dout + 6 * (x - ops.stop_gradient(x)) ** 2 * dout

    check_grads(Cubic(), Tensor(0.75), modes="rev", compiled=False)
    text = told(Cubic(), Tensor(0.75), order=3, modes="rev", compiled=False)
    assert text.splitlines()[0].endswith("of order 3, in reverse mode, of the derivative in "
                                         "reverse mode, of the derivative in reverse mode.")
    assert "(rtol 0.01, atol 0.0001)" in text  # ten times as much for each order


def test_inputs_and_outputs_of_several_dimensions():
    wrong = ops.InsertGradientOf(lambda g: g * 2)
    text = told(lambda x, w: (x @ w, wrong(x) + 0 * w.sum()), Tensor(np.ones((2, 3)), ms.float32),
                Tensor(np.ones((3, 4)), ms.float32), modes="fwd", order=1, compiled=False)
    assert "  input      x: (2, 3) float64" in text
    assert "  output     output[1] at [0, 0]: (2, 3) float64" in text
    assert ", ...]" in text.splitlines()[-1]


@pytest.mark.parametrize("modes", ["rev", "fwd"])
def test_complex_outputs_and_inputs(modes):
    x = Tensor([1 + 2j, 0.5 - 1j], ms.complex64)
    check_grads(lambda x: x * x * (1 + 1j), x, modes=modes, compiled=False)
    check_grads(lambda x: (x * x.conj()).real(), x, modes=modes, order=1, compiled=False)
    text = told(lambda x: ops.InsertGradientOf(lambda g: g * 1j)(x) * x, x, modes=modes, order=1,
                compiled=False)
    assert "complex128" in text and "step       1e-05 along [" in text


def test_a_function_without_floating_results_has_no_derivative():
    check_grads(lambda x: x > 0, X, compiled=False)
    check_grads(lambda x: 3, X, compiled=False)


@pytest.mark.parametrize("kind, step", [(ms.float64, "1e-05"), (ms.float32, "0.01"),
                                        (ms.float16, "0.25")])
def test_steps_by_the_type_of_the_results(kind, step):
    def fn(x):
        return ops.cast(ops.InsertGradientOf(lambda g: 3 * g)(x), kind)

    text = told(lambda x: (fn(x), x * 1), X, order=1, modes="rev", compiled=False)
    assert f"step       {step} along" in text  # that of the least precise one
    assert f"output[0]: (3,) {str(kind).lower()}" in text


def test_results_of_half_precision_may_be_further_apart():
    def fn(x, factor):
        return ops.cast(ops.InsertGradientOf(lambda g: factor * g)(x), ms.float16)

    x = Tensor([1.0, 2.0])
    check_grads(lambda x: fn(x, 1.1), x, order=1, compiled=False)
    told(lambda x: fn(x, 1.6), x, order=1, compiled=False)


def test_both_modes_and_one_mode():
    """A forward rule that is wrong is seen in forward mode alone."""
    class Ruled(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return dout * 2

        def jvp(self, x, out, dx):
            return dx * 3

    check_grads(Ruled(), X, modes="rev", order=1)
    assert "in forward mode." in told(Ruled(), X, order=1)
    assert "in forward mode." in told(Ruled(), X, modes=("fwd",), order=1)


def test_weights_are_changed_for_the_run_alone():
    """A function that reads a weight by another way sees the value that is checked."""
    weight = ms.Parameter(Tensor([0.5, 2.0]), name="weight")
    frozen = ms.Parameter(Tensor([3.0, 4.0]), name="frozen", requires_grad=False)
    check_grads(lambda x: x * weight * frozen, Tensor([1.0, 2.0]), weights=[weight, frozen])
    assert weight.dtype == frozen.dtype == ms.float32
    assert weight.asnumpy().tolist() == [0.5, 2.0] and frozen.asnumpy().tolist() == [3.0, 4.0]
