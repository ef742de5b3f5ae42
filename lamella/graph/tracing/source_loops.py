"""Loops of the program's source whose next step depends on a Tensor: `while` and `break`.

A loop is seen from the place where the Tensor is asked, its *test*. What runs from one test to the
next is a step: the statements after the test, the loop's own `again` (``i < 100``, or the next
count of a `range`), and the statements in front of it. Only what can be said of each step alike is
found here: no other way out of the loop, one test, names that are the function's own.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import functools
import itertools
import linecache
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_NESTED = (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# what a step can't contain, since it leaves the loop or does more than computing; of a `try` in the
# step itself only what runs without an error is left (`without_handlers`)
REFUSED = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Try,
            ast.Delete, ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFunctionDef,
            ast.AsyncFor, ast.AsyncWith, ast.NamedExpr, ast.Match, *(
                getattr(ast, name) for name in ("TryStar", "TypeAlias") if hasattr(ast, name)))
MOST_WAYS = 8  # through the statements of a step
_VIEWS = frozenset("""contiguous detach diagonal expand expand_as flatten narrow permute ravel
    reshape reshape_as select squeeze swapaxes swapdims t to transpose unfold unsqueeze view view_as
    """.split())  # methods whose result may share memory with their Tensor
_SPIES = {"locals", "vars", "dir", "exec", "eval", "super", "globals"}


class Count(NamedTuple):
    """The variable of a ``for i in range(...)``, and the arguments of `range`."""

    name: str
    bounds: list[ast.expr]


class SourceLoop(NamedTuple):
    """A loop, seen from its test.

    Attributes:
        statement: where the `while` is, or the `if` of the `break`.
        lines: those of the loop.
        test: whether the loop ends (`ends` is True), or goes on (False).
        ends: what the test gives in the end.
        last: the value of a part of the test by which the loop ends.
        asked: where the parts of the test are in the source.
        after, before: the statements of a step after the test, and before the next test.
        again: an expression between these that has to be true; None if there is none.
        count: of a loop over a range.
        assigned: the names that a step assigns.
        given: those that it reads before it assigns them.
        read: those whose values in the end may be read.
        captured: those that functions read that are made outside of the loop.
        later: those that the statements after the test mention.
    """

    statement: tuple[int, int, int, int]
    lines: range
    test: ast.expr
    ends: bool
    last: bool
    asked: set[tuple[int, int, int, int]]
    after: list[ast.stmt]
    before: list[ast.stmt]
    again: ast.expr | None
    count: Count | None
    assigned: list[str]
    given: set[str]
    read: set[str]
    captured: set[str]
    later: set[str]


# code that was made of a loop's statements, with the code that these are from
made_of: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()


def loop_asked_by(frame: types.FrameType) -> SourceLoop | None:
    """The loop for whose test a function is asking just now; None if there is none."""
    code = frame.f_code
    loop = _loop_at(made_of.get(code, code), frame.f_lineno)
    if loop is None or not hasattr(code, "co_positions"):  # before Python 3.11
        return None
    name = dis.opname[code.co_code[frame.f_lasti]]
    positions: Any = code.co_positions()  # type: ignore[attr-defined]
    place = next(itertools.islice(positions, frame.f_lasti // 2, None))
    if "JUMP" in name or name in ("TO_BOOL", "UNARY_NOT"):
        test = _place(loop.test)
        is_asked = place == loop.statement or (
            test[::2] <= place[::2] and place[1::2] <= test[1::2])
    else:
        is_asked = place in loop.asked
    return loop if is_asked else None


@functools.lru_cache(maxsize=256)
def _loop_at(code: types.CodeType, line: int) -> SourceLoop | None:
    try:
        return _loop_in(code, line)
    except RecursionError:  # of expressions that are very deep
        return None


def _loop_in(code: types.CodeType, line: int) -> SourceLoop | None:
    function = _function(code)
    if function is None:
        return None
    found = None
    for loop in _own(function.body):
        test = _tested(loop, line)
        if test is not None:
            found = loop, *test
    if found is None:
        return None
    around = [node for node in _own(function.body) if isinstance(node, (ast.While, ast.For))
              and node is not found[0] and node.lineno <= line <= (node.end_lineno or 0)]
    return _described(function, bool(around), *found)


def _function(code: types.CodeType) -> ast.FunctionDef | None:
    """The definition of a function, if its source is still what the code was made of."""
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    return _functions(code.co_filename, "".join(lines), code.co_flags & FUTURE).get(_key(code))


FUTURE = __future__.annotations.compiler_flag  # it alone changes what code does


def _key(code: types.CodeType) -> Any:
    return (code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames,
            code.co_freevars, code.co_cellvars,
            repr([c for c in code.co_consts if not isinstance(c, types.CodeType)]))


@functools.lru_cache(maxsize=64)
def _functions(file: str, text: str, flags: int) -> dict[Any, ast.FunctionDef]:
    """The functions of a file, by what their code says."""
    try:
        tree = ast.parse(text)
        whole = compile(text, file, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    places = {(node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node
              for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {_key(code): places[place] for code in _codes(whole)
            if (place := (code.co_name, code.co_firstlineno)) in places}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _own(body: Iterable[ast.AST]) -> Iterator[Any]:
    """The nodes of statements without those of functions in them, from outside to inside."""
    for node in body:
        yield node
        if not isinstance(node, _NESTED):
            yield from _own(ast.iter_child_nodes(node))


def _tested(loop: ast.AST, line: int) -> tuple[ast.expr, int | None] | None:
    """The test of a loop at a line, with the number of its statement, if it is a `break`."""
    if isinstance(loop, ast.While) and _is_at(loop, line):
        return loop.test, None
    if isinstance(loop, (ast.While, ast.For)):
        for place, part in enumerate(loop.body):
            if isinstance(part, ast.If) and _is_at(part, line) and not part.orelse and (
                    len(part.body) == 1 and isinstance(part.body[0], ast.Break)):
                return part.test, place
    return None


def _is_at(statement: Any, line: int) -> bool:
    """Whether the test of a statement is at a line."""
    return statement.lineno <= line <= statement.test.end_lineno


def _described(function: ast.FunctionDef, is_inner: bool, loop: Any, test: ast.expr,
               place: int | None) -> SourceLoop | None:
    again, count = None, None
    if place is None:
        after, before = loop.body, []
    else:
        after, before = loop.body[place + 1:], loop.body[:place]
        if isinstance(loop, ast.For):
            count = _counted(loop)
            if count is None:
                return None
        elif not (isinstance(loop.test, ast.Constant) and loop.test.value):
            again = loop.test
    after, before = without_continue(without_handlers(after)), without_handlers(before)
    ends = place is not None
    parts, last = zip(*_endings(test, ends), strict=True)
    if loop.orelse or len({*last}) > 1 or None in last or any(map(_asks, parts)) or any(
            leaves(node) for node in (*after, *before)):
        return None
    step = [*after, *before]
    nodes = [*_everything([*step, test, *([again] if again else [])])]
    if any(isinstance(node, REFUSED) or _is_private(node) or (
            isinstance(node, ast.AnnAssign) and node.value is None) for node in nodes) or any(
            isinstance(node, ast.Name) and node.id in _SPIES for node in ast.walk(function)):
        return None
    assigned = assigned_in(step)
    if count is not None:
        if count.name in assigned or any(
                name in assigned for bound in count.bounds for name in _names(bound)):
            return None
        assigned = [count.name, *assigned]
    inside = {id(node) for node in ast.walk(loop)}
    shared = _sharing_memory((node for node in ast.walk(function) if id(node) not in inside),
                             assigned)
    if any(id(node) not in inside and not _changed(node).isdisjoint(shared)
           and (is_inner or getattr(node, "lineno", 0) > (loop.end_lineno or 0))
           for node in ast.walk(function)):
        return None  # without a step it would change what the program has under other names
    read = {name.id for node in ast.walk(function) for name in _used(node)
            if id(name) not in inside}
    given = _given(test, again, after, before)
    statement = loop if place is None else loop.body[place]
    return SourceLoop(
        _place(statement), range(loop.lineno, (loop.end_lineno or 0) + 1), test, ends,
        bool(last[0]), {_place(part) for part in parts}, after, before, again, count, assigned,
        given, read | given if is_inner else read, _captured(function, inside),
        {name for part in after for name in _names(part)})


class _Unhandled(ast.NodeTransformer):
    """Puts what runs without an error in the place of each `try`."""

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        parts = [self.visit(part) for part in (*node.body, *node.orelse, *node.finalbody)]
        return [one for part in parts for one in (part if isinstance(part, list) else [part])]

    def _visit_other(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_other


def without_handlers(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a step without what handles errors.

    A step in which an error is raised isn't recorded; and where a kernel raises one in a replay,
    the call runs eagerly, with its handlers.
    """
    if not any(isinstance(node, ast.Try) for node in _own(body)):
        return body
    return _Unhandled().visit(ast.Module(copy.deepcopy(body), [])).body


def without_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements at the end of a step, with an `else` in place of each ``if ...: continue``.

    What follows is copied to each way that leads there, unless that is too much.
    """
    for place, part in enumerate(body):
        if isinstance(part, ast.Continue):
            return body[:place]
        if isinstance(part, ast.If) and leaves(part):
            rest, ways = body[place + 1:], (part.body, part.orelse)
            if _ends(body) > MOST_WAYS:
                return body
            then, otherwise = [way if _continues(way) else [*way, *rest] for way in ways]
            chosen = ast.If(part.test, without_continue(then) or [ast.Pass()],
                            without_continue(otherwise))
            return [*body[:place], ast.copy_location(chosen, part)]
    return body


def _ends(body: list[ast.stmt]) -> int:
    """In how many ways, by each ``if`` with a `continue`, statements come to their end."""
    count = 1
    for part in body:
        if isinstance(part, ast.Continue):
            return 0
        if isinstance(part, ast.If) and leaves(part):
            count *= _ends(part.body) + _ends(part.orelse)
    return count


def _continues(body: list[ast.stmt]) -> bool:
    """Whether statements end with the step in any case."""
    return bool(body) and (isinstance(body[-1], ast.Continue) or isinstance(
        body[-1], ast.If) and _continues(body[-1].body) and _continues(body[-1].orelse))


def _everything(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from ast.walk(node)


def _endings(test: ast.expr, whole: bool) -> Iterator[tuple[ast.expr, bool | None]]:
    """The parts of a test, each with the value by which it alone makes the test `whole`; None if it
    can't.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if whole else ast.And):
        for value in test.values:
            yield from _endings(value, whole)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _endings(test.operand, not whole)
    elif isinstance(test, (ast.BoolOp, ast.IfExp)):
        yield test, None
    else:
        yield test, whole


def _asks(part: ast.expr) -> bool:
    """Whether a truth value is asked for inside of a part of a test."""
    return any(isinstance(node, (ast.BoolOp, ast.IfExp, *_COMPREHENSIONS)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)) or (
        isinstance(node, ast.Compare) and (len(node.ops) > 1 or isinstance(
            node.ops[0], (ast.In, ast.NotIn)))) for node in ast.walk(part))


def _place(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def leaves(node: ast.AST, inner: bool = False) -> bool:
    """Whether a statement leaves the loop around it, or goes on with its next step."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return not inner
    if isinstance(node, _NESTED):
        return False
    own = node.body if isinstance(node, (ast.While, ast.For)) else ()  # not its `else`
    return any(leaves(part, inner or part in own) for part in ast.iter_child_nodes(node))


def _is_private(node: ast.AST) -> bool:
    """Whether a name means something else outside of its class."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return isinstance(name, str) and name.startswith("__") and not name.endswith("__")


def _counted(loop: ast.For) -> Count | None:
    """The count of a loop over a `range`."""
    called = loop.iter
    if (isinstance(loop.target, ast.Name) and isinstance(called, ast.Call)
            and isinstance(called.func, ast.Name) and called.func.id == "range"
            and all(isinstance(bound, (ast.Name, ast.Constant)) for bound in called.args)):
        return Count(loop.target.id, called.args)
    return None


def assigned_in(body: Iterable[ast.AST]) -> list[str]:
    """The names that statements assign, in order."""
    found: dict[str, None] = {}
    for node in body:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] = None
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif not isinstance(node, (*_NESTED, *_COMPREHENSIONS)):  # whose names are their own
            found.update(dict.fromkeys(assigned_in(ast.iter_child_nodes(node))))
    return list(found)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _changed(node: ast.AST) -> set[str]:
    """The names in what a node changes in place: `x[0] = y`, `x.view(3)[0] = y`, `x.add_(y)`."""
    if isinstance(node, ast.Subscript):
        return set() if isinstance(node.ctx, ast.Load) else _names(node.value)
    if not isinstance(node, ast.Call):
        return set()
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return _names(node) if name.endswith("_") and not name.endswith("__") else set()


def _sharing_memory(nodes: Iterable[ast.AST], names: Iterable[str]) -> set[str]:
    """Names, and those that may share memory with them, as far as assignments tell: `y = x`,
    `y = x[0]`, `y = x.view(3)`, `(x, y) = x, z`."""
    pairs = [({*assigned_in([target])}, _names_of_memory(node.value)) for node in nodes
             if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value
             for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    found, before = set(names), -1
    while len(found) > before:
        before = len(found)
        for pair in pairs:
            for given, taken in (pair, pair[::-1]):
                if not found.isdisjoint(given):
                    found |= taken
    return found


def _names_of_memory(value: ast.expr) -> set[str]:
    """The names whose memory an expression may give."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.IfExp):
        return _names_of_memory(value.body) | _names_of_memory(value.orelse)
    if isinstance(value, (ast.Tuple, ast.List)):
        return {name for part in value.elts for name in _names_of_memory(part)}
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and (
            value.func.attr in _VIEWS):
        return _names_of_memory(value.func.value)
    if isinstance(value, (ast.Subscript, ast.Attribute, ast.Starred)):
        return _names_of_memory(value.value)
    return set()


def _used(node: ast.AST) -> Iterator[ast.Name]:
    """The name that a node uses, if any: reads, deletes, or changes as by `+=`."""
    name = node.target if isinstance(node, ast.AugAssign) else node
    if isinstance(name, ast.Name) and (name is not node or not isinstance(name.ctx, ast.Store)):
        yield name


def _captured(function: ast.FunctionDef, inside: set[int]) -> set[str]:
    """The names that functions in a function, made outside of the loop, mention."""
    return {name for node in ast.walk(function) if isinstance(node, _NESTED)
            and node is not function and id(node) not in inside for name in _names(node)}


def _given(test: ast.expr, again: ast.expr | None, after: list[ast.stmt], before: list[ast.stmt]
           ) -> set[str]:
    """The names that are read, from one test to the end of the next, before they are assigned."""
    found: set[str] = set()
    known: set[str] = set()
    _read([test], known, found)
    _read(after, known, found)
    _read([again] if again else [], known, found)
    _read(before, known, found)
    return found


def _read(body: Iterable[ast.AST], known: set[str], found: set[str]) -> None:
    """Add the names that statements read before they are `known`, and those they assign to these.
    """
    for node in body:
        if isinstance(node, ast.If):
            _read([node.test], known, found)
            ways = [set(known), set(known)]
            _read(node.body, ways[0], found)
            _read(node.orelse, ways[1], found)
            known |= ways[0] & ways[1]
        elif isinstance(node, (ast.While, ast.For)):
            _read([node.iter] if isinstance(node, ast.For) else [node.test], known, found)
            inner = set(known)
            if isinstance(node, ast.For):
                _read([node.target], inner, found)
            _read(node.body, inner, found)
            _read(node.orelse, set(known), found)
        elif isinstance(node, ast.With):
            _read([item.context_expr for item in node.items], known, found)
            _read([item.optional_vars for item in node.items if item.optional_vars], known, found)
            _read(node.body, known, found)
        else:
            loads = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)
                     and (isinstance(part.ctx, ast.Load) or isinstance(node, ast.AugAssign))}
            found |= loads - known
            known |= set(assigned_in([node]))
