"""Do the tests notice a changed line? `python -m tests.mutations --count 300 --seed 35`.

Each mutation changes one operator, comparison, constant or `not` in a copy of the package. First
all tests run once, and note which of them run these lines (`--runs FOLDER` keeps that for further
calls). Then, for each mutation, the tests that run its line do so with it, until one fails. Of
lines that run on import, or that few tests run in their own process, it is the file's own examples,
the tests that bear its name and those that name what the line belongs to, too, themselves or in
their scripts for other processes. What no test notices is printed: either a test is missing, or the
line says nothing.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.util
import inspect
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, TypeGuard

import pytest

from .probes import lines_tests

ROOT = Path(__file__).parents[1]
OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
             ast.FloorDiv: ("//", "*"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
             ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
             ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
             ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and")}
NO_END = "the tests didn't end"
NEAR = 8  # files of tests that name what has changed
FEW = 4
SECONDS, TESTS = 60, 600  # of the tests that run a line, at most
NOT_RUN = (ast.AnnAssign, ast.arguments, ast.Raise, ast.JoinedStr)  # types, texts, defaults apart
CHECKED = ("strict",)  # keywords that only say what holds in any case


class Mutation(NamedTuple):
    """One change of a file: what stands from `start` to `end` on a line becomes `after`."""

    path: Path
    line: int
    start: int
    end: int
    after: str

    def of(self, source: str) -> str:
        """The file's text with the change."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        lines[self.line - 1] = text[:self.start] + self.after + text[self.end:]
        return "".join(lines)

    def told(self, source: str) -> str:
        """The place, the line and what it became."""
        before = source.splitlines()[self.line - 1]
        after = self.of(source).splitlines()[self.line - 1]
        return f"{self.path}:{self.line}\n  - {before.strip()}\n  + {after.strip()}"


def mutations(path: Path, source: str) -> list[Mutation]:
    """All changes of a file that this knows, by place.

    Examples:
        >>> source = "def f(x):\\n    return x + 1 if x < -3 else not x\\n"
        >>> [change.after for change in mutations(Path("f.py"), source)]
        ['-', '2', '<=', '-2', '']
    """
    lines = source.splitlines()
    found = [Mutation(path, *place) for node in _nodes(ast.parse(source))
             for place in _places(node, lines)]
    return sorted(set(found), key=lambda change: change[1:3])


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose change a test could notice; types, defaults and texts are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in child.body:
                if not isinstance(statement, NOT_RUN):
                    yield statement
                    yield from _nodes(statement)
        elif not (isinstance(child, NOT_RUN)
                  or isinstance(child, ast.keyword) and child.arg in CHECKED):
            if not isinstance(node, (ast.Module, ast.ClassDef)):
                yield child
            if not _is_negative(child):  # a sign and its number are changed together
                yield from _nodes(child)


def _places(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The changes of one node itself: line, start, end and the new text."""
    if isinstance(node, ast.BinOp):
        yield from _between(node.left, node.op, node.right, lines)
    elif isinstance(node, ast.Compare):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators,
                                   strict=False):
            yield from _between(left, op, right, lines)
    elif isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            yield from _between(left, node.op, right, lines)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.lineno, node.col_offset, node.operand.col_offset, ""
    elif _is_negative(node):
        yield node.lineno, node.col_offset, node.operand.end_col_offset, str(1 - node.operand.value)
    elif isinstance(node, ast.Constant) and node.lineno == node.end_lineno:
        after = _constant(node.value)
        if after and node.end_col_offset is not None:
            yield node.lineno, node.col_offset, node.end_col_offset, after


def _is_negative(node: ast.AST) -> TypeGuard[Any]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(
        node.operand, ast.Constant) and isinstance(node.operand.value, (int, float))


def _constant(value: object) -> str:
    """What stands for a constant: the other truth, the next number, nothing for a text."""
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, (int, float)) else ""


def _between(left: ast.expr, op: ast.AST, right: ast.expr,
             lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The operator that stands between two operands on one line."""
    before, after = OPERATORS.get(type(op), ("", ""))
    if not before or left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = lines[right.lineno - 1][left.end_col_offset:right.col_offset]
    start = gap.find(before)
    if start >= 0 and gap.isascii():
        begin = left.end_col_offset + start
        yield right.lineno, begin, begin + len(before), after


def runs_for(change: Mutation, root: Path) -> list[list[str]]:
    """The runs of tests that should notice a change which runs on import, the likeliest first.

    These are the file's own examples and the tests that bear its name, then the tests that name
    what the line belongs to, themselves or in recorded comparisons, and those whose scripts for
    other processes name it, then the nearest folder of tests. Those of the file's room come first.
    """
    inner = change.path.relative_to("lamella")
    room = root / "tests" / inner.parts[0]
    texts = {path: path.read_text("utf-8") for path in sorted((root / "tests").rglob("*.py"))}
    named = [path for path in texts if path.name == f"test_{inner.name}" and room in path.parents]
    of = _names((root / change.path).read_text("utf-8"), change.line) - {"main"} or {inner.stem}
    words = re.compile(rf"\b({'|'.join(of)})\b")
    hits = {path: len(words.findall(text)) for path, text in texts.items()}
    scripts = dict.fromkeys(texts, 0)
    records = sorted((root / "tests").rglob("*.json"))
    for other in [*records, *(path for path in texts if not path.name.startswith("test_"))]:
        count = len(words.findall(other.read_text("utf-8"))) if other in records else hits[other]
        its = hits if other in records else scripts
        use = re.compile(rf"\b{re.escape(other.name)}\b")
        for path in texts if count else ():
            if path.parent == other.parent and path != other and use.search(texts[path]):
                its[path] += count
    first = [str(root / change.path), *map(str, named)]
    near, by_scripts = (_nearest(each, room) for each in (hits, scripts))
    places = [root / "tests" / place for place in inner.parents[:-1]]
    folder = [str(place) for place in places if place.is_dir()][:1]  # the nearest of its tests
    near = [test for test in near if test not in first]
    by_scripts = [test for test in by_scripts if test not in (*first, *near)]
    return [run for run in (first, near, by_scripts, folder) if run]


def _nearest(hits: dict[Path, int], room: Path) -> list[str]:
    """The tests with most hits, those of a room first."""
    near = sorted((path for path in hits if hits[path]),
                  key=lambda path: (room not in path.parents, -hits[path]))
    return [test for path in near if (test := _tests_of(path))][:NEAR]


def _tests_of(path: Path) -> str:
    """The tests in a file; those that use it, if it holds recorded comparisons."""
    if path.parent.name == "cases" and path.parent.parent.name == "conformance":
        tests = path.parent.parent / "test_conformance.py"
        return f"{tests}::test_family[{path.stem}]" if path.stem != "__init__" else ""
    return str(path) if path.name.startswith("test_") else ""


def _names(source: str, line: int) -> set[str]:
    """What a line of a file belongs to: its function, class or name, and what uses that.

    Examples:
        >>> sorted(_names("def _f(x): return x\\ndef g(x): return _f(x)\\nh = g, 1\\ni = 2", 1))
        ['_f', 'g', 'h']
    """
    bodies: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        for name in _defined(node):
            bodies[name] = node
    found = {name for name, node in bodies.items() if node.lineno <= line <= (node.end_lineno or 0)}
    for _ in bodies:
        more = {name for name, node in bodies.items() if name not in found and any(
            isinstance(inner, ast.Name) and inner.id in found for inner in ast.walk(node))}
        if not more:
            break
        found |= more
    return found


def _defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module gives values to."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    targets = (statement.targets if isinstance(statement, ast.Assign) else
               [statement.target] if isinstance(statement, ast.AnnAssign) else [])
    return [node.id for target in targets for node in ast.walk(target)
            if isinstance(node, ast.Name)]


def runs_on_import(source: str, line: int) -> bool:
    """Whether a line runs when its file is imported, before any test.

    Examples:
        >>> [runs_on_import("x = 1\\ndef f():\\n    return 2", line) for line in (1, 3)]
        [True, False]
    """
    return not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                   and node.body[0].lineno <= line <= (node.end_lineno or 0)
                   for node in ast.walk(ast.parse(source)))


def those_that_run(change: Mutation, tests: list[tuple[float, str]]) -> list[str]:
    """Tests that run a line until they take too long: one of each file in turn, its room first."""
    room, stem = change.path.parts[1], change.path.stem
    homes = f"lamella/{room}", f"tests/{room.removesuffix('.py')}", f"tests/test_{room}"
    files: dict[str, list[tuple[float, str]]] = {}
    for test in sorted(tests):
        files.setdefault(test[1].split("::")[0], []).append(test)
    own = (f"/{stem}.py", f"/test_{stem}.py")
    order = sorted((not file.endswith(own), turn, not file.startswith(homes), test)
                   for file, its in files.items() for turn, test in enumerate(its))
    seconds, chosen = 0.0, []
    for *_, (length, name) in order:
        if seconds + length < SECONDS and len(chosen) < TESTS:
            seconds += length
            chosen.append(name)
    return chosen


def run_all(changes: list[Mutation], folder: Path) -> None:
    """Run all tests once, and note which of them run the lines of these mutations."""
    lines: dict[str, list[int]] = {}
    for change in changes:
        lines.setdefault(str(change.path), []).append(change.line)
    folder.mkdir(parents=True)
    (folder / "lines.json").write_text(json.dumps(lines), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal",
                    "-p", "tests.probes", "-p", "no:cacheprovider"], cwd=ROOT, check=False,
                   env=os.environ | {"PROBES": str(folder), "PYTHONPATH": str(ROOT)})


def changed_code(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The code that differs between two versions of a file, outer code first.

    Examples:
        >>> one, two = (compile(f"def f(): return {n}\\ndef g(): pass", "", "exec") for n in (1, 2))
        >>> [(old.co_name, new.co_consts[-1]) for old, new in changed_code(one, two)][1:]
        [('f', 2)]
    """
    if before != after:
        yield before, after
        inner = ([part for part in code.co_consts if isinstance(part, CodeType)]
                 for code in (before, after))
        for one, other in zip(*inner, strict=True):
            yield from changed_code(one, other)


def put_in_place(file: Path, before: str, after: str, imported: set[tuple[str, int, str]]) -> bool:
    """Give the functions of an imported file their changed code; False if that isn't enough.

    It isn't where the change runs on import, or functions with other code were made of it.

    Args:
        file: the file, of which `before` is the text.
        imported: the functions that ran on import: their file, line and name.
    """
    name = str(file)
    if not any(getattr(module, "__file__", None) == name for module in list(sys.modules.values())):
        return True  # it will be imported with the change
    codes = dict(changed_code(*(compile(text, name, "exec", dont_inherit=True)
                                for text in (before, after))))
    places = {(name, code.co_firstlineno, code.co_name) for code in codes
              if code.co_flags & inspect.CO_OPTIMIZED}  # a module's and a class's isn't
    its = [each for each in gc.get_objects() if type(each) is FunctionType and (
        each.__code__.co_filename, each.__code__.co_firstlineno, each.__code__.co_name) in places]
    if not its or places & imported or any(each.__code__ not in codes for each in its):
        return False
    for each in its:
        each.__code__ = codes[each.__code__]
    return True


class Copy:
    """A copy of the project, in which files are changed and tests run."""

    def __init__(self, folder: Path, limit: float, runs: Path):
        self.root, self.limit = folder / "copy", limit
        self.imported: set[tuple[str, int, str]] = set()  # functions that ran on import
        self.by_line = lines_tests(runs)
        self.sound: set[str] = set()  # tests that pass without a change
        self.broken: set[str] = set()
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
        for name in listed.stdout.splitlines():
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)
        self._import()

    def _import(self) -> None:
        """Import the package from the copy, once for all runs."""
        for name in ("numpy", "scipy.special", "torch._dynamo.source",
                     "torch.fx.experimental.symbolic_shapes"):
            importlib.import_module(name)
        os.environ |= {"PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1"}
        sys.path[:] = [str(self.root), *(path for path in sys.path if Path(path or ".") != ROOT)]
        _forget()
        sys.setprofile(self._ran)
        try:
            importlib.import_module("tests.conftest")
        finally:
            sys.setprofile(None)

    def _ran(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            code = frame.f_code
            self.imported.add((code.co_filename, code.co_firstlineno, code.co_name))

    def noticed(self, change: Mutation) -> str:
        """The first test that fails with a change and passes without it, or '' if none does."""
        source = (self.root / change.path).read_text("utf-8")
        tests = [] if runs_on_import(source, change.line) else self.by_line.get(
            (str(change.path), change.line), [])
        runs = [those_that_run(change, tests)] if tests else []
        if len(tests) < FEW:  # the first that imports the file, maybe
            runs += runs_for(change, self.root)
        for chosen in runs:
            while failed := self._failed(chosen, change):
                if failed == NO_END:
                    if self._failed(chosen) == NO_END:  # these tests take longer in any case
                        break
                    return failed
                if failed in self.sound | self.broken or not self._failed([failed]):
                    self.sound.add(failed)
                    return failed
                self.broken.add(failed)
        return ""

    def _failed(self, chosen: list[str], change: Mutation | None = None) -> str:
        """The first of some tests that fails, or ''; with a change of a file."""
        file = self.root / (change.path if change else "README.md")
        source = file.read_text(encoding="utf-8")
        if change:
            file.write_text(change.of(source), encoding="utf-8")
        compiled = Path(importlib.util.cache_from_source(str(file)))
        compiled.unlink(missing_ok=True)  # Python compares times in seconds only
        try:
            status, said = self._run(chosen, change, source)
        finally:
            file.write_text(source, encoding="utf-8")
            compiled.unlink(missing_ok=True)
        if status == -signal.SIGKILL:
            return NO_END
        if status in (0, 5):  # 5: no test is there
            return ""
        told = [line.split(" ", 1)[1].split(" - ")[0] for line in said.splitlines()
                if line.startswith(("FAILED ", "ERROR "))]
        if not told and not change:
            raise RuntimeError(f"{chosen} can't be run:\n{said}")
        return told[0] if told else chosen[0]

    def _run(self, chosen: list[str], change: Mutation | None, source: str) -> tuple[int, str]:
        """The status of a run of tests, and what it said; it ends after the limit.

        The process is forked from this one, which has imported the package without the change.
        """
        with tempfile.TemporaryFile("w+") as output:
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    os.setsid()
                    for number in (1, 2):
                        os.dup2(output.fileno(), number)
                    if change and not put_in_place(self.root / change.path, source,
                                                   change.of(source), self.imported):
                        _forget()
                    status = self._tests(chosen)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            end = time.monotonic() + self.limit
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                if time.monotonic() > end:
                    os.killpg(pid, signal.SIGKILL)
                time.sleep(0.05)
            output.seek(0)
            return os.waitstatus_to_exitcode(ended[1]), output.read()

    def _tests(self, chosen: list[str]) -> int:
        """Run tests in this process, from the copy."""
        os.chdir(self.root)
        status = pytest.main(["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header",
                              "-rfE", *chosen, *(f"--deselect={name}" for name in self.broken)])
        sys.stdout.flush()
        return int(status)


def _forget() -> None:
    """Have the package and its tests imported anew."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "lamella")]:
        del sys.modules[name]


def drawn(count: int, seed: int, room: str) -> list[Mutation]:
    """Mutations of the package, each as likely as any other."""
    paths = sorted((ROOT / "lamella" / room).rglob("*.py"))
    every = [change for path in paths
             for change in mutations(path.relative_to(ROOT), path.read_text(encoding="utf-8"))]
    return random.Random(seed).sample(every, min(count, len(every)))


def main(arguments: list[str] | None = None) -> int:
    """Run mutations; 1 if fewer than `--least` of them are noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0, help="the first of the drawn to be run")
    parser.add_argument("--end", type=int, help="where those to be run end")
    parser.add_argument("--room", default="", help="a folder of lamella, such as ops or graph/ir")
    parser.add_argument("--runs", type=Path, help="where it is kept which tests run which lines")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one run of tests")
    parser.add_argument("--least", type=float, default=0.9, help="the share that has to be noticed")
    chosen = parser.parse_args(arguments)
    seen = 0
    changes = drawn(chosen.count, chosen.seed, chosen.room)
    with tempfile.TemporaryDirectory() as name:
        runs = chosen.runs or Path(name, "runs")
        if not runs.is_dir():
            run_all(changes, runs)
        copy = Copy(Path(name), chosen.limit, runs)
        changes = changes[chosen.begin:chosen.end]
        for number, change in enumerate(changes, chosen.begin):
            began = time.monotonic()
            by = copy.noticed(change)
            seen += bool(by)
            source = (ROOT / change.path).read_text(encoding="utf-8")
            print(f"{number} {change.told(source)}\n  {by or 'NOT NOTICED'} "
                  f"({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{seen} of {len(changes)} mutations noticed")
    return int(seen < chosen.least * len(changes))


if __name__ == "__main__":
    sys.exit(main())
