"""The kernels for attention and its gradient, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.passes import improve, plain
from lamella.graph.passes.attention import BACKWARD, FORWARD, _measured, known
from lamella.machine import attention
from tests.graph.passes.checks import check_same, count, losses_of, recorded


@pytest.fixture
def kernel():
    """The kernel of gradients, built once for all tests."""
    if attention.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    return attention.by_heads_backward


@pytest.fixture
def chosen(kernel, monkeypatch):
    """All attention is computed by these kernels."""
    monkeypatch.setattr("lamella.graph.passes.attention.SMALLEST", 1)
    monkeypatch.setattr(known, "find", lambda *args: "heads")


def made(batch, heads, length, width, seed):
    """Numbers as layers give them: (batch, heads, length, width), with heads inside in memory."""
    torch.manual_seed(seed)
    return torch.randn(batch, length, heads, width).bfloat16().transpose(1, 2)


def given(batch, heads, queries, keys, width, is_causal, dtype=torch.bfloat16):
    q, gradient = (made(batch, heads, queries, width, seed).to(dtype) for seed in (0, 1))
    k, v = (made(batch, heads, keys, width, seed).to(dtype) for seed in (2, 3))
    out, sums = attention.by_torch(q, k, v, is_causal, 0.3)
    return gradient, q, k, v, out, sums, is_causal, 0.3


def in_float32(gradient, q, k, v, out, sums, is_causal, scale):
    """The result, the logarithms of sums and the gradients without any rounding to 16 bits."""
    q, k, v, gradient = q.float(), k.float(), v.float(), gradient.float()
    out, sums = attention.by_torch(q, k, v, is_causal, scale)
    return out, sums, *attention.by_torch_backward(gradient, q, k, v, out, sums, is_causal, scale)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("sizes", [
    (1, 1, 1, 1, 1), (2, 3, 5, 5, 4), (1, 2, 33, 33, 20), (2, 2, 17, 40, 8), (2, 2, 40, 17, 8),
    (2, 8, 128, 128, 32), (1, 2, 37, 45, 32), (1, 2, 45, 37, 64), (1, 3, 1100, 1100, 16)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_all_is_as_close_as_that_of_pytorch(kernel, sizes, is_causal, dtype):
    arguments = given(*sizes, is_causal, dtype)
    theirs = *arguments[4:6], *attention.by_torch_backward(*arguments)
    ours = *attention.by_heads(*arguments[1:4], *arguments[6:]), *kernel(*arguments)
    for exact, their, own in zip(in_float32(*arguments), theirs, ours, strict=True):
        assert own.dtype is their.dtype and own.stride() == their.stride()
        largest = exact.abs().max().clamp(min=1e-3)
        error = (own.float() - exact).abs().max() / largest
        assert error <= max(2 * (their.float() - exact).abs().max() / largest,
                            8e-3 if own.dtype is torch.bfloat16 else 3e-6)


def test_values_in_other_layouts(kernel):
    """Rows of queries, keys and values that lie side by side, columns, and a gradient that repeats.
    """
    torch.manual_seed(5)
    q, k, v = torch.randn(2, 12, 3, 4, 16).bfloat16().permute(2, 0, 3, 1, 4)
    k = k.transpose(2, 3).contiguous().transpose(2, 3)
    out, sums = attention.by_torch(q, k, v, True, 0.25)
    gradient = torch.ones(1).bfloat16().expand(2, 4, 12, 16)
    dense = [x.contiguous() for x in (gradient, q, k, v, out)]
    for a, b in zip((*attention.by_heads(q, k, v, True, 0.25),
                     *kernel(gradient, q, k, v, out, sums, True, 0.25)),
                    (*attention.by_heads(*dense[1:4], True, 0.25),
                     *kernel(*dense, sums, True, 0.25)), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_numbers_that_are_not_finite_stay_visible(kernel, which, number):
    """Where PyTorch's result is none, so is ours; other heads don't notice."""
    arguments = list(given(1, 2, 24, 24, 8, True))
    arguments[which][0, 0, 7, 3] = number
    arguments[4], arguments[5] = attention.by_torch(*arguments[1:4], True, 0.3)
    ours = attention.by_heads(*arguments[1:4], True, 0.3)
    for their, own in zip(arguments[4:6], ours, strict=True):
        assert not (own.isfinite() & ~their.isfinite()).any()
        assert torch.equal(own[0, 1].isfinite(), their[0, 1].isfinite())
    theirs, gradients = attention.by_torch_backward(*arguments), kernel(*arguments)
    assert not gradients[0][0, 0].isfinite().all() and not gradients[1][0, 0].isfinite().all()
    for their, own in zip(theirs, gradients, strict=True):
        assert torch.equal(own[0, 1].isfinite(), their[0, 1].isfinite())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_scores_of_any_size(kernel, dtype):
    q, k, v = given(2, 3, 21, 37, 24, False, dtype)[1:4]
    for size in (1e4, 1e16):
        out = attention.by_heads(q * size, k * size, v, False, 0.3)[0]
        exact = attention.by_torch(q.double() * size, k.double() * size, v.double(), False, 0.3)[0]
        assert torch.allclose(out.double(), exact, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("change", [
    lambda a: a.__setitem__(0, a[0].float()), lambda a: a.__setitem__(1, a[1].double()),
    lambda a: a.__setitem__(2, a[2][..., :4]),
    lambda a: a.__setitem__(3, a[3][:, :, :5]), lambda a: a.__setitem__(1, a[1][0]),
    lambda a: a.__setitem__(5, a[5].double()), lambda a: a.__setitem__(5, a[5][..., :3])])
def test_what_they_do_not_support_is_refused(kernel, change):
    arguments = list(given(2, 2, 6, 6, 8, False))
    before = list(arguments)
    change(arguments)
    with pytest.raises(RuntimeError, match="attention_backward: "):
        kernel(*arguments)
    if any(a is not b for a, b in zip(arguments[1:4], before[1:4], strict=True)):
        with pytest.raises(RuntimeError, match="attention: "):
            attention.by_heads(*arguments[1:4], False, 0.3)


@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 5e-2), (torch.float32, 1e-5)])
@pytest.mark.parametrize("keywords", [{"is_causal": True}, {"scale": 0.5}])
def test_graphs_use_them_where_they_are_the_fastest(chosen, keywords, dtype, tolerance):
    arguments = given(2, 4, 48, 48, 16, False, dtype)[:4]

    def both(gradient, q, k, v):
        out, sums = FORWARD(q, k, v, **keywords)
        return out, *BACKWARD(gradient, q, k, v, out, sums, 0.0,
                                        keywords.get("is_causal", False),
                                        scale=keywords.get("scale"))

    graph = recorded(both, *arguments)
    better = improve(graph, list(arguments))
    assert count(better, "attention", "attention_backward") == 2
    check_same(graph, better, arguments, tolerance)
    assert count(plain(better), "attention", "attention_backward") == 0
    check_same(graph, plain(better), arguments)


@pytest.mark.parametrize("masked", [True, False])
def test_masks_and_other_types_stay_with_pytorch(chosen, masked):
    q, k, v = given(2, 2, 6, 6, 8, False)[1:4]
    mask = torch.zeros(6, 6).bfloat16() if masked else None
    tensors = [q, k, v] if masked else [q.double(), k.double(), v.double()]
    graph = recorded(lambda *tensors: FORWARD(*tensors, attn_mask=mask), *tensors)
    assert count(improve(graph, list(tensors)), "attention") == 0


def test_negative_scales_stay_with_pytorch(chosen):
    tensors = given(2, 2, 6, 6, 8, False)[1:4]
    graph = recorded(lambda *tensors: FORWARD(*tensors, scale=-0.5), *tensors)
    assert count(improve(graph, list(tensors)), "attention") == 0


@pytest.mark.parametrize("tensors", [3, 6])
def test_measuring_names_a_kernel(kernel, tensors):
    for dtype in ("torch.float32", "torch.bfloat16"):
        key = (tensors, 2, 2, 64, 64, 16, True, dtype, torch.get_num_threads())
        assert _measured(key) in {"torch", "heads"}


@pytest.mark.parametrize("of", ["by_heads", "by_heads_backward"])
def test_a_kernel_with_another_layout_is_not_chosen(kernel, monkeypatch, of):
    """Whichever is faster; what is timed is the kernel whose tensors the key counts."""
    ours = getattr(attention, of)

    def other(*given):
        first, *rest = ours(*given)
        return first.contiguous(), *rest

    monkeypatch.setattr(attention, of, other)
    monkeypatch.setattr("lamella.graph.passes.attention.fastest_of", lambda ways, *_: "heads")
    for tensors, name in ((3, "by_heads"), (6, "by_heads_backward")):
        key = (tensors, 2, 2, 24, 24, 16, True, "torch.float32", torch.get_num_threads())
        assert _measured(key) == ("torch" if of == name else "heads")


class Mixed(nn.Cell):
    """Attention between two layers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Dense(32, 96), nn.Dense(32, 32)

    def construct(self, x):
        q, k, v = self.qkv(x).reshape(2, 24, 3, 4, 8).transpose(2, 0, 3, 1, 4)
        mixed = ops.flash_attention_score(q, k, v, 4, scalar_value=8**-0.5, input_layout="BNSD",
                                          sparse_mode=2)
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(2, 24, 32))


def test_training_in_mixed_precision_is_as_eagerly(chosen):
    """Two hundred steps; the losses are those of eager training up to rounding to 16 bits."""
    x = ms.Tensor(np.random.default_rng(0).standard_normal((2, 24, 32)).astype(np.float32))

    def losses(wrap, half=True):
        ms.set_seed(1)
        net = Mixed()
        optimizer = nn.Adam(net.trainable_params(), 1e-2)
        forward = lambda x: ((net(x) - x.sin()) ** 2).mean()  # noqa: E731
        return losses_of(forward, optimizer, x, 200, wrap, half)

    compiled, eager = losses(ms.jit), losses(lambda step: step)
    exact = losses(ms.jit, half=False)
    assert compiled[-1] < 0.2 * compiled[0]
    apart = np.abs(eager - exact).max() + 1e-3
    assert np.abs(compiled - exact).max() <= 2 * apart
