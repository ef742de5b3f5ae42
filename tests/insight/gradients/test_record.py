"""What is recorded of a run: its steps, what goes into them, and why gradients end there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, inspect_gradients, nn, ops
from lamella.insight.gradients import record
from lamella.insight.gradients.places import Place
from lamella.insight.gradients.record import Step, Value

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
NOWHERE = Place(None, "", 0, "", False, False)


def value(number, tracked=True, dtype="float32"):
    found = Value(number, "step")
    found.tracked = tracked
    found.numbers = None if dtype is None else SimpleNamespace(dtype=dtype)
    return found


@pytest.mark.parametrize("kernel, operator, inputs, outputs, cut", [
    ("exp", "exp", [True], [(True, "float32")], ""),
    ("exp", "exp", [False], [(False, "int32")], ""),
    ("exp", "exp", [], [], ""), ("sort", "sort", [True], [(True, "float32"), (False, "int64")], ""),
    ("exp", "exp", [False, True], [(False, "float32")], "other"),
    ("item", "item", [True], [], "numpy"), ("numpy", "f", [True], [], "numpy"),
    ("f", "asnumpy", [True], [(False, "float32")], "numpy"),
    ("f", "tolist", [True], [(False, "float32")], "numpy"),
    ("detach", "stop_gradient", [True], [(False, "float32")], "stop_gradient"),
    ("f", "StopGradient", [True], [(False, "float32")], "stop_gradient"),
    ("f", "my_stop_gradient", [True], [(False, "int32")], "stop_gradient"),
    ("detach", "f", [True], [(False, "float32")], "stop_gradient"),
    ("detach_", "f", [True], [(False, "float32")], "stop_gradient"),
    ("data", "f", [True], [(False, "float32")], "stop_gradient"),
    ("to", "f", [True], [(False, "int32")], "cast"), ("f", "astype", [True], [(False, "bool")],
                                                      "cast"),
    ("int", "f", [True], [(False, "uint8")], "cast"), ("f", "cast", [True], [(False, "int8")],
                                                       "cast"),
    ("to", "astype", [True], [(False, "float16")], "other"),
    ("argmax", "argmax", [True], [(False, "int64")], "discrete"),
    ("gt", "gt", [True], [(False, "bool")], "discrete"),
    ("f", "f", [True], [(False, "bool"), (False, "int64")], "discrete"),
    ("f", "f", [True], [(False, "bool"), (False, "float32")], "other"),
    ("f", "f", [True], [(False, None), (False, "int64")], "discrete"),
    ("f", "f", [True], [(False, None)], "other"), ("f", "f", [True], [], "other")])
def test_why_nothing_flows_back_through_a_step(kernel, operator, inputs, outputs, cut):
    step = Step(0, operator, kernel, NOWHERE)
    step.inputs = [value(i, tracked) for i, tracked in enumerate(inputs)]
    step.outputs = [value(9 + i, *each) for i, each in enumerate(outputs)]
    with torch.enable_grad():
        assert record._cut(step, kernel) == cut
    with torch.no_grad():
        kept = cut if cut in ("", "numpy") or "top" in operator.lower() else "no_grad"
        assert record._cut(step, kernel) == kept


def test_what_is_known_of_values_and_steps_by_name():
    one, step = Value(3, "input", "x"), Step(4, "exp", "exp", NOWHERE)
    assert (one.id, step.id) == ("v3", "s4") and list(step.rules) == []
    rules = [object() for _ in range(3)]
    step.rule, step.outputs = rules[0], [value(0), value(1)]
    step.outputs[0].rules, step.outputs[1].rules = [rules[1]], [rules[2]]
    assert list(step.rules) == rules


def steps_of(fn, *args, **options):
    """Of each step its operator, the names or kinds of what goes in, and how many results."""
    report = inspect_gradients(fn, *args, **options)
    return [(s.operator, [v.name or v.kind for v in s.inputs], len(s.outputs))
            for s in report.steps], report


CONSTANT = Tensor([2.0, 3.0])
W = Parameter(Tensor([[0.5, -1.0], [2.0, 1.5]]), name="w")


@pytest.mark.parametrize("fn, wanted", [
    (lambda x: x * W, [("mul", ["x", "w"], 1)]),
    (lambda x: x * x, [("mul", ["x"], 1)]),  # each value once
    (lambda x: ops.exp(x) + 1, [("exp", ["x"], 1), ("add", ["step"], 1)]),
    (lambda x: x * CONSTANT, [("mul", ["x", "constant"], 1)]),
    (lambda x: x * ops.zeros_like(W), [("zeros_like", [], 1), ("mul", ["x", "step"], 1)]),
    (lambda x: x.reshape(4) * 1, [("reshape", ["x"], 1), ("mul", ["step"], 1)]),
    (lambda x: x * float(W.sum()), [("sum", ["w"], 1), ("float", ["step"], 0), ("mul", ["x"], 1)]),
], ids=range(7))
def test_steps_and_what_goes_into_them(fn, wanted):
    found, report = steps_of(fn, X)
    assert [each[1:] for each in found] == [each[1:] for each in wanted], found
    want = ms.grad(fn)(X).asnumpy()
    assert report.gradient("x").norm == pytest.approx(np.linalg.norm(want), rel=1e-5)


def test_numbers_that_go_into_a_step():
    _, report = steps_of(lambda x: (x * 3 + 2.5) ** 2, X)
    assert [s.plain for s in report.steps] == [[3], [2.5], [2]]


def changed_in_part(x):
    y = x * 2
    y[0] *= 3
    return y


def changed_by_another(x):
    y = x * 2
    z = y[1]
    z += W[0]
    return y


def changed_twice(x):
    y = ops.zeros((2, 2))
    y[0] = x[1]
    y[0] = y[0] * W[0]
    return y.sum()


@pytest.mark.parametrize("fn", [changed_in_part, changed_by_another, changed_twice,
                                lambda x: x.T @ W.T, lambda x: x.swapaxes(0, 1)[0] * 1])
def test_gradients_through_changes_in_place_and_views(fn):
    report = inspect_gradients(fn, X, weights=W)
    by_input, by_weight = ms.grad(fn, 0, W)(X)
    assert report.gradient("x").norm == pytest.approx(np.linalg.norm(by_input.asnumpy()), rel=1e-5)
    want = np.linalg.norm(by_weight.asnumpy())
    got = report.gradient("w")
    assert (got.norm if got is not None else 0.0) == pytest.approx(want, rel=1e-5)
    assert all(step.cut == "" for step in report.steps)


def test_quotients_that_are_rounded_have_a_name_of_their_own():
    kernels = [s.kernel for s in inspect_gradients(lambda x: x // 2 + x / 2, X).steps]
    assert kernels.count("floor_divide") == 1 and len(kernels) == 3


class Assigning(nn.Cell):
    """Assigns its Parameter on the way."""

    def __init__(self, way):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")
        self.way = way

    def construct(self, x):
        self.way(self.w, x)
        return x @ self.w


@pytest.mark.parametrize("way", [
    lambda w, x: ops.assign(w, w * 2), lambda w, x: w.set_data(Tensor([5.0, 6.0])),
    lambda w, x: ops.assign_add(w, Tensor([1.0, 1.0]))])
@pytest.mark.filterwarnings("ignore:The gradient doesn't flow:UserWarning")
def test_a_parameter_that_is_assigned_is_still_itself(way):
    net = Assigning(way)
    before = net.w.asnumpy().copy()
    report = inspect_gradients(net, X)
    assert list(report.parameters) == ["w"]
    np.testing.assert_array_equal(net.w.asnumpy(), before)
    twin = Assigning(way)
    gradient, = ms.grad(twin, None, twin.trainable_params())(X)
    assert report.gradient("w").norm == pytest.approx(np.linalg.norm(gradient.asnumpy()), rel=1e-5)


def test_sparse_tensors_are_passed_over():
    def fn(x):
        sparse = torch.eye(2).to_sparse()
        torch.sparse.mm(sparse, torch.ones(2, 2))
        return x * 2

    found, report = steps_of(fn, X)
    assert report.gradient("x").high == 2.0 and found[-1][0] == "mul"


def test_a_recorder_outside_of_its_phases_records_nothing():
    recorder = record.Recorder()
    with recorder:
        torch.ones(2) * 2
    assert recorder.steps == [] == recorder.values
    recorder.phase = "forward"
    with recorder:
        torch.ones(2) * 2
    assert len(recorder.steps) >= 1
    recorder.clear()
    assert recorder.steps == [] == recorder.values == recorder._alive


@pytest.mark.parametrize("func, name", [
    (torch.Tensor.T.__get__, "T"), (torch.Tensor.data.__get__, "data"), (torch.exp, "exp"),
    (torch.Tensor.add_, "add_"), (torch.ops.aten.mul.Tensor, "mul.Tensor"),
    (torch.ops.aten.exp.default, "exp")])
def test_names_of_functions(func, name):
    assert record._name(func) == name


def test_a_parameter_of_another_cell_is_named_when_it_is_used():
    """Also where only some weights are looked at."""
    net = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 2))
    report = inspect_gradients(net, X, weights=[net[0].weight])
    names = {v.name for v in report.values if v.kind == "parameter"}
    assert names == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert list(report.parameters) == ["0.weight"]


def test_steps_of_several_kernels_give_what_all_of_them_give():
    """The tape has nodes between what goes in and what comes out."""
    vector, nothing = Parameter(Tensor([3.0, 4.0]), name="v"), Tensor([0.0, 0.0])
    for function, wanted in ((lambda x: ops.einsum("ij,j->i", x, vector), {"x", "v"}),
                             (lambda x: ops.einsum("ij,j->i", x, nothing) + vector.sum(), set())):
        report = inspect_gradients(function, X, weights=vector)
        (step,) = [s for s in report.steps if s.operator == "einsum"]
        names = {v.number: v.name for v in step.inputs}
        assert {names[number] for number in step.gives} == wanted
        assert {names[number] for number in step.measured} >= {"x"}


def test_contributions_of_several_kernels_that_cancel():
    vector = Parameter(Tensor([3.0, 4.0]), name="v")
    report = inspect_gradients(lambda x: ops.einsum("ij,j->i", x, vector) - ops.einsum(
        "ij,j->i", x, vector), X, weights=vector)
    assert "contributions to it in 'einsum'" in report.why("v") and "cancel" in report.why("v")


def test_an_assigned_parameter_is_shown_with_its_new_values():
    def function(x):
        W.set_data(Tensor([[5.0, 6.0], [7.0, 8.0]]))
        return x * W

    value = inspect_gradients(function, X, weights=W).parameters["w"]
    assert (value.numbers.low, value.numbers.high) == (5.0, 8.0)
    assert (value.gradient.low, value.gradient.high) == (1.0, 4.0)
    assert W.asnumpy().max() == 2.0


def test_an_inner_gradient_is_no_cut():
    report = inspect_gradients(lambda x: ms.grad(lambda y: (y ** 3).sum())(x) * 2, X)
    assert not any(s.cut or s.kernel == "detach" for s in report.steps)
    assert report.gradient("x").high == 48.0


@pytest.mark.parametrize("fn", [
    lambda x: ms.vmap(ms.grad(lambda row: (row ** 3).sum()))(x),
    lambda x: nn.LSTM(2, 2)(x.expand_dims(0))[0],
    lambda x: ms.recompute(nn.SequentialCell(nn.Dense(2, 2), nn.Tanh()), x)])
def test_values_that_only_the_tape_knows_are_followed(fn):
    report = inspect_gradients(fn, X)
    assert all(v.tracked for v in report.values if v.numbers is None)
    assert all(v.maker is not None for v in report.values if v.kind == "step")


def test_what_an_inner_gradient_gives_beside_the_loss_is_cut():
    def inner(y):
        return (y ** 3).sum(), ops.sin(y) * 2

    report = inspect_gradients(lambda x: ms.value_and_grad(inner, has_aux=True)(x)[0][1], X)
    assert "is zero because it is cut in " in report.why("x")
    assert [s.cut for s in report.steps if s.kernel == "detach"] == ["stop_gradient"]
