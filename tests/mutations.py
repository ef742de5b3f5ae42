"""Do the tests notice a changed line? `python -m tests.mutations --count 300 --seed 35`.

Each mutation changes one operator, comparison, constant or `not` in a copy of the package. First
all tests run once, and note which of them run these lines (`--runs FOLDER` keeps that for further
calls). Then, for each mutation, the tests that run its line do so with it, until one fails
(`tests.mutating`). Of lines that run on import, or that few tests run in their own process, it is
the file's own examples, the tests that bear its name and those that name what the line belongs to,
too, themselves or in their scripts for other processes. What no test notices is printed:
either a test is missing, or the line says nothing.

While tests for a file are written, `--room ops/loss.py --count 999 --tests tests/ops/test_loss.py`
runs these tests for all changes of that file, in some seconds.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

ROOT = Path(__file__).parents[1]
OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
             ast.FloorDiv: ("//", "*"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
             ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
             ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
             ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and")}
NO_END = "the tests didn't end"
NEAR = 8  # files of tests that name what has changed
FEW = 4
TESTS = 600  # that run a line, at most
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
        yield node.lineno, node.col_offset, node.col_offset + len("not "), ""
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
    texts = texts_of(root, "*.py")
    named = [path for path in texts if path.name == f"test_{inner.name}" and room in path.parents]
    of = _names((root / change.path).read_text("utf-8"), change.line) - {"main"} or {inner.stem}
    words = re.compile(rf"\b({'|'.join(of)})\b")
    hits = {path: len(words.findall(text)) for path, text in texts.items()}
    scripts = dict.fromkeys(texts, 0)
    records = texts_of(root, "*.json")
    for other in [*records, *(path for path in texts if not path.name.startswith("test_"))]:
        count = len(words.findall(records[other])) if other in records else hits[other]
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


@cache
def texts_of(root: Path, pattern: str) -> dict[Path, str]:
    """The texts of all files of tests that have such names."""
    return {path: path.read_text("utf-8") for path in sorted((root / "tests").rglob(pattern))}


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


def those_that_run(change: Mutation, tests: list[tuple[float, str]], limit: float) -> list[str]:
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
        if seconds + length < limit and len(chosen) < TESTS:
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


def drawn(count: int, seed: int, room: str) -> list[Mutation]:
    """Mutations of the package, or of a folder, file or some lines of it, each as likely."""
    place, _, lines = room.partition(":")
    first, _, last = lines.partition("-")
    inside = ROOT / "lamella" / place
    paths = sorted(inside.rglob("*.py")) if inside.is_dir() else [inside]
    every = [change for path in paths
             for change in mutations(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
             if not lines or int(first) <= change.line <= int(last or first)]
    return random.Random(seed).sample(every, min(count, len(every)))


def prepared(folder: Path) -> None:
    """A copy of the project in a folder."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


def main(arguments: list[str] | None = None) -> int:
    """Run mutations; 1 if fewer than `--least` of them are noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", default="",
                        help="a folder or file of lamella, such as ops or graph/ir/node.py:50-90")
    parser.add_argument("--tests", nargs="*", default=[],
                        help="files of tests that are run for all changes (with --runs: of those"
                        " known there only the ones that run the line); without them it is found"
                        " out first which tests run which lines")
    parser.add_argument("--runs", type=Path, help="where it is kept which tests run which lines")
    parser.add_argument("--limit", type=float, default=200, help="seconds for one run of tests")
    parser.add_argument("--seconds", type=float, default=60,
                        help="how long the tests for a line take together, at most")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--least", type=float, default=0.9, help="the share that has to be noticed")
    chosen = parser.parse_args(arguments)
    changes = drawn(chosen.count, chosen.seed, chosen.room)
    return run(changes, chosen)


def run(changes: list[Mutation], chosen: argparse.Namespace) -> int:
    """Run some mutations; 1 if too few of them are noticed."""
    from .mutating import Task  # which imports this file

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = chosen.runs.resolve() if chosen.runs else folder / "runs"
        if not runs.is_dir() and not chosen.tests:
            run_all(changes, runs)
        processes = []
        for number in range(chosen.processes):
            task, copy = folder / f"{number}.json", folder / str(number)
            Task(changes[number::chosen.processes], str(runs) if runs.is_dir() else "",
                 bool(chosen.tests), chosen.limit, chosen.seconds).to_file(task)
            prepared(copy)
            processes.append(subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "tests.mutating",
                 "-p", "no:cacheprovider", "-p", "no:xdist", *chosen.tests],
                cwd=copy, stdout=subprocess.DEVNULL,
                env=os.environ | {"MUTATING": str(task), "PYTHONPATH": str(copy),
                                  "OMP_NUM_THREADS": "1"}))
        seen = told(folder, processes)
    print(f"{seen} of {len(changes)} mutations noticed")
    return int(seen < chosen.least * len(changes))


def told(folder: Path, processes: list[subprocess.Popen[bytes]]) -> int:
    """Print what processes write, until they end; how many changes were noticed."""
    read: dict[Path, int] = {}
    seen = 0
    running = True
    while running:
        running = any(process.poll() is None for process in processes)
        for path in folder.glob("*.results"):
            rows = path.read_text("utf-8").split("\n")[:-1]
            for row in rows[read.get(path, 0):]:
                file, *place, by, count, seconds = json.loads(row)
                change = Mutation(Path(file), *place)
                seen += bool(by)
                print(f"{change.told((ROOT / file).read_text('utf-8'))}\n"
                      f"  {by or 'NOT NOTICED'} ({count} tests before, {seconds:.0f} s)",
                      flush=True)
            read[path] = len(rows)
        time.sleep(0.5)
    return seen


if __name__ == "__main__":
    sys.exit(main())
