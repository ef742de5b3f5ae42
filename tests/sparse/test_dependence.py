"""Which elements depend on which, beside what happens when each is changed."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.sparse import COOTensor, CSRTensor

ROWS, COLUMNS = 3, 4
OTHER = Tensor(np.random.default_rng(5).uniform(0.5, 1.5, (COLUMNS, 2)))


def grid(x):
    return x.reshape(ROWS, COLUMNS)


FUNCTIONS = {
    # along axes: all of each row or column, or everything
    "largest of rows": lambda x: ops.amax(grid(x), 1),
    "largest of columns": lambda x: ops.amax(grid(x), 0),
    "largest, kept": lambda x: ops.amax(grid(x), -1, True),
    "least of columns": lambda x: ops.amin(grid(x), -2),
    "logsumexp": lambda x: ops.logsumexp(grid(x), 1),
    "log-softmax": lambda x: ops.log_softmax(grid(x), 0),
    "softmax": lambda x: ops.softmax(grid(x), -1),
    "variance": lambda x: ops.var(grid(x), 1),
    "products": lambda x: ops.prod(grid(x), 0),
    "lengths of rows": lambda x: ops.vector_norm(grid(x), 2, (1,)),
    "length of columns": lambda x: ops.vector_norm(grid(x), 3, (0,), True),
    "length of all": lambda x: ops.vector_norm(grid(x), 2).reshape(1),
    "sum": lambda x: grid(x).sum(1),
    "mean": lambda x: grid(x).mean(0),
    "running sum": lambda x: ops.cumsum(grid(x), 1),
    # choices and places
    "transposed": lambda x: grid(x).T.reshape(-1),
    "repeated": lambda x: ops.tile(grid(x), (2, 1)),
    "rolled": lambda x: ops.roll(grid(x), 1, 1),
    "upper": lambda x: ops.triu(grid(x), 1),
    "lower": lambda x: ops.tril(grid(x)),
    "padded": lambda x: ops.pad(grid(x), (1, 0, 0, 2)),
    "gathered": lambda x: ops.gather_elements(grid(x), 1, Tensor([[3, 0], [1, 1], [2, 3]])),
    "stacked": lambda x: ops.stack((x[:2], x[5:7]), 1),
    "spread": lambda x: ops.broadcast_to(x[:3].reshape(3, 1), (3, 2)) * x[4],
    "of one type": lambda x: x.astype(ms.float32).astype(ms.float64)[::2],
    "constants": lambda x: ops.zeros_like(x)[:2] + ops.ones_like(x)[:2] * x[1],
    # products
    "matrices": lambda x: ops.matmul(grid(x), OTHER),
    "matrices, other side": lambda x: ops.matmul(OTHER.T, grid(x).T),
    "both": lambda x: ops.matmul(grid(x), grid(x).T),
    "vector": lambda x: ops.mv(grid(x)[:, 1:], x[:3]),
    "dot": lambda x: (x[:3] * x[6:9]).sum().reshape(1),
    "many": lambda x: ops.bmm(x.reshape(2, 3, 2), ops.ones((2, 2, 2), ms.float64)),
    "added": lambda x: ops.addmm(x[:2].reshape(1, 2), grid(x)[1:2], OTHER),
    "added vector": lambda x: ops.addmv(x[9:11], ops.ones((2, 3), ms.float64), x[:3]),
}
# of which not every element's change shows
WIDER = {"sorted": lambda x: ops.sort(grid(x), 1)[0], "inverse": lambda x: ops.inverse(
    x[:4].reshape(2, 2) + 5 * ops.eye(2, 2, ms.float64))}


def changed(fn):
    """Which results change with which element, in any of some trials."""
    random = np.random.default_rng(2)
    found = None
    for _ in range(12):
        x = random.uniform(0.5, 2.0, ROWS * COLUMNS)
        before = fn(Tensor(x)).asnumpy().reshape(-1)
        seen = np.zeros((before.size, x.size), bool)
        for place in range(x.size):
            moved = x.copy()
            moved[place] = random.choice([0.1, 6.0])
            seen[:, place] = np.abs(fn(Tensor(moved)).asnumpy().reshape(-1) - before) > 1e-9
        found = seen if found is None else found | seen
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_depends(name):
    fn = FUNCTIONS[name]
    structure = ms.sparse.jacobian_structure(fn, Tensor(np.linspace(0.5, 2, ROWS * COLUMNS)))
    np.testing.assert_array_equal(structure.asnumpy(), changed(fn))


@pytest.mark.parametrize("name", WIDER)
def test_nothing_is_left_out(name):
    fn = WIDER[name]
    structure = ms.sparse.jacobian_structure(fn, Tensor(np.linspace(0.5, 2, ROWS * COLUMNS)))
    assert not (changed(fn) & ~structure.asnumpy()).any()


PLACES = (np.array([0, 1, 2]), np.array([0, 1, 2]))


@pytest.mark.parametrize("structure", [
    np.eye(3), Tensor(np.eye(3)), PLACES, [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    tuple(Tensor(part) for part in PLACES),
    COOTensor(Tensor(np.stack(PLACES, 1)), ops.ones(3), (3, 3)),
    CSRTensor(Tensor([0, 1, 2, 3]), Tensor([0, 1, 2]), ops.ones(3), (3, 3))],
    ids=["array", "tensor", "pair", "list", "pair of tensors", "coo", "csr"])
def test_structures_that_are_given(structure):
    found = ms.sparse_jacobian(lambda x: x * x, structure)(Tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found.to_dense().asnumpy(), np.diag([2.0, 4.0, 6.0]))


@pytest.mark.parametrize("structure", [
    np.eye(4), np.ones((3, 4)), ([0, 3], [0, 1]), ([0, 1], [0, 3]), ([0, -1], [0, 1]),
    ([0, 1], [0]), ([0.0], [1.0]), ([[0]], [[1]]), np.ones(3),
    COOTensor(Tensor([[0, 0]]), ops.ones(1), (3, 4))], ids=range(10))
def test_structures_that_do_not_fit(structure):
    with pytest.raises((ValueError, TypeError), match="sparse_jacobian"):
        ms.sparse_jacobian(lambda x: x * x, structure)(Tensor([1.0, 2.0, 3.0]))


def test_an_empty_structure_is_a_matrix_of_zeros():
    found = ms.sparse_jacobian(lambda x: x * x, np.zeros((3, 3)))(Tensor([1.0, 2.0, 3.0]))
    assert found.size == 0 and not found.to_dense().asnumpy().any()


@pytest.mark.parametrize("call", [
    lambda: ms.sparse_jacobian(3), lambda: ms.sparse_jacobian(abs, mode="both"),
    lambda: ms.sparse_jacobian(lambda x: x)(Tensor([1, 2])),
    lambda: ms.sparse_jacobian(lambda x: (x, x))(Tensor([1.0])),
    lambda: ms.sparse_jacobian(lambda x: x)(1.0), lambda: ms.sparse.jacobian_structure(3, 4)])
def test_what_is_refused(call):
    with pytest.raises((ValueError, TypeError), match="must"):
        call()
