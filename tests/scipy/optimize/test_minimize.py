"""Minimization beside SciPy's, where it stops, and the parts of its searches."""

import math

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.optimize

import lamella as ms
from lamella import Tensor, ops
from lamella.scipy import fft, linalg, optimize
from lamella.scipy.optimize.line_search import _cubic, _next_step, _Point, _quadratic, line_search

from ...limits import check_limits

METHODS = pytest.mark.parametrize("method", ["BFGS", "lbfgs"])
MATRIX = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 1.0]])
SIDE = np.array([1.0, -2.0, 0.5])


def bowl(x):
    return 0.5 * (x * ops.mv(Tensor(MATRIX), x)).sum() - (Tensor(SIDE) * x).sum()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@METHODS
def test_a_bowl(method):
    found = optimize.minimize(bowl, Tensor(np.zeros(3)), method=method)
    want = np.linalg.solve(MATRIX, SIDE)
    assert found.success and found.status == 0
    np.testing.assert_allclose(found.x.asnumpy(), want, atol=1e-4)
    np.testing.assert_allclose(found.fun, -0.5 * SIDE @ want, rtol=1e-6)
    np.testing.assert_allclose(found.jac.asnumpy(), MATRIX @ found.x.asnumpy() - SIDE, atol=1e-9)
    if method == "BFGS":  # what it has learnt of the curvature on its way
        np.testing.assert_allclose(found.hess_inv.asnumpy(), np.linalg.inv(MATRIX), rtol=0.15,
                                   atol=0.1)


@METHODS
def test_a_valley(method):
    start = np.array([-1.2, 1.0, 0.5])
    found = optimize.minimize(rosenbrock, Tensor(start), method=method)
    theirs = scipy.optimize.minimize(scipy.optimize.rosen, start, method="BFGS",
                                     jac=scipy.optimize.rosen_der)
    assert found.success
    np.testing.assert_allclose(found.x.asnumpy(), theirs.x, atol=1e-4)
    assert found.nit <= 2 * theirs.nit and found.nfev == found.njev


@METHODS
def test_at_the_minimum_nothing_is_searched(method):
    found = optimize.minimize(bowl, Tensor(np.linalg.solve(MATRIX, SIDE)), method=method)
    assert (found.success, found.status, found.nit, found.nfev) == (True, 0, 0, 1)


@METHODS
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_it_stops_at_its_limit(method, limit):
    found = optimize.minimize(rosenbrock, Tensor(np.array([-1.2, 1.0])), method=method,
                              options={"maxiter": limit})
    assert (bool(found.success), found.status, found.nit) == (False, 1, limit)


@METHODS
@pytest.mark.parametrize(("function", "slope", "status"), [
    (lambda x: (x**2).sum(), lambda x: -2 * x, 3),  # uphill: no step is short enough
    (lambda x: -x.sum(), None, 5)], ids=["uphill", "no bottom"])
def test_it_stops_where_no_step_is_found(method, function, slope, status):
    start = Tensor(np.array([3.0, 4.0]))
    found = optimize.minimize(function, start, method=method, jac=slope)
    assert (found.success, found.status, found.nit) == (False, status, 0)
    assert found.x.tolist() == [3, 4] and found.fun == float(function(start))
    assert found.nfev == found.njev > 1


@METHODS
@pytest.mark.parametrize("norm", [math.inf, 2])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3])
def test_the_gradient_that_is_small_enough(method, norm, tolerance):
    found = optimize.minimize(rosenbrock, Tensor(np.array([-1.2, 1.0])), method=method,
                              options={"gtol": tolerance, "norm": norm})
    assert found.success and np.linalg.norm(found.jac.asnumpy(), norm) < tolerance


@METHODS
def test_a_gradient_and_arguments_of_one_s_own(method):
    calls = []

    def slope(x, factor):
        calls.append(1)
        return 2 * factor * (x - 3)

    found = optimize.minimize(lambda x, factor: (factor * (x - 3) ** 2).sum(),
                              Tensor(np.zeros(2)), (4.0,), method, slope)
    np.testing.assert_allclose(found.x.asnumpy(), [3, 3], atol=1e-5)
    assert len(calls) == found.njev


def test_few_steps_are_remembered():
    start = Tensor(np.array([0.5, 1.5, 0.5, 2.0]))
    for size in (1, 2, 20):
        found = optimize.minimize(rosenbrock, start, method="lbfgs", options={
            "history_size": size, "maxiter": 400})
        np.testing.assert_allclose(found.x.asnumpy(), 1, atol=1e-3)


def point(form, at):
    slope = np.polyval(np.polyder(form), at)
    return _Point(at, float(np.polyval(form, at)), float(slope), None)


@pytest.mark.parametrize("form", [[1.0, -3.0, -2.0, 5.0], [0.5, 1.0, -4.0, 1.0], [2.0, 0, -1.0, 0],
                                  [0.1, 0, -0.1, 0]])
@pytest.mark.parametrize("at", [(0.0, 1.0, 2.0), (0.25, 3.0, 0.5), (-1.0, 0.5, 4.0)])
def test_the_minimum_of_a_cubic(form, at):
    roots = np.roots(np.polyder(form))
    want = roots[np.polyval(np.polyder(form, 2), roots) > 0][0]
    np.testing.assert_allclose(_cubic(*(point(form, t) for t in at)), want, rtol=1e-9)


@pytest.mark.parametrize("at", [(0.0, 1.0), (0.5, -2.0)])
def test_the_minimum_of_a_parabola(at):
    form = [2.0, -3.0, 1.0]
    np.testing.assert_allclose(_quadratic(*(point(form, t) for t in at)), 0.75, rtol=1e-12)


def test_no_minimum():
    flat = _Point(1.0, 2.0, 1.0, None)
    assert math.isnan(_quadratic(flat, flat)) and math.isnan(_cubic(flat, flat, flat))
    assert math.isnan(_quadratic(point([1.0, 0.0], 0.0), point([1.0, 0.0], 1.0)))
    assert math.isnan(_cubic(*(point([1.0, 0.0, 1.0, 0.0], t) for t in (0.0, 1.0, 2.0))))


@pytest.mark.parametrize(("form", "last", "want"), [
    ([1.0, -1.0, 0.0], None, 0.5), ([1.0, -0.3, 0.0], None, 0.15),
    ([1.0, -0.1, 0.0], None, 0.5),  # too near an end: the middle
    ([1.0, -1.95, 0.0], None, 0.5), ([1.0, 0.0, -0.75, 0.0], 2.0, 0.5),
    ([1.0, 0.0, -0.12, 0.0], 2.0, 0.5)])
def test_the_next_step_lies_within(form, last, want):
    ends = point(form, 0.0), point(form, 1.0)
    got = _next_step(*ends, None if last is None else point(form, last))
    np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize(("form", "end", "last"), [
    ([1.0, 0.0, -3.0, 0.0], 5.0, 2.0), ([1.0, 0.0, -48.0, 0.0], 5.0, 2.0),  # minima at 1 and 4
    ([1.0, -2.0, 0.0], 10.0, None), ([1.0, -18.0, 0.0], 10.0, None)])  # at 1 and 9
def test_a_step_at_the_edge_of_what_is_too_near_is_too_near(form, end, last):
    ends = point(form, 0.0), point(form, end)
    assert _next_step(*ends, None if last is None else point(form, last)) == end / 2


def test_a_cubic_without_a_minimum_may_rest_at_one_point():
    assert _cubic(*(point([1.0, -3.0, 3.0, -1.0], t) for t in (0.0, 2.0, 4.0))) == 1


@pytest.mark.parametrize(("before", "step"), [
    (None, 1.0), (100.0, 1.0), (50.0, 0.505), (25.5, 0.0101), (math.inf, 1.0), (math.nan, 1.0)])
def test_the_first_step_follows_from_the_last_two_values(before, step):
    seen = []

    def f(x):
        seen.append(x.asnumpy())
        return (x * x).sum()

    x = Tensor(np.array([3.0, 4.0]))
    line_search(f, x, -2 * x, lambda x: 2 * x, 2 * x, 25.0, before)
    np.testing.assert_allclose(seen[0], x.asnumpy() * (1 - 2 * step), rtol=1e-9)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (1, 5), (5, 1)])
@pytest.mark.parametrize("maximize", [False, True])
def test_assignments(shape, maximize):
    for seed in range(4):
        cost = np.random.default_rng(seed).integers(-5, 9, shape).astype(float)
        rows, columns = (t.asnumpy() for t in optimize.linear_sum_assignment(
            Tensor(cost), maximize))
        want = scipy.optimize.linear_sum_assignment(cost, maximize)
        assert len(set(rows)) == len(set(columns)) == min(shape) and (np.diff(rows) > 0).all()
        assert cost[rows, columns].sum() == cost[want].sum()


@pytest.mark.parametrize("limit", [1, 2, 4, 9])
def test_assignments_of_some_columns(limit):
    cost = np.random.default_rng(1).standard_normal((3, 4))
    rows, columns = (t.asnumpy() for t in optimize.linear_sum_assignment(
        Tensor(cost), False, Tensor(limit)))
    want = scipy.optimize.linear_sum_assignment(cost[:, :limit])
    missing = max(3 - limit, 0)
    assert rows.tolist() == [*want[0], *[-1] * missing]
    assert columns.tolist() == [*want[1], *[-1] * missing]


@pytest.mark.parametrize("cost", [
    [[math.nan, 1.0]], [[-math.inf, 1.0]], [[math.inf], [math.inf]], [1.0, 2.0]])
def test_costs_that_are_refused(cost):
    with pytest.raises(ValueError, match="linear_sum_assignment"):
        optimize.linear_sum_assignment(Tensor(cost), False)
    assert optimize.linear_sum_assignment(Tensor([[math.inf, 1.0]]), False)[1].item() == 1


X = np.random.default_rng(3).standard_normal((3, 4, 5))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("length", [None, 1, 3, 4, 7])
@pytest.mark.parametrize("inverse", [False, True])
def test_cosine_transforms(axis, length, inverse):
    mine, theirs = (fft.idct, scipy.fft.idct) if inverse else (fft.dct, scipy.fft.dct)
    np.testing.assert_allclose(mine(Tensor(X), 2, length, axis).asnumpy(),
                               theirs(X, 2, length, axis, "ortho"), atol=1e-12)
    many, peer = (fft.idctn, scipy.fft.idctn) if inverse else (fft.dctn, scipy.fft.dctn)
    if length:
        np.testing.assert_allclose(many(Tensor(X), 2, (length, 2), (axis, axis - 1)).asnumpy(),
                                   peer(X, 2, (length, 2), (axis, axis - 1), "ortho"), atol=1e-12)
        np.testing.assert_allclose(many(Tensor(X), s=(length, 6)).asnumpy(),
                                   peer(X, s=(length, 6), norm="ortho"), atol=1e-12)


LIMITS = {
    "length": (lambda n: fft.dct(Tensor(X), 2, n), (1, 9), (0, -1)),
    "axis": (lambda a: fft.dct(Tensor(X), axis=a), (-3, 2), (-4, 3)),
    "rank": (lambda n: fft.dct(ops.ones((2,) * n)), (1, 3), (0,)),
    "lengths": (lambda s: fft.dctn(Tensor(X), s=s, axes=(0, 1)), ((2, 2), None), ((2,), (2,) * 3)),
    "rows": (lambda n: linalg.solve(ops.eye(3), ops.ones((n, 2))), (3,), (2, 4)),
    "rank of b": (lambda n: linalg.solve(ops.eye(3), ops.ones((3,) * n)), (1, 2), (3,)),
    "rows of a triangle": (lambda n: linalg.solve_triangular(ops.eye(3), ops.ones((n, 2))),
                           (3,), (2, 4)),
    "trans": (lambda t: linalg.solve_triangular(ops.eye(3), ops.ones(3), t),
              (0, 1, 2, "N", "T", "C"), (-1, 3, "H")),
    "lu_solve": (lambda t: linalg.lu_solve(linalg.lu_factor(ops.eye(3)), ops.ones(3), t),
                 (0, 1, 2), (-1, 3)),
    "lu": (lambda s: linalg.lu(ops.ones(s) + ops.eye(*s)), ((2, 2), (2, 3)), ((3, 2),)),
    "block_diag": (lambda n: linalg.block_diag(ops.ones((2,) * n)), (0, 1, 2), (3,)),
    "lstsq": (lambda n: linalg.lstsq(ops.eye(3), ops.ones((3,) * n)), (1, 2), (0,)),
    "square": (lambda s: linalg.inv(ops.ones(s) + 2 * ops.eye(*s[-2:])), ((1, 1), (2, 2)),
               ((2, 3), (2, 2, 2))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])


def test_least_squares_of_one_type():
    a = Tensor(np.ones((2, 1)))
    with pytest.raises(TypeError, match="of one type"):
        linalg.lstsq(a, ops.ones(2, ms.float32))
    got = linalg.lstsq(Tensor(X[0]), Tensor(X[1, :, 0]), driver="gelsd")
    np.testing.assert_allclose(got[0].asnumpy(), scipy.linalg.lstsq(X[0], X[1, :, 0])[0], atol=1e-9)
