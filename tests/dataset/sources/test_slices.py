"""Rows from arrays: by number, of one column or several, and those that pad others."""

import numpy as np
import pytest

import lamella.dataset as ds


@pytest.mark.parametrize("place, wanted", [(0, ["a"]), (1, ["a"]), (2, ["b", "c"]), (3, ["d"]),
                                           (5, ["d"]), (6, [])])
def test_the_files_of_a_row(place, wanted):
    data = ds.NumpySlicesDataset(np.arange(6), shuffle=False)
    data._origins = [(["a"], 2), (["b", "c"], 1), (["d"], 3)]
    assert list(data._files_of(place)) == wanted


def test_rows_by_number():
    one = ds.NumpySlicesDataset(np.arange(6).reshape(3, 2), shuffle=False)
    assert [one[n].tolist() for n in (0, 2, -1)] == [[0, 1], [4, 5], [4, 5]]
    two = ds.NumpySlicesDataset((np.arange(3), np.arange(3) * 1.5), shuffle=False)
    assert [value.item() for value in two[2]] == [2, 3.0]


@pytest.mark.parametrize("given, error, words", [
    ([], ValueError, "cannot be empty"), (None, ValueError, "cannot be empty"),
    ({"a": 1}, TypeError, "must be a list of dicts, but got dict"),
    (({"a": 1},), TypeError, "must be a list of dicts, but got tuple"),
    ([{"a": 1}, 2], TypeError, "each of 'padded_samples' must be a dict")])
def test_rows_that_can_not_pad(given, error, words):
    with pytest.raises(error, match=words):
        ds.PaddedDataset(given)


def test_rows_that_pad_keep_their_order():
    data = ds.PaddedDataset([{"b": np.int8(n), "a": np.full(n, 1.5)} for n in (1, 2, 3)])
    found = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert data.get_col_names() == ["b", "a"] and len(data) == 3
    assert [(b.item(), a.tolist()) for b, a in found] == [(n, [1.5] * n) for n in (1, 2, 3)]


def test_a_sampler_of_classes_is_refused():
    with pytest.raises(ValueError, match="doesn't support PKSampler"):
        ds.NumpySlicesDataset([1, 2], sampler=ds.PKSampler(1))
