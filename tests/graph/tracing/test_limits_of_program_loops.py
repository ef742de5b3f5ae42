"""Where loops of compiled functions begin, and cease, to be operations: sizes, numbers, kinds."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.ir.loop import loops_of
from lamella.graph.runtime.compiled import Compiled

from .program_loops import finds_loops, flat, program_of, values

pytestmark = [finds_loops, pytest.mark.filterwarnings("ignore::UserWarning")]
SPACE = {"ops": ops, "ms": ms, "np": np}


def program(start, body, end="", head="while x.max() > 0.4:"):
    return program_of(SPACE, body, start, end, head, n=1)


def is_operation(fn, calls=5):
    """Whether a loop is one operation; the results must be the eager ones."""
    compiled = Compiled(fn)
    for call in range(calls):  # each has another length
        found, wanted = flat(compiled(values(call))), flat(fn(values(call)))
        assert list(map(type, found)) == list(map(type, wanted))
        assert all(map(np.array_equal, found, wanted)), (found, wanted)
        assert [str(f) for f in found[1:]] == [str(w) for w in wanted[1:]]  # also the zero's sign
    return compiled.statistics.replays > 0


# -- how often a loop asks -------------------------------------------------------------------------


def loops_in(compiled):
    replay = next(iter(compiled.cache.all_entries())).replay
    return len(loops_of(replay.execution.graph.graph.nodes))


def counting(steps, more=lambda a: a):
    def run(a):
        b = more(a)
        x, t = a, 0 * a.sum()
        while t < steps:
            x = x * 0.9 + 0 * b.sum()
            t = t + 1
        return x

    return run


@pytest.mark.parametrize("steps, loops", [(5, 0), (6, 1), (7, 1)])
def test_a_loop_that_asks_more_than_six_times_should_be_an_operation(steps, loops):
    run = counting(steps)
    compiled = Compiled(run)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(values(1)).asnumpy(), run(values(1)).asnumpy())
    assert loops_in(compiled) == loops


def with_a_given(a, b):
    x, t = a, 0 * a.sum()
    while t < 6:
        x, t = x * b.max(), t + 1
    return x


def with_an_assigned(a, b):
    x, t, y = a, 0 * a.sum(), b
    while t < 6:
        y = b * x.max()
        x, t = x * 0.9, t + 1
    return x, y


def with_a_part(a, b):
    pair, t = (a, [b]), 0 * a.sum()
    while t < 6:
        pair, t = (pair[0] * 0.9, [pair[1][0] * 0.5]), t + 1
    return pair[0], pair[1][0]


def beside(a, b):
    x, t, y = a, 0 * a.sum(), b * 2
    while t < 6:
        x, t = x * 0.9, t + 1
    return x, y


@pytest.mark.parametrize("fn, loops", [
    (with_a_given, (1, 0)), (with_an_assigned, (1, 0)), (with_a_part, (1, 0)), (beside, (1, 1))],
    ids=lambda part: getattr(part, "__name__", ""))
def test_a_loop_of_large_tensors_asks_as_often_as_it_likes(fn, loops):
    for size, count in zip((2**16, 2**16 + 1), loops, strict=True):
        compiled, b = Compiled(fn), ops.ones((size,)) * 0.9
        for _ in range(3):
            for x, y in zip(flat(compiled(values(1), b)), flat(fn(values(1), b)), strict=True):
                np.testing.assert_array_equal(x, y)
        assert loops_in(compiled) == count


# -- steps that are unlike -------------------------------------------------------------------------


@pytest.mark.parametrize("following, is_one", [
    ("{'a': 'b', 'b': 'b'}", True), ("{'a': 'b', 'b': 'c', 'c': 'c'}", False),
    ("{'a': 'a'}", True)])
def test_the_second_step_may_be_the_first_that_is_like_the_others(following, is_one):
    fn = program("kind, rates = 'a', {'a': 0.8, 'b': 0.7, 'c': 0.6}",
                 f"x, kind = x * rates[kind], {following}[kind]")
    compiled = Compiled(fn)
    for call in range(5):
        a = Tensor(np.float32([3.0, 2.0]) * 1.6**call)
        for found, wanted in zip(flat(compiled(a)), flat(fn(a)), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert (compiled.statistics.traces < 5) == is_one


@pytest.mark.parametrize("start, body", [
    ("y = a.astype(ms.float16)", "y = (x * 0.5).sum()"), ("y = a", "y = x.astype(ms.float64)"),
    ("y = a", "y = x[:2]"), ("y = 1", "y = x"), ("y = a", "y = 1.5"), ("y = (a,)", "y = [x]"),
    ("y = 1", "y = 1.0"), ("y = None", "y = x"), ("y = True", "y = 1"), ("y = (a, 1)", "y = (x,)"),
    ("y = 'a'", "y = y + 'a'"), ("y = {}", "y = {}"), ("y = a", "y = x * 1j"),
    ("y = ms.Parameter(a, name='y')", "y = x"), ("y = a", "y = weight")])
def test_a_value_of_another_kind_in_each_step(start, body):
    """The value is read afterwards; so it is what each step gives in turn."""
    SPACE["weight"] = ms.Parameter(np.ones(4, np.float32), name="weight")
    fn = program(start, body + "\nx = x * 0.8",
                 "n = len(y) if isinstance(y, (tuple, list, str, dict)) else y")
    compiled = Compiled(fn)
    for call in (2, 3, 4, 0):
        for found, wanted in zip(flat(compiled(values(call))), flat(fn(values(call))), strict=True):
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(found, wanted)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first, is_one", [
    ("2**53 - 1", True), ("2**53 + 9", False), ("1 - 2**53", True), ("-2**53 - 9", False),
    ("10**30", False), ("np.int64(3)", False), ("1e300", True), ("1j", False)])
def test_numbers_that_are_carried(first, is_one):
    fn = program(f"m = {first}", f"m, x = m {'+' if first[0] == '-' else '-'} 1, x * 0.8", "n = m")
    assert is_operation(fn) == is_one


@pytest.mark.parametrize("head, is_one", [
    ("for n in range(low, most):", True), ("for n in range(low, huge):", False),
    ("for n in range(high, low, step):", True), ("for n in range(low, most, large):", True),
    ("for n in range(low, most, wide):", False), ("for n in range(yes, high):", False),
    ("for n in range(int64, high):", False), ("for n in range(2 * low, high):", False)])
def test_the_bounds_of_a_range(head, is_one):
    start = ("low, high, step, large, wide, huge = 3, 2**33, -2, 2**31 - 1, 2**31, 2**53\n"
             "yes, int64, most = True, np.int64(2), huge - 1\n")
    fn = program(start, "if x.max() < 0.4:\n    break\nx = x * 0.8\nh = h + n", head=head)
    assert is_operation(fn) == is_one


@pytest.mark.parametrize("body, is_one", [
    ("n = n + int('7', 8)", True), ("n = n + int('7', base=8)", True), ("h = h + float()", True),
    ("n = int(*[n]) + 1", False), ("h = float(*[x.sum()])", False), ("h = float(x.sum())", True),
    ("h = x.sum().item()", True), ("h = x.item(0)", False), ("n, h = int(h), h + 0.25", False),
    ("n = int(n) + 1", True), ("h = float(n) * 0.5\nn = n + 1", True), ("h = float(h) * 0.5", True),
    ("n = int((x > 0.5).sum() > 2) + n", True), ("n = int(x.sum())", False),
    ("n = int((x > 0.5).int().sum())", True), ("h = float((x > 0.5).sum())", True),
    ("h = float((x > 0.5).any())", True), ("n = (x > 0.5).int().sum().item()", True),
    ("h = h + 1 if (x > 0.5).all().item() else h", True), ("h = float('2.5') + n", True),
    ("h = -h", True), ("n = abs(-n) + 1", True), ("h = +h", False), ("n = n // 2", False),
    ("h = h ** 2", False), ("h = h / 4 + h / 0.5", True), ("h = h % 0.3", False),
    ("n = n + True", False), ("n = n + (n > 3)", False), ("h = round(h, 2)", False),
    ("n = -n\nh = h + 1 if n else h - 1", True),
    ("h = h + 1 if not n > 2 else h", True), ("h = h + 1 if n > 2 and n < 5 else h", True),
    ("h = h + 1 if n > 2 or x.max() > 1 else h\nn = n + 1", True),
    ("h = h + 1 if 2 < n < 5 else h\nn = n + 1", False),
    ("try:\n    h = h / zero\nexcept ZeroDivisionError:\n    h = h + 1", False),
    ("try:\n    h = h / 0.0\nexcept ZeroDivisionError:\n    h = h + 1", False),
    ("y = x * n\nh = y.sum().item()\nn = n + 1", True),
    ("h = (x.int() * h).sum().item()", False), ("h = float((x.int() * n).sum())\nn = n + 1", False),
    ("h = float((x * n < h).sum())\nn = n + 1", True), ("h = float((h >= x).sum())", True),
    ("h = float((x.int() < h).sum())", False)])
def test_what_steps_compute_with_numbers(body, is_one):
    SPACE["zero"] = 0
    fn = program("", body + "\nx = x * 0.8")
    assert is_operation(fn) == is_one


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("other", ["2", "3", "2.0", "2.5", "m", "h"])
def test_comparisons_of_numbers(name, other):
    sign = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}[name]
    fn = program("m, h, k = 2, 2.0, 0", f"if n {sign} {other}:\n    k = k + 1\n"
                 f"if {other} {sign} n:\n    k = k + 10\n"
                 "n, m, h, x = n + 1, m + 2, h + 1.5, x * 0.8", "n = k")
    assert is_operation(fn)


@pytest.mark.parametrize("then, otherwise, is_one", [
    ("2**53 + 1", "1", False), ("2**53 - 1", "1", True), ("-2**53", "1", False),
    ("2.0**60", "1.0", True)])
def test_ints_that_a_float_cannot_hold_are_compared_exactly(then, otherwise, is_one):
    fn = program("", f"m = {then} if x.max() > 0.8 else {otherwise}\n"
                 "x = x * (0.5 if m > 2.0**53 else 0.9)")
    assert is_operation(fn) == is_one


# -- choices ---------------------------------------------------------------------------------------


LENGTH = "x * 0.9 + 0.01 * len(z)"
RATES = "x * {None: 0.7, 'a': 0.8, 'b': 0.6, True: 0.9, False: 0.5}[z]"
PAIR = "x * 0.5 + z[0] * 0.1 + z[1] * 0.01"


@pytest.mark.parametrize("then, otherwise, use, is_one", [
    ("1", "2", "x * z * 0.4", True), ("1", "1", "x * [0, 0.7][z]", True),
    ("1", "2", "x * [0, 0.7, 0.8][z]", False), ("0.0", "-0.0", "x * 0.8 + z", True),
    ("0.0", "-0.0", "x * {'0.0': 0.8, '-0.0': 0.7}[str(z)]", False),
    ("1.5", "1.5", "x * {'1.5': 0.8}[str(z)]", True), ("1", "1.0", "x * 0.8 * z", False),
    ("True", "True", RATES, True), ("True", "False", RATES, False), ("1", "True", RATES, False),
    ("'a'", "'a'", RATES, True), ("'a'", "'b'", RATES, False), ("None", "None", RATES, True),
    ("None", "True", RATES, False), ("x", "x * 2", "z * 0.4", True),
    ("x", "x[:2]", "x * 0.7 + z.sum() * 0.01", False), ("x", "1", "x * 0.7 + z * 0.01", False),
    ("x", "x.astype(ms.float64)", "(z * 0.7).astype(ms.float32)", False),
    ("1", "x", "x * 0.7 + z * 0.01", False),
    ("x", "None", "x * 0.7 if z is None else x * 0.8", False),
    ("(x, 1)", "(x * 2, 2)", PAIR, True), ("(x, 1)", "(x,)", LENGTH, False),
    ("(x, 1)", "[x, 1]", PAIR, False), ("[x, 1]", "[x, 1]", PAIR, False),
    ("(x, (1, 'a'))", "(x, (2, 'a'))", "z[0] * 0.7 + z[1][0] * 0.01", True),
    ("(x, (1, 'a'))", "(x, (2, 'b'))", "z[0] * 0.7 + z[1][0] * 0.01", False),
    ("n", "n", "x * 0.8 + z * 0.001", True), ("n", "n + 1", "x * 0.8 + z * 0.001", True),
    ("n", "3", "x * 0.8 + z * 0.001", True), ("h", "3", "x * 0.8 + z * 0.001", False),
    ("h", "3.5", "x * 0.8 + z * 0.001", True), ("()", "()", LENGTH, True),
    ("weight", "x", "x * 0.7 + z * 0.01", False), ("x", "weight", "x * 0.7 + z * 0.01", False),
    ("weight", "weight", "x * 0.7 + z * 0.01", True)], ids=range(35))
def test_values_of_which_one_is_chosen(then, otherwise, use, is_one):
    SPACE["weight"] = ms.Parameter(np.ones(4, np.float32), name="weight")
    fn = program("", f"if x.max() > 0.8:\n    z = {then}\nelse:\n    z = {otherwise}\n"
                 f"x, n = {use}, n + 1")
    assert is_operation(fn) == is_one
