"""Several tensors as one, beside NumPy: axes, ranks, types and what doesn't fit."""

import itertools

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(16)


def made(*shapes):
    return [RNG.integers(0, 99, shape) for shape in shapes]


def tensors(arrays):
    return [Tensor(a) for a in arrays]


@pytest.mark.parametrize("call", [ops.concat, ops.cat])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_one_after_the_other(call, axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    for i, shape in enumerate(shapes):
        shape[axis] = i + 1
    arrays = made(*shapes)
    for sequence in (list, tuple):
        np.testing.assert_array_equal(call(sequence(tensors(arrays)), axis).asnumpy(),
                                      np.concatenate(arrays, axis))
    for other in ([2, 3, 5], [2, 4, 4], [3, 3, 4], [2, 3], [1, 2, 3, 4]):
        first = [2, 3, 4]
        if len(other) == 3 and all(a == b or i == axis % 3 for i, (a, b) in enumerate(
                zip(first, other, strict=True))):
            continue
        with pytest.raises(ValueError, match="must have one shape except along axis"):
            call(tensors(made(first, other)), axis)


@pytest.mark.parametrize("axis", [-4, -1, 0, 1, 3])
def test_along_a_new_dimension(axis):
    arrays = made(*[(2, 3, 4)] * 5)
    np.testing.assert_array_equal(ops.stack(tensors(arrays), axis).asnumpy(),
                                  np.stack(arrays, axis))
    for wrong in (-5, 4):
        with pytest.raises(ValueError, match=r"'axis' must be in \[-4, 4\)"):
            ops.stack(tensors(arrays), wrong)
    for last in ((2, 3), (2, 3, 5)):
        with pytest.raises(ValueError, match="must have one shape"):
            ops.stack([*tensors(arrays), ops.ones(last, ms.int64)], axis)
    with pytest.raises(TypeError, match="must have one type"):
        ops.stack([*tensors(arrays), ops.ones((2, 3, 4))], axis)


STACKS = {"hstack": (np.hstack, [(3,), (2,)], [(2, 3), (2, 4)], [(2, 3, 4), (2, 1, 4)]),
          "vstack": (np.vstack, [(3,), (3,)], [(2, 3), (3,)], [(2, 3, 4), (1, 3, 4)]),
          "row_stack": (np.vstack, [(3,), (3,)], [(2, 3), (3,)], [(2, 3, 4), (1, 3, 4)]),
          "dstack": (np.dstack, [(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 4), (2, 3, 1)]),
          "column_stack": (np.column_stack, [(3,), (3,)], [(3,), (3, 2)], [(2, 3), (2, 1)])}


@pytest.mark.parametrize("name, case", [(n, i) for n in STACKS for i in (1, 2, 3)])
def test_stacks(name, case):
    reference, *shapes = STACKS[name]
    arrays = made(*shapes[case - 1])
    call = getattr(ops, name)
    np.testing.assert_array_equal(call(tensors(arrays)).asnumpy(), reference(arrays))
    mixed = call([Tensor(arrays[0], ms.int32), Tensor(arrays[1], ms.float64)])
    assert mixed.dtype is ms.float64
    for wrong, error in ((Tensor(arrays[0]), TypeError), ([], ValueError), ([1], TypeError)):
        with pytest.raises(error, match=f"For '{name}'"):
            call(wrong)


@pytest.mark.parametrize("kinds, kind", [
    ("int8 int32", ms.int32), ("float16 int32", ms.float16), ("float32 float64", ms.float64),
    ("float64 float32 int8", ms.float64), ("bool_ uint8", ms.uint8),
    ("int32 int32 complex64", ms.complex64)])
def test_types_are_promoted(kinds, kind):
    values = [ops.ones(2, getattr(ms, k)) for k in kinds.split()]
    for call in (ops.concat, ops.cat, ops.hstack):
        assert call(values).dtype is kind


@pytest.mark.parametrize("name, reference", [
    ("atleast_1d", np.atleast_1d), ("atleast_2d", np.atleast_2d), ("atleast_3d", np.atleast_3d)])
def test_least_ranks(name, reference):
    call = getattr(ops, name)
    arrays = made((), (3,), (2, 3), (2, 3, 4), (1, 2, 3, 4))
    for sequence in (tuple, list):
        found = call(sequence(tensors(arrays)))
        assert isinstance(found, tuple)
        for one, array in zip(found, arrays, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), reference(array))
    assert call(Tensor(arrays[0])).shape == reference(arrays[0]).shape
    with pytest.raises(TypeError, match=f"For '{name}'"):
        call(3)


def test_products_and_choices():
    a, b, c = made((3,), (2,), ())
    want = list(itertools.product(a, b, [int(c)]))
    assert ops.cartesian_prod(*tensors((a, b, c))).tolist() == [list(map(int, w)) for w in want]
    assert ops.cartesian_prod(Tensor(a)).tolist() == a[:, None].tolist()
    x = [4, 7, 1, 9]
    for r in (0, 1, 2, 3, 4):
        for again, choose in ((False, itertools.combinations),
                              (True, itertools.combinations_with_replacement)):
            if r:
                assert ops.combinations(Tensor(x), r, again).tolist() == list(
                    map(list, choose(x, r)))
    assert ops.combinations(Tensor(x)).shape == (6, 2)
    for wrong in ((Tensor([x]), 2), (Tensor(4), 2), (Tensor(x), -1)):
        with pytest.raises(ValueError, match="'input' must have rank 1"):
            ops.combinations(*wrong)
