"""Attention that is spelled out becomes PyTorch's fused kernel."""

import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.passes.attention import attention
from lamella.graph.passes.order import simplify
from tests.graph.passes.checks import check_same, count, recorded, used

BATCH, HEADS, LENGTH, DEPTH = 2, 4, 192, 16
SCALED = {
    "query": lambda q, k: torch.matmul(q * 0.25, k.transpose(2, 3)),
    "divided": lambda q, k: torch.matmul(q, k.transpose(-1, -2)) / 4.0,
    "multiplied": lambda q, k: torch.matmul(q, k.permute(0, 1, 3, 2)) * 0.25,
    "not": lambda q, k: q @ k.mT}


def inputs(mask=None, dtype=torch.float32):
    torch.manual_seed(0)
    found = [torch.randn(BATCH, LENGTH, HEADS, DEPTH, dtype=dtype).transpose(1, 2)
             for _ in range(4)]
    if mask is not None:
        found.append((torch.rand(mask) < 0.3).to(dtype) * -1e9)
    return found


def rewritten(function, given, tolerance=1e-4):
    graph = recorded(function, *given)
    simplify(graph)
    found = attention(graph, given)
    if found is not None:
        simplify(found)
        found.recompile()
        check_same(graph, found, given, tolerance)
        assert count(found, "bmm", "_softmax", "_softmax_backward_data") == 0
    return graph, found


def weighted(scaled, q, k, v, *masks):
    scores = SCALED[scaled](q, k)
    return torch.softmax(scores + masks[0] if masks else scores, -1) @ v


def training(scaled, by=(0, 1, 2)):
    def step(q, k, v, g, *masks):
        leaves = [x.detach().requires_grad_(i in by) for i, x in enumerate((q, k, v))]
        out = weighted(scaled, *leaves, *masks)
        return out.detach(), *torch.autograd.grad(out, [leaves[i] for i in by], g)

    return step


@pytest.mark.parametrize("mask", [None, (LENGTH, LENGTH), (BATCH, 1, 1, LENGTH)])
@pytest.mark.parametrize("scaled", SCALED)
def test_with_its_gradients(scaled, mask):
    given = inputs(mask)
    graph, found = rewritten(training(scaled), given)
    assert found is not None
    scores = 4 * BATCH * HEADS * LENGTH * LENGTH
    assert used(lambda: found(*given))[0] < used(lambda: graph(*given))[0] - scores


@pytest.mark.parametrize("by", [(0,), (1,), (0, 1)])
def test_some_gradients(by):
    assert rewritten(training("query", by), inputs())[1] is not None


def test_without_gradients():
    def forward(q, k, v, g, mask):
        return weighted("divided", q, k, v, mask)

    assert rewritten(forward, inputs((LENGTH, LENGTH)))[1] is not None


def test_batches_of_matrices():
    given = [x.reshape(-1, LENGTH, DEPTH).contiguous() for x in inputs()]

    def forward(q, k, v, g):
        return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.25, -1), v)

    assert rewritten(forward, given)[1] is not None


def test_bfloat16_with_weights_in_float32():
    def forward(q, k, v, g):
        scores = (q @ k.transpose(-1, -2)).float() * 0.25
        return torch.softmax(scores, -1).bfloat16() @ v

    assert rewritten(forward, inputs(dtype=torch.bfloat16), 0.02)[1] is not None


OTHERS = {
    "weights that are returned": lambda q, k, v: (torch.softmax(q @ k.mT, -1) @ v,
                                                  torch.softmax(q @ k.mT, -1)),
    "scores that are read": lambda q, k, v: (torch.softmax(q @ k.mT, -1) @ v, (q @ k.mT).sum()),
    "dropout": lambda q, k, v: torch.dropout(torch.softmax(q @ k.mT, -1), 0.5, True) @ v,
    "softmax of another dimension": lambda q, k, v: torch.softmax(q @ k.mT, -2) @ v,
    "a mask that is scaled": lambda q, k, v: torch.softmax((q @ k.mT + v[..., :1]) * 2.0, -1) @ v,
    "weights on the right": lambda q, k, v: v.mT @ torch.softmax(q @ k.mT, -1)}


@pytest.mark.parametrize("other", OTHERS)
def test_what_stays(other):
    given = inputs()[:3]
    assert rewritten(OTHERS[other], given)[1] is None


def test_few_scores_stay():
    given = [x[:, :1, :32].contiguous() for x in inputs()]
    assert rewritten(training("query"), given)[1] is None


def test_values_that_are_changed_in_between_stay():
    def step(q, k, v, g):
        v = v.clone()
        weights = torch.softmax(q @ k.mT, -1)
        k.zero_()
        return weights @ v

    assert rewritten(step, inputs())[1] is None


class Attention(nn.Cell):
    """As programs for MindSpore spell it out."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Dense(64, 192)
        self.mask = ms.Tensor(torch.full((LENGTH, LENGTH), -1e9).triu(1).numpy())

    def construct(self, x):
        qkv = self.qkv(x).reshape(BATCH, LENGTH, 3, HEADS, DEPTH).transpose(2, 0, 3, 1, 4)
        scores = ops.matmul(qkv[0], qkv[1].swapaxes(2, 3)) / 4.0 + self.mask
        mixed = ops.matmul(ops.softmax(scores, -1), qkv[2])
        return mixed.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, HEADS * DEPTH)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_compiled_step_of_a_cell(mixed):
    net = Attention()
    if mixed:
        net = ms.amp.auto_mixed_precision(net, "auto", ms.bfloat16)
    step = ms.jit(ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params()))
    x = ms.ops.randn(BATCH, LENGTH, 64)
    step(x)
    graph = step.graphs(x)[0].execution.graph
    given = [x._raw, *(p._data for p in net.trainable_params())]
    placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
    if len(placeholders) > len(given):
        given.append(ms.Tensor(torch.full((LENGTH, LENGTH), -1e9).triu(1).numpy())._raw)
    simplify(graph)
    found = attention(graph, given)
    assert found is not None
