"""Runs inside of gradient calls: when they may be graphs, and why some aren't."""

import contextlib

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.core.state import state
from lamella.graph.tracing.taping import MOST_RESULTS, may_be_taped

X = Tensor([1.0, 2.0, 3.0])


@contextlib.contextmanager
def whole():
    state.whole = True
    try:
        yield
    finally:
        state.whole = False


def inside(block, call):
    with block:
        return call()


class Half(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn
        self.w = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")
        self.to_float(ms.float16)

    def construct(self, x):
        return self.fn(x * self.w)


CONTEXTS = {
    "a gradient": (lambda f: ms.grad(f)(X), True),
    "a gradient by a weight": (lambda f: ms.grad(f, 0, [Parameter(X, name="w")])(X), True),
    "no gradient": (lambda f: f(X), False),
    "a run that is recorded": (lambda f: jit(ms.grad(f))(X), False),
    "a gradient of a gradient": (lambda f: ms.grad(lambda x: ms.grad(f)(x).sum())(X), False),
    "a forward derivative": (lambda f: ms.jvp(f, X, X), False),
    "a batch": (lambda f: ms.vmap(f)(ops.stack([X, X])), False),
    "a batch in a gradient": (lambda f: ms.grad(lambda x: ms.vmap(f)(x).sum())(
        ops.stack([X, X])), False),
    "a gradient in a batch": (lambda f: ms.vmap(ms.grad(f))(ops.stack([X, X])), False),
    "a block that isn't recorded": (lambda f: ms.grad(lambda x: inside(
        torch.no_grad(), lambda: f(x)) + x.sum())(X), False),
    "a block that is computed again": (lambda f: ms.grad(lambda x: ms.recompute(f, x))(X), False),
    "hooks of saved tensors": (lambda f: inside(torch.autograd.graph.saved_tensors_hooks(
        lambda raw: raw, lambda raw: raw), lambda: ms.grad(f)(X)), False),
    "a level of dual numbers": (lambda f: inside(forward_ad.dual_level(), lambda: ms.grad(f)(X)),
                                False),
    "a call that runs as a whole": (lambda f: inside(whole(), lambda: ms.grad(f)(X)), False),
    "another precision": (lambda f: ms.grad(Half(f))(X), False)}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("name", CONTEXTS)
def test_where_a_graph_may_be_a_node_of_the_tape(name):
    call, may = CONTEXTS[name]
    found = []
    call(lambda x: (found.append(may_be_taped()), (x * x).sum())[1])
    assert found and set(found) == {may}


class Squared(nn.Cell):
    """Its rule isn't linear in the gradient."""

    def construct(self, *parts):
        return sum(part * part for part in parts)

    def bprop(self, *given):
        *parts, _, gradient = given
        return tuple([gradient * gradient * part for part in parts])


def results_of(count, rule):
    def fn(x):
        y = rule(x)
        return tuple([y * (n + 2) for n in range(count)])
    return fn


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("rule, count, is_graph", [
    (Squared(), 1, True), (Squared(), 2, True), (Squared(), MOST_RESULTS, True),
    (Squared(), MOST_RESULTS + 1, False),
    (ops.sin, MOST_RESULTS + 2, True),
    (ops.InsertGradientOf(lambda gradient: gradient * gradient), MOST_RESULTS, True),
    (ops.InsertGradientOf(lambda gradient: gradient * gradient), MOST_RESULTS + 1, False)])
def test_results_whose_gradients_meet_in_a_rule(rule, count, is_graph):
    fn = results_of(count, rule)
    compiled = jit(fn)
    choices = [range(count), *[[n] for n in range(count)], *([[0, count - 1]] if count > 2 else [])]
    for _ in range(2):
        for chosen in choices:
            found, wanted = [ms.grad(lambda x, f=f, chosen=chosen: sum(
                [f(x)[n].sum() for n in chosen]))(X).asnumpy() for f in (compiled, fn)]
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    report = compiled.report()
    assert (report["replays"] > count and report["eager"] == []) is is_graph, report
    if not is_graph:
        assert f"more than {MOST_RESULTS} differentiated Tensors" in report["eager"][0]


class State:
    held = seen = None


STATE = State()
BUFFER = Tensor([0.0, 0.0, 0.0])
WEIGHT = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")


def keeps_it_in_place(x):
    BUFFER[:2] = x[:2]
    return x * BUFFER


def keeps_a_constant_in_place(x):
    BUFFER[:2] = ops.stop_gradient(x)[:2]
    return x * BUFFER


def assigns_a_weight(x):
    ops.assign(WEIGHT, x * 2)
    return x * WEIGHT


def assigns_a_constant(x):
    ops.assign(WEIGHT, ops.stop_gradient(x))
    return x * 3


def notes(gradient):
    STATE.seen = 3 if STATE.seen is None else STATE.seen + 1
    return gradient * 2


def changes_an_object_in_the_rule(x):
    return ops.InsertGradientOf(notes)(x) * x


def prints(gradient):
    print(end="")
    return gradient * 2


def prints_in_the_rule(x):
    return ops.InsertGradientOf(prints)(x) * x


def reads(gradient):
    return gradient * 2 if gradient.sum() > 100 else gradient


def reads_in_the_rule(x):
    return ops.InsertGradientOf(reads)(x) * x


def changes_in_place(gradient):
    BUFFER.add_(1)
    return gradient * 2


def changes_a_tensor_in_the_rule(x):
    return ops.InsertGradientOf(changes_in_place)(x) * x


def draws(gradient):
    return gradient * ops.rand(3)


def draws_in_the_rule(x):
    return ops.InsertGradientOf(draws)(x) * x


REASONS = [
    (keeps_it_in_place, "keeps what is differentiated"), (keeps_a_constant_in_place, ""),
    (assigns_a_weight, "assigns to a Parameter what is differentiated"),
    (assigns_a_constant, "assigns to a Parameter what is differentiated"),
    (changes_an_object_in_the_rule, "changes an object when it is differentiated"),
    (prints_in_the_rule, "prints or logs when it is differentiated"),
    (reads_in_the_rule, "turns a tensor into a Python value when it is differentiated"),
    (changes_a_tensor_in_the_rule, "changes a Tensor when it is differentiated"),
    (draws_in_the_rule, "draws random numbers when it is differentiated")]


@pytest.mark.filterwarnings("ignore:For 'jit'", "ignore:The gradient doesn't flow:UserWarning")
@pytest.mark.parametrize("fn, reason", REASONS, ids=lambda part: getattr(part, "__name__", ""))
def test_why_a_run_is_no_graph_inside_of_a_gradient(fn, reason):
    found = []
    compiled = jit(fn)
    for call in (fn, compiled):
        ms.set_seed(3)
        STATE.seen = None
        BUFFER._raw = torch.zeros(3)
        WEIGHT.set_data(X)
        for number in range(4):
            gradient = ms.grad(lambda x, call=call: call(x * 1).sum(), 0, [WEIGHT])(X + number)
            found.append(([g.asnumpy().tolist() for g in (gradient[0], *gradient[1])],
                          STATE.seen, BUFFER.tolist(), WEIGHT.asnumpy().tolist()))
    assert found[4:] == found[:4]
    report = compiled.report()
    if reason:
        assert reason in report["eager"][0], report
    else:
        assert report["replays"] >= 2 and report["eager"] == [], report


def test_a_function_of_another_precision_is_no_graph():
    net = nn.Dense(3, 2, weight_init="ones")
    net.to_float(ms.float16)
    compiled = jit(lambda x: net(x))
    x = X.reshape(1, 3)
    for _ in range(3):
        for chosen in (net.trainable_params(), [net.bias]):
            found, wanted = (ms.grad(f, 0, chosen)(x) for f in (compiled, net))
            np.testing.assert_array_equal(found[0].asnumpy(), wanted[0].asnumpy())
            np.testing.assert_array_equal(found[1][0].asnumpy(), wanted[1][0].asnumpy())


@pytest.mark.parametrize("use", [
    lambda x, y: x * 2, lambda x, y: y * 2, lambda x, y: x + y,
    lambda x, y: (x * y, ops.stop_gradient(x)), lambda x, y: x])
def test_one_tensor_given_twice(use):
    """Each use counts, whichever argument it came by."""
    compiled = jit(use)

    def loss(call, x):
        found = call(x, x)
        return (found[0] if isinstance(found, tuple) else found).sum() * x.sum()

    for number in range(3):
        found, wanted = (ms.grad(lambda x, f=f: loss(f, x * 1))(X + number)
                         for f in (compiled, use))
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)
    assert compiled.report()["replays"] == 2
