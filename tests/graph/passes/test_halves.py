"""Pools over 2 x 2 windows."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.lazy_module import copied
from lamella.graph.passes.halves import halves
from lamella.graph.passes.order import simplify
from lamella.graph.passes.trial import pays
from tests.graph.passes.checks import check_same, count, recorded, used


def rewritten(function, x):
    graph = recorded(function, x)
    better = copied(graph)
    found = halves(better, [x])
    if found is not None:
        simplify(found)
        found.recompile()
        check_same(graph, found, [x], 0.0)
    return found


def pooled(x):
    return torch.ops.aten.max_pool2d_with_indices(x, [2, 2], [2, 2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_indices(dtype):
    torch.manual_seed(0)
    for x in (torch.randn(2, 3, 8, 6), torch.randint(3, (4, 5, 8, 8))):  # with many that are equal
        found = rewritten(pooled, x.to(dtype))
        assert found is not None and count(found, "max_pool2d_with_indices") == 0


def test_a_trial_holds_no_results_to_compare():
    x = torch.randn(16, 8, 64, 64)
    graph, found = recorded(pooled, x), rewritten(pooled, x)
    most = max(used(lambda: graph(x))[0], used(lambda: found(x))[0])
    assert used(lambda: pays(graph, found, [x]))[0] <= most + 2**12


def test_a_gradient():
    def step(x):
        x = x.detach().requires_grad_()
        y = F.max_pool2d(x.relu(), 2)
        return y.detach(), *torch.autograd.grad(y.square().sum(), x)

    found = rewritten(step, torch.randint(-2, 3, (4, 3, 8, 8)).float())
    assert found is not None and count(found, "max_pool2d_with_indices") == 0


def test_without_indices_there_is_no_work_for_them():
    found = rewritten(lambda x: F.max_pool2d(x, 2), torch.randn(1, 2, 4, 4))
    assert found is not None and count(found, "where", "gt") == 0


def test_nan_is_kept():
    x = torch.randn(1, 1, 4, 4)
    x[0, 0, 1, 1] = float("nan")
    graph = recorded(pooled, x)
    found = halves(graph, [x])
    assert found is not None
    found.recompile()
    torch.testing.assert_close(found(x)[0], pooled(x)[0], equal_nan=True)


@pytest.mark.parametrize("how", [
    {"kernel_size": 3}, {"kernel_size": 2, "stride": 1}, {"kernel_size": 2, "padding": 1},
    {"kernel_size": (2, 3)}, {"kernel_size": 2, "dilation": 2},
])
def test_other_pools_stay(how):
    assert rewritten(lambda x: F.max_pool2d(x, **how), torch.randn(1, 2, 6, 6)) is None


def test_other_layouts_stay():
    x = torch.randn(1, 2, 6, 6)
    assert rewritten(pooled, x.contiguous(memory_format=torch.channels_last)) is None
    assert rewritten(pooled, x[..., :5]) is None
    assert rewritten(pooled, torch.randn(2, 6, 6)) is None
    assert rewritten(lambda x: F.max_pool2d(x, 2, ceil_mode=True), x[..., :5].clone()) is None


def test_the_pass_draws_no_random_numbers():
    state = torch.get_rng_state()
    x = torch.ones(1, 2, 4, 4)
    graph = recorded(pooled, x)
    assert halves(graph, [x]) is not None
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("shape, how, suits", [
    ((1, 2, 6, 4), {}, True), ((1, 2, 2, 2), {}, True), ((1, 2, 5, 4), {}, False),
    ((1, 2, 4, 5), {}, False), ((2, 6, 4), {}, False), ((0, 2, 4, 4), {}, False),
    ((1, 2, 6, 4), {"stride": (2, 2)}, True), ((1, 2, 6, 4), {"stride": (2, 1)}, False),
    ((1, 2, 6, 4), {"kernel_size": (2, 2), "padding": (0, 0)}, True),
    ((1, 2, 6, 4), {"padding": (0, 1)}, False), ((1, 2, 6, 4), {"dilation": (1, 2)}, False),
    ((1, 2, 6, 4), {"dilation": (1, 1), "ceil_mode": True}, True)])
def test_which_pools_are_comparisons(shape, how, suits):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    found = rewritten(lambda x: F.max_pool2d(x, **{"kernel_size": 2, **how}), x)
    assert (found is not None) == suits
