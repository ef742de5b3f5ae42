"""The kernel for products of few rows, against PyTorch's in double precision."""

from __future__ import annotations

import time

import pytest
import torch

from lamella.graph.passes import improve, plain
from lamella.machine import few_rows
from tests.graph.passes.checks import check_same, count, recorded


@pytest.fixture
def kernel():
    """The kernel, built once for all tests."""
    if few_rows.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    return torch.ops.lamella.few_rows.default


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, 7, 8, 13, 17])
@pytest.mark.parametrize("width, columns", [(0, 3), (1, 1), (15, 4), (64, 33), (100, 7),
                                            (515, 130)])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-6), (torch.bfloat16, 4e-3)])
@pytest.mark.parametrize("bias", [True, False])
def test_products(kernel, rows, width, columns, dtype, tolerance, bias):
    torch.manual_seed(rows + width)
    x, weight = torch.randn(rows, width).to(dtype), torch.randn(columns, width).to(dtype)
    added = torch.randn(columns).to(dtype) if bias else None
    expected = x.double() @ weight.double().t() + (added.double() if added is not None else 0)
    scale = x.double().abs() @ weight.double().abs().t() + 4
    got = kernel(x, weight, added)
    assert got.dtype is dtype and got.shape == expected.shape
    assert ((got.double() - expected).abs() <= tolerance * scale).all()


def test_a_part_of_a_matrix_and_values_that_are_not_finite(kernel):
    whole = torch.randn(40, 96)
    x = torch.randn(2, 64)
    x[0, 3], x[1, 40] = float("nan"), float("inf")
    weight = whole[3:30, 16:80]  # its rows don't follow each other in memory
    torch.testing.assert_close(kernel(x, weight, None), x @ weight.t(), equal_nan=True)


@pytest.mark.parametrize("given", [
    (torch.ones(2, 3), torch.ones(4, 5), None), (torch.ones(2, 3), torch.ones(3, 4).t(), None),
    (torch.ones(2, 3), torch.ones(4, 3).bfloat16(), None),
    (torch.ones(3, 2).t(), torch.ones(4, 3), None), (torch.ones(2, 3), torch.ones(4, 3),
                                                     torch.ones(3)),
    (torch.ones(2, 3).double(), torch.ones(4, 3).double(), None)])
def test_what_it_does_not_support_is_refused(kernel, given):
    with pytest.raises(RuntimeError, match="few_rows"):
        kernel(*given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_graphs_use_it_where_it_is_the_fastest(kernel, monkeypatch, dtype):
    monkeypatch.setattr(few_rows, "fastest", lambda *args: "rows")
    inputs = [torch.randn(s).to(dtype) for s in [(3, 64), (48, 64), (48,), (20, 48)]]
    graph = recorded(lambda x, w, b, v: (
        torch.nn.functional.linear(torch.nn.functional.linear(x, w, b).tanh(), v)), *inputs)
    better = improve(graph, inputs)
    assert count(better, "few_rows") == 2 and count(better, "mm", "addmm") == 0
    check_same(graph, better, inputs, 2e-2 if dtype is torch.bfloat16 else 1e-4)
    assert count(plain(better), "few_rows") == 0
    check_same(graph, plain(better), inputs)
    many = [torch.randn(few_rows.MOST + 1, 64).to(dtype), *inputs[1:]]
    assert count(improve(recorded(lambda x, w, b, v: torch.nn.functional.linear(x, w, b), *many),
                         many), "few_rows") == 0


def test_measuring_names_a_kernel(kernel):
    key = (2, 64, 1024, True, "torch.bfloat16", torch.get_num_threads())
    assert few_rows._measured(key) in {"torch", "onednn", "rows"}
    assert few_rows.fastest(1, 8, 8, False, torch.float32, False) is None  # too small


@pytest.mark.parametrize("width, columns, timed", [
    (256, 256, 256), (256, 255, None), (2**16, 1, 1), (2**12, 2**10, 2**10),
    (2**12, 2**10 + 1, 2**10), (2**21, 5, 2)])
def test_which_matrices_are_timed(kernel, monkeypatch, width, columns, timed):
    asked = []
    monkeypatch.setattr(few_rows.known, "find", lambda key, how: asked.append((key, how)))
    assert few_rows.fastest(3, width, columns, True, torch.float32, True) is None
    threads = torch.get_num_threads()
    assert asked == [((3, width, timed, True, "torch.float32", threads), few_rows._measured)] * (
        timed is not None)


def test_what_timing_takes_is_added_up(kernel, monkeypatch):
    monkeypatch.setattr(few_rows, "_spent", 0.0)
    monkeypatch.setattr(few_rows, "_timed", lambda key: "rows")
    begin = time.perf_counter()
    found = [few_rows._measured(()) for _ in range(3)]
    assert found == ["rows"] * 3 and 0 < few_rows._spent <= time.perf_counter() - begin
    monkeypatch.setattr(few_rows.known, "find", lambda key, how: "how" if how else "no")
    for spent, measure, want in ((few_rows.BUDGET + 1, False, "no"), (0.0, False, "how"),
                                 (few_rows.BUDGET + 1, True, "how")):
        monkeypatch.setattr(few_rows, "_spent", spent)
        assert few_rows.fastest(3, 512, 512, True, torch.float32, measure) == want
