"""`inspect_gradients`: what is recorded, of what functions, and that it has no side effects."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, inspect_gradients, nn, ops
from lamella.insight.gradients import Numbers
from lamella.insight.gradients.statistics import measure

X = Tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.drop = nn.Dropout(p=0.5)
        self.last = nn.Dense(4, 2)

    def construct(self, x):
        return self.last(self.drop(self.first(x)))


def steps_of(report, operator):
    return [s for s in report.steps if s.operator == operator]


def test_gradients_are_those_of_grad():
    net = Net()
    report = inspect_gradients(net, X)
    by_input, by_weights = ms.grad(net, 0, net.trainable_params())(X)
    for weight, gradient in zip(net.trainable_params(), by_weights, strict=True):
        got = report.gradient(weight)
        array = gradient.asnumpy()
        assert got.shape == weight.shape and got.dtype == "float32"
        assert got.norm == pytest.approx(np.linalg.norm(array), rel=1e-5)
        assert got.low == array.min() and got.high == array.max()
        assert got.zeros == pytest.approx((array == 0).mean())
    assert report.gradient("x").norm == pytest.approx(np.linalg.norm(by_input.asnumpy()), rel=1e-5)


def test_edges_in_between_too():
    report = inspect_gradients(lambda x: ops.relu(x * 2) * 3, X)
    (relu,) = steps_of(report, "relu")
    before, after = relu.inputs[0], relu.outputs[0]
    assert (after.numbers.high, after.gradient.low, after.gradient.high) == (6.0, 3.0, 3.0)
    assert before.gradient.zeros == pytest.approx(2 / 6) and before.numbers.low == -2.0
    assert report.values[-1].is_output and report.values[-1].gradient.low == 1.0


def test_operators_cells_and_lines():
    report = inspect_gradients(Net(), X)
    cells = {s.operator: report.cell_of[s.number] for s in report.steps}
    assert cells == {"dense": "last", "batch_norm": "first.1", "relu": "first.2"} | {
        k: v for k, v in cells.items() if k not in ("dense", "batch_norm", "relu")}
    assert {report.cell_of[s.number] for s in steps_of(report, "dense")} == {"first.0", "last"}
    assert all(s.place.file == __file__ for s in report.steps)


def test_cells_inside_functions():
    net, loss = Net(), nn.MSELoss()

    def forward(x, y):
        return loss(net(x), y), y

    report = inspect_gradients(forward, X, Tensor(np.ones((2, 2)), ms.float32), has_aux=True)
    assert {report.cell_of[s.number].split(".")[0] for s in report.steps} == {"net", "loss"}
    assert report.name == "forward" and "is not zero" in report.why("last.weight")
    only = inspect_gradients(lambda x: net(x), X, weights=[net.last.weight])
    assert list(only.parameters) == ["last.weight"]
    by_method = inspect_gradients(net.construct, X)
    assert "is not zero" in by_method.why("last.weight")


def test_nothing_comes_of_it():
    net = Net().set_train()
    numbers = ms.get_rng_state().asnumpy()
    before = {p.name: (p._data, p.asnumpy().copy()) for p in net.get_parameters()}
    report = inspect_gradients(net, X)
    assert any(p.name.endswith("moving_mean") for p in net.get_parameters())
    for p in net.get_parameters():
        raw, values = before[p.name]
        assert p._data is raw and not p._data.requires_grad and "_hooks" not in p.__dict__
        np.testing.assert_array_equal(p.asnumpy(), values)
    np.testing.assert_array_equal(ms.get_rng_state().asnumpy(), numbers)
    assert not X._raw.requires_grad and X._raw._backward_hooks is None
    assert all(c._plain for _, c in net.cells_and_names())
    assert report._causes.recorder._alive == []


def test_nothing_comes_of_it_when_the_function_raises():
    net = Net().set_train()
    mean = net.first[1].moving_mean.asnumpy().copy()

    def fn(x):
        net(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        inspect_gradients(fn, X)
    np.testing.assert_array_equal(net.first[1].moving_mean.asnumpy(), mean)
    assert ms.core.state.state.level is None and ms.core.state.state.overlay is None
    assert not ms.core.state.state.whole
    assert "is not zero" in inspect_gradients(net, X).why("last.bias")


def test_nothing_comes_of_it_when_a_rule_raises():
    def bad(gradient):
        raise KeyError("rule")

    with pytest.raises(KeyError, match="rule"):
        inspect_gradients(lambda x: ops.InsertGradientOf(bad)(x * 2), X)
    assert ms.core.state.state.level is None


def test_rules_and_what_they_did():
    rules = {"unchanged": lambda g: g, "scaled": lambda g: 2 * g, "zeroed": lambda g: g * 0,
             "clipped": lambda g: ops.clip_by_value(g, -1.0, 1.5), "replaced": lambda g: -g + 7}
    for effect, rule in rules.items():
        report = inspect_gradients(
            lambda x, rule=rule: ops.InsertGradientOf(rule)(x) * Tensor([1.0, 2.0, 3.0]), X)
        ((_, seen),) = report.rules()
        assert seen.effect == effect and __file__ in seen.name
        assert seen.before.high == 3.0
        if effect == "clipped":
            assert seen.after.high == 1.5
            assert len(seen.calls) == 1 and seen.calls[0].startswith("clip_by_value at ")
            assert "which clipped it with clip_by_value at " in seen.text


def test_cell_hooks_are_seen():
    net = nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 2))
    net[1].register_backward_hook(lambda cell, grad_in, grad_out: (grad_in[0] * 2,))
    names = [rule.name for _, rule in inspect_gradients(net, X).rules()]
    assert any(name.startswith("backward hook rule '") for name in names)
    assert all(str(__file__) in name for name in names), names


class Squared(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

    def construct(self, x):
        return ops.exp(x * self.w)

    def bprop(self, x, out, dout):
        return ops.clip_by_norm(dout, 0.5), {self.w: dout.sum(0)}


def test_a_bprop_is_one_step():
    report = inspect_gradients(nn.SequentialCell(Squared(), nn.Tanh()), X)
    assert [s.operator for s in report.steps] == ["bprop of Squared", "tanh"]
    step = report.steps[0]
    assert {v.name for v in step.inputs} == {"input_data", "0.w"} or len(step.inputs) == 2
    assert report.cell_of[0] == "0" and "'Squared.bprop'" in step.rule.name
    assert step.rule.calls and "clip_by_norm" in step.rule.text


def test_a_gradient_inside_the_function():
    def penalty(x):
        inner = ms.grad(lambda y: (y ** 3).sum())(x)
        return (inner ** 2).sum()

    report = inspect_gradients(penalty, X)
    want = ms.grad(penalty)(X).asnumpy()
    assert report.gradient("x").norm == pytest.approx(np.linalg.norm(want), rel=1e-5)


@pytest.mark.parametrize("fn", [
    lambda x: ms.vmap(lambda row: (row * row).sum())(x),
    lambda x: ms.vmap(ms.grad(lambda row: (row ** 3).sum()))(x),
    lambda x: ms.jvp(lambda y: y ** 3, x, x)[1],
    lambda x: ms.recompute(nn.SequentialCell(nn.Dense(3, 3), nn.Tanh()), x),
    lambda x: ms.jit(lambda y: ops.tanh(y) * 2)(x),
    lambda x: nn.LSTM(3, 2)(x.expand_dims(0))[0],
    lambda x: ops.svd(x, compute_uv=False),
    lambda x: x.astype(ms.float16) * 2,
    lambda x: (x.copy(), x[0, 1:], {"n": x.max(axis=1)[0]}),
    lambda x: ops.cast(x, ms.complex64).abs(),
], ids=["vmap", "vmap of grad", "jvp", "recompute", "jit", "lstm", "svd", "half", "structure",
        "complex"])
def test_functions_of_many_kinds(fn):
    ms.set_seed(3)
    want = ms.grad(fn)(X).asnumpy()
    ms.set_seed(3)
    report = inspect_gradients(fn, X)
    assert report.gradient("x").norm == pytest.approx(np.linalg.norm(want), rel=1e-4)
    json.dumps(report.to_dict())
    report.save  # noqa: B018


def test_in_place_changes():
    def fn(x):
        y = x * 2
        y[0] = 0.0
        y += x
        return y

    report = inspect_gradients(fn, X)
    assert report.gradient("x").low == 1.0 and report.gradient("x").high == 3.0


def test_hooks_are_called_once():
    calls = []

    def fn(x):
        y = x * 2
        y.register_hook(lambda gradient: calls.append(1))
        return y

    inspect_gradients(fn, X)
    assert calls == [1]


def test_in_graph_mode():
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        report = inspect_gradients(Net(), X)
    finally:
        ms.set_context(mode=before)
    assert steps_of(report, "relu") and "is not zero" in report.why("last.weight")


def test_after_set_grad():
    net = Net().set_grad()
    net(X)
    assert steps_of(inspect_gradients(net, X), "relu")


def test_shared_cells_and_equal_names():
    shared = nn.Dense(3, 3)
    report = inspect_gradients(lambda x: shared(shared(x)), X)
    assert {report.cell_of[s.number] for s in report.steps} == {"shared"}
    a, b = Parameter(Tensor(1.0), name="w"), Parameter(Tensor(2.0), name="w")
    report = inspect_gradients(lambda x: x * a + b, X)
    assert list(report.parameters) == ["w", "w (2)"]


def test_two_threads_at_once():
    found = {}

    def run(factor):
        for _ in range(5):
            found[factor] = inspect_gradients(lambda x: x * factor, X).gradient("x").high

    threads = [threading.Thread(target=run, args=(f,)) for f in (2.0, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {2.0: 2.0, 5.0: 5.0}


def test_as_a_dict():
    net = Net()
    report = inspect_gradients(net, X)
    found = dict(report)
    assert found == report.to_dict() and report["function"] == "Net"
    json.dumps(found, allow_nan=False)
    assert [p["name"] for p in found["parameters"]] == [p.name for p in net.get_parameters()]
    ids = {s["id"] for s in found["steps"]}
    assert all(set(e["to"]) <= ids for e in found["edges"])
    assert {"path": "first.1", "class": "BatchNorm1d"} in found["cells"]


def test_as_a_table(capsys):
    report = inspect_gradients(One(), X)
    report.print_table()
    text = capsys.readouterr().out
    assert "Gradients of One" in text and "cut" in text and "w" in text
    assert repr(report).startswith("GradientReport(One: 1 Parameters, ")
    assert "w: cut" in repr(report)


class One(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

    def construct(self, x):
        return x * ops.stop_gradient(self.w)


@pytest.mark.parametrize("values, want", [
    ([3.0, 0.0, -4.0], (3, 5.0, 1 / 3, -4.0, 3.0, 0, 0)),
    ([3.0, float("nan"), -float("inf"), 4.0], (4, 5.0, 0.0, 3.0, 4.0, 1, 1)),
    ([float("nan")], (1, 0.0, 0.0, 0.0, 0.0, 1, 0)),
    ([1e30, 1e30], (2, 2 ** 0.5 * 1e30, 0.0, 1e30, 1e30, 0, 0)),
    ([], (0, 0.0, 0.0, 0.0, 0.0, 0, 0)),
])
def test_numbers(values, want):
    got = measure(Tensor(np.array(values, np.float32))._raw)
    assert isinstance(got, Numbers) and got[2:] == pytest.approx(want, rel=1e-6)


def test_numbers_of_other_types():
    assert measure(Tensor([True, False])._raw)[:7] == ((2,), "bool", 2, 1.0, 0.5, 0.0, 1.0)
    assert measure(Tensor([3 + 4j])._raw)[3:7] == (5.0, 0.0, 5.0, 5.0)
    assert measure(Tensor([300.0] * 400, ms.float16)._raw).norm == pytest.approx(6000)


@pytest.mark.parametrize("call, error, text", [
    (lambda: inspect_gradients(3), TypeError, "must be a function or a Cell, but got int"),
    (lambda: inspect_gradients(lambda x: x, Tensor([1])), TypeError, "must have a floating input"),
    (lambda: inspect_gradients(lambda x: x, X, weights=1), TypeError, "'weights' must be"),
])
def test_arguments_are_checked(call, error, text):
    with pytest.raises(error, match=text):
        call()
