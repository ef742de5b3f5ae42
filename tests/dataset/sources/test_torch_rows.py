"""Batches of Python objects' rows against stacking the same rows one by one."""

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, Subset, TensorDataset

import lamella as ms
import lamella.dataset as ds

X, Y = torch.arange(12.0).reshape(6, 2), torch.arange(6)


class Rows(Dataset):
    """Rows of a list."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


class Listed(Rows):
    """Gives lists of rows only."""

    def __getitem__(self, place):
        raise AssertionError("rows are asked for in lists")

    def __getitems__(self, places):
        return [self.rows[place] for place in places]


def batches(source, names=("a", "b"), **named):
    data = ds.GeneratorDataset(source, list(names), shuffle=False, **named)
    return list(data.batch(4).create_tuple_iterator(num_epochs=1, output_numpy=True))


def one_by_one(source, names=("a", "b")):
    """What the rows of a generator, of which nothing is known, give."""
    return batches(lambda: iter([source[place] for place in range(len(source))]), names)


PAIRS = list(zip(X, Y, strict=True))
SOURCES = {
    "tensors": TensorDataset(X, Y),
    "types": TensorDataset(X.half(), Y > 2),
    "subset": Subset(TensorDataset(X, Y), [5, 0, 3, 3, 1]),
    "numbers": Rows([(tensor, 2 * n) for n, tensor in enumerate(X)]),
    "floats": Rows([(tensor, n / 2) for n, tensor in enumerate(X)]),
    "large": Rows([(n, 2**63 + n) for n in range(5)]),
    "numbers of two kinds": Rows([(np.float32(n), np.int16(n)) for n in range(5)]),
    "arrays": Rows([(a.numpy(), b.numpy()) for a, b in PAIRS]),
    "Tensors": Rows([(ms.Tensor(a.numpy()), n) for n, (a, _) in enumerate(PAIRS)]),
    "texts": Rows([(str(n), n > 2) for n in range(5)]),
    "lists": Rows([[a, b] for a, b in PAIRS]),
    "dicts": Rows([(n, {"n": n}) for n in range(5)]),
    "turned": Rows([(X[:2].T, b) for b in Y]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_as_stacked_one_by_one(name):
    given, expected = batches(SOURCES[name]), one_by_one(SOURCES[name])
    assert len(given) == len(expected) == 2
    for found, wanted in zip(given, expected, strict=True):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_equal(a, b)
            if isinstance(b, np.ndarray):
                assert a.dtype == b.dtype


def test_single_tensors():
    for found, wanted in zip(batches(Rows(list(X)), ["a"]), one_by_one(X, ["a"]), strict=True):
        np.testing.assert_array_equal(found[0], wanted[0])


def test_lists_of_rows_are_asked_for_where_there_is_the_method():
    first, second = batches(Listed(PAIRS))
    np.testing.assert_array_equal(first[0], X[:4])
    np.testing.assert_array_equal(second[1], Y[4:])


def test_a_batch_is_memory_of_its_own():
    x = X.clone()
    data = ds.GeneratorDataset(TensorDataset(x, Y), ["x", "y"], shuffle=False).batch(6)
    (found, _), = data
    x.zero_()
    np.testing.assert_array_equal(found.asnumpy(), X)


def test_mapped_shuffled_and_resumed():
    def data():
        made = ds.GeneratorDataset(TensorDataset(X, Y), ["x", "y"], shuffle=True)
        return made.map(ds.transforms.TypeCast(ms.float64), "x").batch(2)

    ds.config.set_seed(3)
    rows = data().create_tuple_iterator(num_epochs=1)
    first = next(rows)
    later = data().create_tuple_iterator(num_epochs=1)
    later.load_state_dict(rows.state_dict())
    numbers = [*first[1].asnumpy(), *(n for _, y in later for n in y.asnumpy())]
    assert sorted(numbers) == list(range(6)) and first[0].dtype == ms.float64
    assert [*(n for _, y in rows for n in y.asnumpy())] == numbers[2:]


@pytest.mark.parametrize(("rows", "words"), [
    ([(X[0], 0), (X[0, :1], 1)], r"different shapes in column 0.*shape <2>.*shape <1>"),
    ([(X[0], 0), (X[0].double(), 1)], "different types in column 0.*float32.*float64"),
    ([(0, 0), (0, 1.0)], "different types in column 1.*int64.*float64"),
    ([(X[0], 0), (X[0],)], "number of NumPy arrays as specified in column_names.*2.*is:1"),
    ([(X[0], None), (X[0], 1)], "(?s)GeneratorDataset.*TypeError.*object"),
])
def test_rows_that_do_not_fit_are_said_as_before(rows, words):
    with pytest.raises(RuntimeError, match=words):
        batches(Rows(rows))
    with pytest.raises(RuntimeError, match=words):
        one_by_one(Rows(rows))


def test_errors_of_the_source_are_told():
    class Broken(Rows):
        def __getitem__(self, place):
            raise KeyError("no such row")

    with pytest.raises(RuntimeError, match=r"(?s)GeneratorDataset.*KeyError: .*no such row"):
        batches(Broken(PAIRS))

    class Short(Listed):
        def __getitems__(self, places):
            return []

    with pytest.raises(RuntimeError, match="must give a row for each of 4 numbers.* gave 0"):
        batches(Short(PAIRS))


def test_types_are_still_checked():
    with pytest.raises(RuntimeError, match="(?s)column 'b' must have the type float32"):
        batches(TensorDataset(X, Y), column_types=[ms.float32, ms.float32])
