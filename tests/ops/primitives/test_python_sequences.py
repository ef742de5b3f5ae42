"""Python's sequences as operands: equal Tensors, slices and their gradients, types of results."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import python_sequences as sequences

T12, T12F, T21 = Tensor([1, 2]), Tensor([1.0, 2.0]), Tensor([2, 1])


@pytest.mark.parametrize("target, count, first", [
    (T12, 2, 0), (T21, 1, 2), (3, 1, 3), (3.0, 1, 3), (Tensor([1, 2, 3]), 0, None), (4, 0, None),
    (Tensor(3), 0, None)])
def test_equal_elements(target, count, first):
    given = (T12, T12F, T21, 3)
    assert sequences.SequenceCount()(given, target) == count
    assert sequences.InSequence()(target, given) is (count > 0)
    if first is None:
        with pytest.raises(ValueError, match="is not in the sequence"):
            sequences.SequenceIndex()(given, target)
    else:
        assert sequences.SequenceIndex()(given, target) == first


@pytest.mark.parametrize("start, end, found", [
    (None, None, 0), (1, None, 2), (0, 1, 0), (-1, None, 4), (-3, -1, 2), (1, 2, None),
    (5, None, None)])
def test_the_first_in_a_part(start, end, found):
    given = (7, 8, 7, 9, 7)
    if found is None:
        with pytest.raises(ValueError, match="7 is not"):
            sequences.SequenceIndex()(given, 7, start, end)
    else:
        assert sequences.SequenceIndex()(given, 7, start, end) == found


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("part", [(0, 2, 1), (1, 5, 2), (-1, 0, -2), (2, 2, 1)])
def test_slices_and_their_gradients(kind, part):
    given = kind([1, 2.5, 3, 4.5, 5])
    taken = sequences.SequenceSlice()(given, *part)
    assert taken == given[slice(*part)] and type(taken) is kind
    gradients = [10 + i for i in range(len(taken))]
    wanted = [0, 0.0, 0, 0.0, 0]
    for place, gradient in zip(range(5)[slice(*part)], gradients, strict=True):
        wanted[place] = gradient
    found = sequences.SequenceSliceGrad()(kind(gradients), given, *part)
    assert found == kind(wanted) and type(found) is kind
    assert list(map(type, found)) == list(map(type, wanted))
    replaced = list(given)
    replaced[slice(*part)] = gradients
    found = sequences.SequenceSliceSetItem()(given, kind(gradients), *part)
    assert found == kind(replaced) and type(found) is kind


def test_lists_with_one_more_or_less():
    given = [1, 2, 3]
    assert sequences.ListAppend()(given, 4) == [1, 2, 3, 4]
    for place in (-2, 0, 1, 3, 9):
        wanted = list(given)
        wanted.insert(place, 4)
        assert sequences.ListInsert()(given, place, 4) == wanted
    for place in (-1, 0, 2):
        wanted = list(given)
        del wanted[place]
        assert sequences.ListAppendAndInsertGrad()(given, place) == wanted
    assert given == [1, 2, 3]
    assert sequences.SequenceAdd()((1,), (2, 3)) == (1, 2, 3)
    assert sequences.SequenceMul()([1, 2], 2) == [1, 2, 1, 2]
    assert sequences.SequenceMul()((1, 2), 0) == ()
    assert sequences.SequenceAddOffset()((1, 2, 3), (4,)) == (0, 3)
    assert sequences.shape_mul()((2, 3, 4)) == 24 and sequences.shape_mul()(()) == 1
    assert sequences.ShapeMulGrad()((2, 3, 4), 10) == (120, 80, 60)
    zeros = sequences.SequenceZerosLike()((1, 2.5, True, T12F))
    assert zeros[:3] == (0, 0.0, False) and zeros[3].tolist() == [0, 0]
    assert [type(z) for z in zeros[:3]] == [int, float, bool]


@pytest.mark.parametrize("given, kind, wanted", [
    ((1, 2), None, ms.int64), ((1, 2.5), None, ms.int64), ((1.5, 2), None, ms.float32),
    ((), None, ms.float32), ((1, 2), ms.float16, ms.float16), ((), ms.int32, ms.int32),
    ((Tensor(1), Tensor([2])), ms.int32, ms.int32)])
def test_tensors_of_sequences(given, kind, wanted):
    for made in (sequences.TupleToTensor(), sequences.ListToTensor()):
        found = made(given, kind)
        assert found.dtype is wanted and found.shape == (len(given),)
        plain = [v.item() if isinstance(v, Tensor) else v for v in given]
        np.testing.assert_array_equal(found.asnumpy(), np.array(plain, found.asnumpy().dtype))
    for wrong in ((1, "2"), (T12,), (None,)):
        with pytest.raises(TypeError, match="must be numbers"):
            sequences.TupleToTensor()(wrong)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joined_along_an_axis(axis):
    x = np.arange(6).reshape(2, 3)
    given = (Tensor(x), Tensor(x + 1))
    np.testing.assert_array_equal(sequences.SequenceConcat(axis)(given).asnumpy(),
                                  np.concatenate([x, x + 1], axis))
    np.testing.assert_array_equal(sequences.SequenceStack(axis)(given).asnumpy(),
                                  np.stack([x, x + 1], axis))
    parts = sequences.SequenceUnstack(axis, x.shape[axis])(given[0])
    assert [part.tolist() for part in parts] == np.moveaxis(x, axis, 0).tolist()
    total = sequences.SequenceAddN()(given)
    np.testing.assert_array_equal(total.asnumpy(), 2 * x + 1)
