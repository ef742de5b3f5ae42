"""Products with Hessians and Gauss-Newton matrices, beside the matrices themselves."""

import numpy as np

import lamella as ms
from lamella import Tensor, ops


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), np.asarray(wanted), rtol=1e-8, atol=1e-10)


def test_hvp():
    def f(x):
        return (ops.sin(x) * x[0]).sum() ** 2

    x, v = Tensor(array(4)), Tensor(array(4, seed=1))
    gradient, product = ms.hvp(f, x, v)
    close(gradient, ms.grad(f)(x).asnumpy())
    close(product, ms.hessian(f)(x).asnumpy() @ v.asnumpy())
    compiled = ms.jit(lambda x, v: ms.hvp(f, x, v)[1])
    for _ in range(3):
        close(compiled(x, v), product.asnumpy())
    close(ms.vmap(lambda v: ms.hvp(f, x, v)[1])(Tensor(np.eye(4))), ms.hessian(f)(x).asnumpy())


def test_hvp_by_several_inputs():
    x, y = Tensor(array(2)), Tensor(array(2, seed=1))
    u, v = Tensor(array(2, seed=2)), Tensor(array(2, seed=3))
    gradients, products = ms.hvp(lambda x, y: (x * x * y).sum(), (x, y), (u, v))
    close(gradients[1], (x * x).asnumpy())
    close(products[0], (2 * y * u + 2 * x * v).asnumpy())
    close(products[1], (2 * x * u).asnumpy())


def test_gnvp():
    def f(x):
        return ops.tanh(Tensor(array(3, 4)) @ x)

    def loss(y):
        return (ops.exp(y) * y).sum()

    x, v = Tensor(array(4)), Tensor(array(4, seed=1))
    j = ms.jacrev(f)(x).asnumpy()
    value, product = ms.gnvp(f, loss, x, v)
    close(value, loss(f(x)).asnumpy())
    close(product, j.T @ ms.hessian(loss)(f(x)).asnumpy() @ j @ v.asnumpy())
    close(ms.gnvp(f, loss, (x,), (v,))[1][0], product.asnumpy())


def test_linear_transpose():
    a = Tensor(array(3, 4))
    back = ms.linear_transpose(lambda x: a @ x, Tensor(array(4)))
    close(back(Tensor(array(3, seed=1))), a.asnumpy().T @ array(3, seed=1))
    again = ms.linear_transpose(back, Tensor(array(3)))
    close(again(Tensor(array(4, seed=2))), a.asnumpy() @ array(4, seed=2))
    two = ms.linear_transpose(lambda x, y: x + 2 * y, Tensor(array(2)), Tensor(array(2)))
    assert [t.asnumpy().tolist() for t in two(Tensor([1.0, 3.0], ms.float64))] == [[1, 3], [2, 6]]
