"""`report.why`: one test for each way a gradient can be lost."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, inspect_gradients, nn, ops

X = Tensor([[1.0, 2.0, 3.0]])


class One(nn.Cell):
    """A weight, an operation on it, and a part that has a gradient in any case."""

    def __init__(self, body, value=(1.0, 2.0, 3.0)):
        super().__init__()
        self.w = Parameter(Tensor(list(value)), name="w")
        self.other = Parameter(Tensor([1.0, 1.0, 1.0]), name="other")
        self.body = body

    def construct(self, x):
        return (self.body(x, self.w) + x * self.other).sum()


def line(offset=0):
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


def why(body, name="w", value=(1.0, 2.0, 3.0)):
    report = inspect_gradients(One(body, value), X)
    assert "is not zero" in report.why("other")
    return report.why(name)


def test_stop_gradient():
    text, at = why(lambda x, w: x * ops.stop_gradient(w)), line()
    assert text == f"The gradient of 'w' is zero because it is cut by stop_gradient in {at}."


def test_stop_gradient_further_on_and_in_place():
    def body(x, w):
        y = ops.exp(x * w)
        ops.stop_gradient_(y)
        return y * 2
    assert "cut by stop_gradient" in why(body) and line(-2) in why(body)


def test_stop_gradient_in_a_cell_names_the_cell():
    class Head(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 2)

        def construct(self, x):
            return ops.stop_gradient(self.dense(x))

    net = nn.SequentialCell(nn.Dense(3, 3), nn.SequentialCell(Head(), nn.ReLU()))
    report = inspect_gradients(net, X)
    assert "(Cell '1.0')" in report.why("1.0.dense.weight")
    assert "cut by stop_gradient" in report.why("0.weight")


def test_through_numpy():
    text, at = why(lambda x, w: x * Tensor(w.asnumpy() * 2)), line()
    assert "leaves through NumPy or a Python number ('asnumpy')" in text and at in text


def test_through_a_python_number():
    assert "('float')" in why(lambda x, w: x * float(w.sum())) or "NumPy" in why(
        lambda x, w: x * float(w.sum()))
    assert "leaves through NumPy or a Python number" in why(lambda x, w: x * w.sum().item())


def test_integer_cast():
    text, at = why(lambda x, w: x * (w * 2).astype(ms.int32)), line()
    assert "cut by an integer cast" in text and "to int32" in text and at in text
    assert "integer cast" in why(lambda x, w: x * ops.cast(w, ms.int64))
    assert "integer cast" in why(lambda x, w: x * w.int())


def test_comparison_and_argmax():
    assert "gives integers or booleans (bool)" in why(lambda x, w: x * (w > 1))
    assert "'argmax'" in why(lambda x, w: x * ops.argmax(w))


def test_no_grad():
    def body(x, w):
        with ms._no_grad():
            y = w * 3
        return x * y
    text = why(body)
    assert "'mul' in " + line(-3) in text and "inside _no_grad" in text


def test_not_read():
    assert why(lambda x, w: x).endswith("it is not used by the output: 'One' never reads it.")


def test_a_cell_that_is_never_called():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.used = nn.Dense(3, 2)
            self.block = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())

        def construct(self, x):
            return self.used(x)

    report = inspect_gradients(Net(), X)
    assert "its Cell 'block.0' (Dense) is never called by 'Net'" in report.why("block.0.weight")
    assert report.mark("block.0.weight") == "unused"


def test_a_result_that_is_not_used():
    def body(x, w):
        ops.exp(w)
        return x
    text = why(body)
    assert "not used by the output: nothing uses the result of 'exp' in " + line(-3) in text


def test_requires_grad_false():
    net = One(lambda x, w: x * w)
    net.w.requires_grad = False
    report = inspect_gradients(net, X)
    assert "requires_grad=False" in report.why("w") and report.mark("w") == "frozen"


def test_integers():
    net = One(lambda x, w: x * w)
    net.count = Parameter(Tensor([1, 2]), name="count")
    report = inspect_gradients(net, X)
    assert "holds integers or booleans (int64)" in report.why("count")


def test_dead_relu():
    text, at = why(lambda x, w: ops.relu(x * w - 100)), line()
    assert f"dead ReLU: all 3 inputs of 'relu' in {at} are 0 or less" in text
    assert "100 % zeros" in text


def test_dead_relu_layer():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    net[0].bias.set_data(Tensor(np.full(4, -100), ms.float32))
    report = inspect_gradients(net, X)
    assert "dead ReLU" in report.why("0.weight") and "(Cell '1')" in report.why("0.weight")
    # what comes after it is multiplied by its zeros
    text = report.why("2.weight")
    assert "multiplied by zeros: the output of a dead ReLU" in text
    assert "is not zero" in report.why("2.bias")


def test_multiplied_by_zeros():
    assert "multiplied by zeros: a constant that is all zeros" in why(
        lambda x, w: w * Tensor([0.0, 0.0, 0.0]))
    assert "multiplied by the number 0" in why(lambda x, w: x * w * 0)
    net = One(lambda x, w: x * w)
    net.zero = Parameter(Tensor([0.0, 0.0, 0.0]), name="zero")
    net.body = lambda x, w: w * net.zero
    assert "all of Parameter 'zero' is zero" in inspect_gradients(net, X).why("w")


def test_functions_of_slope_zero():
    text, at = why(lambda x, w: ops.round(w)), line()
    assert f"the derivative of 'round' in {at} is zero everywhere" in text


def test_outside_of_bounds():
    text = why(lambda x, w: ops.clip_by_value(w, -0.5, 0.5))
    assert "outside of the bounds of 'clip_by_value'" in text and "[1, 3]" in text


def test_saturated():
    assert "'sigmoid'" in why(lambda x, w: ops.sigmoid(w * 1000)) and "saturated" in why(
        lambda x, w: ops.sigmoid(w * 1000))


def test_not_chosen():
    assert "does not choose it" in why(lambda x, w: ops.maximum(w, x * 0 + 10))


def test_cancelling():
    assert "cancel each other out" in why(lambda x, w: w - w)
    text = why(lambda x, w: ops.tanh(w) * 0 + (w * 3 - ops.neg(w) * -3))
    assert "in 'mul'" in text and "and 'neg'" in text and "tanh" not in text  # only what gives some


    assert "contributions to it in 'matmul'" in why(lambda x, w: x @ w - w @ x[0])


def half(x):
    return x.astype(ms.float16)


def overwritten(x, w):
    y = x * w
    y[:] = 1.0
    return y


def through_an_assignment(x, w):
    y = ops.zeros((1, 3))
    y[0] = w
    y.zero_()
    return y


@pytest.mark.parametrize("body, words", [
    (lambda x, w: w ** 0, "the derivative of 'pow' in .* with the exponent 0 is zero everywhere"),
    (lambda x, w: w // 2, "the derivative of 'floor_divide' in .* is zero everywhere"),
    (lambda x, w: ops.gelu(w - 1e4), "derivative of 'gelu' .* values there, .* \\[-9999, -9997\\]"),
    (lambda x, w: ops.silu(w - 1e4) + ops.elu(w - 1e4), "'silu' .*; and the derivative of 'elu'"),
    (lambda x, w: ops.cos(w * 0 + np.pi / 2 * 0), "derivative of 'cos' .* which lie in \\[0, 0\\]"),
    (lambda x, w: ops.dropout(w, p=1 - 1e-7, training=True), "all of it is dropped in 'dropout'"),
    (overwritten, "all of it is overwritten by 'set_item'"),
    (through_an_assignment, "all of it is overwritten by 'zero_'"),
    (lambda x, w: half(w) * 1e-4 * 1e-4, "it underflows in 'mul' .* is 0.0001 or less, .* 6e-08"),
    (lambda x, w: (half(w).float() * 1e-8), "it underflows in 'to' .* is 1e-08 or less"),
    (lambda x, w: ops.topk(w, 2)[1].sum() * 1.0, "'topk' in .* gives integers or .*int64"),
    (lambda x, w: x[0][ops.argsort(w)], "'argsort' in .* gives integers or .*int64"),
    (lambda x, w: ops.dense(x, ops.outer(w, w) * 1e-30 * 1e-30, ops.zeros(3)),
     "it underflows in 'mul'"),
    (lambda x, w: ops.smooth_l1_loss(w - w.asnumpy(), ops.zeros(3)),
     "derivative of 'smooth_l1_loss' in .* is zero at the values there"),
    (lambda x, w: ms.vmap(lambda a: ops.relu(a * w - 99))(x), "dead ReLU: all 3 inputs of 'relu'"),
])
def test_what_is_said_is_so(body, words):
    text = why(body)
    assert re.search(words, text), text
    assert "cancel" in words or "cancel" not in text


NONE, ALL = ops.zeros((3, 3)), ops.ones((3, 3))
ENDS = Tensor([[1.0], [0.0], [-1.0]])


def column(w):
    return w.reshape(3, 1) * Tensor([[1.0, 1.0, 1.0]])


@pytest.mark.parametrize("body, zeros", [
    (lambda x, w: ops.addmm(ALL, NONE, column(w)), True),
    (lambda x, w: ops.addmm(ALL, column(w), NONE), True),
    (lambda x, w: ops.addmm(NONE, column(w), ALL, alpha=0.0), False),  # the zeros are added only
    (lambda x, w: ops.addmm(NONE, ALL, column(w), alpha=0.0), False),
    (lambda x, w: ops.addmm(column(w), NONE, ALL, beta=0.0), False),  # and it is what is added
    (lambda x, w: ops.dense(NONE, ALL, w) * ENDS, False),
    (lambda x, w: ops.dense(NONE, column(w), ops.ones(3)), True),
    (lambda x, w: ops.dense(ENDS.T, column(w), ops.zeros(3)) * Tensor([1.0, -2.0, 1.0]), False),
    (lambda x, w: ops.einsum("i,i,ij->j", w, w + 1, NONE), True),
    (lambda x, w: ops.einsum("ij,i,i->j", NONE, ops.ones(3), w), True),
    (lambda x, w: 0 / w, True), (lambda x, w: 0 * w, False), (lambda x, w: NONE[0] + 0 * w, False),
    (lambda x, w: ops.add(w, NONE) * 0, False)])
def test_only_factors_multiply(body, zeros):
    text = why(body)
    assert ("multiplied by zeros" in text) is zeros, text
    assert "lambda>' in" not in text


def dropped(x, w):
    """What is dropped is chosen, and what isn't is left out."""
    y = ops.dropout(w, p=0.5, training=True)
    return y * (y == 0).astype(ms.float32)


def test_what_is_not_dropped_altogether():
    ms.set_seed(4)
    w = Parameter(ops.ones(64), name="w")
    text = inspect_gradients(lambda x: dropped(x, w), X, weights=w).why("w")
    assert "of 'dropout' in " in text and "all of it is dropped" not in text


def of_many(x, w):
    return ops.round(w) + ops.floor(w) + ops.ceil(w) + ops.trunc(w)


@pytest.mark.parametrize("body, named, left", [
    (of_many, "'round'.*; and .*'floor'.*; and .*'ceil'", "trunc"),
    (lambda x, w: ops.neg(w) + w / 1 + (w - x) + w * -1, "'neg'.* and 'div'.* and 'sub'", "'mul'"),
])
def test_three_causes_are_named(body, named, left):
    text = why(body)
    assert re.search(named, text) and left not in text.replace(line(), ""), text


@pytest.mark.parametrize("body, words", [
    (lambda x, w: half(w) / 1e8, "underflows in 'div' .* is 1 or less"),
    (lambda x, w: half(w) / 1e8 * 1e-3, "underflows in 'div' .* is 0.001 or less"),
    (lambda x, w: half(w) * 1e-4 * 2.9e-4, "underflows in 'mul' .* is 0.00029 or less"),
    (lambda x, w: half(w) * half(x * 0 + 1e-4) * 2.9e-4, "underflows in 'mul' .* 0.00029 or less"),
    (lambda x, w: x[0][ops.topk(w, 2)[1].asnumpy()].sum(), "'topk' in .* gives integers"),
    (lambda x, w: x * 2 if w[0] > 0 else x, "'gt' in .* gives integers or booleans"),
    (lambda x, w: 0 ** w, "derivative of 'rpow' in "),
    (lambda x, w: ops.relu6(w + 9), "outside of the bounds of 'relu6'"),
    (lambda x, w: x * w.shape[0] * ops.ones_like(w), "'One' never reads it")])
def test_why_it_is_small_or_ends(body, words):
    assert re.search(words, why(body)), why(body)


def test_not_the_first_output():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    report = inspect_gradients(lambda x: (x.sum(), x @ w), Tensor([1.0, 2.0]), has_aux=True,
                               weights=w)
    assert "it goes into output[1] alone, and with has_aux=True the first" in report.why("w")


def test_a_parameter_that_is_assigned_first():
    w = Parameter(Tensor([1.0, 2.0]), name="w")

    def f(x):
        w.set_data(Tensor([3.0, 3.0]))
        return x @ w

    report = inspect_gradients(f, Tensor([1.0, 2.0]), weights=w)
    assert "is not zero: norm 2.236" in report.why("w") and report.mark("w") == ""


def test_insert_gradient_of():
    def zero(gradient):
        return gradient * 0
    at = line(-2).rsplit(":", 1)
    text = why(lambda x, w: ops.InsertGradientOf(zero)(w * 2))
    assert "InsertGradientOf rule" in text and f"({at[0]}:{at[1]})" in text
    assert text.endswith("made it zeros.")


def test_hook():
    def body(x, w):
        y = w * 2
        y.register_hook(lambda gradient: gradient * 0)
        return y
    text = why(body)
    assert "the hook '" in text and line(-3) in text and "made it zeros" in text


def test_hook_on_a_parameter():
    net = One(lambda x, w: x * w)
    handle = net.w.register_hook(lambda gradient: gradient * 0)
    assert "hook" in inspect_gradients(net, X).why("w")
    handle.remove()
    assert "is not zero" in inspect_gradients(net, X).why("w")


class Ruled(nn.Cell):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def construct(self, x, w):
        return x * w

    def bprop(self, x, w, out, dout):
        return self.rule(x, w, dout)


def test_bprop_that_returns_none():
    text = why(Ruled(lambda x, w, dout: (dout, None)))
    assert "the bprop 'Ruled.bprop' (" in text and "of Ruled (Cell 'body')" in text
    assert "returned None (no gradient) for it" in text


def test_bprop_that_returns_zeros():
    assert "made it zeros" in why(Ruled(lambda x, w, dout: (dout, ops.zeros_like(w))))


def test_function_with_a_rule():
    class Cut(ms._Function):
        @staticmethod
        def forward(ctx, w):
            return w * 2

        @staticmethod
        def backward(ctx, gradient):
            return None

    text = why(lambda x, w: Cut.apply(w))
    assert "of Cut returned None (no gradient)" in text


def test_nan_and_where_it_arises():
    report = inspect_gradients(One(lambda x, w: ops.sqrt(w) * 0, value=(0.0, 1.0, 2.0)), X)
    text = report.why("w")
    assert "1 NaN" in text and "backward pass through 'sqrt'" in text
    report = inspect_gradients(One(lambda x, w: ops.sqrt(w), value=(-1.0, 1.0, 2.0)), X)
    assert "already in the forward pass, the result of 'sqrt'" in report.why("w")
    for fn in (lambda x, w: ops.tanh(ops.sqrt(ops.sin(w * 0) * 3)),
               lambda x, w: ops.exp(ops.sqrt(ops.sin(ops.cos(w) * 0)))):
        text = inspect_gradients(One(fn, value=(0.0, 1.0, 2.0)), X).why("w")
        assert "3 NaN" in text and "backward pass through 'sqrt'" in text  # not a later one


def test_vanishing_and_exploding():
    layers = [cell for _ in range(12) for cell in (nn.Dense(8, 8), nn.Sigmoid())]
    net = nn.SequentialCell(*layers)
    report = inspect_gradients(net, Tensor(np.ones((2, 8)), ms.float32))
    assert report.mark("0.weight") == "vanishing" and "vanishes" in report.why("0.weight")
    assert report.mark("22.weight") in ("", "exploding")
    report = inspect_gradients(One(lambda x, w: x * w * 300.0), X)  # large for its Parameter only
    assert report.mark("w") == ""
    report = inspect_gradients(One(lambda x, w: x * w * 1e9), X)
    assert report.mark("w") == "exploding" and "explodes" in report.why("w")


def test_sums_that_never_change():
    text = why(lambda x, w: ops.softmax(w * x))
    assert "no more than rounding" in text or "is zero because the gradient that arrives" in text
    assert "at 'softmax' in " + line(-2) in text and "sum of its results is always the same" in text
    text = inspect_gradients(nn.SequentialCell(nn.Dense(3, 4), nn.LayerNorm((4,))), X).why("0.bias")
    assert "at 'layer_norm'" in text


def test_a_bias_before_a_normalization():
    net = nn.SequentialCell(nn.Conv2d(2, 3, 3, has_bias=True), nn.BatchNorm2d(3), nn.ReLU())
    net.set_train()
    report = inspect_gradients(lambda x: net(x) ** 2, ops.randn(2, 2, 5, 5))
    assert report.mark("0.bias") == "vanishing" and report.mark("0.weight") == ""
    assert "'batch_norm'" in report.why("0.bias") and "takes away again" in report.why("0.bias")


def test_a_loss_that_explodes_does_not_hide_the_rest():
    report = inspect_gradients(One(lambda x, w: x * w * 1e9), X)
    assert report.mark("other") == ""


def test_where_data_are_taken_without_their_history():
    assert "its data is taken there, without its history" in why(lambda x, w: x * w.data)
    assert "not zero" in why(lambda x, w: x * Tensor(w))


def test_not_taken_and_masked():
    assert "'where'" in why(lambda x, w: ops.where(x > 100, w, x))
    assert "does not choose it" in why(lambda x, w: (w * x).masked_fill(x < 100, 0.0))
    assert "does not choose it" in why(lambda x, w: (w * x)[:, 0:0].sum() + x)


def test_an_inner_gradient_that_does_not_depend_on_it():
    text = why(lambda x, w: ms.grad(lambda v: (v + w).sum())(x))
    assert "inner gradient computed by 'grad' in " + line(-1) in text and "not depend" in text


def test_relu_like_layers_of_ours():
    assert "outside of the bounds of 'hardswish'" in why(lambda x, w: ops.hardswish(w - 100))
    assert "dead ReLU" in why(lambda x, w: ops.ReLU()(w - 100))
    assert "dead ReLU" in why(lambda x, w: ops.relu6(w - 100))


def test_inputs_too():
    report = inspect_gradients(lambda x, y, i: x * ops.stop_gradient(y) + i, X, X, Tensor([1]))
    assert "is not zero: norm" in report.why("x") and "cut by" in report.why("y")
    assert "integers" in report.why("i")


def test_inputs_in_structures_have_paths():
    report = inspect_gradients(lambda d: d["a"][0] * 2, {"a": (X,), "b": X})
    assert "is not zero" in report.why("d['a'][0]")
    assert "not used by the output" in report.why("d['b']")


def test_names_may_be_short_and_wrong_ones_are_reported():
    report = inspect_gradients(nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 2)), X)
    assert report.why("1.bias") == report.why(report._parameters["1.bias"])
    with pytest.raises(ValueError, match="no Parameter or input '0.wieght'.*'0.weight'"):
        report.why("0.wieght")
    with pytest.raises(ValueError, match="'bias' in this report"):
        report.why("bias")
    with pytest.raises(TypeError, match="'name' must be a str or a Parameter, but got None"):
        report.gradient(None)


def test_a_part_without_elements():
    text = why(lambda x, w: ops.matmul(w.reshape(3, 1), ops.zeros((1, 0))).sum())
    assert re.search(r"the result of 'matmul' in .*:[0-9]+ has no elements", text)
