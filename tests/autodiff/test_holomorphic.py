"""Complex derivatives of holomorphic functions, beside their formulas."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

Z = np.array([1 + 2j, 0.5 - 1j, -0.3 + 0.2j])


def function(z):
    return ops.exp(z) * z[0] * (2 + 1j)


def want(z):
    jacobian = np.diag(np.exp(z)) * z[0] * (2 + 1j)
    jacobian[:, 0] += np.exp(z) * (2 + 1j)
    return jacobian


@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev], ids=["jacfwd", "jacrev"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jacobians(transform, compiled):
    made = ms.jit if compiled else lambda f: f
    run = made(transform(function, holomorphic=True))
    for _ in range(3):
        np.testing.assert_allclose(run(Tensor(Z)).asnumpy(), want(Z), rtol=1e-10)
    both = made(transform(lambda z, w: (z * w * w, w * 1j), (0, 1), holomorphic=True))
    (zz, zw), (wz, ww) = both(Tensor(Z), Tensor(Z + 1))
    np.testing.assert_allclose(zz.asnumpy(), np.diag((Z + 1) ** 2), rtol=1e-10)
    np.testing.assert_allclose(zw.asnumpy(), np.diag(2 * Z * (Z + 1)), rtol=1e-10)
    np.testing.assert_allclose(ww.asnumpy(), 1j * np.eye(3))
    assert not wz.asnumpy().any()


def test_by_weights_and_under_vmap():
    w = Parameter(Tensor(Z), name="w")
    for transform in (ms.jacfwd, ms.jacrev):
        by_z, by_w = transform(lambda z: z * w * w, weights=w, holomorphic=True)(Tensor(Z + 1))
        np.testing.assert_allclose(by_z.asnumpy(), np.diag(Z * Z), rtol=1e-10)
        np.testing.assert_allclose(by_w.asnumpy(), np.diag(2 * Z * (Z + 1)), rtol=1e-10)
        many = ms.vmap(transform(function, holomorphic=True))(Tensor(np.stack([Z, 2 * Z])))
        np.testing.assert_allclose(many.asnumpy(), np.stack([want(Z), want(2 * Z)]), rtol=1e-10)


def test_a_hessian():
    found = ms.hessian(lambda z: (z**3 * (2 + 1j)).sum(), holomorphic=True)(Tensor(Z))
    np.testing.assert_allclose(found.asnumpy(), np.diag(6 * Z * (2 + 1j)), rtol=1e-10)


@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev], ids=["jacfwd", "jacrev"])
def test_what_is_not_holomorphic_is_refused(transform):
    z = Tensor(Z)
    for fn in (lambda z: ops.conj(z), lambda z: z * ops.conj(z)):
        with pytest.raises(ValueError, match="must be complex differentiable"):
            transform(fn, holomorphic=True)(z)
    with pytest.raises(TypeError, match="the results of 'fn' must be complex, but got Float64"):
        transform(ops.real, holomorphic=True)(z)
    with pytest.raises(TypeError, match="must be complex with holomorphic=True, but got Float64"):
        transform(function, holomorphic=True)(Tensor(Z.real))
    with pytest.raises(TypeError, match=r"\(complex with holomorphic=True\), but got Complex128"):
        transform(function)(z)
    with pytest.raises(TypeError, match="'holomorphic' must be a bool"):
        transform(function, holomorphic=1)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
@pytest.mark.parametrize("dtype", [ms.complex64, ms.complex128])
def test_results_that_are_constant_or_empty_or_not_differentiable(jacobian, dtype):
    z = ms.Tensor([1.0 + 2j, 3.0 - 1j], dtype)
    constant = jacobian(lambda z: z * 0, holomorphic=True)(z)
    assert constant.shape == (2, 2) and not constant.asnumpy().any()
    assert jacobian(lambda z: z[:0], holomorphic=True)(z).shape == (0, 2)
    with pytest.raises(ValueError, match="must be complex differentiable"):
        jacobian(lambda z: z.conj() * 1e-4, holomorphic=True)(z)
