"""Checks of arguments that programs import from MindSpore's modules."""

import numpy as np
import pytest

from lamella.dataset.vision.argument_checks import (
    check_file,
    check_value,
    type_check,
    type_check_list,
)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_intervals(left, right):
    def is_inside(value):
        try:
            check_value(value, (-1, 2.5), "prob", left, right)
        except ValueError as error:
            ends = f"{'(' if left else '['}-1, 2.5{')' if right else ']'}"
            assert str(error) == f"Input prob is not within the required interval of {ends}."
            return False
        return True

    assert [is_inside(value) for value in (-1.5, -1, -0.9, 0, 2.4, 2.5, 2.6)] == [
        False, not left, True, True, True, not right, False]


def test_types():
    type_check(3, (int, float), "size")
    type_check(True, (int, bool), "size")
    type_check(True, (bool, str), "size")
    type_check_list([3, 0.5], (int, float), ["a", "b"])
    type_check_list((3, 0.5), (int, float), "sizes")
    for call, error, text in (
            (lambda: type_check("x", (int,), "size"), TypeError, "size"),
            (lambda: type_check(True, (int, float), "size"), TypeError, "size"),
            (lambda: type_check(3, (bool,), "size"), TypeError, "size"),
            (lambda: type_check_list([3, "x"], (int,), "sizes"), TypeError, r"sizes\[1\]"),
            (lambda: type_check_list(["x", 3], (int,), ["a", "b"]), TypeError, "a"),
            (lambda: type_check_list(3, (int,), "sizes"), TypeError, "sizes"),
            (lambda: type_check_list([3], (int,), ["a", "b"]), ValueError, "not the same length")):
        with pytest.raises(error, match=text):
            call()


def test_files(tmp_path):
    (tmp_path / "a b").write_bytes(b"")
    check_file(str(tmp_path / "a b"))
    (tmp_path / "a|b").write_bytes(b"")
    (tmp_path / " a").write_bytes(b"")
    for path, error, text in ((3, TypeError, "path: 3 is not string"),
                              (tmp_path, TypeError, "is not string"),
                              (str(tmp_path), ValueError, "does not exist or permission"),
                              (str(tmp_path / "none"), ValueError, "does not exist or permission"),
                              (str(tmp_path / "a|b"), ValueError, "should not contain"),
                              (str(tmp_path / " a"), ValueError, "start/end with space")):
        with pytest.raises(error, match=text):
            check_file(path)


def test_numbers_of_numpy_are_in_intervals():
    check_value(np.float32(0.5), (0, 1))
    check_value(np.float32(0.5), [0, 1, "what comes after the ends"])
    with pytest.raises(ValueError, match="^Input is not within the required interval"):
        check_value(np.float32(1.5), (0, 1))
