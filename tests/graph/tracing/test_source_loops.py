"""What the source of a function says of its loops that end by a Tensor."""

import __future__

import ast
import contextlib
import linecache
import sys

import pytest

from lamella.graph.tracing.source_loops import (
    assigned_in,
    leaves,
    loop_asked_by,
    without_continue,
    without_handlers,
)
from tests.graph.random_loops import compile_source

from .program_loops import finds_loops


class Asked:
    """Stands for a Tensor: it knows the loop that asks for its truth value."""

    def __init__(self, answers=()):
        self.answers, self.loops = list(answers), []

    def __bool__(self):
        self.loops.append(loop_asked_by(sys._getframe(1)))
        if not self.answers:
            raise StopIteration
        return self.answers.pop(0)

    def __gt__(self, other):
        return self

    __eq__ = __gt__
    __hash__ = object.__hash__

    def __call__(self, *_):
        return self

    @property
    def text(self):
        return self

    def __len__(self):
        return 1


def described(lines, answers=()):
    """The loops that ask for truth values of a function's `t`, in turn."""
    text = f"def program(t, n=3, p=1, q=2, s=(0, 1)):\n    {_indented(lines)}\n"
    fn = compile_source(text, f"source_loop_{abs(hash(text))}", {"contextlib": contextlib})
    asked = Asked(answers)
    with contextlib.suppress(StopIteration):
        fn(asked)
    return asked.loops


SIMPLE = "while t:\n    p = q"


@finds_loops
@pytest.mark.parametrize("lines, assigned, given", [
    (SIMPLE, ["p"], "t q"),
    ("while t:\n    p = q\n    q = p", ["p", "q"], "t q"),
    ("while t:\n    p += 1", ["p"], "t p"),
    ("while t:\n    p: int = 1", ["p"], "t int"),
    ("while t:\n    p, [q, *n] = s", ["p", "q", "n"], "t s"),
    ("while t:\n    if n:\n        p = q = 1\n    else:\n        p = 2\n    u = p + q",
     ["p", "q", "u"], "t n q"),
    ("while t:\n    if p:\n        pass\n    else:\n        p = n\n    q = p", ["p", "q"], "t p n"),
    ("while t:\n    if n:\n        pass\n    else:\n        u = 1\n    p = u", ["u", "p"], "t n u"),
    ("while t:\n    for i in s:\n        w = i\n    v = w", ["i", "w", "v"], "t s w"),
    ("while t:\n    for i in s:\n        pass\n    else:\n        w = i", ["i", "w"], "t s i"),
    ("while t:\n    while n:\n        n = q\n        q = n\n    p = q", ["n", "q", "p"], "t n q"),
    ("while t:\n    while n:\n        w = n\n        v = w\n    else:\n        u = v\n    p = w",
     ["w", "v", "u", "p"], "t n v w"),
    ("while t:\n    with s as (u, v):\n        p = u\n    q = v", ["u", "v", "p", "q"], "t s"),
    ("while t:\n    with s:\n        p = n", ["p"], "t s n"),
    ("while t:\n    p = lambda: q", ["p"], "t q"),
    ("while True:\n    p = q\n    if t:\n        break\n    q = p", ["q", "p"], "t p"),
    ("while n:\n    p = q\n    if t:\n        break\n    n = 2", ["n", "p"], "t q"),
    ("while n:\n    n = 2\n    if t:\n        break\n    p = n", ["p", "n"], "t n"),
    ("while t:\n    try:\n        p = q\n    except ValueError:\n        q = 2", ["p"], "t q")])
def test_the_names_that_a_step_assigns_and_those_it_reads_before(lines, assigned, given):
    loop, = described(lines)
    assert loop.assigned == assigned and loop.given == set(given.split())


@finds_loops
@pytest.mark.parametrize("lines, read", [
    (SIMPLE, ""), (SIMPLE + "\nreturn p", "p"), ("n = s\n" + SIMPLE + "\nn = 1", "s"),
    ("for i in s:\n    while t:\n        p = q\nn", "s n t q"),  # the next time it runs
    ("while n:\n    while t:\n        p = q\n    q = 3", "n t q"),
    ("while n:\n    while t: p = q", "n t q"), (SIMPLE + "\nwhile n:\n    n = s", "n s"),
    ("while n:\n    n = 0\n" + SIMPLE, "n")])
def test_the_names_that_may_be_read_after_a_loop(lines, read):
    assert described(lines)[0].read == set(read.split())


@finds_loops
def test_the_parts_of_a_loop_around_its_test():
    loop, = described("n = 1\nwhile n < 9:\n    q = n\n    if t:\n        break\n    p = q\n"
                      "    u = p\nreturn u")
    assert loop.lines == range(3, 9)
    assert [ast.unparse(part) for part in loop.after] == ["p = q", "u = p"]
    assert [ast.unparse(part) for part in loop.before] == ["q = n"]
    assert ast.unparse(loop.again) == "n < 9" and ast.unparse(loop.test) == "t"
    assert loop.later == {"p", "q", "u"} and loop.count is None
    loop, = described("for i in range(n, 9):\n    q = n\n    if t:\n        break\n    p = i")
    assert loop.count.name == "i" and [ast.unparse(b) for b in loop.count.bounds] == ["n", "9"]
    assert loop.assigned == ["i", "p", "q"] and loop.again is None
    loop, = described(SIMPLE)
    assert loop.again is None and loop.before == [] and len(loop.after) == 1
    assert loop.statement == (2, 3, 4, 13)
    loop, = described("while 1:\n    if t:\n        break\n    p = q")
    assert loop.again is None and loop.statement == (3, 4, 8, 17)


@finds_loops
@pytest.mark.parametrize("test, ends, last, asked", [
    ("while t:\n    p = q", False, False, ["t"]),
    ("while not t:\n    p = q", False, True, ["t"]),
    ("while n and t:\n    p = q", False, False, ["n", "t"]),
    ("while n and (p and not (q > 5 or t)):\n    p = q", None, None, None),
    ("while not (q > 5 or t):\n    p = q", False, True, ["q > 5", "t"]),
    ("while not (not t):\n    p = q", False, False, ["t"]),
    ("while t or n:\n    p = q", None, None, None),
    ("while n and not t:\n    p = q", None, None, None),
    ("while t if n else p:\n    p = q", None, None, None),
    ("while (t > 1) == (not n):\n    p = q", None, None, None),
    ("while 0 < n < t:\n    p = q", None, None, None),
    ("while q in [t]:\n    p = q", None, None, None),
    ("while t([n for n in s]):\n    p = q", None, None, None),
    ("while t(-n):\n    p = q", False, False, ["t(-n)"]),
    ("while True:\n    if t:\n        break\n    p = q", True, True, ["t"]),
    ("while True:\n    if not t:\n        break\n    p = q", True, False, ["t"]),
    ("while True:\n    if n > 9 or t:\n        break\n    p = q", True, True, ["n > 9", "t"]),
    ("while True:\n    if n and t:\n        break\n    p = q", None, None, None),
    ("while True:\n    if not (n and t):\n        break\n    p = q", True, False, ["n", "t"])])
def test_by_what_value_of_its_test_a_loop_ends(test, ends, last, asked):
    loop, = described(test)
    if asked is None:
        assert loop is None
    else:
        assert (loop.ends, loop.last) == (ends, last)
        lines = ["", *test.splitlines()]
        assert sorted(lines[line - 1][begin - 4:end - 4] for line, _, begin, end in loop.asked
                      ) == sorted(asked)


@finds_loops
@pytest.mark.parametrize("lines, answers, found", [
    ("while t: p = 2 if t else 3", [True], [True, False]),
    ("while t: p = bool(t)", [True], [True, False]),
    ("while bool(t): p = q", [], [True]),
    ("while t(bool(t)): p = q", [True], [False, True]),
    ("while (n and\n       t):\n    p = q", [], [True]),
    ("while (n and\n       bool(t)):\n    p = q", [], [True]),
    ("while (n < len([1,\n       t])) or t: pass", [], [False]),
    ("p = t and q\nwhile t:\n    p = q", [True], [False, True]),
    ("while n:\n    if t:\n        break\n    q = p\n    if t:\n        break\n    p = q", [False],
     [False, False]),
    ("while n:\n    if t:\n        break\n    else:\n        n = 0", [False], [False]),
    ("while n:\n    if t:\n        n = 0\n        break", [], [False]),
    ("while n:\n    if t:\n        n = 0", [True], [False]),
    ("if t:\n    n = 2", [False], [False]),
    ("while n:\n    if n:\n        if t:\n            break\n    p = q", [], [False]),
    ("def inner():\n    while t:\n        p = q\ninner()", [], [True]),
    ("def inner():\n    while t:\n        p = q\nreturn t and 1", [], [False]),
    ("while t:\n    p = q\nwhile t:\n    q = p\nt and 1", [False, False], [True, True, False])])
def test_which_questions_are_those_of_a_loop(lines, answers, found):
    assert [loop is not None for loop in described(lines, answers)] == found


@finds_loops
@pytest.mark.parametrize("body", [
    "return", "global g", "del n", "import ast", "from ast import parse", "(n := 3)",
    "class C: pass", "break", "if n: break", "if n: return", "p = t.__text", "__p = 1", "p: int",
    "p = locals()", "p = vars", "p = n\n    if n: break\n    else: p = q",
    "for i in s:\n        break\n    else:\n        break",
    "with contextlib.nullcontext():\n        break"])
def test_what_no_step_has(body):
    assert described(f"while t:\n    {body}") == [None]


@finds_loops
@pytest.mark.parametrize("body", [
    "pass", "p = q", "for i in s: break", "while n: continue", "continue", "if n: continue",
    "p = t.__len__()", "__p__ = 1", "p: int = 1", "p = lambda: n", "p = [i for i in s]",
    "p = t.text", "raise ValueError", "assert n", "p = s[0]\n    if n: pass",
    "with contextlib.nullcontext(): p = q",
    "try:\n        p = q\n    finally:\n        q = p"])
def test_what_a_step_may_have(body):
    loop, = described(f"while t:\n    {body}")
    assert loop is not None and not loop.ends


@finds_loops
@pytest.mark.parametrize("head, is_one", [
    ("i in range(n)", True), ("i in range(0, n, 2)", True), ("i in range(n + 1)", False),
    ("i in range(*[9])", False), ("i in s", False), ("i in list(s)", False),
    ("i in s.__class__([3])", False), ("q in range(n)", False), ("i in range(q)", False),
    ("i in range(1, 3 * p)", False), ("i in range(-1, p)", False),
    ("(i, j) in [(0, 1)]", False), ("[i] in [[1]]", False)])
def test_the_loop_over_a_range_whose_bounds_stay(head, is_one):
    loop, = described(f"for {head}:\n    q = n\n    if t:\n        break\n    p = q")
    assert (loop is not None) == is_one


@finds_loops
@pytest.mark.parametrize("before, captured", [
    ("f = lambda: p + n\n", "p n"), ("def f(u):\n    return q\n", "q"), ("", ""), ("f = p\n", "")])
def test_the_names_in_functions_made_outside_of_a_loop(before, captured):
    loop, = described(before + "while t:\n    p = q\n    g = lambda: n")
    assert loop.captured == set(captured.split())


@finds_loops
def test_a_function_that_looks_at_its_variables_has_no_loops():
    assert described("p = dir\nwhile t:\n    p = q") == [None]
    assert described("while t:\n    p = q\nreturn p, exec") == [None]


@finds_loops
def test_the_else_of_a_loop_makes_it_another():
    assert described("while t:\n    p = q\nelse:\n    p = 3") == [None]


@finds_loops
def test_a_function_below_decorators_and_one_whose_source_has_changed():
    asked = Asked()
    text = ("def same(fn):\n    return fn\n@same\n@same\ndef program(t):\n    while t:\n"
            "        p = 1\n")
    fn = compile_source(text, "source_loop_decorated", {})
    with contextlib.suppress(StopIteration):
        fn(asked)
    assert asked.loops[0].lines == range(6, 8)
    for number, other in enumerate((text.replace("p = 1", "p = 7"), "def program(:", "")):
        fn = compile_source(text.replace("p = 1", f"p = {number + 2}"), "source_loop_changed", {})
        file = fn.__code__.co_filename
        linecache.cache[file] = (len(other), None, other.splitlines(True), file)
        asked = Asked()
        with contextlib.suppress(StopIteration):
            fn(asked)
        assert asked.loops == [None]


CHOICE = "if {0}:\n    if {0}1:\n        continue\n    x\nelse:\n    y\n"
THREE = "if {0}:\n    if {0}1:\n        continue\nelif {0}2:\n    if {0}3:\n        continue\n"


def _converted(function, text):
    return ast.unparse(ast.Module(function(ast.parse(f"while z:\n    pass\n    {_indented(text)}"
                                                     ).body[0].body), []))


def _indented(text):
    return text.replace("\n", "\n    ")


@pytest.mark.parametrize("before, after", [
    ("a", "a"), ("a\ncontinue\nb", "a"),
    ("if a:\n    continue\nb", "if a:\n    pass\nelse:\n    b"),
    ("a\nif b:\n    c\n    continue\nd\ne", "a\nif b:\n    c\nelse:\n    d\n    e"),
    ("if a:\n    b\nelse:\n    continue\nc", "if a:\n    b\n    c"),
    ("if a:\n    continue\nelse:\n    continue\nb", "if a:\n    pass"),
    ("if a:\n    b\nc", "if a:\n    b\nc"),
    ("if a:\n    if b:\n        continue\n    else:\n        continue\nc",
     "if a:\n    if b:\n        pass\nelse:\n    c"),
    ("if a:\n    if b:\n        continue\nc",
     "if a:\n    if b:\n        pass\n    else:\n        c\nelse:\n    c"),
    ("for i in a:\n    continue\nb", "for i in a:\n    continue\nb")])
def test_a_step_without_continue(before, after):
    assert _converted(without_continue, before) == "pass\n" + after


@pytest.mark.parametrize("text, ways", [
    ("".join(map(CHOICE.format, "abc")), 8), ("".join(map(CHOICE.format, "abcd")), 16),
    ("".join(map(THREE.format, "ab")), 9), (THREE.format("a") + CHOICE.format("b"), 6),
    ("".join(f"if {name}:\n    continue\n" for name in "abcdefghij"), 1)])
def test_what_follows_is_copied_to_eight_ways_at_most(text, ways):
    text = text + "last"
    found = _converted(without_continue, text)
    if ways <= 8:
        assert found.count("last") == ways and "continue" not in found
    else:
        assert found == "pass\n" + text


@pytest.mark.parametrize("before, after", [
    ("a\nb", "a\nb"), ("try:\n    a\nexcept B:\n    c\nelse:\n    d\nfinally:\n    e\nf",
                       "a\nd\ne\nf"),
    ("try:\n    try:\n        a\n    finally:\n        b\nfinally:\n    c", "a\nb\nc"),
    ("if a:\n    try:\n        b\n    finally:\n        c", "if a:\n    b\n    c"),
    ("def f():\n    try:\n        a\n    finally:\n        b",
     "\ndef f():\n    try:\n        a\n    finally:\n        b"),
    ("try:\n    def f():\n        try:\n            a\n        finally:\n            b\nfinally:\n"
     "    c", "\ndef f():\n    try:\n        a\n    finally:\n        b\nc")])
def test_a_step_without_handlers(before, after):
    assert _converted(without_handlers, before) == "pass\n" + after


@pytest.mark.parametrize("text, found", [
    ("break", True), ("continue", True), ("a", False), ("if a:\n    break", True),
    ("for i in a:\n    break", False), ("while a:\n    continue", False),
    ("if a:\n    for i in b:\n        continue", False), ("with a:\n    continue", True),
    ("for i in a:\n    if i:\n        break", False),
    ("for i in a:\n    b\nelse:\n    break", True), ("while a:\n    b\nelse:\n    continue", True),
    ("for i in a:\n    for j in b:\n        c\n    else:\n        break", False)])
def test_what_leaves_a_loop(text, found):
    assert leaves(ast.parse(f"while z:\n    {_indented(text)}").body[0].body[0]) == found


@pytest.mark.parametrize("text, names", [
    ("a = b = c", "a b"), ("a.b = c\nd[e] = f", ""), ("a, (b, *c) = d", "a b c"),
    ("for a in b:\n    c = 1", "a c"), ("def a(b):\n    c = 1", "a"), ("a = lambda: (b := 1)", "a"),
    ("a = [b for b in c]\nb = 1", "a b"), ("class A:\n    b = 1", ""), ("del a", "a"),
    ("with a as b:\n    c += 1", "b c"), ("b = 1\na = 2\nb = 3", "b a")])
def test_the_names_that_statements_assign(text, names):
    assert assigned_in(ast.parse(text).body) == names.split()


@finds_loops
@pytest.mark.parametrize("end, read", [
    ("del p", "p"), ("p += n", "p n"), ("p = n", "n"), ("p.x += 1", "p"), ("s[p] += n", "s p n"),
    ("p: int = n", "int n"), ("for p in s: pass", "s"), ("(lambda: p)", "p"), ("f'{p}'", "p")])
def test_names_that_are_read_deleted_or_changed_after_a_loop(end, read):
    assert described(SIMPLE + "\n" + end)[0].read == set(read.split())


@finds_loops
@pytest.mark.parametrize("end, is_one", [
    ("p[0] = 1", False), ("p[0] += 1", False), ("p[0][1] = 1", False), ("p.x(3)[0] = 1", False),
    ("del p[0]", False), ("p.add_(1)", False), ("add_(p)", False), ("n.add_(p)", False),
    ("n[p] = 1", True), ("n[0] = p[0]", True), ("p.add(1)", True), ("p.__add__(n)", True),
    ("n.add_(q)", True), ("p = n[0]", True), ("s[0](p)", True)])
def test_what_changes_a_loops_value_in_place(end, is_one):
    assert (described(SIMPLE + "\n" + end)[0] is not None) == is_one
    assert described(f"if n < 0: {end}\n" + SIMPLE)[0] is not None
    loop, *_ = described(f"for i in s:\n    if n < 0: {end}\n    " + _indented(SIMPLE))
    assert (loop is not None) == is_one


@finds_loops
@pytest.mark.parametrize("begin", [
    "p = n", "n = p", "p = n[0]", "p = n.view(3)", "n = p.x", "p, s = n, 2", "u = n; p = u",
    "p: int = n", "p = n if s else 2", "p = [n]", "(p := n)", "p, *s = n"])
@pytest.mark.parametrize("end", ["n.add_(1)", "n[0] = 1", "del n[0]"])
def test_what_changes_a_loops_first_value_in_place(begin, end):
    """Without a step it is the loop's last value, too."""
    assert described(f"if n < 0: {begin}\n{SIMPLE}\n{end}")[0] is None
    assert described(f"if n < 0: {begin}\nif n < 0: {end}\n{SIMPLE}")[0] is not None
    assert described(f"{SIMPLE}\n{begin}\n{end}")[0] is None  # or what is made of the last


@finds_loops
@pytest.mark.parametrize("begin", [
    "p = n + 1", "p = q(n)", "p = n.exp()", "p = -n", "s = n", "p = 2", "p: int",
    "p = [n for n in s]"])
def test_what_changes_another_tensor_than_a_loops(begin):
    assert described(f"if n < 0: {begin}\n{SIMPLE}\nn.add_(1)")[0] is not None


@finds_loops
@pytest.mark.parametrize("lines, given", [
    ("while t:\n    for s[p] in q:\n        n = p\n    p = 1", "t q s p"),
    ("while t:\n    for q in s:\n        n = q\n    p = 1", "t s"),
    ("while t:\n    with s as n.x:\n        p = n\n    q = 1", "t s n"),
    ("while t:\n    with s as q, n as p:\n        u = p, q", "t s n"),
    ("while t:\n    with s:\n        u = 1\n    p = u", "t s")])
def test_only_names_are_assigned_by_the_head_of_a_statement(lines, given):
    assert described(lines)[0].given == set(given.split())


@finds_loops
def test_annotations_that_are_not_evaluated():
    """As the flags of the code say, which a notebook keeps from one cell to the next."""
    flag, asked = __future__.annotations.compiler_flag, Asked()
    text = ("def program(t, p=0):\n    while t:\n        def f(x: Unknown): pass\n"
            "        p = f(p)\n")
    file = "source_loop_annotations.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec", flag), space)
    with contextlib.suppress(StopIteration):
        space["program"](asked)
    assert asked.loops[0].assigned == ["f", "p"]


def _deep(terms):
    return " + ".join(["q"] * terms)


@finds_loops
@pytest.mark.parametrize("terms", [100, 940])
def test_an_expression_may_be_too_deep(terms):
    loops = described(f"q = 1\nwhile t:\n    p = {_deep(terms)}")
    assert (loops[0] is not None) == (terms == 100)
    loops = described(f"q = 1\nwhile t:\n    try:\n        p = {_deep(terms)}\n    finally:\n"
                      "        p = 1")
    assert (loops[0] is not None) == (terms == 100)
