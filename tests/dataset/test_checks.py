"""Arguments at the ends of their ranges, one beyond, and of other types."""

import re

import numpy as np
import pytest

from lamella.dataset import checks
from lamella.dataset.checks import integer, number, pair


@pytest.mark.parametrize("value, low, high, fits", [
    (0, 0, 3, True), (3, 0, 3, True), (-1, 0, 3, False), (4, 0, 3, False), (-9, None, 3, True),
    (4, None, 3, False), (99, 0, None, True), (-1, 0, None, False), (-99, None, None, True)])
def test_integers_include_both_ends(value, low, high, fits):
    if fits:
        assert integer("Op", "n", value, low, high) == value
        assert number("Op", "n", float(value), low, high) == value
    else:
        for check in (integer, number):
            with pytest.raises(ValueError, match="within the required interval"):
                check("Op", "n", value, low, high)


@pytest.mark.parametrize("value, above, below, fits", [
    (0.0, False, False, True), (0.0, True, False, False), (0.0, False, True, True),
    (1.0, False, False, True), (1.0, False, True, False), (1.0, True, False, True),
    (1e-9, True, True, True), (1 - 1e-9, True, True, True), (-1e-9, False, True, False),
    (1 + 1e-9, True, False, False)])
def test_ends_that_are_left_out(value, above, below, fits):
    if fits:
        assert number("Op", "n", value, 0, 1, above, below) == value
    else:
        with pytest.raises(ValueError, match="For 'Op', 'n' must be in"):
            number("Op", "n", value, 0, 1, above, below)


@pytest.mark.parametrize("call, words", [
    (lambda: integer("Op", "n", 5, 1, 3), r"Input n .* interval of \[1, 3\].* must be in \[1, 3\]"),
    (lambda: integer("Op", "n", 0, 1), r"interval of \[1, 2147483647\].* an int of 1 or more"),
    (lambda: integer("Op", "n", 4, None, 3), r"interval of \[-2147483648, 3\]"),
    (lambda: number("Op", "n", 2, 0, 1, True, True), r"interval of \(0, 1\).* be in \(0, 1\)"),
    (lambda: number("Op", "n", 0, 0, None, True), r"interval of \(0, 16777216\].* be above 0"),
    (lambda: number("Op", "n", -1, 0), r"interval of \[0, 16777216\].* must be 0 or more"),
    (lambda: number("Op", "n", 2, None, 1), r"interval of \[-16777216, 1\]")])
def test_the_interval_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("check, value", [
    (integer, True), (integer, 1.0), (integer, np.int64(1)), (integer, None), (number, True),
    (number, "1"), (number, None), (pair, 1), (pair, (1,)), (pair, (1, 2, 3)), (pair, {1, 2}),
    (pair, "12"), (pair, (1, "2")), (pair, ("1", 2)), (checks.boolean, 1), (checks.boolean, None),
    (checks.string, 1), (checks.string, b"a")])
def test_other_types(check, value):
    with pytest.raises(TypeError, match="For 'Op'"):
        check("Op", "n", value)


@pytest.mark.parametrize("value, fits", [((0, 1), True), ([1, 1], True), ((1.5, 0.5), False),
                                         ((-1, 0), False), ((0, 2), False), ((0.5, 0), False)])
def test_pairs_do_not_fall(value, fits):
    if fits:
        assert pair("Op", "n", value, 0, 1) == tuple(value)
    else:
        with pytest.raises(ValueError, match="For 'Op', 'n'"):
            pair("Op", "n", value, 0, 1)


@pytest.mark.parametrize("shards, shard, error", [
    (None, None, None), (1, 0, None), (3, 2, None), (3, 3, "shard_id should be less"),
    (3, 4, "shard_id should be less"), (0, 0, "Input num_shards"), (3, -1, "Input shard_id"),
    (2**31 - 1, 0, None), (2**31, 0, "Input num_shards"), (3, None, "passed in together"),
    (None, 0, "passed in together")])
def test_parts_of_the_rows(shards, shard, error):
    if error is None:
        checks.shards("Op", shards, shard)
    else:
        with pytest.raises(ValueError, match=error):
            checks.shards("Op", shards, shard)


@pytest.mark.parametrize("count, fits", [(0, True), (2**63 - 1, True), (-1, False), (2**63, False)])
def test_how_many_rows_are_read(count, fits):
    if fits:
        checks.rows_at_most("Op", count)
    else:
        with pytest.raises(ValueError, match="num_samples exceeds the boundary"):
            checks.rows_at_most("Op", count)


@pytest.mark.parametrize("value, kinds, words", [
    (True, (int,), r"with value True is not of type \(<class 'int'>,\), but got <class 'bool'>"),
    (True, (int, bool), r"is not of type \[<class 'int'>, <class 'bool'>\]"),
    (True, (str,), r"is not of type \[<class 'str'>\]"),
    (1, (str,), r"type \[<class 'str'>\]"),
    ("", (int,), r'with value "" is'), ("a", (int,), "with value a is"),
    ([], (int,), r"value \[\]")])
def test_sentences_about_types(value, kinds, words):
    """MindSpore tells a bool that stands for an int in a list without brackets."""
    assert re.search(words, checks.of_type("n", value, *kinds))


@pytest.mark.parametrize("value, wanted", [("int8", np.int8), (np.float64, np.float64),
                                           (np.dtype("u2"), np.uint16), (bool, np.bool_)])
def test_types_that_numpy_knows(value, wanted):
    assert checks.numpy_type("Op", "n", value) == wanted


@pytest.mark.parametrize("value", ["integer", 8, None, [1]])
def test_what_is_no_type(value):
    with pytest.raises(TypeError, match="must be a data type of Lamella's or NumPy's"):
        checks.numpy_type("Op", "n", value)
    assert "numpy.dtype" not in checks.no_data_type("n", value)


def test_files_that_are_there(tmp_path):
    (tmp_path / "a").touch()
    assert checks.existing_file(tmp_path / "a") == tmp_path / "a"
    for path, error in ((tmp_path, ValueError), (str(tmp_path / "b"), ValueError), (3, TypeError),
                        (None, TypeError)):
        with pytest.raises(error, match="file"):
            checks.existing_file(path)
