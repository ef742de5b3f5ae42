"""Solutions of equations: derivatives beside closed forms and dense linear algebra."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def matrix(n=5, seed=0, symmetric=False):
    a = array(n, n, seed=seed)
    return a @ a.T + n * np.eye(n) if symmetric else a + 2 * n * np.eye(n)


def close(found, wanted, tolerance=1e-6):
    found = found.asnumpy() if isinstance(found, Tensor) else found
    wanted = wanted.asnumpy() if isinstance(wanted, Tensor) else wanted
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def dense(a, b):
    return ops.inverse(a) @ b


@pytest.mark.parametrize("solver", ["auto", "direct", "cg", "gmres"])
def test_a_linear_system_has_the_derivatives_of_the_inverse(solver):
    symmetric = solver == "cg"
    a, b = Tensor(matrix(symmetric=symmetric)), Tensor(array(5, seed=1))
    w = Tensor(array(5, seed=2))

    def solve(a, b):
        return ms.custom_linear_solve(lambda x, a: a @ x, b, a, solver=solver, symmetric=symmetric)

    def value(f):
        return lambda a, b: (ops.tanh(f(a, b)) * w).sum()

    close(solve(a, b), np.linalg.solve(a.asnumpy(), b.asnumpy()))
    for found, wanted in zip(ms.grad(value(solve), (0, 1))(a, b),
                             ms.grad(value(dense), (0, 1))(a, b), strict=True):
        if not symmetric or found.ndim == 1:
            close(found, wanted)
        else:  # half of the gradient may lie on either side
            close(found + found.T, wanted + wanted.T)
    tangent = Tensor(array(5, seed=3))
    close(ms.jvp(lambda b: solve(a, b), b, tangent)[1], dense(a, tangent))
    close(ms.hessian(lambda b: value(solve)(a, b))(b), ms.hessian(lambda b: value(dense)(a, b))(b))


def test_gmres_of_a_matrix_that_is_not_normal():
    n = 300
    a = Tensor(np.diag(np.linspace(1, 30, n)) + 0.3 * array(n, n))
    b, along = Tensor(array(n, seed=1)), Tensor(array(n, seed=2))
    counts = []

    def times(x, a):
        counts.append(1)
        return a @ x

    def solve(b, a):
        return ms.custom_linear_solve(times, b, a, solver="gmres")

    close(solve(b, a), np.linalg.solve(a.asnumpy(), b.asnumpy()), 1e-8)
    once = len(counts)
    close(ms.jvp(lambda b: solve(b, a), b, along)[1], dense(a, along), 1e-8)
    assert len(counts) < 4 * once  # the derivative is one more solution
    ahead = Tensor(array(n, n, seed=3))
    close(ms.jvp(lambda a: solve(b, a), a, ahead)[1], -dense(a, ahead @ dense(a, b)), 1e-6)
    easy = Tensor(matrix(100) / 100)
    counts.clear()
    close(solve(b[:100], easy), np.linalg.solve(easy.asnumpy(), b[:100].asnumpy()), 1e-8)
    assert len(counts) < 64  # not a whole round of vectors


def test_a_solver_that_stops_too_early_says_so():
    n = 40
    shift = Tensor(np.roll(np.eye(n), 1, 0))  # residuals stay as they are until the last vector
    one = Tensor(np.eye(n)[0])
    close(ms.custom_linear_solve(lambda x: shift @ x, one, solver="gmres"), np.eye(n)[-1])
    with pytest.warns(RuntimeWarning, match="'cg' has stopped where the residual has the norm"
                      ) as found:
        ms.custom_linear_solve(lambda x: shift @ x, one, solver="cg")
    assert found[0].filename == __file__


def test_second_derivatives_by_the_matrix():
    a, b = Tensor(matrix(3)), Tensor(array(3, seed=1))

    def solve(a):
        return (ms.custom_linear_solve(lambda x, a: a @ x, b, a) ** 2).sum()

    close(ms.hessian(solve)(a), ms.hessian(lambda a: (dense(a, b) ** 2).sum())(a), 1e-5)


def test_structures_a_function_as_solver_and_batches():
    b = {"u": Tensor(array(3)), "v": Tensor(array(2, seed=1))}

    def matvec(x, scale):
        return {"u": 3 * x["u"] + scale * x["v"].sum(), "v": 2 * x["v"] + x["u"][:2]}

    def total(scale, b):
        x = ms.custom_linear_solve(matvec, b, scale)
        return (x["u"] ** 2).sum() + x["v"].sum()

    scale, step = Tensor(0.5, ms.float64), 1e-6
    slope = (total(scale + step, b) - total(scale - step, b)) / (2 * step)
    close(ms.grad(total)(scale, b), slope, 1e-5)
    halves = ms.custom_linear_solve(lambda x: 2 * x, Tensor([2.0, 4.0]),
                                    solver=lambda matvec, b: b / matvec(ops.ones_like(b)))
    close(halves, np.array([1.0, 2.0]))
    a, rows = Tensor(matrix()), Tensor(array(4, 5))
    for solver in ("direct", "gmres"):
        found = ms.vmap(lambda b, solver=solver: ms.custom_linear_solve(
            lambda x, a: a @ x, b, a, solver=solver))(rows)
        close(found, np.linalg.solve(a.asnumpy(), rows.asnumpy().T).T)


def newton(a):
    x = ops.ones_like(a)
    while float(abs(x * x - a).max()) > 1e-12:
        x = (x + a / x) / 2
    return x


def test_a_root_has_all_derivatives_of_its_closed_form():
    root = ms.implicit(newton, lambda x, a: x * x - a)
    a = Tensor(np.array([4.0, 2.0, 9.0]))
    close(root(a), ops.sqrt(a))
    for bend in (lambda f: ms.grad(f), lambda f: ms.jacfwd(f), lambda f: ms.jacrev(f),
                 lambda f: ms.hessian(lambda a: f(a).sum()),
                 lambda f: ms.grad(ms.grad(ms.grad(lambda a: f(a).sum())))):
        close(bend(root)(a), bend(ops.sqrt)(a), 1e-8)
    close(ms.jvp(root, a, ops.ones_like(a))[1], 0.5 / ops.sqrt(a))


def test_an_equation_without_a_closed_form_beside_finite_differences():
    def solve(w, b):
        x = ops.zeros_like(b)
        for _ in range(200):
            x = ops.tanh(w @ x) * 0.5 + b
        return x

    layer = ms.implicit(solve, fixed_point=lambda x, w, b: ops.tanh(w @ x) * 0.5 + b)
    w, b = Tensor(array(4, 4) * 0.5), Tensor(array(4, seed=1))

    def loss(f):
        return lambda w, b: (f(w, b) ** 3).sum()

    for found, wanted in zip(ms.grad(loss(layer), (0, 1))(w, b),
                             ms.grad(loss(solve), (0, 1))(w, b), strict=True):
        close(found, wanted)
    close(ms.hessian(loss(layer), 1)(w, b), ms.hessian(loss(solve), 1)(w, b))


def test_weights_of_a_network_in_the_equation():
    net = nn.Dense(4, 4, weight_init="normal").to_float(ms.float32)

    def step(x, b):
        return ops.tanh(net(x)) * 0.5 + b

    def solve(b):
        x = b
        for _ in range(60):
            x = step(x, b)
        return x

    weights = net.trainable_params()
    layer = ms.implicit(solve, fixed_point=step, weights=weights)
    b = Tensor(array(2, 4), ms.float32)
    found = ms.grad(lambda b: (layer(b) ** 2).sum(), 0, weights)
    wanted = ms.grad(lambda b: (solve(b) ** 2).sum(), 0, weights)
    for x, y in zip(found(b)[1], wanted(b)[1], strict=True):
        close(x, y, 1e-4)
    close(found(b)[0], wanted(b)[0], 1e-4)
    compiled = ms.jit(found)
    for _ in range(3):
        close(compiled(b)[0], wanted(b)[0], 1e-4)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="one of 'residual' and 'fixed_point'"):
        ms.implicit(newton)
    with pytest.raises(TypeError, match="'solve' must be a function"):
        ms.implicit(3, lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'solver' must be a function or one of"):
        ms.custom_linear_solve(lambda x: x, Tensor([1.0]), solver="lu")
    with pytest.raises(TypeError, match="structure of 'b'"):
        ms.custom_linear_solve(lambda x: (x, x), Tensor([1.0]))


def test_a_hook_of_a_weight_of_an_equation_sees_the_gradient_once():
    w, x, seen = Parameter(Tensor(3.0), name="w"), Tensor(2.0), []
    root = ms.implicit(lambda a: a * w, lambda x, a: x - a * w, weights=w)
    times = Tensor([0.0, 1.0])
    cases = [
        (root, 2.0), (lambda b: ms.custom_linear_solve(lambda x: x * w, b, weights=w), -2 / 9),
        (lambda a: ms.odeint(lambda y, t: y * w, a, times, weights=w)[1], 2 * np.exp(3)),
        (lambda a: ms.grad(lambda b: root(a * b))(x), 2.0)]
    handle = w.register_hook(lambda gradient: seen.append(float(gradient)) or gradient * 10)
    for number, (solution, wanted) in enumerate(cases, 1):
        found = ms.grad(solution, None, w)(x)
        np.testing.assert_allclose([float(found), seen[-1]], [10 * wanted, wanted], 1e-4)
        assert len(seen) == number
    handle.remove()
    np.testing.assert_allclose(float(ms.grad(root, None, w)(x)), 2.0)


COMPLEX = matrix(6) + 1j * array(6, 6, seed=5)
COMPLEXES = {"any": COMPLEX, "symmetric": COMPLEX + COMPLEX.T,
             "hermitian": COMPLEX @ COMPLEX.conj().T + 5 * np.eye(6)}


@pytest.mark.parametrize("kind, solver, symmetric", [
    *[(kind, solver, False) for kind in COMPLEXES for solver in ("direct", "gmres")],
    *[("hermitian", solver, True) for solver in ("direct", "cg", "gmres")],
    ("hermitian", "cg", False), ("symmetric", "direct", True), ("symmetric", "gmres", True)])
@pytest.mark.parametrize("dtype", [ms.complex64, ms.complex128])
def test_linear_systems_of_complex_numbers(kind, solver, symmetric, dtype):
    a, b = Tensor(COMPLEXES[kind], dtype), Tensor(array(6, seed=1) + 1j * array(6, seed=2), dtype)
    tolerance = 1e-8 if dtype is ms.complex128 else 2e-4

    def value(solve):
        def loss(a, b):
            x = solve(a, b)
            return (ops.real(x) ** 2 + 3 * ops.imag(x)).sum()
        return loss

    def solve(a, b):
        return ms.custom_linear_solve(lambda x, a: a @ x, b, a, solver=solver, symmetric=symmetric)

    close(solve(a, b), np.linalg.solve(a.asnumpy(), b.asnumpy()), tolerance)
    for found, wanted in zip(ms.grad(value(solve), (0, 1))(a, b),
                             ms.grad(value(dense), (0, 1))(a, b), strict=True):
        close(found, wanted, tolerance)
