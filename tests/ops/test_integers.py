"""Integers, unsigned integers and indices where PyTorch's kernels differ from MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def test_shifts_count_modulo_the_width():
    one, minus = Tensor([1, -8], ms.int32), Tensor([-8], ms.int32)
    assert ops.bitwise_left_shift(one, 33).tolist() == [2, -16]
    assert ops.bitwise_right_shift(minus, 33).tolist() == (minus >> 33).tolist() == [-4]
    assert (Tensor([127], ms.int8) << Tensor([100], ms.int8)).tolist() == [-16]
    most = Tensor(np.array([2**64 - 1, 5], np.uint64))
    assert (most >> 1).tolist() == [2**63 - 1, 2]


def test_negative_powers_of_integers():
    x = Tensor([2, 1, -1, 0], ms.int32)
    assert ops.pow(x, -1).tolist() == (x ** -1).tolist() == [0, 1, -1, -2**31]
    powers = Tensor([True, False]) ** -1
    assert powers.dtype is ms.int64 and powers.tolist() == [1, -2**63]
    assert (Tensor([9, 1], ms.uint8) ** -1).tolist() == [0, 1]


def test_numbers_below_zero_beside_unsigned_tensors():
    x = Tensor([0, 8], ms.uint8)
    assert (x < -1).tolist() == ops.less(x, -1).tolist() == (-1 > x).tolist() == [False, False]
    assert (x >= -1).tolist() == [True, True]
    assert ops.div(-1, Tensor([8], ms.uint8)).tolist() == [-0.125]
    assert ops.fmod(x, -1).tolist() == [0, 0]
    assert ops.ldexp(x, -1).tolist() == [0, 4]
    assert ops.copysign(x, -1).tolist() == [0, -8]
    assert ops.float_power(Tensor([8], ms.uint8), -1).tolist() == [0.125]


def test_activations_of_integers_cut_their_slope():
    x = Tensor([-7, 100, 3], ms.int32)
    assert ops.leaky_relu(x).tolist() == ops.selu(x).tolist() == [0, 100, 3]
    assert ops.hardtanh(x, -2.5, 2.5).tolist() == [-2, 2, 2]
    assert ops.hardtanh(Tensor([True, False])).tolist() == [True, False]


@pytest.mark.parametrize("made, kind", [
    (lambda: Tensor([1], ms.int8).cumsum(0), ms.int32),
    (lambda: Tensor([True]).cumsum(0), ms.int32),
    (lambda: ops.cumsum(Tensor([1], ms.int8), 0), ms.int8),
    (lambda: ops.argmin(Tensor(1.0)), ms.int64),
    (lambda: ops.abs(Tensor([3 + 4j], ms.complex64)), ms.complex64),
    (lambda: ops.norm(Tensor([3 + 4j], ms.complex64)), ms.complex64),
    (lambda: ops.frac(Tensor([True])), ms.int64),
    (lambda: ops.any(Tensor([2], ms.uint8)), ms.uint8),
    (lambda: ops.all(Tensor([2], ms.uint8)), ms.bool_),
    (lambda: ops.xlogy(Tensor([1.0], ms.float16), 2), ms.float32),
    (lambda: ops.copysign(Tensor([1.0], ms.bfloat16), 2), ms.float32),
    (lambda: ops.histc(Tensor([1.0], ms.float16), 2), ms.float32),
    (lambda: Tensor([[1]], ms.int8).trace(), ms.int64),
    (lambda: ops.vecdot(Tensor([True]), Tensor([True])), ms.int64),
    (lambda: ops.huber_loss(Tensor([1]), Tensor([4])), ms.float32)],
    ids=["cumsum-int8", "cumsum-bool", "ops-cumsum", "argmin", "abs", "norm", "frac", "any", "all",
         "xlogy", "copysign", "histc", "trace", "vecdot", "huber"])
def test_types_of_results(made, kind):
    assert made().dtype is kind


def test_places_outside():
    x, far = Tensor(np.arange(9.0, dtype="float32").reshape(3, 3)), Tensor([0, 5])
    with pytest.raises(RuntimeError, match="For 'gather_nd'.*out of (range|bounds)"):
        ops.gather_nd(x, far.reshape(2, 1))
    with pytest.raises(ValueError, match="For 'tensor_scatter_update'.*out of (range|bounds)"):
        ops.tensor_scatter_update(x, far.reshape(2, 1), x[:2])
    with pytest.raises(RuntimeError, match="out of (range|bounds)"):
        x[far]
    with pytest.raises(ValueError, match="out of (range|bounds)"):
        x[Tensor(5)] = 1
    with pytest.raises(IndexError, match="out of (range|bounds)"):
        x[5]
    with pytest.raises(RuntimeError, match="For 'cross_entropy', .*3"):
        ops.cross_entropy(x, Tensor([0, 3, 1]))
    # updates at indices out of range are ignored, and indices of `take` are clamped
    kept = ops.tensor_scatter_elements(x, far.reshape(1, 2), Tensor([[7.0, 8.0]]))
    assert kept.tolist() == [[7, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert x.take(Tensor([-1, 99])).tolist() == [8, 8]


def test_reflected_padding_keeps_imaginary_parts():
    x = Tensor(np.array([[1 + 2j, 3 - 1j, 5j]], "complex64"))
    assert ops.pad(x, (1, 1), "reflect").tolist() == [[3 - 1j, 1 + 2j, 3 - 1j, 5j, 3 - 1j]]


def test_divergence_where_targets_are_zero():
    scores, target = Tensor([0.5, 0.2]), Tensor([0.0, 0.5])
    assert ops.kl_div(scores, target, "none").tolist()[0] == 0
    by_target = ms.grad(lambda t: ops.kl_div(scores, t, "none"))(target)
    assert np.isfinite(by_target.asnumpy()).all()


def test_probabilities_in_integers():
    scores = Tensor([[1.0, 2.0], [0.5, 0.0]])
    one_hot = Tensor([[0, 1], [1, 0]])
    np.testing.assert_allclose(ops.cross_entropy(scores, one_hot).asnumpy(),
                               ops.cross_entropy(scores, Tensor([1, 0])).asnumpy(), rtol=1e-6)


def test_numbers_as_tensors():
    assert ops.tuple_to_array(range(2)).tolist() == [0, 1]
    mixed = ops.tuple_to_array((1, 2.0))
    assert mixed.dtype is ms.int32 and mixed.tolist() == [1, 2]
    floats = Tensor(np.array([np.nan, -np.inf, -5.5, 5e9], np.float32))
    assert floats.astype(ms.uint32).tolist() == [0, 0, 2**32 - 5, 705032704]
    assert ops.bincount(Tensor([1.0, 2.7, 2.0])).tolist() == [0, 1, 1]


@pytest.mark.parametrize("left, right", [
    ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 2)), ((6, 3, 4), (1, 4, 2)), ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)), ((2, 5, 3, 4), (5, 4, 2)), ((4,), (3, 4, 2)), ((3, 2, 4), (4,))])
@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
def test_products_of_several_matrices_of_integers(left, right, kind):
    draw = np.random.RandomState(0)
    a, b = (draw.randint(-5, 6, shape).astype(kind) for shape in (left, right))
    found = ops.matmul(Tensor(a), Tensor(b)).asnumpy()
    np.testing.assert_array_equal(found, np.matmul(a, b))
