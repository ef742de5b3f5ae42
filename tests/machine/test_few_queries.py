"""The kernel for attention of a few queries, against PyTorch's, and where graphs use it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes import attention as module
from lamella.graph.passes import improve, plain
from lamella.machine import few_queries
from tests.graph.passes.checks import check_same, count, recorded


@pytest.fixture(autouse=True)
def kernel():
    if few_queries.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def given(batch, heads, queries, keys, width, dtype):
    """Queries, and keys and values as the beginning of a longer cache."""
    torch.manual_seed(0)
    q = torch.randn(batch, queries, heads, width).transpose(1, 2)
    k, v = (torch.randn(batch, heads, keys + 5, width)[:, :, :keys] for _ in range(2))
    return [x.to(dtype) for x in (q, k, v)]


SIZES = [(1, 1, 1, 1, 1), (2, 3, 1, 40, 16), (1, 2, 8, 33, 24), (3, 1, 2, 257, 67),
         (1, 12, 1, 300, 64)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("sizes", SIZES)
def test_results_are_as_exact_as_pytorch_s(sizes, dtype):
    q, k, v = given(*sizes, dtype)
    batch, heads, queries, keys, _ = sizes
    forms = [None, *((b, h, n, keys) for b in (1, batch) for h in (1, heads) for n in (1, queries))]
    for form in forms:
        mask = None
        if form is not None:
            mask = torch.where(torch.rand(form) < 0.3, -torch.inf, torch.randn(form))
            mask[..., 0] = 0.5  # no row is masked as a whole
            mask = mask.to(dtype)
        exact = few_queries.by_torch(*(x.double() for x in (q, k, v)),
                                     None if mask is None else mask.double(), 0.3)
        wanted = few_queries.by_torch(q, k, v, mask, 0.3)
        found = few_queries.by_queries(q, k, v, mask, 0.3)
        assert found.dtype is dtype and found.stride() == wanted.stride()
        size = exact.abs().max()
        least = 1e-2 if dtype is torch.bfloat16 else 2e-6
        assert (found - exact).abs().max() / size <= max(
            least, 2 * (wanted - exact).abs().max() / size)


@pytest.mark.parametrize("form", ["heads first", "queries first", "part", "one query"])
def test_results_lie_in_memory_as_pytorch_s(form):
    _, k, v = given(2, 3, 1, 40, 16, torch.float32)
    q = {"heads first": torch.randn(2, 3, 4, 16), "queries first": torch.randn(2, 4, 3, 16),
         "part": torch.randn(2, 4, 9, 16)[:, :, 3:6].transpose(1, 2),
         "one query": torch.randn(2, 48).view(2, 3, 1, 16)}[form]
    q = q.transpose(1, 2) if form == "queries first" else q
    found, wanted = (f(q, k, v, None, 0.3) for f in (few_queries.by_queries, few_queries.by_torch))
    assert found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads):
    q, k, v = given(2, 7, 1, 2000, 32, torch.float32)
    wanted, before = few_queries.by_queries(q, k, v, None, 0.2), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert torch.equal(few_queries.by_queries(q, k, v, None, 0.2), wanted)
    finally:
        torch.set_num_threads(before)


def test_nothing_to_see_and_numbers_that_are_none():
    q, k, v = given(1, 1, 2, 9, 16, torch.float32)
    hidden = torch.full((1, 1, 2, 9), -torch.inf)
    hidden[0, 0, 1, 3] = 0
    for mask in (hidden, torch.full((1, 1, 1, 9), torch.nan)):
        torch.testing.assert_close(few_queries.by_queries(q, k, v, mask, 0.3),
                                   few_queries.by_torch(q, k, v, mask, 0.3), equal_nan=True)


def test_forms_that_the_kernel_refuses():
    q, k, v = given(1, 2, 1, 9, 16, torch.float32)
    for wrong in ((q, k, v[:, :, :4]), (q, k.double(), v), (q, k[:, :1], v[:, :1]),
                  (q, k.mT.contiguous().mT, v)):
        with pytest.raises(RuntimeError, match="few_queries"):
            few_queries.by_queries(*wrong, None, 0.3)


def used(function, inputs, monkeypatch):
    """How often the kernel is used in the graph of a function, whose results are checked."""
    monkeypatch.setattr(module, "SMALLEST", 1)
    monkeypatch.setattr(module.by_queries, "find", lambda key, measure: "fused")
    graph = recorded(function, *inputs)
    better = improve(graph, inputs, measure=False)
    check_same(graph, better, inputs, 1e-5)
    found = count(better, "few_queries_attention")
    if found:
        known = plain(better)
        assert count(known, "few_queries_attention") == 0
        check_same(graph, known, inputs, 1e-5)
    return found


def test_graphs_use_it_for_few_queries_only(monkeypatch):
    q, k, v = given(1, 2, 2, 30, 16, torch.float32)
    mask = torch.arange(30)[None, None, None] < 20

    def masked(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask.expand(1, 1, q.shape[2], -1))

    assert used(masked, [q, k, v, mask], monkeypatch) == 1
    assert used(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.7), [q, k, v],
                monkeypatch) == 1
    many = torch.randn(1, 2, few_queries.MOST + 1, 16)
    assert used(masked, [many, k, v, mask], monkeypatch) == 0
    assert used(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [q, k, v],
                monkeypatch) == 0

    def with_gradient(q, k, v):
        q = q.detach().requires_grad_()
        return torch.autograd.grad(F.scaled_dot_product_attention(q, k, v).sum(), q)

    assert used(with_gradient, [q, k, v], monkeypatch) == 0  # it needs more than the result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_which_kernel_is_the_fastest_is_measured(dtype, monkeypatch):
    chosen = {}
    monkeypatch.setattr(module.by_queries, "find",
                        lambda key, measure: chosen.setdefault(key, measure(key)))
    q, k, v = given(1, 4, 1, 512, 64, dtype)
    improve(recorded(lambda *given: F.scaled_dot_product_attention(*given), q, k, v), [q, k, v],
            measure=True)
    assert set(chosen.values()) <= {"torch", "fused"} and len(chosen) == 1
