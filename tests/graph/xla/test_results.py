"""Where results and constants of stages that XLA runs lie, and which constants are compiled in."""

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.graph.runtime.compiled import Compiled
from tests.graph.xla.forced import engine, forced, parts, run, tensor  # noqa: F401


def test_jacobians_and_hessians_run_by_xla():
    """Their bases are made by writing a diagonal, which as_strided names."""
    def fn(x):
        return (ops.tanh(x) * x.sum()).reshape(-1)

    def energy(x):
        return (ops.sin(x) * x.sum()).sum()

    one, several = tensor(5), tensor(3, 5)
    for derivative, given in ((ms.jacrev(fn), one), (ms.jacfwd(fn), one),
                              (ms.hessian(energy), one), (ms.vmap(ms.jacrev(fn)), several)):
        assert engine(run(lambda x, d=derivative: d(x) * 1, given)) == ["xla"]


def test_memory_named_by_its_layout_is_that_of_what_was_made():
    def fn(x):
        made = (x * 2).reshape(3, 4)
        made._raw[:2].as_strided((3,), (5,), 1).fill_(7)  # ends beyond the view
        return made + 1

    assert engine(run(fn, tensor(12))) == ["xla"]


def test_results_that_are_parts_of_one_memory_without_common_elements():
    complex_of: Any = ops.Complex()

    def fn(x):
        y = x * 2
        z = complex_of(y, x) * 2
        return y[:, :2], y[:, 2:], ops.real(z), ops.imag(z), y.sum()

    compiled = Compiled(fn)
    x = tensor(3, 4)
    wanted = fn(x)
    for _ in range(4):
        found = compiled(x)
        assert [a._raw.stride() for a in found] == [a._raw.stride() for a in wanted]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-6, 1e-6)
        found[0][:] = 0
        np.testing.assert_allclose(found[1].asnumpy(), wanted[1].asnumpy(), 1e-6)
    assert engine(compiled) == ["xla"]


def test_results_with_common_elements_stay_one_memory():
    def fn(x):
        y = x * 2
        return y, y[0]

    compiled = Compiled(fn)
    for _ in range(4):
        whole, row = compiled(tensor(3, 4))
        whole[0] = 5
        assert (row == 5).all()
    assert engine(compiled) == ["replay"]


@pytest.mark.parametrize("part", [ops.real, ops.imag, ops.view_as_real])
def test_parts_of_complex_numbers_stay_in_their_memory(part):
    complex_of: Any = ops.Complex()

    def fn(x):
        z = complex_of(x * 2, x + 1)
        return z, part(z)

    compiled, x = Compiled(fn), tensor(3)
    for call in (*[compiled] * 4, fn):
        z, its = call(x)
        its[1] = 5
        assert z.asnumpy()[1] in (5 + 5j, 5 + 1j * (x.asnumpy()[1] + 1), x.asnumpy()[1] * 2 + 5j)
    assert engine(compiled) == ["replay"]


@pytest.mark.parametrize("part", [ops.real, ops.imag])
def test_writes_into_parts_of_complex_numbers(part):
    complex_of: Any = ops.Complex()

    def fn(x):
        z = complex_of(x * 2, x + 1)
        its = part(z)
        its[1] = x[0]
        its.mul_(3)
        return z * 2, ops.tanh(x)

    compiled, x = Compiled(fn), tensor(3)
    for _ in range(4):
        for a, b in zip(compiled(x), fn(x), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)


def test_constants_of_one_number_are_no_inputs():
    """Each gradient begins with ones, which the passes turn into constants of the graph."""
    def energy(x):
        return (x ** 4).sum() + ((x[1:] - x[:-1]) ** 2).mean()

    def fn(x, y):
        for _ in range(6):
            x = x - 0.01 * ms.grad(energy)(x)
        return x, x * y.T.sum()

    compiled = run(fn, tensor(8), tensor(8, 8))
    graph: Any
    (graph,) = compiled.graphs(tensor(8), tensor(8, 8))
    (stage,) = graph.execution.plan.stages
    assert engine(compiled) == ["xla"]
    assert len(stage.part.constants) < 6
    assert not set(stage.xla._run._taken) & set(stage.part.constants)


@pytest.mark.parametrize("layout", ["dense", "repeated"])
def test_a_constant_keeps_the_layout_that_others_follow(layout):
    def fn(x):
        ones = ops.ones((4, 3)) if layout == "dense" else ops.ones((1, 1)).expand((4, 3))
        return ones * x.T, ones.T * x

    assert engine(run(fn, tensor(3, 4))) == ["xla"]


def test_constants_that_repeat_one_number_are_compiled_in():
    def fn(x):
        return (ms.grad(lambda x: (x.sum(1) * 3).sum())(x) * ops.tanh(x) - x).sum(0)

    compiled = run(fn, tensor(6, 4))
    (graph,) = compiled.graphs(tensor(6, 4))
    assert engine(compiled) == ["xla"] and len(graph.execution.plan.stages[0].xla._run._taken) == 1


@pytest.mark.parametrize("right", [False, True])
def test_a_search_in_rows_that_end_with_nan(right):
    rows = ms.Tensor([[0.0, 1.0, 1.0, 3.0, np.nan], [-1.0, 0.0, 2.0, np.nan, np.nan]])
    wanted = ms.Tensor([[1.0, 0.5, np.nan, 9.0], [-2.0, 0.0, 2.5, np.inf]])

    def fn(rows, x):
        return ops.searchsorted(rows, x * 1, right=right), ops.searchsorted(rows[0, :4], x) * 2

    assert engine(run(fn, rows, wanted)) == ["xla"]


def test_a_few_values_with_gaps_between_them():
    """The best of each row lie as far apart as its values do."""
    assert engine(run(lambda x: ops.topk(ops.tanh(x) * 2 + 1, 2), tensor(6, 80))) == ["xla"]


@pytest.mark.parametrize("layout", ["rows", "columns", "batch"])
@pytest.mark.parametrize("what", [ops.det, lambda x: ops.slogdet(x)[1]])
def test_gradients_of_determinants(what, layout):
    """PyTorch factorizes the transposed matrix if that lies column by column in memory."""
    def fn(x):
        x = ops.tanh(x)
        return ms.grad(lambda x: what(x.T if layout == "columns" else x).sum())(x) * 2

    shape = (3, 4, 4) if layout == "batch" else (4, 4)
    assert engine(run(fn, tensor(*shape))) == ["xla"]


def _copied(mask):
    made = ops.ones(4)
    made[:] = mask
    return made


@pytest.mark.parametrize("kind", [ms.float32, ms.bfloat16, ms.float64])
@pytest.mark.parametrize("product", [
    lambda x, mask: x * mask.astype(x.dtype), lambda x, mask: x * mask,
    lambda x, mask: x * (x > 0), lambda x, mask: (mask * x).sum(), lambda x, mask: x / (1 / mask),
    lambda x, mask: x[:3] * ops.cat([mask, x])[:3],
    lambda x, mask: x * _copied(mask), lambda x, mask: mask.astype(x.dtype) @ x,
    lambda x, mask: ops.addcmul(x * 0 + 1, x, mask.astype(x.dtype), 2.0),
    lambda x, mask: ops.where(mask, mask, False).astype(x.dtype) * x])
def test_infinite_numbers_times_truth_values_are_nan(product, kind):
    finite = ms.Tensor([1.0, -2.0, 0.5, 3.0]).astype(kind)
    odd = ms.Tensor([np.inf, -np.inf, np.nan, 3.0]).astype(kind)
    mask = ms.Tensor([False, False, False, True])
    compiled = Compiled(product)
    for x in (finite, finite, finite, odd):
        np.testing.assert_array_equal(compiled(x, mask).float().asnumpy(),
                                      product(x, mask).float().asnumpy())
    assert engine(compiled) == ["xla"]
