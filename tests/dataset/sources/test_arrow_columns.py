"""Columns of Arrow as arrays of NumPy: chunks, lists of one length, times, missing values."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lamella.dataset as ds
from lamella.dataset.sources.addresses import paths_of
from lamella.dataset.sources.arrow_columns import column

PLACES = np.array([3, 0, 4, 4])


def shaped(array):
    """An Arrow array of lists of one length, in one another."""
    kind = pa.from_numpy_dtype(array.dtype)
    for length in array.shape[:0:-1]:
        kind = pa.list_(kind, length)
    return pa.array(array.tolist(), kind)


@pytest.mark.parametrize("shape", [(5,), (5, 2), (5, 2, 3), (5, 3, 1, 2)])
@pytest.mark.parametrize("cuts", [(), (2,), (0, 3, 3)])
def test_lists_of_one_length_are_dimensions(shape, cuts):
    wanted = np.random.default_rng(0).integers(-99, 99, shape, np.int32)
    ends = [0, *cuts, 5]
    values = pa.chunked_array([shaped(wanted)[a:b] for a, b in zip(ends, ends[1:], strict=False)])
    found = column("x", values)
    for place in range(5):
        assert found[place].dtype == np.int32 and found[place].shape == shape[1:]
        np.testing.assert_array_equal(found[place], wanted[place])
    np.testing.assert_array_equal(found.take(PLACES), wanted[PLACES])


@pytest.mark.parametrize("kind", [pa.int16(), pa.float64(), pa.string(), pa.list_(pa.int8(), 2)])
def test_a_column_without_chunks_is_empty(kind):
    found = column("x", pa.chunked_array([], kind))
    assert len(found.take(np.array([], np.int64))) == 0


@pytest.mark.parametrize("kind, wide", [(pa.timestamp("ms"), np.int64), (pa.time32("s"), np.int32),
                                        (pa.date32(), np.int32), (pa.date64(), np.int64),
                                        (pa.duration("us"), np.int64)])
def test_times_are_the_integers_that_count_their_units(kind, wide):
    counts = np.array([86400000, 0, 172800000]) if kind == pa.date64() else np.array([7, 0, 5])
    found = column("x", pa.array(counts.astype(wide)).view(kind))
    assert found[2].dtype == wide
    np.testing.assert_array_equal(found.take(np.array([2, 1, 0])), counts[::-1])


def test_a_time_is_counted_from_1970():
    found = column("x", pa.array([datetime.date(1970, 2, 1)]))
    assert found[0] == 31


def test_missing_floats_are_nan_and_other_missing_values_are_refused():
    np.testing.assert_array_equal(column("x", pa.array([1.5, None, 2.0])).take(np.arange(3)),
                                  [1.5, np.nan, 2.0])
    for values in (pa.array([1, None]), pa.array(["a", None]),
                   pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
                   pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
                   pa.array([[1, None]], pa.list_(pa.int64(), 2))):
        with pytest.raises(RuntimeError, match="The column 'kind' has values that are missing"):
            column("kind", values)


def test_texts_and_their_dictionaries():
    words = ["one", "", "drei", "four", "fünf"]
    for values in (pa.array(words), pa.array(words, pa.large_string()),
                   pa.array(words).dictionary_encode(),
                   pa.chunked_array([words[:2], words[2:]])):
        found = column("x", values)
        assert [str(found[place]) for place in range(5)] == words
        assert [str(each) for each in found.take(PLACES)] == [words[place] for place in PLACES]


def test_lists_of_any_length_and_types_that_numpy_lacks():
    found = column("x", pa.array([["a", "bc"], ["d"], []]))
    assert [found[place].tolist() for place in range(3)] == [["a", "bc"], ["d"], []]
    assert column("x", pa.array([{"n": 1}]))[0] == {"n": 1}
    for values in (pa.array([decimal.Decimal("1.5")]), pa.array([[None, "a"]])):
        with pytest.raises(RuntimeError, match="The column 'x' of Arrow's type .* has no NumPy"):
            column("x", values)[0]


def test_addresses_come_before_paths(tmp_path):
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "a").write_bytes(b"")
    near = [str(tmp_path / name) for name in "ab"]
    assert paths_of("X", [near[1], "s3://y", near[0], "s3://x"]) == ["s3://x", "s3://y", *near]
    assert paths_of("X", "s3://x") == ["s3://x"]
    assert paths_of("X", str(tmp_path / "*")) == paths_of("X", [tmp_path / "a", near[1]]) == near
    for none in ([], str(tmp_path / "c"), ["s3://x", str(tmp_path / "c")]):
        with pytest.raises(ValueError, match="X|file"):
            paths_of("X", none)


def test_the_file_of_a_row_is_named(tmp_path):
    for number in range(2):
        parquet.write_table(pa.table({"x": [5 * number, 5 * number + 1]}), tmp_path / f"{number}")
    data = ds.ParquetDataset([str(tmp_path / "0"), str(tmp_path / "1")], shuffle=False)
    with pytest.raises(RuntimeError) as error:
        list(data.map(lambda x: 1 // (x - 5), "x").create_tuple_iterator(num_epochs=1))
    assert str(tmp_path / "1") in str(error.value) and str(tmp_path / "0") not in str(error.value)
