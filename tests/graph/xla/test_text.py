"""How values lie in memory, which results lie together, and which constants are one number."""

import itertools

import numpy as np
import pytest
import torch

from lamella.graph.ir.metadata import meta_of_value
from lamella.graph.xla.lowering import NotLowered
from lamella.graph.xla.numbers import MOST_READ, numbers_of
from lamella.graph.xla.text import (
    MOST_PACKED,
    _check_apart,
    _flag_place,
    functional,
    order_of,
    packs,
    repeated,
)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (2, 1, 1), (0, 3, 2)])
def test_dense_values_are_read_in_the_order_of_their_memory(order, shape):
    x = torch.arange(float(np.prod(shape))).reshape(shape).permute(order)
    found = order_of(meta_of_value(x))
    turned = x if found is None else x.permute(found)
    assert turned.is_contiguous()
    assert turned.reshape(-1).tolist() == list(range(x.numel()))
    assert found is None or not x.is_contiguous() or not x.numel()


@pytest.mark.parametrize("x, dims", [
    (torch.ones(3, 1).expand(3, 4), [1]), (torch.ones(1, 1).expand(2, 3), [0, 1]),
    (torch.ones(1, 4).expand(1, 4), []), (torch.ones(4, 1, 2).expand(4, 3, 2).mT, [2])])
def test_repeated_dimensions_count_as_one(x, dims):
    assert repeated(meta_of_value(x)) == dims
    order = order_of(meta_of_value(x))
    assert sorted(order or range(x.dim())) == list(range(x.dim()))


@pytest.mark.parametrize("x", [
    torch.ones(4, 4)[:, :3], torch.ones(8)[::2], torch.ones(6).as_strided((3, 2), (1, 1)),
    torch.ones(4, 3).T[1:], torch.ones(2, 6)[:, ::3].T])
def test_gaps_and_overlaps_have_no_order(x):
    with pytest.raises(NotLowered, match="gaps"):
        order_of(meta_of_value(x))


WHOLE, NUMBERS = torch.arange(24.0), torch.ones(6, dtype=torch.complex64)


@pytest.mark.parametrize("values, apart", [
    ([WHOLE[:12], WHOLE[12:]], True), ([WHOLE[:13], WHOLE[12:]], False),
    ([WHOLE[::2], WHOLE[1::2]], True), ([WHOLE[::2], WHOLE[::3]], False),
    ([WHOLE[:1].expand(5), WHOLE[1:]], True), ([WHOLE[:1].expand(5), WHOLE], False),
    ([WHOLE, WHOLE[:0]], True), ([WHOLE, WHOLE + 0], True), ([WHOLE, 3], True),
    ([NUMBERS.real, NUMBERS.imag], True), ([NUMBERS, NUMBERS.real], False),
    ([NUMBERS, NUMBERS.imag], False), ([NUMBERS.imag, NUMBERS], False),
    ([NUMBERS[:3], NUMBERS.imag[3:]], True), ([NUMBERS[:3], NUMBERS.imag[2:]], False),
    ([WHOLE.view(torch.float64)[:6], WHOLE[12:]], True),
    ([WHOLE.view(torch.float64)[:6], WHOLE[11:]], False),
    ([WHOLE[3:5], WHOLE.view(torch.int16)[10:]], True),
    ([WHOLE[3:5], WHOLE.view(torch.int16)[9:]], False)])
def test_results_with_an_element_in_common(values, apart):
    if apart:
        _check_apart(values)
    else:
        with pytest.raises(NotLowered, match="share memory"):
            _check_apart(values)


def end(shape, dtype="float32", repeats=(), gaps=None):
    return [[list(shape), dtype], list(repeats), None, gaps]


@pytest.mark.parametrize("ends, together, flag", [
    ([], [], [0, 0]), ([end((2, 3))], [[0]], [0, 6]), ([end(()), end((5,))], [[0, 1]], [0, 6]),
    ([end((2,)), end((2,), "int64"), end((3,))], [[0, 2], [1]], [0, 5]),
    ([end((MOST_PACKED,)), end((MOST_PACKED + 1,)), end((1,))], [[0, 2], [1]],
     [0, MOST_PACKED + 1]),
    ([end((MOST_PACKED + 1,)), end((2,))], [[0], [1]], [1, 2]),
    ([end((0, 3)), end((2,))], [[0], [1]], [1, 2]), ([end((2,), repeats=[0])], [[0]], [1, 0]),
    ([end((2,), gaps=[2]), end((9, 9, 99))], [[0], [1]], [2, 0])])
def test_small_results_of_one_type_lie_together_and_the_flag_after_the_first(ends, together, flag):
    assert packs(ends) == together and _flag_place(together, ends) == flag


LONG = torch.ones(MOST_READ + 1)


@pytest.mark.parametrize("x, value", [
    (torch.ones(2, 3), 1.0), (torch.tensor([1.0, 2.0]), None), (torch.tensor(-3), -3),
    (torch.zeros(4, dtype=torch.bool), False), (torch.tensor([0.0, -0.0]), None),
    (torch.tensor([-0.0, 0.0]), None), (torch.tensor([-0.0, -0.0]), -0.0),
    (torch.full((2,), torch.inf), None),
    (torch.full((2,), torch.nan), None), (torch.ones(2).half(), None), (torch.ones(0), None),
    (torch.ones(2, dtype=torch.uint8), None), (LONG, None), (LONG[1:], 1.0),
    (LONG[:1].expand(2 * MOST_READ), 1.0), (torch.ones(4, 4)[:, 1:], None),
    (torch.tensor([[2.0], [2.0]]).expand(2, 5), 2.0), (torch.tensor([[2.0], [3.0]]).expand(2, 5),
                                                       None),
    (torch.ones(2, device="meta"), None), (torch.nn.Parameter(torch.ones(2)), None)])
def test_constants_of_one_number(x, value):
    found = numbers_of({3: x})
    if value is None:
        assert found == {}
    else:
        assert type(found[3].value) is type(value) and found[3].value == value
        assert repr(found[3].value) == repr(value) and found[3].meta == meta_of_value(x)


@pytest.mark.parametrize("name, wanted", [
    ("add_.Tensor", "add.Tensor"), ("add.Tensor", "add.Tensor"), ("t_.default", "t.default"),
    ("_foreach_mul_.Scalar", "_foreach_mul.Scalar")])
def test_what_an_operation_in_place_computes(name, wanted):
    assert functional(name) == wanted
