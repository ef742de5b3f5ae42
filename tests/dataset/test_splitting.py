"""How many rows the parts of a split have, and what is refused."""

import pytest

import lamella.dataset as ds


def data(count=10):
    return ds.NumpySlicesDataset(list(range(count)), shuffle=False)


@pytest.mark.parametrize("count, sizes, wanted", [
    (10, [3, 7], [3, 7]), (10, [1.0], [10]), (10, [0.25, 0.75], [2, 8]),
    (11, [0.5, 0.5], [5, 6]), (3, [0.5, 0.5], [1, 2]),
    (10, [0.333335, 0.333333, 0.333333], [4, 3, 3]),
    (5, [0.3, 0.3, 0.4], [1, 2, 2])])
def test_rows_of_the_parts(count, sizes, wanted):
    parts = data(count).split(sizes, randomize=False)
    found = [[int(row[0]) for row in part.create_tuple_iterator(num_epochs=1, output_numpy=True)]
             for part in parts]
    assert sum(found, []) == list(range(count))
    assert list(map(len, found)) == wanted


@pytest.mark.parametrize("sizes, randomize, error, words", [
    ((3, 7), True, TypeError, "sizes|'sizes' must be a list"),
    ([3, 7], 1, TypeError, "randomize"),
    ([], True, ValueError, "sizes cannot be empty"),
    ([0, 10], True, ValueError, "no negative or zero numbers"),
    ([-1, 11], True, ValueError, "no negative or zero numbers"),
    ([3, 6], True, RuntimeError, "Sum of split sizes 9 is not equal to dataset size 10"),
    ([3, 0.7], True, ValueError, "should be list of int or list of float"),
    ([0.0, 1.0], True, ValueError, "outside the range"),
    ([1.5, -0.5], True, ValueError, "outside the range"),
    ([0.5, 0.4], True, ValueError, "do not sum up to 1"),
    ([0.5, 0.5001], True, ValueError, "do not sum up to 1"),
    ([0.99, 0.01], True, RuntimeError, "Split percentage 0.01 is too small"),
])
def test_what_is_refused(sizes, randomize, error, words):
    with pytest.raises(error, match=words):
        data().split(sizes, randomize)
