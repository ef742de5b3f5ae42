"""A write into an indexed result reaches its source, as in MindSpore 2.10 (the numbers are its)."""

import gc

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.tensors.indexed_copies import copies

X = np.arange(12, dtype=np.float32).reshape(4, 3)
ROWS = [2, 0]
MASK = np.array([True, False, True, False])


def column_of_rows(x):
    y = x * 1
    y[ROWS][:, 0] = 100.0
    return y


def first_of_mask(x):
    y = x * 1
    y[Tensor(MASK)][:1] = 100.0
    return y


def first_of_elements(x):
    y = x * 1
    y[x % 2 == 0][:2] = 100.0
    return y


def added_to_column(x):
    y = x * 1
    y[ROWS][:, 0] += 100.0
    return y


def rows_of_columns(x):
    y = x * 1
    y[:, [0, 1]][0] = 100.0
    return y


def rows_of_rows(x):
    y = x * 1
    y[Tensor(ROWS)][Tensor([0, 0])] = 100.0
    return y


def named(x):
    y = x * 1
    z = y[ROWS]
    z[0] = 100.0
    return y


def the_copy(x):
    y = x * 1
    z = y[ROWS]
    z[0] = 100.0
    return z


def named_last_write_wins(x):
    y = x * 1
    z = y[ROWS]
    y[2, 0] = 55.0
    z[0, 1] = 100.0
    return y


def part_of_copy(x):
    y = x * 1
    y[ROWS][:1][0, 1] = 100.0
    return y


def same_row_twice(x):
    y = x * 1
    z = y[[1, 1]]
    z[0] = 100.0
    return y


def a_result_of_it(x):
    y = x * 1
    z = y[ROWS] * 1
    z[0] = 100.0
    return y


def added_in_place(x):
    y = x * 1
    z = y[ROWS]
    z += 100.0
    return y


def changed(**rows):
    expected = X.tolist()
    for place, row in rows.items():
        expected[int(place[1:])] = row
    return expected


CHAINED = {
    column_of_rows: changed(r0=[100, 1, 2], r2=[100, 7, 8]),
    first_of_mask: changed(r0=[100, 100, 100]),
    first_of_elements: changed(r0=[100, 1, 100]),
    added_to_column: changed(r0=[100, 1, 2], r2=[106, 7, 8]),
    rows_of_columns: changed(r0=[100, 100, 2]),
    rows_of_rows: changed(r2=[100, 100, 100]),
}
EAGERLY = {
    named: changed(r2=[100, 100, 100]),
    named_last_write_wins: changed(r2=[6, 100, 8]),
    part_of_copy: changed(r2=[6, 100, 8]),
}
NOWHERE = {same_row_twice: X.tolist(), a_result_of_it: X.tolist(), added_in_place: X.tolist()}
COMPILED = {
    named: X.tolist(),
    named_last_write_wins: changed(r2=[55, 7, 8]),
    part_of_copy: X.tolist(),
}
COPY = {the_copy: [[100, 100, 100], [0, 1, 2]]}


def name_of(value):
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("program", "expected"),
                         [*CHAINED.items(), *EAGERLY.items(), *NOWHERE.items(), *COPY.items()],
                         ids=name_of)
def test_eagerly(program, expected):
    assert program(Tensor(X)).asnumpy().tolist() == expected


@pytest.mark.filterwarnings("ignore:For 'jit'")  # a mask's count of elements needs a value
@pytest.mark.parametrize(("program", "expected"),
                         [*CHAINED.items(), *COMPILED.items(), *NOWHERE.items(), *COPY.items()],
                         ids=name_of)
def test_compiled(program, expected):
    step = ms.jit(program)
    for _ in range(2):
        assert step(Tensor(X)).asnumpy().tolist() == expected


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("program", list(CHAINED), ids=name_of)
def test_gradient(program, mode):
    """What was written over has none; the rest goes on."""
    gradient = ms.grad(lambda x: (program(x) ** 2).sum())
    if mode == "compiled":
        gradient = ms.jit(gradient)
    after = np.array(CHAINED[program])
    expected = 2 * after * (after == X)
    if program is added_to_column:
        expected = 2 * after
    np.testing.assert_array_equal(gradient(Tensor(X)).asnumpy(), expected)


def test_gradient_of_named_copy():
    def loss(x):
        y = x * 1
        z = y[ROWS]
        z[0] = 100.0
        return (y * y).sum() + (z * z).sum()

    assert ms.grad(loss)(Tensor(X)).asnumpy().tolist() == [[0, 4, 8], [6, 8, 10], [0, 0, 0],
                                                           [18, 20, 22]]


def test_gradient_in_compiled_function_inside_eager_gradient():
    assert ms.grad(lambda x: ms.jit(named)(x).sum())(Tensor(X)).asnumpy().min() == 1


def test_argument_is_reached():
    x = Tensor(X)
    x[MASK][:, 0] = -1.0
    assert x.asnumpy().tolist() == changed(r0=[-1, 1, 2], r2=[-1, 7, 8])


def test_parameter_is_reached():
    weight = ms.Parameter(Tensor(X.copy()))
    weight[ROWS][:, 0] = 5.0
    assert weight.asnumpy().tolist() == changed(r0=[5, 1, 2], r2=[5, 7, 8])


def test_reversed_slice_reaches():
    x = Tensor([1.0, 2.0, 3.0])
    backwards = x[::-1]
    backwards[0] = 9.0
    assert x.asnumpy().tolist() == [1, 2, 9]


def test_copies_do_not_keep_their_sources():
    gc.collect()
    before = len(copies)
    x = Tensor(X)
    for _ in range(50):
        x = x[[3, 2, 1, 0]]
    gc.collect()
    assert len(copies) - before <= 4
    del x
    gc.collect()
    assert len(copies) == before
