"""Each rule of the table of arguments: what keeps it, what breaks it, and the words for that."""

import numpy as np
import pytest

from lamella.dataset.argument_rules import RULE, check_rule, within


def keeps(text, **given):
    """Whether an argument `a` keeps a rule; the error if it doesn't."""
    rule = RULE.fullmatch(f"room.Op a {text}")
    assert rule is not None
    try:
        check_rule("Op", rule, given)
    except (TypeError, ValueError, KeyError) as error:
        assert "For 'Op', 'a' is" in "".join([str(error), *getattr(error, "__notes__", ())])
        return error
    return None


def said(error):
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("spans, inside, outside", [
    ("[0, 1]", (0, 0.5, 1), (-1e-9, 1.1)), ("(0, 1]", (1e-9, 1), (0, 1.1)),
    ("[0, 1)", (0, 0.99), (1, -0.1)), ("(0, 1)", (0.5,), (0, 1)),
    ("[-5, 0) and (0, 5]", (-5, -0.1, 0.1, 5), (0, -5.1, 5.1))])
def test_intervals(spans, inside, outside):
    assert all(within(value, spans) for value in inside)
    assert not any(within(value, spans) for value in outside)


@pytest.mark.parametrize("rule, good, bad, words", [
    ("items int|float", [[1, 2.5], (), 3, "x"], [1, "2"], "Argument a[1] with value 2 is not of"),
    ("items int", [[1], (2,)], (True,), "TypeError: Argument a[0] with value True"),
    ('items str as "list[{}]"', [["x"]], ["x", 1], "Argument list[1] with value 1"),
    ("each [0, 1]", [[0, 1], (0.5,), 7, ["x"], [True], [float("nan")]], [0, 1.5],
     "ValueError: Input a[1] is not within the required interval of [0, 1]."),
    ('each (0, 1] as ""', [[1]], [0], "Input is not within the required interval of (0, 1]."),
    ("lone [1, 9] int", [1, 9, [0], (99,), None], 0, "ValueError: Input a is not within"),
    ("lone [1, 9] int", [1], 10, "Input a is not within the required interval of [1, 9]."),
    ("lone [1, 9] int", [1], 1.5, "TypeError: Argument a with value 1.5 is not of type"),
    ("lone [1, 9] int", [1], True, "TypeError: Argument a with value True"),
    ("lone int|str", [5, "x", []], None.__class__, "TypeError: Argument a with value"),
    ("long 2,4 = ValueError two or four", [[1, 2], (1, 2, 3, 4), 3, "abc"], [1, 2, 3],
     "ValueError: two or four"),
    ("long 2 = TypeError two", [[1, 2]], (1,), "TypeError: two"),
    ("ordered = ValueError {first} above {second}",
     [[1, 1], (1, 2), [1, 2, 3, 3], [2, 1, 0], 5, ["b", "a"], [2, True]], [2, 1],
     "ValueError: 2 above 1"),
    ("ordered = ValueError no", [[3, 4, 1, 2]], [1, 2, 4, 3], "ValueError: no"),
    ("negative = ValueError below 0", [0, 1, "x", None], -1, "ValueError: below 0"),
    ("odd", [1, 3, -1, [1, 5], "x", True], 2, "ValueError: Input a is not an odd value."),
    ("odd", [[1]], (1, 4), "Input a[1] is not an odd value."), ("odd", [1], 0, "Input a is not"),
    ("filled = ValueError empty", [[1], (0,), 0, ""], [], "ValueError: empty"),
    ("given = KeyError none", [0, "", []], None, "none"),
    ("among 2,3,x = ValueError got {value}", [2, 3, "x", "2"], 4, "ValueError: got 4"),
    ("pair", [None, (1, 2)], [1, 2], "ValueError: Value a needs to be a 2-tuple."),
    ("pair", [(1, 2)], (1, 2, 3), "Value a needs to be a 2-tuple."), ("pair", [None], 3, "2-tuple"),
    ("fill", [0, 255, (0, 1, 255)], 256, "ValueError: Input a is not within"),
    ("fill", [0], -1, "required interval of [0, 255]"), ("fill", [0], None, "a single integer or"),
    ("fill", [0], (1, 2), "TypeError: a should be a single integer or a 3-tuple."),
    ("fill", [0], [1, 2, 3], "a should be a single integer"),
    ("fill", [0], (0, 0, 256), "Input a[2] is not within"),
    ("fill", [0], (0, 1.5, 0), "TypeError: Argument a[1] with value 1.5"),
    ("fill", [0], True, "TypeError: Argument a with value True"),
    ("fill none", [None, 0], 1.5, "a single integer"),
    ("operations = ValueError {place} is none", [[len], len, ()], [len, 3],
     "ValueError: 1 is none"),
    ("operations", [[len, 3]], [len, int], "op_list[1] should be a dataset processing operation")])
def test_rules(rule, good, bad, words):
    for value in good:
        assert keeps(rule, a=value) is None, value
    assert words in said(keeps(rule, a=bad))


@pytest.mark.parametrize("value, fits", [
    (1, True), (0.1, True), (0, False), (-1, False), ([3, 1], True), ([1, 0], False),
    ((0, 5), True), ([0], True), ("x", True)])
def test_a_number_or_the_last_of_two_is_above_0(value, fits):
    assert (keeps("positive = ValueError no", a=value) is None) is fits


@pytest.mark.parametrize("rule, below, same, above", [
    ("above", False, False, True), ("atleast", False, True, True), ("atmost", True, True, False),
    ("below", True, False, False)])
def test_two_arguments_are_compared(rule, below, same, above):
    for value, fits in ((1, below), (2, same), (3, above)):
        error = keeps(f"{rule} with b = ValueError {{value}} and {{other}}", a=value, b=2)
        assert (error is None) is fits
        if not fits:
            assert said(error) == f"ValueError: {value} and 2"
    for one, other in ((None, 1), (1, None), ("x", 1), (True, 2), (3, True)):
        assert keeps(f"{rule} with b = ValueError no", a=one, b=other) is None


@pytest.mark.parametrize("one, other, fits", [
    ([1, 2], [3, 4], True), ([1], (1, 2), False), ([], [], True), ([1], 3, True), (3, [1], True),
    ([1], None, True)])
def test_two_lists_have_one_length(one, other, fits):
    error = keeps("same with b = ValueError {value} and {other}", a=one, b=other)
    assert (error is None) is fits
    if not fits:
        assert said(error) == "ValueError: 1 and 2"
    assert keeps("same with b = ValueError no", a=[1, 2]) is None  # the other isn't given


@pytest.mark.parametrize("value, given, fits", [
    (100, {"f_min": 49.0}, True), (100, {"f_min": 50.0}, False), (101, {"f_min": 50.0}, False),
    (100, {"f_min": 50.0, "f_max": 60.0}, True), (100, {}, True), (1, {}, False), (2, {}, True),
    ("x", {"f_min": 1.0}, True), (100, {"f_min": 50.0, "f_max": None}, False)])
def test_half_of_a_rate_is_above_the_lowest_frequency(value, given, fits):
    error = keeps("halved = ValueError {low} of {value}", a=value, **given)
    assert (error is None) is fits
    if not fits:
        assert said(error) == f"ValueError: {given.get('f_min', 0.0)} of {value}"


def test_kinds_of_items():
    assert keeps("items numpy.str_", a=[np.str_("x")]) is None
    assert "Argument a[0]" in said(keeps("items numpy.str_", a=["x"]))
    assert keeps("items Number", a=[np.float32(1), 2, 1j]) is None
