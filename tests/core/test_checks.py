"""Validators at their limits: the value just inside, the limit itself, the one just outside."""

from __future__ import annotations

import operator

import pytest

import lamella as ms
from lamella.core import checks, require

SIGNS = {checks.EQ: operator.eq, checks.NE: operator.ne, checks.LT: operator.lt,
         checks.LE: operator.le, checks.GT: operator.gt, checks.GE: operator.ge}
# which ends belong to a range
ENDS = {checks.INC_NEITHER: "()", checks.INC_LEFT: "[)", checks.INC_RIGHT: "(]",
        checks.INC_BOTH: "[]"}


def passes(check, *args) -> bool:
    """Whether a check lets a value through; then it returns the value."""
    try:
        given = check(*args)
    except ValueError as error:
        assert "but got" in str(error)
        return False
    assert given in args
    return True


@pytest.mark.parametrize("rel", SIGNS)
@pytest.mark.parametrize("value", [1, 2, 3])
def test_each_relation_beside_its_bound(rel, value):
    want = SIGNS[rel](value, 2)
    assert passes(checks.check_int, value, 2, rel) is want
    assert passes(checks.check_float, value * 1.0, 2.0, rel) is want
    assert passes(checks.check_number, "n", value, 2, rel, "X") is want
    assert passes(checks.check, "n", value, "m", 2, rel) is want
    if rel == checks.EQ:
        assert passes(checks.check_equal_int, value, 2) is want


@pytest.mark.parametrize("rel", ENDS)
@pytest.mark.parametrize("value", [1, 2, 3, 4, 5])
def test_each_range_at_its_ends(rel, value):
    left, right = ENDS[rel]
    want = 2 < value < 4 or (value == 2 and left == "[") or (value == 4 and right == "]")
    assert passes(checks.check_int_range, value, 2, 4, rel) is want
    assert passes(checks.check_float_range, value * 1.0, 2.0, 4.0, rel) is want
    assert passes(checks.check_number_range, value, 2, 4, rel, int) is want
    assert passes(checks.check, "n", value, "m", (2, 4), rel) is want
    if not want:
        with pytest.raises(ValueError, match=rf"\{left}2, 4\{right}, but got {value}"):
            checks.check_int_range(value, 2, 4, rel, "n", "X")
    assert passes(require.within, value, 2, 4, ENDS[rel], "n", "X") is want


@pytest.mark.parametrize("rel, want", [(checks.IN, True), (checks.NOT_IN, False)])
def test_membership(rel, want):
    assert passes(checks.check, "n", 3, "m", (2, 3), rel) is want
    assert passes(checks.check, "n", 4, "m", (2, 3), rel) is not want


@pytest.mark.parametrize("name, sign", [
    ("positive", operator.gt), ("non_negative", operator.ge), ("negative", operator.lt),
    ("non_positive", operator.le)])
@pytest.mark.parametrize("value", [-1, 0, 1])
def test_signs(name, sign, value):
    want = sign(value, 0)
    assert passes(getattr(checks, f"check_{name}_int"), value, "n") is want
    assert passes(getattr(checks, f"check_{name}_float"), value * 1.0, "n") is want
    for kind, other in (("int", value * 1.0), ("float", value), ("int", True), ("float", True)):
        with pytest.raises(TypeError, match=f"The 'n' must be {kind}, but got"):
            getattr(checks, f"check_{name}_{kind}")(other, "n")


@pytest.mark.parametrize("check, good, bad", [
    (checks.check_positive_int_sequence, (1, 2), (1, 0)),
    (checks.check_non_negative_int_sequence, [0, 1], [1, -1]),
    (checks.check_positive_float_sequence, [0.5, 1e-9], [0.5, 0.0])])
def test_sequences_name_the_place(check, good, bad):
    assert check(good, "s") is good
    with pytest.raises(ValueError, match=r"the 's\[1\]' must be .* but got"):
        check(bad, "s", "X")
    with pytest.raises(ValueError, match=r"The 'sequence\[1\]' must be"):
        check(bad)
    with pytest.raises(TypeError, match="must be a list or tuple"):
        check(good[0], "s")


def lengths(value, **options):
    return checks._check_3d_int_or_tuple("stride", value, "Conv3d", **options)


@pytest.mark.parametrize("value, options, want", [
    (1, {}, (1, 1, 1)), ((3, 1, 2), {}, (3, 1, 2)), (0, {"greater_zero": False}, (0, 0, 0)),
    ((1, 1, 2, 3, 4), {"allow_five": True}, (2, 3, 4)),
    ((1, 1, 2, 3, 4), {"allow_five": True, "ret_five": True}, (1, 1, 2, 3, 4)),
    ((2, 3, 4), {"ret_five": True, "pad_value": 7}, (7, 7, 2, 3, 4)),
    (2, {"ret_five": True}, (1, 1, 2, 2, 2)), ((1, 2, 3), {"third_one": True}, (1, 2, 3)),
    ((8, 9, 1, 2, 3), {"allow_five": True, "third_one": True}, (1, 2, 3))])
def test_three_lengths(value, options, want):
    assert lengths(value, **options) == want


@pytest.mark.parametrize("value, options, error, words", [
    (0, {}, ValueError, "int of 1 or more, or 3 of them"), ((1, 1, 0), {}, ValueError, "1 or more"),
    (-1, {"greater_zero": False}, ValueError, "int of 0 or more"),
    ((1, True, 1), {}, ValueError, "3 of them"), ((1, 2.0, 1), {}, ValueError, "3 of them"),
    ((1, 2), {}, ValueError, "3 of them"), ((1, 2, 3, 4), {"allow_five": True}, ValueError,
                                           "3 or 5 of them"),
    ((1, 1, 1, 1, 1), {}, ValueError, "or 3 of them"),
    ((1, 1, 1, 1, 1), {"allow_five": True, "three_input": True}, ValueError, "or 3 of them"),
    ((2, 1, 1), {"third_one": True}, ValueError, "1 as its depth"),
    ((1, 1, 2, 1, 1), {"third_one": True, "allow_five": True}, ValueError, "1 as its depth"),
    ("3", {}, TypeError, "of type int or tuple"), ([1, 2, 3], {}, TypeError, "int or tuple")])
def test_what_are_no_three_lengths(value, options, error, words):
    with pytest.raises(error, match=f"For 'Conv3d', the 'stride' .*{words}"):
        lengths(value, **options)


@pytest.mark.parametrize("function, length", [(checks.once, 1), (checks.twice, 2),
                                              (checks.triple, 3)])
def test_repeated_ints(function, length):
    row = list(range(length))
    assert function(5) == (5,) * length and function(row) == tuple(row)
    for wrong in ([*row, 1], row[1:], [*row[1:], True], [*row[1:], 1.0], "a" * length, 1.5,
                  range(length)):
        with pytest.raises(TypeError, match=f"an int or {length} ints, but got"):
            function(wrong)


@pytest.mark.parametrize("kind, templates, want", [
    (bool, int, True), (int, bool, False), (ms.float32, ms.number, True),
    (ms.float32, (ms.string, ms.number), True), (ms.string, [ms.number], False),
    (ms.float32, ms.float32, True), (ms.float32, ms.float16, False),
    (ms.float32, type(ms.float32), True), (ms.string, type(ms.number), False),
    (int, ms.number, False), (int, int, True), (ms.number, ms.float32, False)])
def test_families_of_types(kind, templates, want):
    if want:
        assert checks.check_subclass("t", kind, templates, "X") is None
    else:
        with pytest.raises(TypeError, match=r"subclass of .* but got .*\. Sorry"):
            checks.check_subclass("t", kind, templates, "X", "Sorry")


def test_the_same_types_for_all():
    floats = [ms.float16, ms.float32]
    check = checks.check_types_same_and_valid
    assert check({"a": ms.float16, "b": ms.float16, "c": ms.float16}, floats, "X") is None
    with pytest.raises(TypeError, match="'c' must have the same type as 'a', which is Float16"):
        check({"a": ms.float16, "b": ms.float16, "c": ms.float32}, floats, "X")
    with pytest.raises(TypeError, match="the 'b' must be one of Float16, Float32, but got Int8"):
        check({"a": ms.float16, "b": ms.int8}, floats, "X")


def test_how_messages_start():
    for given, start in ((("n", "X"), "For 'X', the 'n' must"), (("n",), "The 'n' must"),
                         ((None, "X"), "For 'X', the input value must"), ((), "The input value")):
        with pytest.raises(TypeError, match=f"^{start}"):
            checks.check_is_int("3", *given)


def test_types_of_a_functions_arguments():
    @checks.args_type_check((int, float), flag=bool)
    def f(rate, flag=None, more=1):
        return rate, flag, more

    assert f(True) == (True, None, 1)  # Python's own relation of the types
    assert f(None, None, "x") == (None, None, "x") and f(1, flag=False) == (1, False, 1)
    with pytest.raises(TypeError, match="For 'f', the 'flag' must be of type bool, but got 1"):
        f(0.5, 1)


# checks of plain arguments: (function, what passes, what has a wrong value, of a wrong type)
REQUIRED = [
    (require.positive_int, [1, 7], [0, -1], [1.0, True, None]),
    (require.int_at_least_0, [0, 1], [-1], [0.0, False, "0"]),
    (require.positive_float, [1e-9, 2.0], [0.0, -1.0, float("nan")], [1, True]),
    (require.non_negative_float, [0.0, 1.0], [-1e-9, float("nan")], [0, False]),
    (require.boolean, [True, False], [], [0, 1, None]),
]


@pytest.mark.parametrize("check, good, bad, wrong", REQUIRED, ids=lambda v: getattr(
    v, "__name__", ""))
def test_plain_arguments(check, good, bad, wrong):
    for value in good:
        assert check(value, "n", "X") is value
    for error, values in ((ValueError, bad), (TypeError, wrong)):
        for value in values:
            with pytest.raises(error, match="For 'X', 'n' must be .*but got"):
                check(value, "n", "X")


def test_types_and_articles():
    assert require.of_type(True, (int, bool), "n", "X") is True
    for types, words in ((int, "an int"), (float, "a float"), ((str, int), "a str or int")):
        with pytest.raises(TypeError, match=f"'n' must be {words}, but got None of type NoneType"):
            require.of_type(None, types, "n", "X")
    with pytest.raises(TypeError, match=r"a str, but got object\.$"):
        require.of_type(object(), str, "n", "X")
    with pytest.raises(TypeError, match=r"a str, but got Tensor\[2\] Int64 of type Tensor\.$"):
        require.of_type(ms.Tensor([1, 2]), str, "n", "X")


def test_numbers_within():
    for value in (True, "1", None):
        with pytest.raises(TypeError, match="'p' must be a number"):
            require.within(value, 0, 2, "[]", "p", "X")
    assert require.float_within(0.0, 0.0, 1.0, "[)", "p", "X") == 0.0
    with pytest.raises(ValueError, match=r"must be in \[0\.0, 1\.0\), but got 1\.0"):
        require.float_within(1.0, 0.0, 1.0, "[)", "p", "X")
    with pytest.raises(TypeError, match="must be a float"):
        require.float_within(1, 0.0, 1.0, "[]", "p", "X")


def test_strings_classes_and_types():
    assert checks.check_string("a", ("a", "b"), "s") == "a"
    for wrong in ("c", 3, None, ["a"]):
        with pytest.raises(ValueError, match=r"must be one of \['a', 'b', 3\], but got"):
            checks.check_string(wrong, ["a", "b", 3], "s")
    assert checks.check_isinstance("a", 3, int) == 3 and checks.check_isinstance("a", True, int)
    with pytest.raises(ValueError, match="must be an instance of"):
        checks.check_isinstance("a", 3, (str, float))
    assert checks.check_value_type("a", True, (int, bool)) is True
    assert checks.check_value_type("a", 3, int) == 3
    for value, types in ((True, int), (3, str), (3, [str, float])):
        with pytest.raises(TypeError, match="The 'a' must be of type"):
            checks.check_value_type("a", value, types)
