"""`lamella.scipy` against SciPy, and numbers recorded from MindSpore 2.10."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.optimize

import lamella as ms
import lamella.scipy
from lamella import Tensor
from lamella.scipy import fft, linalg, ops, optimize
from tests.contracts import check_compiled, check_gradient

RNG = np.random.default_rng(4)
SQUARE = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
DEFINITE = SQUARE @ SQUARE.T
RIGHT = RNG.standard_normal((4, 2))
ANY: Any = lamella.scipy  # whose arguments may be wrong


def same(got: Any, want: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


# -- linalg ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"], ids=str)
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("unit", [True, False], ids=["unit", "any"])
def test_solve_triangular(trans: Any, lower: bool, unit: bool) -> None:
    for right in (RIGHT, RIGHT[:, 0]):
        want = scipy.linalg.solve_triangular(SQUARE, right, trans, lower, unit)
        same(linalg.solve_triangular(Tensor(SQUARE), Tensor(right), trans, lower, unit), want)
    many, right = np.stack([SQUARE, SQUARE.T]), np.stack([RIGHT, RIGHT[::-1]])
    same(linalg.solve_triangular(Tensor(many), Tensor(right), trans, lower, unit), np.stack([
        scipy.linalg.solve_triangular(one, of, trans, lower, unit)
        for one, of in zip(many, right, strict=True)]))
    name = trans if isinstance(trans, str) else "NTC"[trans]
    same(ops.SolveTriangular(lower, unit, name)(Tensor(SQUARE), Tensor(RIGHT[:, 0])), want)


@pytest.mark.parametrize(("matrix", "settings"), [
    (SQUARE, {}), (DEFINITE, {"assume_a": "pos"}), (DEFINITE, {"assume_a": "sym"}),
    (np.triu(DEFINITE), {"assume_a": "pos"}),
    (np.tril(DEFINITE), {"assume_a": "pos", "lower": True}),
], ids=range(5))
def test_solve(matrix: Any, settings: Any) -> None:
    whole = DEFINITE if "assume_a" in settings else matrix
    for right in (RIGHT, RIGHT[:, 0], RIGHT.astype(np.float32)):
        same(linalg.solve(Tensor(matrix), Tensor(right), **settings),
             scipy.linalg.solve(whole, right), 1e-6)
    check_gradient(lambda a, b: linalg.solve(a, b, **settings), [matrix, RIGHT], (0, 1), rtol=1e-3)
    check_compiled(lambda a, b: linalg.solve(a, b, **settings), [Tensor(matrix), Tensor(RIGHT)])


def test_solve_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="as many rows as 'a', but got shapes \\(4, 4\\) and"):
        linalg.solve(Tensor(SQUARE), Tensor(RIGHT[:3]))
    with pytest.raises(ValueError, match="'assume_a' must be"):
        linalg.solve(Tensor(SQUARE), Tensor(RIGHT), assume_a="odd")
    with pytest.raises(RuntimeError, match="For 'solve'"):
        linalg.solve(Tensor(np.zeros((2, 2))), Tensor(np.ones(2)))


def test_eigvalsh() -> None:
    for lower in (True, False):
        same(linalg.eigvalsh(Tensor(SQUARE), lower=lower),
             scipy.linalg.eigvalsh(SQUARE, lower=lower))


def test_decompositions() -> None:
    a, s = Tensor(SQUARE), Tensor(DEFINITE)
    p, l, u = linalg.lu(a)  # noqa: E741
    for got, want in zip((p, l, u), scipy.linalg.lu(SQUARE), strict=True):
        same(got, want)
    assert p.dtype is ms.int32
    same(linalg.lu(a, permute_l=True)[0], scipy.linalg.lu(SQUARE, permute_l=True)[0])
    both, pivots = linalg.lu_factor(a)
    for got, want in zip((both, pivots), scipy.linalg.lu_factor(SQUARE), strict=True):
        same(got, want)
    assert pivots.dtype is ms.int32
    for part, want in zip(ops.LU()(a), (both.asnumpy(), pivots.asnumpy(), p.asnumpy()),
                          strict=True):
        same(part, want)
    for lower in (True, False):
        same(linalg.cholesky(s, lower), scipy.linalg.cholesky(DEFINITE, lower))
        c, kept = linalg.cho_factor(s, lower)
        assert kept is lower
        same(linalg.cho_solve((c, lower), Tensor(RIGHT)), np.linalg.solve(DEFINITE, RIGHT))
    for trans in (0, 1, 2):
        for right in (RIGHT, RIGHT[:, 0]):
            same(linalg.lu_solve((both, pivots), Tensor(right), trans),
                 scipy.linalg.lu_solve(scipy.linalg.lu_factor(SQUARE), right, trans))
    values, vectors = linalg.eigh(s)
    same(values, np.linalg.eigvalsh(DEFINITE))
    same(vectors @ ms.ops.diag(values) @ vectors.T, DEFINITE)
    same(linalg.eigh(s, eigvals_only=True), np.linalg.eigvalsh(DEFINITE))
    same(linalg.inv(a), np.linalg.inv(SQUARE))
    same(linalg.det(a), np.linalg.det(SQUARE))
    found = np.sort_complex(ops.Eig(False)(a)[0].asnumpy())
    np.testing.assert_allclose(found, np.sort_complex(np.linalg.eigvals(SQUARE)))


def test_integers_are_computed_as_float64() -> None:  # recorded from MindSpore 2.10
    whole = Tensor([[1, 2], [3, 4]])
    same(linalg.inv(whole), [[-2, 1], [1.5, -0.5]])
    lu, pivots = linalg.lu_factor(whole)
    assert lu.dtype is ms.float64 and pivots.asnumpy().tolist() == [1, 1]
    same(lu, [[3, 4], [1 / 3, 2 / 3]])
    same(linalg.solve_triangular(Tensor([[3, 0], [2, 1]]), Tensor([4, 2]), lower=True),
         [4 / 3, -2 / 3])


def test_block_diag_and_lstsq() -> None:
    parts = [RIGHT, RIGHT[0], np.array(3.0)]
    same(linalg.block_diag(*map(Tensor, parts)), scipy.linalg.block_diag(*parts))
    assert linalg.block_diag().shape == (1, 0)
    for driver in (None, "gels", "gelsd", "gelss"):
        solution, residuals, rank, singular = linalg.lstsq(
            Tensor(SQUARE[:, :3]), Tensor(RIGHT), driver=driver)
        want: Any = scipy.linalg.lstsq(SQUARE[:, :3], RIGHT)
        same(solution, want[0])
        if driver in ("gels", "gelsd", "gelss"):
            same(residuals, want[1])
        assert rank.size == 0 if driver == "gels" else int(rank) == 3
        assert singular.size == (3 if driver in ("gelsd", "gelss") else 0)


@pytest.mark.parametrize("call, error, text", [
    (lambda: linalg.inv(Tensor([1.0])), ValueError, "dimension of 'a' should be 2, but got 1"),
    (lambda: ANY.linalg.inv([[1.0]]), TypeError, "the type of 'a' should be Tensor"),
    (lambda: ANY.linalg.inv(Tensor([[1.0]]), 1), TypeError, "'overwrite_a' should be bool"),
    (lambda: linalg.cho_factor(Tensor([[1.0]], ms.float16)), TypeError, "the data type of 'a'"),
    (lambda: ANY.linalg.eigh(Tensor([[1.0]]), Tensor([[1.0]])), ValueError, "currently only case"),
    (lambda: linalg.eigh(Tensor([[1.0, 2.0]])), ValueError, r"square matrix, but got shape \(1, 2"),
    (lambda: linalg.eigh(Tensor([1.0])), ValueError, "dimension of 'a' should be 2, but got 1"),
    (lambda: linalg.lu(Tensor([[1.0], [2.0]])), ValueError, "as many rows as columns"),
    (lambda: linalg.solve_triangular(Tensor([[1.0]]), Tensor([1.0]), "X"), ValueError, "trans"),
    (lambda: linalg.solve_triangular(Tensor([[1.0]]), Tensor([1.0, 2.0])), ValueError, "rows"),
    (lambda: linalg.solve_triangular(Tensor([[1.0, 2.0]]), Tensor([1.0])), ValueError, "square"),
    (lambda: linalg.solve_triangular(Tensor([1.0]), Tensor([1.0])), ValueError, "square"),
    (lambda: linalg.lstsq(Tensor([[1.0]]), Tensor([1.0]), None, "x"), ValueError, "driver"),
    (lambda: linalg.det(Tensor([[1.0, 2.0]])), ValueError, "square"),
    (lambda: fft.dct(Tensor([1.0]), 3), ValueError, "only type 2"),
    (lambda: fft.dct(Tensor([1.0]), norm="forward"), ValueError, "'norm' must be"),
    (lambda: optimize.minimize(lambda x: x, Tensor([1.0])), ValueError, "specify a solver"),
    (lambda: optimize.minimize(lambda x: x, Tensor([1.0]), method="x"), ValueError, "recognized"),
    (lambda: ANY.optimize.minimize(lambda x: x, Tensor([1.0]), 1, "bfgs"), TypeError, "a tuple"),
    (lambda: optimize.linear_sum_assignment(Tensor([1.0]), False), ValueError, "a matrix"),
    (lambda: optimize.linear_sum_assignment(Tensor([[np.nan]]), False), ValueError, "no nan"),
    (lambda: ANY.optimize.linear_sum_assignment([[1.0]], False), TypeError, "must be a Tensor"),
], ids=range(22))
def test_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


GRADIENTS: dict[str, Any] = {
    "inv": linalg.inv,
    "det": linalg.det,
    "cholesky": lambda a: linalg.cholesky(a @ a.T),
    "cho_solve": lambda a: linalg.cho_solve(linalg.cho_factor(a @ a.T), a[0]),
    "solve_triangular": lambda a: linalg.solve_triangular(a, a[1], 1),
    "eigh": lambda a: linalg.eigh(a + a.T, eigvals_only=True),
    "lu": lambda a: linalg.lu(a)[1:],
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), a[2]),
    "block_diag": lambda a: linalg.block_diag(a, a[0]) ** 2,
    "dct": lambda a: fft.dct(a * a),
    "idctn": lambda a: fft.idctn(a * a, s=(3, 5)),
}


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients_and_compiled(name: str) -> None:
    check_gradient(GRADIENTS[name], [SQUARE], (0,), order=1, rtol=1e-3)
    check_compiled(GRADIENTS[name], [Tensor(SQUARE)])


# -- fft ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [None, 1, 3, 7], ids=str)
@pytest.mark.parametrize("axis", [0, -1])
def test_cosine_transforms(n: Any, axis: int) -> None:
    x = RNG.standard_normal((4, 5))
    for name in ("dct", "idct"):
        want = getattr(scipy.fft, name)(x, 2, n, axis, norm="ortho")
        same(getattr(fft, name)(Tensor(x), 2, n, axis), want)
        got = getattr(fft, name)(Tensor(x.astype("float32")), n=n, axis=axis, norm="ortho")
        assert got.dtype is ms.float32
        same(got, want, 1e-5)
    same(fft.idct(fft.dct(Tensor(x))), x)


def test_cosine_transforms_along_several_axes() -> None:
    x = RNG.standard_normal((2, 4, 5))
    for name in ("dctn", "idctn"):
        ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
        same(ours(Tensor(x)), theirs(x, norm="ortho"))
        same(ours(Tensor(x), s=(3, 6)), theirs(x, s=(3, 6), norm="ortho"))
        same(ours(Tensor(x), axes=(0, 2)), theirs(x, axes=(0, 2), norm="ortho"))
    z = x[0] + 1j * x[1]
    same(fft.dct(Tensor(z)), scipy.fft.dct(z, norm="ortho"))
    assert fft.dct(Tensor([1, 2, 3])).dtype is ms.float32


# -- optimize -------------------------------------------------------------------------------------

def himmelblau(p: Tensor) -> Tensor:
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
def test_minimize(method: str) -> None:
    start = Tensor(np.zeros(2, "float32"))
    found = optimize.minimize(himmelblau, start, method=method, options={"gtol": 1e-6})
    same(found.x, [3, 2], 1e-5)
    assert found.success is True and found.status == 0 and found.fun < 1e-9
    assert found.nfev == found.njev and 9 <= found.nit <= 13
    assert (found.hess_inv is None) is (method == "LBFGS")

    def rosenbrock(x: Tensor, scale: float) -> Tensor:
        return (scale * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    place = Tensor(np.array([-1.2, 1.0, 0.5]))
    found = optimize.minimize(rosenbrock, place, (100.0,), method.lower())
    same(found.x, np.ones(3), 1e-4)
    stopped = optimize.minimize(rosenbrock, place, (100.0,), method, options={"maxiter": 2})
    assert not stopped.success and stopped.status == 1 and stopped.nit == 2
    by_hand = optimize.minimize(lambda x: (x**2).sum(), place, method=method, jac=lambda x: 2 * x)
    same(by_hand.x, np.zeros(3), 1e-5)


def test_minimize_as_recorded() -> None:  # from MindSpore 2.10
    target = Tensor([1.0, 2.0, 3.0])
    found = optimize.minimize(lambda x: ((x - target) ** 2).sum(), Tensor([0.0, 0.0, 0.0]),
                              method="bfgs")
    assert (found.nfev, found.njev, found.nit) == (4, 4, 2)
    same(found.hess_inv, [[0.964285672, -0.0714286268, -0.107142858],
                          [-0.0714286119, 0.857142806, -0.214285702],
                          [-0.107142888, -0.214285702, 0.678571463]], 1e-4)
    found = optimize.line_search(lambda x: (x**2).sum(), Tensor([2.0, 3.0]), Tensor([-1.0, -1.0]))
    assert found[:7] == (False, 1, 2, 2, 2, 1.0, 5.0) and found.status == 0
    same(found.g_k, [2, 4])
    uphill = optimize.line_search(lambda x: (x**2).sum(), Tensor([1.0, 1.0]), Tensor([1.0, 1.0]))
    assert uphill[:7] == (True, 1, 12, 12, 2, 1.0, 2.0) and uphill.status == 1
    same(optimize.minimize(himmelblau, Tensor(np.zeros(2, "float32")), method="BFGS",
                           options={"gtol": 1e-6}).hess_inv,
         [[0.0162229743, -0.00969366916], [-0.00969366916, 0.0348841324]], 1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_line_search_meets_the_wolfe_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_normal(3), rng.random(3) * 10

    def function(p: Any) -> Any:
        return (Tensor(weights) * p**4).sum() + (p * p).sum()

    gradient = ms.grad(function)(Tensor(x))
    found = optimize.line_search(function, Tensor(x), -gradient)
    slope = -float((gradient**2).sum())
    assert not found.failed
    assert found.f_k <= float(function(Tensor(x))) + 1e-4 * found.a_k * slope
    assert abs(float((found.g_k * -gradient).sum())) <= -0.9 * slope


def test_minimize_under_inequalities() -> None:
    found = optimize.minimize(
        lambda x: ((x - 2) ** 2).sum(), Tensor([0.5, 0.5]), method="LAGRANGE", tol=[0.05, 0.05],
        constraints=[lambda x: x[0] - 1.0, lambda x: x[1] - 1.5],
        options={"rounds": 12, "steps": 60, "learning_rate": 0.05})
    assert found.succeeded
    np.testing.assert_allclose(found.best_value, [1.0, 1.5], atol=0.1)
    assert (found.loss_value < 0.05).all()
    bounded = optimize.minimize(
        lambda x, twice: (twice - 8).sum() ** 2, Tensor([0.0]), method="lagrange",
        constraints=[lambda x, twice: -twice[0]],
        options={"rounds": 2, "steps": 80, "lower": Tensor([0.0]), "upper": Tensor([3.0]),
                 "coincide_fun": lambda x: 2 * x})
    assert bounded.succeeded and 2.5 < bounded.best_value[0] <= 3.0


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 7), (7, 4), (30, 30)], ids=str)
@pytest.mark.parametrize("maximize", [False, True])
def test_assignment(shape: Any, maximize: bool) -> None:
    cost = np.round(RNG.standard_normal(shape), 1)
    rows, columns = optimize.linear_sum_assignment(Tensor(cost), maximize)
    want = scipy.optimize.linear_sum_assignment(cost, maximize)
    assert rows.dtype is ms.int64 and (rows.asnumpy() == np.sort(rows.asnumpy())).all()
    np.testing.assert_allclose(cost[rows.asnumpy(), columns.asnumpy()].sum(), cost[want].sum())
    assert len(set(columns.asnumpy().tolist())) == min(shape)


def test_assignment_of_some_columns() -> None:  # recorded from MindSpore 2.10
    cost = Tensor([[2.0, 3, 3], [3, 2, 3], [3, 3, 2]])
    for limit, want in ((2, [0, 1, -1]), (1, [0, -1, -1])):
        for part in ops.LinearSumAssignment()(cost, Tensor(limit), False):
            assert part.asnumpy().tolist() == want
    wide = Tensor([[2.0, 3, 9, 8], [3, 2, 1, 7]])
    rows, columns = optimize.linear_sum_assignment(wide, False, Tensor(3))
    assert (rows.asnumpy().tolist(), columns.asnumpy().tolist()) == ([0, 1], [0, 2])


def test_paths_of_the_original() -> None:
    import lamella.alias

    lamella.alias.install()
    try:
        import mindspore.scipy as msp  # pyright: ignore[reportMissingImports]
        from mindspore.scipy.linalg import inv  # pyright: ignore[reportMissingImports]
        from mindspore.scipy.optimize import minimize  # pyright: ignore[reportMissingImports]
        assert msp.fft.dct is fft.dct
    finally:
        lamella.alias.uninstall()
    assert inv is linalg.inv and minimize is optimize.minimize


@pytest.mark.parametrize("lower", [True, False])
def test_eigh_has_gradients_by_the_triangle_that_it_reads(lower):
    from lamella.scipy.linalg import eigh

    a = np.random.default_rng(0).normal(size=(4, 4))
    found = ms.grad(lambda a: (eigh(a, lower=lower, eigvals_only=True) ** 3).sum())(ms.Tensor(a))
    triangle = np.tril(a) if lower else np.triu(a)
    hermitian = triangle + triangle.T - np.diag(np.diag(a))
    wanted = 3 * hermitian @ hermitian * (2 - np.eye(4))
    np.testing.assert_allclose(found.asnumpy(), (np.tril if lower else np.triu)(wanted), atol=1e-10)


def test_matrix_set_diag_at_its_path():
    from lamella.scipy.ops_wrapper import matrix_set_diag

    found = matrix_set_diag(ms.ops.zeros((2, 2)), ms.Tensor([5.0, 6.0]), k=0, alignment="LEFT_LEFT")
    assert found.asnumpy().tolist() == [[5, 0], [0, 6]]


def test_eig_without_vectors_gives_two_results():
    from lamella.scipy.ops import Eig

    values, none = Eig(False)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(np.sort(values.asnumpy().real), [-0.372281, 5.37228], rtol=1e-5)
    assert none.shape == () and none.asnumpy() == 0
