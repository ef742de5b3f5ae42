"""Attention by the fused kernel."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn as tnn

import lamella as ms
from lamella import nn, ops
from lamella.graph.guards.reach import Reach
from lamella.graph.passes import attention as module
from lamella.graph.passes import order
from lamella.graph.passes.attention import attention
from lamella.graph.passes.forms import describe
from lamella.graph.passes.parts import join
from lamella.graph.tracing.trace import held_data, run_traced
from tests.graph.passes.checks import check_same, count, recorded

FUSED = "_scaled_dot_product_flash_attention_for_cpu"
BATCH, HEADS, LENGTH, DEPTH = 2, 3, 5, 4
WIDTH = HEADS * DEPTH
FEWEST = module.FEWEST


@pytest.fixture(autouse=True, scope="module")
def few_keys():
    """What the pass finds doesn't depend on their number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST", 1)
        yield


def rewritten(graph, inputs, tolerance=2e-6):
    """The graph before and after the pass, which agree to rounding."""
    before = order.copied(graph)
    describe(before.graph, inputs)
    order.simplify(before)
    while join(before.graph):
        order.simplify(before)
    before.recompile()
    text = str(before.graph)
    found = attention(before, inputs)
    assert str(before.graph) == text
    if found is not None:
        order.simplify(found)
        found.recompile()
        check_same(before, found, inputs, tolerance)
        assert count(found, "_softmax_backward_data") < 1 + count(before, "_softmax_backward_data")
    return found


def fused(found, gradients):
    """Whether all attention is by the kernel, and its gradient, if there is one."""
    return (found is not None and count(found, FUSED) > 0
            and count(found, "_softmax", "bmm", "_softmax_backward_data") == 0
            and count(found, FUSED + "_backward") == (count(found, FUSED) if gradients else 0))


def rule_of(found):
    """How the kernel hides keys: "causal", "mask" or None."""
    node = next(n for n in found.graph.nodes if str(n.target).startswith(f"aten.{FUSED}."))
    mask = node.kwargs.get("attn_mask")
    return "causal" if node.args[4:5] == (True,) else "mask" if mask is not None else None


def traced(function, *data):
    """The graph of a function of Tensors, as `jit` records it, and its inputs."""
    trace = run_traced(function, data, {}, Reach.of_call(function, data, {}))
    assert trace.graph is not None
    return trace.graph, [*(x._raw for x in data), *map(held_data, trace.held), *trace.constants]


# -- as MindSpore programs have it -----------------------------------------------------------------

HIDDEN = np.triu(np.ones((LENGTH, LENGTH), np.float32), 1)


class Block(nn.Cell):
    """Self-attention with projections, where the scores, and what is done to them, are given."""

    def __init__(self, scores, hide=None, softmax=None):
        super().__init__()
        self.q, self.k, self.v = (nn.Dense(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Dense(WIDTH, WIDTH)
        self.scores, self.hide = scores, hide or (lambda s, m: s)
        self.softmax = softmax or nn.Softmax(-1)
        self.drop = nn.Dropout(p=0.0)

    def construct(self, x, mask):
        q, k, v = (f(x).reshape(BATCH, LENGTH, HEADS, DEPTH).transpose(0, 2, 1, 3)
                   for f in (self.q, self.k, self.v))
        p = self.drop(self.softmax(self.hide(self.scores(q, k), mask)))
        y = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH)
        return self.out(y)


def data():
    np.random.seed(0)
    x = np.random.randn(BATCH, LENGTH, WIDTH).astype(np.float32)
    mask = np.ones((BATCH, 1, 1, LENGTH), np.float32)
    mask[1, ..., 3:] = 0
    return ms.Tensor(x), ms.Tensor(mask)


def forward_and_training(block):
    """The rewritten graphs of a network without and with gradients and an optimizer's step."""
    plain = rewritten(*traced(block, *data()))
    optimizer = nn.Momentum(block.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, m: (block(x, m) ** 2).mean(), None, optimizer.parameters)

    def step(x, mask):
        loss, gradients = gradient(x, mask)
        optimizer(gradients)
        return loss, *gradients

    return plain, rewritten(*traced(step, *data()))


TENSOR = ms.Tensor(0.5, ms.float32)
SCORES = {
    "matmul, /": lambda q, k: ops.matmul(q, k.transpose(0, 1, 3, 2)) / math.sqrt(DEPTH),
    "BatchMatMul, *": lambda q, k: ops.BatchMatMul(transpose_b=True)(q, k) * 0.5,
    "@, tensor": lambda q, k: q @ k.swapaxes(-1, -2) / ops.sqrt(ms.Tensor(DEPTH, ms.float32)),
    "held tensor": lambda q, k: ops.matmul(q, k.swapaxes(2, 3)) * TENSOR,
    "/ held tensor": lambda q, k: ops.mul(ops.matmul(q, k.swapaxes(2, 3)), 2.0) / TENSOR,
    "on q": lambda q, k: ops.matmul(q * 0.5, k.swapaxes(2, 3)),
    "on k": lambda q, k: ops.matmul(q, k.swapaxes(2, 3) / 2.0),
    "none": lambda q, k: ops.BatchMatMul(False, True)(q, k),
    "3-D": lambda q, k: ops.bmm(q.reshape(-1, LENGTH, DEPTH), k.reshape(-1, LENGTH, DEPTH).swapaxes(
        1, 2)).reshape(BATCH, HEADS, LENGTH, LENGTH) * 0.5,
}


def tril():
    return ops.tril(ops.ones((LENGTH, LENGTH)))


HELD = ms.Tensor(HIDDEN * -1e4)
HIDE = {
    "masked_fill": lambda s, m: s.masked_fill(tril() == 0, -1e9),
    "masked_fill, -inf": lambda s, m: ops.masked_fill(s, tril() == 0, float("-inf")),
    "where": lambda s, m: ops.where(tril() == 1, s, ms.Tensor(-np.inf, ms.float32)),
    "where, turned": lambda s, m: ops.where(tril() == 0, ms.Tensor(-1e4, ms.float32), s),
    "select": lambda s, m: ops.select(tril().bool().broadcast_to(s.shape), s, -1e5),
    "added": lambda s, m: s + (1 - tril()) * -10000.0,
    "added, 4-D": lambda s, m: (1 - tril())[None, None] * -1e9 + s,
    "written out": lambda s, m: s + ms.Tensor(HIDDEN) * -1e9,
    "two": lambda s, m: s.masked_fill(tril() == 0, -1e9) + (1 - tril()) * -1e9,
}
OTHERS = {
    "band": lambda s, m: s.masked_fill((tril() * ops.triu(ops.ones((LENGTH, LENGTH)), -1)) == 0,
                                       -1e9),
    "numbers": lambda s, m: s + tril() * 0.3,
    "rows of numbers": lambda s, m: s + ops.arange(LENGTH).astype(ms.float32) * -0.1,
    "by head": lambda s, m: s + ops.arange(HEADS).reshape(HEADS, 1, 1) * tril() * -0.5,
}
INPUTS = {
    "input": lambda s, m: s + (1.0 - m) * -10000.0,
    "whole numbers": lambda s, m: s + (1 - m.astype(ms.int32)).astype(ms.float32) * -10000.0,
    "two": lambda s, m: s + (1 - tril()) * -10000.0 + (1 - m) * -10000.0,
    "held": lambda s, m: HELD + s,
}


@pytest.mark.parametrize("name", HIDE)
def test_ways_to_hide_what_comes_later(name):
    plain, step = forward_and_training(Block(SCORES["matmul, /"], HIDE[name]))
    assert fused(plain, False) and fused(step, True)
    assert rule_of(plain) == rule_of(step) == "causal"


@pytest.mark.parametrize("name", OTHERS)
def test_other_known_masks(name):
    plain, step = forward_and_training(Block(SCORES["matmul, /"], OTHERS[name]))
    assert fused(plain, False) and fused(step, True)
    assert rule_of(plain) == rule_of(step) == "mask"


@pytest.mark.parametrize("name", INPUTS)
def test_masks_that_are_added_but_not_known(name):
    """They are for the forward pass only: see `test_a_large_number_leaves_no_gradient`."""
    plain, step = forward_and_training(Block(SCORES["matmul, /"], INPUTS[name]))
    assert fused(plain, False) and rule_of(plain) == "mask"
    assert step is None


@pytest.mark.parametrize("softmax", [
    nn.Softmax(), lambda s: ops.softmax(s, axis=-1), lambda s: ops.Softmax(3)(s),
    lambda s: ops.softmax(s.astype(ms.float32), -1).astype(ms.float32)])
def test_ways_to_write_the_softmax(softmax):
    plain, step = forward_and_training(Block(SCORES["none"], softmax=softmax))
    assert fused(plain, False) and fused(step, True)


def test_heads_in_one_dimension_with_the_batch():
    def function(q, k, v):
        p = ops.softmax(ops.bmm(q, k.swapaxes(1, 2)) * 0.3 + ops.ones((LENGTH, 1)) * 2)
        return ops.bmm(p, v)

    values = [ms.Tensor(np.random.randn(6, LENGTH, DEPTH).astype(np.float32)) for _ in range(3)]
    assert fused(rewritten(*traced(function, *values)), False)
    gradient = ms.value_and_grad(lambda *x: function(*x).sin().sum(), (0, 1, 2))
    assert fused(rewritten(*traced(gradient, *values)), True)


def test_layers_one_after_another():
    first, second = (Block(SCORES[n], OTHERS["band"]) for n in ("on q", "none"))
    parameters = nn.CellList([first, second]).trainable_params()
    gradient = ms.value_and_grad(lambda x, m: second(first(x, m), m).sin().sum(), None, parameters)
    found = rewritten(*traced(gradient, *data()), tolerance=1e-5)
    assert fused(found, True) and count(found, FUSED) == 2
    first, second = (Block(SCORES[n], INPUTS["two"]) for n in ("on q", "none"))
    found = rewritten(*traced(lambda x, m: second(first(x, m), m), *data()))
    assert fused(found, False) and count(found, FUSED) == 2
    assert count(found, "amax") == 1  # the mask is looked at once


@pytest.mark.parametrize("mask", [None, HIDDEN * -1e9, HIDDEN == 1])
def test_multi_head_attention(mask):
    """It computes weights if it is asked for them; here nobody uses them."""
    net = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    options = {} if mask is None else {"attn_mask": ms.Tensor(mask)}
    parameters = net.trainable_params()

    def loss(x, number):
        return net(x, x, x, **options)[number].sin().sum()

    found = rewritten(*traced(lambda x: loss(x, 0), data()[0]))
    assert found is not None and count(found, FUSED) == 1 and count(found, "_softmax") == 0
    found = rewritten(*traced(ms.value_and_grad(lambda x: loss(x, 0), None, parameters), data()[0]))
    assert (found is None) == (mask is not None)
    assert found is None or count(found, FUSED + "_backward") == 1
    assert rewritten(*traced(lambda x: loss(x, 1), data()[0])) is None


def test_it_is_tried_on_the_way_to_a_faster_graph(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    monkeypatch.setattr(order, "pays", lambda *_: True)
    graph, inputs = traced(Block(SCORES["none"]), *data())
    better = order.improve(graph, inputs, measure=True)
    while better.meta["open"]:
        better = order.improve(graph, inputs, measure=True)
    assert fused(better, False)
    check_same(graph, better, inputs, 2e-6)


def test_a_compiled_step(monkeypatch):
    """What a training step gives over several runs, with and without the pass."""
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    block = Block(SCORES["matmul, /"], HIDE["masked_fill"])
    optimizer = nn.Momentum(block.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, m: (block(x, m) ** 2).mean(), None, optimizer.parameters)

    def step(x, mask):
        loss, gradients = gradient(x, mask)
        optimizer(gradients)
        return loss

    graph, inputs = traced(step, *data())
    found = rewritten(graph, inputs)
    assert fused(found, True)
    first, second = [x.clone() for x in inputs], [x.clone() for x in inputs]
    for _ in range(5):
        a, b = graph(*first)[0], found(*second)[0]
        torch.testing.assert_close(a, b, rtol=1e-6, atol=0)


# -- shapes, types and layouts ---------------------------------------------------------------------

def spelled(q, k, v, hide=lambda s: s, scale=0.7):
    return torch.softmax(hide(q @ k.transpose(-1, -2) * scale), -1) @ v


def gradients(function):
    """The result of a function, and its gradients by all it takes."""
    def step(*given):
        given = [x.detach().requires_grad_() for x in given]
        y = function(*given)
        found = torch.autograd.grad((y * (y.detach().cos() + 0.5)).sum(), given)
        return y.detach(), *found

    return step


def attend(function, *inputs, tolerance=1e-5):
    """The rewritten graph of a function, and of its gradients."""
    inputs = list(inputs)
    both = []
    for each in (function, gradients(function)):
        both.append(rewritten(recorded(each, *inputs), inputs, tolerance))
    assert (both[0] is None) == (both[1] is None)
    return both[1]


@given(batch=st.lists(st.integers(1, 3), min_size=1, max_size=2), rows=st.integers(1, 40),
       columns=st.integers(1, 40), depth=st.integers(2, 20), double=st.booleans(),
       hidden=st.sampled_from(["none", "causal", "fill", "band", "added", "added rows",
                                "heads"]),
       seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_any_lengths(batch, rows, columns, depth, double, hidden, seed):
    torch.manual_seed(seed)
    dtype = torch.float64 if double else torch.float32
    q, k, v = (torch.randn(*batch, n, depth, dtype=dtype) for n in (rows, columns, columns))
    shape = {"added": (rows, columns), "added rows": (batch[0], *[1] * len(batch), columns),
             "heads": (*batch, rows, columns)}.get(hidden, (1, 1))
    added = torch.randn(shape, dtype=dtype)

    def function(q, k, v, added):
        added = added.detach()
        seen = torch.ones(rows, columns, dtype=torch.bool).tril()
        seen = torch.cat([seen[:, :1], seen[:, 1:].flip(1)], 1) if hidden == "fill" else seen
        hide = {"none": lambda s: s, "causal": lambda s: torch.where(seen, s, -1e9),
                "fill": lambda s: s.masked_fill(~seen, float("-inf")),
                "band": lambda s: s + torch.arange(columns, dtype=dtype).sin()}
        y = spelled(q, k, v, hide.get(hidden, lambda s: s + added))
        return y

    def step(q, k, v, added):
        return gradients(lambda q, k, v: function(q, k, v, added))(q, k, v)

    for each in (function, step):
        graph = recorded(each, q, k, v, added)
        found = rewritten(graph, [q, k, v, added], 1e-12 if double else 1e-5)
        if each is step and hidden in ("added", "added rows", "heads"):
            assert found is None
        else:
            assert fused(found, each is step)


@pytest.mark.parametrize("rows, columns", [(200, 200), (33, 700), (700, 33)])
@pytest.mark.parametrize("causal", [False, True])
def test_long_ones(rows, columns, causal):
    torch.manual_seed(0)
    def hide(s):
        return s.masked_fill(torch.ones(rows, columns).tril() == 0, -1e9) if causal else s

    found = attend(lambda q, k, v: spelled(q, k, v, hide), torch.randn(2, 2, rows, 16),
                   torch.randn(2, 2, columns, 16), torch.randn(2, 2, columns, 16))
    assert fused(found, True) and rule_of(found) == ("causal" if causal else None)


@pytest.mark.parametrize("function", [
    lambda q, k, v: spelled(q.transpose(2, 3), k, v),  # rows are not in one piece
    lambda q, k, v: spelled(q, k.transpose(2, 3), v.transpose(2, 3)),
    lambda q, k, v: spelled(q[:, :1].expand(2, 3, 6, 6), k[:, :1].expand(2, 3, 6, 6), v),
    lambda q, k, v: spelled(q, k, v).transpose(1, 2).reshape(2, 6, 18),
    lambda q, k, v: spelled(q[:, 0], k[:, 0], v[:, 0]),
    lambda q, k, v: spelled(q, q, q) + k + v,
    lambda q, k, v: spelled(q, k, v).transpose(2, 3).contiguous(),
    lambda q, k, v: spelled(spelled(q, k, v), k, v),
    lambda q, k, v: torch.cat([x.transpose(1, 2).reshape(2, 6, 18) for x in (
        spelled(q, k, v), spelled(k, v, q))], 2).sin() * 2,
    lambda q, k, v: (q @ k.transpose(2, 3)).mul(2).div(3).mul(0.5).softmax(3) @ v,
])
def test_layouts(function):
    torch.manual_seed(0)
    assert fused(attend(function, *(torch.randn(2, 3, 6, 6) for _ in range(3))), True)


def test_not_every_gradient_is_asked_for():
    q, k, v = (torch.randn(2, 3, 6, 4) for _ in range(3))
    for number in range(3):
        def step(*given, number=number):
            x = given[number].detach().requires_grad_()
            given = [*given[:number], x, *given[number + 1:]]
            return torch.autograd.grad(spelled(*given).square().sum(), x)[0]

        assert fused(rewritten(recorded(step, q, k, v), [q, k, v], 1e-5), True)


# -- what stays ------------------------------------------------------------------------------------

def stays(function, *inputs):
    def flat(*given):
        return function(*given)

    return rewritten(recorded(flat, *inputs), list(inputs)) is None


def values(*shape):
    torch.manual_seed(0)
    return [torch.randn(shape or (2, 3, 6, 4)) for _ in range(3)]


def hiding(hide):
    return lambda q, k, v: spelled(q, k, v, hide)


UPPER = torch.ones(6, 6).triu(1)


def seen():
    return torch.ones(6, 6, dtype=torch.bool).tril()


@pytest.mark.parametrize("function", [
    lambda q, k, v: torch.dropout((q @ k.transpose(2, 3)).softmax(-1), 0.5, True) @ v,
    lambda q, k, v: (q @ k.transpose(2, 3)).softmax(-2) @ v.transpose(0, 0),
    lambda q, k, v: (q @ k.transpose(2, 3)).softmax(1) @ v,
    lambda q, k, v: (q @ k.transpose(2, 3)).log_softmax(-1) @ v,
    lambda q, k, v: ((q @ k.transpose(2, 3)).softmax(-1) * 2) @ v,
    lambda q, k, v: (q @ k.transpose(2, 3)).softmax(-1).transpose(2, 3) @ v,
    lambda q, k, v: (q @ k.transpose(2, 3)).transpose(2, 3).softmax(-1) @ v,
    lambda q, k, v: (q @ k.transpose(2, 3)).softmax(-1) @ torch.cat([v, v], -1),
    lambda q, k, v: (q @ k.transpose(2, 3)).tanh().softmax(-1) @ v,
    lambda q, k, v: (q[0, 0] @ k[0, 0].t()).softmax(-1) @ v[0, 0],
    hiding(lambda s: s * 2 + 1),
    hiding(lambda s: torch.add(s, torch.ones(6, 6), alpha=2)),
    hiding(lambda s: (s + torch.ones(6, 6)) * 2),  # which multiplies the mask
    hiding(lambda s: s * torch.arange(6.0)),
    hiding(lambda s: s * s),
    hiding(lambda s: s.masked_fill(~seen(), 0.0)),
    hiding(lambda s: s.masked_fill(~seen(), -100.0)),
    hiding(lambda s: s.masked_fill(~seen(), float("inf"))),
    hiding(lambda s: s.masked_fill(seen(), -1e9)),  # the last row is hidden wholly
    hiding(lambda s: s.masked_fill(seen(), float("-inf"))),
    hiding(lambda s: s.masked_fill(~seen(), -1e9) + seen() * -1e9),
    hiding(lambda s: s.masked_fill(s < 0, -1e9)),
    hiding(lambda s: torch.where(s > 0, s, s - 1e9)),
    hiding(lambda s: s / 0),
    hiding(lambda s: (s * -1).masked_fill(~seen(), -1e9)),
])
def test_what_is_not_it_stays(function):
    for each in (function, gradients(function)):
        graph = recorded(each, *values(2, 3, 6, 6))
        assert rewritten(graph, values(2, 3, 6, 6)) is None


def test_half_precision_stays():
    given = [x.bfloat16() for x in values()]
    assert stays(spelled, *given)


def test_conditions_that_are_not_known_stay():
    q, k, v = values()
    for fill in (-1e9, float("-inf")):
        assert stays(lambda q, k, v, c, fill=fill: spelled(q, k, v, lambda s: s.masked_fill(
            c > 0, fill)), q, k, v, torch.randn(6, 6))
    held = torch.ones(6, 6).triu(1) > 0  # which its owner may change
    assert stays(lambda q, k, v: spelled(q, k, v, lambda s: s.masked_fill(held, -1e9)), q, k, v)
    # nor a known one over what may hide the rest
    assert stays(lambda q, k, v, m: spelled(
        q, k, v, lambda s: s.masked_fill(~seen(), -1e9) + m), q, k, v, torch.randn(6, 6))
    # nor what stands for the scores
    assert stays(lambda q, k, v, m: spelled(q, k, v, lambda s: torch.where(seen(), s, m)), q, k, v,
                 torch.tensor(-1e9))


def test_what_others_use_stays():
    def weights(q, k, v):
        p = (q @ k.transpose(2, 3)).softmax(-1)
        return p @ v, p

    def mean(q, k, v):
        p = (q @ k.transpose(2, 3)).softmax(-1)
        return p @ v, p.mean(1)

    def scores(q, k, v):
        s = q @ k.transpose(2, 3)
        return s.softmax(-1) @ v, s

    def twice(q, k, v):
        p = (q @ k.transpose(2, 3)).softmax(-1)
        return p @ v, p @ v.sin()

    def of_scores(q, k, v):  # their gradient is a result
        q, v = (x.detach().requires_grad_() for x in (q, v))
        s = q @ k.transpose(2, 3)
        return torch.autograd.grad((s.softmax(-1) @ v).square().sum(), (s, q, v))

    def of_mask(q, k, v):
        q, m = q.detach().requires_grad_(), UPPER.detach().requires_grad_()
        return torch.autograd.grad(spelled(q, k, v, lambda s: s + m).square().sum(), (q, m))

    def of_full_mask(q, k, v):
        q, m = (x.detach().requires_grad_() for x in (q, k @ v.transpose(2, 3)))
        return torch.autograd.grad(spelled(q, k, v, lambda s: s + m).square().sum(), (q, m))

    def of_scale(q, k, v):
        q, m = q.detach().requires_grad_(), torch.tensor(0.5).requires_grad_()
        return torch.autograd.grad(spelled(q, k, v, scale=m).square().sum(), (q, m))

    def of_fill(q, k, v):
        q, m = q.detach().requires_grad_(), torch.full((), -1e9).requires_grad_()
        y = spelled(q, k, v, lambda s: torch.where(seen(), s, m))
        return torch.autograd.grad(y.square().sum(), (q, m))

    def penalty(q, k, v):  # of a loss that has the weights, too
        q = q.detach().requires_grad_()
        p = (q @ k.transpose(2, 3)).softmax(-1)
        return torch.autograd.grad((p @ v).square().sum() + p.square().sum(), q)

    for function in (weights, mean, scores, twice, of_scores, of_mask, of_full_mask, of_scale,
                     of_fill, penalty):
        assert stays(function, *values()), function.__name__


def test_second_derivatives_are_right():
    def twice(q, k, v):
        q = q.detach().requires_grad_()
        first, = torch.autograd.grad(spelled(q, k, v).square().sum(), q, create_graph=True)
        return torch.autograd.grad(first.square().sum(), q)

    assert stays(twice, *values())


def test_what_is_changed_in_between_stays():
    def query(q, k, v):
        s = q @ k.transpose(2, 3)
        q.add_(1)
        return s.softmax(-1) @ v, q

    def probabilities(q, k, v):
        p = (q @ k.transpose(2, 3)).softmax(-1)
        p.mul_(2)
        return p @ v

    def in_place(q, k, v):
        return (q @ k.transpose(2, 3)).add_(1).softmax(-1) @ v

    for function in (query, probabilities, in_place):
        inputs = values(2, 3, 6, 4)
        assert stays(lambda q, k, v, f=function: f(q.clone(), k, v), *inputs), function.__name__


def test_copies_that_become_something_else():
    def function(q, k, v):
        q = q.clone()
        q.mul_(2)
        y = spelled(q, k, v)
        y.add_(1)
        k = k.transpose(1, 2).contiguous().transpose(1, 2)
        z = spelled(k, k, v)
        return y, z, z.transpose(1, 2)

    inputs = values()
    found = rewritten(recorded(function, *inputs), inputs, 1e-5)
    assert found is not None and count(found, FUSED) == 2


def changed_behind(y):
    turned = y.transpose(1, 2)
    y.mul_(2)
    return turned.contiguous() + turned.reshape(2, 6, 12).view(2, 6, 3, 4)


@pytest.mark.parametrize("function", [
    lambda q, k, v: spelled(q, k, v).add_(1),
    lambda q, k, v: spelled(q, k, v).transpose(1, 2).reshape(2, 6, 12).add_(1),
    lambda q, k, v: spelled(q, k, v).transpose(1, 2).contiguous().add_(1),
    lambda q, k, v: spelled(q, k, v).transpose(1, 2).reshape(2, 6, 12),
    lambda q, k, v: changed_behind(spelled(q, k, v)),
])
def test_results_that_are_changed_or_given_away(function):
    assert fused(attend(function, *values()), True)


def test_a_training_step_that_changes_what_it_read():
    def step(q, k, v):
        given = [x.detach().requires_grad_() for x in (q, k, v)]
        found = torch.autograd.grad(spelled(*given).square().sum(), given)
        for x, gradient in zip((q, k, v), found, strict=True):
            x.sub_(gradient)
        return found

    inputs = values()
    assert fused(rewritten(recorded(step, *inputs), inputs, 1e-4), True)


# -- rows that are hidden wholly -------------------------------------------------------------------

@pytest.mark.parametrize("far", [float("-inf"), -1e9, -1e4, torch.finfo(torch.float32).min])
@pytest.mark.parametrize("known", [False, True])
def test_added_numbers_hide_rows_wholly(far, known):
    def function(q, k, v, m):
        if known:
            m = torch.cat([torch.zeros(5, 6), torch.full((1, 6), far)])
        return spelled(q, k, v, lambda s: s + m.detach())

    inputs = [*values(), torch.zeros(2, 1, 6, 6)]
    inputs[3][1, :, 2] = far
    graph = recorded(function, *inputs)
    before = order.copied(graph)
    describe(before.graph, inputs)
    order.simplify(before)
    found = attention(before, inputs)
    assert found is not None
    found.recompile()
    # added to -10⁴, a score loses its last digits
    close = 1e-3 if far == -1e4 else 1e-5
    torch.testing.assert_close(found(*inputs), graph(*inputs), rtol=close, atol=close,
                               equal_nan=True)
    assert found(*inputs).isnan().any() == (far == float("-inf"))
    assert stays(gradients(lambda q, k, v: function(q, k, v, inputs[3])), *inputs[:3]) or (
        far == float("-inf"))


@pytest.mark.parametrize("keys, stays", [(15, True), (16, False), (40, False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_query_that_is_not_a_number_stays_so(keys, stays, dtype, monkeypatch):
    monkeypatch.setattr(module, "FEWEST", FEWEST)
    q, k, v = (torch.randn(2, 3, n, 4, dtype=dtype) for n in (5, keys, keys))
    graph = recorded(lambda q, k, v: spelled(q, k, v), q, k, v)
    found = rewritten(graph, [q, k, v], 1e-5)
    assert (found is None) == stays
    q[1, 2, 3, 0] = float("nan")
    if found is not None:
        torch.testing.assert_close(found(q, k, v), graph(q, k, v), equal_nan=True)


def test_a_large_number_leaves_no_gradient():
    """What the kernel would give, were it asked: this is why masks have to be known for it."""
    q, k, v = values()
    mask = torch.full((1, 1, 6, 6), -1e9)
    y, sums = getattr(torch.ops.aten, FUSED)(q, k, v, 0.0, False, attn_mask=mask)
    found = getattr(torch.ops.aten, FUSED + "_backward")(
        torch.ones_like(y), q, k, v, y, sums, 0.0, False, attn_mask=mask)
    wanted = torch.full_like(v, 1.0)  # each key has a sixth of each row
    assert (found[2] - wanted).abs().max() > 1


def test_looking_draws_no_random_numbers():
    inputs = values()
    graph = recorded(gradients(spelled), *inputs)
    describe(graph.graph, inputs)
    state = torch.get_rng_state()
    assert attention(graph, inputs) is not None
    assert torch.equal(torch.get_rng_state(), state)


def test_the_reference_itself():
    """PyTorch's own layer gives what the rewritten graph gives."""
    torch.manual_seed(0)
    layer = tnn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        graph = recorded(lambda x: layer(x, x, x, need_weights=True)[0], x)
        found = rewritten(graph, [x], 1e-5)
        assert fused(found, False)
        torch.testing.assert_close(found(x), layer(x, x, x, need_weights=False)[0])
