"""Cosine transforms and small Primitives beside them; literals are MindSpore 2.10's results."""

import numpy as np
import pytest
import scipy.fft

import lamella as ms
from lamella.ops.primitives.cosines import DCT, DCTN, IDCT, IDCTN
from lamella.ops.primitives.faces import ConcatOffsetV1
from lamella.ops.primitives.fourier import IRFFTDouble
from lamella.ops.primitives.scalars import BoolNot

ROWS = np.array([[1, 2, 4, -1], [0.5, 3, -2, 7]], np.float32)


def shapes_of(*rows):
    return [ms.Tensor(np.array(row, np.int32)) for row in rows]


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("axis", [0, -1, 1])
@pytest.mark.parametrize(("name", "made"), [("dct", DCT), ("idct", IDCT)])
def test_along_one_axis_as_scipy(name, made, axis, size):
    found = made()(ms.Tensor(ROWS), 2, size, axis)
    wanted = getattr(scipy.fft, name)(ROWS, 2, size, axis, "ortho")
    assert found.dtype == ms.float32
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-5)


@pytest.mark.parametrize(("sizes", "axes"), [
    (None, None), ((3, 3), (0, 1)), (None, (1,)), ((5,), (0,)), ((6,), None)])
@pytest.mark.parametrize(("name", "made"), [("dctn", DCTN), ("idctn", IDCTN)])
def test_along_several_axes_as_scipy(name, made, sizes, axes):
    found = made()(ms.Tensor(ROWS), 2, sizes, axes, "ortho")
    wanted = getattr(scipy.fft, name)(ROWS, 2, sizes, axes, "ortho")
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-5)


def test_types_as_mindspore_gives_them():
    for given, wanted in [(ms.float16, ms.float32), (ms.int32, ms.float32),
                          (ms.float64, ms.float64)]:
        assert DCT()(ms.Tensor(ROWS, given)).dtype == wanted
    found = DCT()(ms.Tensor(np.array([1 + 2j, 3 - 1j, -2 + 0.5j], np.complex64)))
    np.testing.assert_allclose(found.asnumpy(), [
        1.1547005 + 0.8660254j, 2.1213202 + 1.0606602j, -2.857738 + 1.8371173j], atol=1e-5)


def test_the_gradient_is_the_inverse():
    """The transform is orthonormal, so its transpose is its inverse."""
    weights = ms.Tensor(ROWS[::-1].copy())
    found = ms.grad(lambda x: (DCT()(x) * weights).sum())(ms.Tensor(ROWS))
    np.testing.assert_allclose(found.asnumpy(), scipy.fft.idct(ROWS[::-1], norm="ortho"),
                               atol=1e-5)


@pytest.mark.parametrize(("args", "words"), [
    ((3,), "'type' must be 2"), ((2, None, -1, "forward"), "'norm' must be None"),
    ((2, 0), "must be positive"), ((2, None, 2), "must be in")])
def test_what_a_transform_refuses(args, words):
    with pytest.raises(ValueError, match=words):
        DCT()(ms.Tensor(ROWS), *args)


@pytest.mark.parametrize(("n", "wanted"), [
    (4, [1 + 2j, 6 - 2j, -2 + 0.5j]), (5, [1 + 2j, 6 - 2j, -4 + 1j])])
def test_frequencies_that_a_real_row_has_twice(n, wanted):
    x = np.array([1 + 2j, 3 - 1j, -2 + 0.5j], np.complex64)
    np.testing.assert_array_equal(IRFFTDouble()(ms.Tensor(x), n).asnumpy(), wanted)
    column = IRFFTDouble()(ms.Tensor(x[:, None]), n, 0)
    np.testing.assert_array_equal(column.asnumpy()[:, 0], wanted)


def test_where_tensors_of_given_shapes_begin():
    for axis, rows, wanted in [
            (1, ([1, 2, 3], [1, 5, 3], [1, 1, 3]), [[0, 0, 0], [0, 2, 0], [0, 7, 0]]),
            (-1, ([1, 2, 3], [1, 2, 4]), [[0, 0, 0], [0, 0, 3]])]:
        found = ConcatOffsetV1()(ms.Tensor(axis, ms.int32), shapes_of(*rows))
        assert isinstance(found, tuple) and found[0].dtype == ms.int32
        np.testing.assert_array_equal(np.array([x.asnumpy() for x in found]), wanted)


@pytest.mark.parametrize(("axis", "rows", "words"), [
    (3, ([1, 2, 3], [1, 2, 4]), "'axis' must be in"),
    (0, ([1, 2, 3], [1, 3, 3]), "must be the same"),
    (0, ([1, 2, 3], [1, 2]), "must be the same")])
def test_shapes_that_cannot_be_joined(axis, rows, words):
    with pytest.raises(ValueError, match=words):
        ConcatOffsetV1()(ms.Tensor(axis, ms.int32), shapes_of(*rows))
    with pytest.raises(TypeError, match="must be of int32"):
        ConcatOffsetV1()(ms.Tensor(0, ms.int64), shapes_of([1, 2]))


def test_not_of_a_bool_alone():
    assert BoolNot()(True) is False and BoolNot()(False) is True
    with pytest.raises(TypeError, match="BoolNot"):
        BoolNot()(1)
