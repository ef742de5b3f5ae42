"""Sparse Jacobians beside dense ones, and the structures that are found."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.sparse import jacobian
from lamella.sparse.coloring import column_colors

X = np.random.default_rng(0).standard_normal(9)
MATRIX = Tensor(np.tril(np.triu(np.random.default_rng(1).standard_normal((9, 9)), -1), 1))


def written(x):
    y = ops.zeros_like(x)
    y[1:4] = x[:3] * 2
    y[0] = x[8]
    y += 1
    return y * y


FUNCTIONS = {  # and the entries of the structure that is found
    "stencil": (lambda x: x[2:] - 2 * x[1:-1] * x[:-2] + ops.sin(x[2:]), 3 * 7),
    "elementwise": (lambda x: ops.exp(x) / (1 + x * x), 9),
    "reshaped": (lambda x: (x.reshape(3, 3).T * x.reshape(3, 3)).flip(0), 9 * 2 - 3),
    "sums": (lambda x: x.reshape(3, 3).sum(0) ** 2, 9),
    "joined": (lambda x: ops.cat([x[:2] * x[1], x[5:]]), 2 + 1 + 4),
    "indexed": (lambda x: x[Tensor([0, 3, 3])] * x[8], 6),
    "softmax": (lambda x: ops.softmax(x.reshape(3, 3), 1), 27),
    "written": (written, 4),
    "chosen": (lambda x: ops.where(x > 0, x * x, -x), 9),
    "nothing": (lambda x: x[0] * ops.zeros(2, ms.float64), 2),
    "whole": (lambda x: ops.norm(x).reshape(1) * x[:2], 18),
    "sorted": (lambda x: ops.sort(x)[0], 81),
    "product": (lambda x: ops.ones((2, 3), ms.float64) @ x.reshape(3, 3), 18),
    "convolution": (lambda x: ops.conv1d(x.reshape(1, 1, 9), ops.ones((1, 1, 3), ms.float64)) ** 2,
                    21),
    "gradient": (ms.grad(lambda x: ((x[1:] - x[:-1]) ** 4).sum() + ops.sin(x).sum()), 25),
}


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_the_dense_jacobian(name, mode):
    fn, count = FUNCTIONS[name]
    x = Tensor(X)
    want = ms.jacrev(fn)(x).asnumpy().reshape(-1, 9)
    structure = ms.sparse.jacobian_structure(fn, x)
    assert not (want[~structure.asnumpy()]).any()
    found = ms.sparse_jacobian(fn, mode=mode)(x)
    assert found.shape == want.shape
    np.testing.assert_allclose(found.to_dense().asnumpy(), want, rtol=1e-10, atol=1e-12)
    assert int(structure.sum()) == count


@pytest.mark.parametrize("shape, forward", [((1, 2), False), ((2, 1), True), ((1, 1), True),
                                            ((3, 2), True), ((2, 3), False)])
def test_the_mode_with_fewer_products(shape, forward):
    plan = jacobian._Plan(np.ones(shape), shape, "auto")
    assert bool(plan.is_forward) is forward and len(plan.seeds) == min(shape)


def test_few_products_are_made():
    fn, _ = FUNCTIONS["stencil"]
    counts = []

    def counted(x):
        return fn(x)

    structure = ms.sparse.jacobian_structure(counted, Tensor(X)).asnumpy()
    rows, columns = np.nonzero(structure)
    colors = column_colors(rows.tolist(), columns.tolist(), 9)
    assert colors.max() == 2
    for color in range(3):
        assert structure[:, colors == color].sum(1).max() == 1
    arrow = np.eye(6, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    rows, columns = np.nonzero(arrow)
    counts = column_colors(rows.tolist(), columns.tolist(), 6).max() + 1
    assert counts == 6


def test_a_given_structure_in_each_form_and_compiled():
    fn, _ = FUNCTIONS["stencil"]
    x, structure = Tensor(X), ms.sparse.jacobian_structure(FUNCTIONS["stencil"][0], Tensor(X))
    want = ms.jacfwd(fn)(x).asnumpy()
    rows, columns = np.nonzero(structure.asnumpy())
    coo = ms.COOTensor(Tensor(np.stack([rows, columns], 1)), ops.ones(len(rows)), (7, 9))
    for given in (structure, structure.asnumpy(), coo, coo.to_csr(), (rows, columns),
                  (Tensor(rows), Tensor(columns))):
        np.testing.assert_allclose(
            ms.sparse_jacobian(fn, given)(x).to_dense().asnumpy(), want, rtol=1e-10)
    step = ms.jit(lambda x: ms.sparse_jacobian(fn, (rows, columns))(x).to_dense())
    for _ in range(3):
        np.testing.assert_allclose(step(x).asnumpy(), want, rtol=1e-10)


def test_other_arguments_and_derivatives_of_the_values():
    def fn(x, k):
        return (x[1:] * x[:-1]) ** 2 * k

    jacobian = ms.sparse_jacobian(fn)
    x, k = Tensor(X), Tensor(2.0, ms.float64)

    def total(jacobian):
        return lambda x: (jacobian(x, k) ** 2).sum()

    found = ms.grad(lambda x: (jacobian(x, k).values ** 2).sum())(x)
    want = ms.grad(total(ms.jacrev(fn)))(x)
    np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-9)


def test_the_hessian_of_a_network_of_neighbours():
    net = nn.SequentialCell(nn.Dense(2, 4, dtype=ms.float64), nn.Tanh(),
                            nn.Dense(4, 1, dtype=ms.float64))

    def energy(x):
        return net(ops.stack([x[1:], x[:-1]], 1)).sum()

    x = Tensor(X)
    structure = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) <= 1
    found = ms.sparse_jacobian(ms.grad(energy), structure)(x)
    np.testing.assert_allclose(found.to_dense().asnumpy(), ms.hessian(energy)(x).asnumpy(),
                               rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.sparse_jacobian(3), TypeError, "'fn' must be a function"),
    (lambda: ms.sparse_jacobian(ops.sin, mode="x"), ValueError, "'mode' must be one of"),
    (lambda: ms.sparse_jacobian(ops.sin)(Tensor([1])), TypeError, "'x' must be of a floating"),
    (lambda: ms.sparse_jacobian(lambda x: (x, x))(Tensor(X)), TypeError, "must give one Tensor"),
    (lambda: ms.sparse_jacobian(ops.sin, np.eye(3))(Tensor(X)), ValueError, "must have shape"),
    (lambda: ms.sparse_jacobian(ops.sin, ([0, 9], [0, 1]))(Tensor(X)), ValueError, "within"),
    (lambda: ms.sparse_jacobian(ops.sin, ([0.5], [0]))(Tensor(X)), ValueError, "row numbers"),
    (lambda: ms.sparse_jacobian(ops.sin, ([0, 1], [0]))(Tensor(X)), ValueError, "row numbers"),
    (lambda: ms.sparse_jacobian(ops.sin, ([0], [9]))(Tensor(X)), ValueError, "within"),
    (lambda: ms.sparse_jacobian(lambda x: x[:2], ([2], [0]))(Tensor(X)), ValueError, "within"),
    (lambda: ms.sparse_jacobian(ops.sin, ([-1], [0]))(Tensor(X)), ValueError, "within"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
