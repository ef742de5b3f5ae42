"""Solvers by products with the matrix: loops that are one operation of a graph."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor

N = 12
draw = np.random.default_rng(0)
SQUARE = draw.standard_normal((N, N))
MATRICES = {"cg": SQUARE @ SQUARE.T + N * np.eye(N), "gmres": SQUARE + 2 * N * np.eye(N)}
B, ALONG = Tensor(draw.standard_normal(N)), Tensor(draw.standard_normal(N))
ROWS = Tensor(draw.standard_normal((4, N)))


def solver(name):
    def solve(a, b):
        return ms.custom_linear_solve(lambda x, a: a @ x, b, a, solver=name,
                                      symmetric=name == "cg")

    return solve


def cubes(solve):
    return lambda a, b: (solve(a, b) ** 3).sum()


def along(solve):
    """The second derivative of a sum by b, along a vector."""
    slope = ms.grad(cubes(solve), 1)
    return lambda a, b: ms.grad(lambda b: (slope(a, b) * ALONG).sum())(b)


def third(solve):
    """The third derivative of a sum along a line of right-hand sides."""
    def of_size(size, a, b):
        return (solve(a, size * b) ** 3).sum()

    slope = ms.grad(ms.grad(ms.grad(of_size)))
    return lambda a, b: slope(Tensor(1.5, ms.float64), a, b)


DERIVATIVES = {
    "value": lambda solve: solve,
    "gradients": lambda solve: ms.grad(cubes(solve), (0, 1)),
    "forward": lambda solve: lambda a, b: ms.jvp(lambda b: solve(a, b), b, ALONG)[1],
    "second": along,
    "third": third,
    "over": lambda solve: lambda a, b: ms.jvp(lambda b: ms.grad(cubes(solve), 1)(a, b), b, ALONG),
    "batch": lambda solve: lambda a, b: ms.vmap(lambda row: solve(a, row))(ROWS),
    "of_batch": lambda solve: lambda a, b: ms.grad(lambda rows: (ms.vmap(
        lambda row: solve(a, row))(rows) ** 3).sum())(ROWS),
}


@pytest.mark.parametrize(("name", "which"), [
    *[("cg", which) for which in DERIVATIVES],
    *[("gmres", which) for which in ("gradients", "forward", "second", "third", "batch")]])
def test_a_solver_is_one_operation_of_a_graph(name, which):
    function, a = DERIVATIVES[which](solver(name)), Tensor(MATRICES[name])
    compiled = ms.jit(function)
    for scale in (1.0, 1.0, 3.0):  # another system, which takes other steps
        given = a * scale, B * scale
        for found, wanted in zip(ms.tree.leaves(compiled(*given)), ms.tree.leaves(
                function(*given)), strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-9, atol=1e-12)
    report = compiled.report()
    most = 200 if which == "third" else 100
    assert report["traces"] == 1 and report["kernels"][0] < most and report["eager"] == []


@pytest.mark.parametrize("name", MATRICES)
def test_beside_dense_linear_algebra(name):
    a, solve = MATRICES[name], solver(name)
    np.testing.assert_allclose(ms.jit(solve)(Tensor(a), B).asnumpy(),
                               np.linalg.solve(a, B.asnumpy()), rtol=1e-9)
    found = ms.jit(ms.vmap(solve, (None, 0)))(Tensor(a), ROWS)
    np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(a, ROWS.asnumpy().T).T, rtol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_a_batch_stops_when_each_example_has_ended(name):
    counts = []

    def times(x, a):
        counts.append(1)
        return a @ x

    scale = Tensor([1.0, 0.0, 1e6], ms.float64)  # one without a step

    def each(scale):
        return ms.custom_linear_solve(times, scale * B, Tensor(MATRICES[name]), solver=name)

    found = ms.vmap(each)(scale).asnumpy()
    wanted = np.linalg.solve(MATRICES[name], B.asnumpy())
    np.testing.assert_allclose(found, wanted * scale.asnumpy()[:, None], rtol=1e-9)
    assert len(counts) <= 2 * N


def test_a_singular_matrix_and_numbers_that_are_none():
    ones = Tensor(np.ones((3, 3)))
    for name in MATRICES:
        found = solver(name)(ones, Tensor([3.0, 3.0, 3.0], ms.float64))
        np.testing.assert_allclose(found.asnumpy(), [1, 1, 1], rtol=1e-9)
        with pytest.warns(RuntimeWarning, match="has stopped where the residual"):
            assert np.isnan(solver(name)(ones * np.nan, Tensor([1.0, 2.0, 3.0], ms.float64))
                            .asnumpy()).any()


def test_steps_that_do_more_than_computing_are_recorded_one_by_one():
    counts = []

    def times(x):
        counts.append(1)
        return 2 * x

    def solve(b):
        return ms.custom_linear_solve(times, b, solver="cg", symmetric=True)

    step = ms.jit(solve)
    for _ in range(2):
        np.testing.assert_allclose(step(Tensor([2.0, 4.0])).asnumpy(), [1, 2])
    assert step.report()["eager"] == [] and len(counts) == 8
