"""Which tests run which lines? A plugin of pytest's: `PROBES=folder pytest -p tests.probes`.

`folder/lines.json` names the lines, {file: [numbers]}. Before the statement of each, a call is put
in when the file is imported; what a test has run is noted at its end (`folder/hits-PROCESS.txt`),
of each file of tests for the first few that run a line. `tests.mutations` chooses by them which
tests to run.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).parents[1]
KEPT = 100  # tests of one file that are noted for a line
_PROBE = "__line_probe__"  # a built-in name while this plugin is loaded


def with_probes(source: str, file: str, lines: set[int]) -> ast.Module:
    """A file's syntax tree with a call before the statement of each of some lines.

    Examples:
        >>> print(ast.unparse(with_probes("def f(x):\\n  if x:\\n    return 1\\n", "f.py", {3})))
        def f(x):
            if x:
                __line_probe__(('f.py', 3))
                return 1
    """
    tree = ast.parse(source)
    watched = sorted(lines)
    found: dict[int, tuple[list[ast.stmt], ast.stmt]] = {}
    for node in ast.walk(tree):  # outer statements come before inner ones
        for _, block in ast.iter_fields(node):
            if isinstance(block, list):
                for child in block:
                    if isinstance(child, ast.stmt):
                        first = bisect_left(watched, child.lineno)
                        after = bisect_right(watched, child.end_lineno or 0)
                        found |= dict.fromkeys(watched[first:after], (block, child))
    for line, (block, child) in found.items():
        call = ast.parse(f"{_PROBE}(({file!r}, {line}))").body[0]
        for node in ast.walk(call):
            ast.copy_location(node, child)
        block.insert(next(at for at, each in enumerate(block) if each is child), call)
    return ast.fix_missing_locations(tree)


class Probes:
    """The lines that are watched, and those that ran since the test began."""

    def __init__(self, folder: Path):
        self.numbers = numbers_of_lines(folder)
        self.lines: dict[str, tuple[str, set[int]]] = {}
        for file, line in self.numbers:
            self.lines.setdefault(str(ROOT / file), (file, set()))[1].add(line)
        self.hits: set[tuple[str, int]] = set()
        self.test = ""
        self.counts: defaultdict[tuple[str, int], int] = defaultdict(int)  # of a file of tests
        self.path = folder / f"hits-{os.getpid()}.txt"

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item.nodeid.split("::")[0] != self.test.split("::")[0]:
            self.counts.clear()
        self.test = item.nodeid
        self.hits.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and report.nodeid == self.test:
            kept = []
            for hit in sorted(self.hits):
                self.counts[hit] += 1
                if self.counts[hit] <= KEPT:
                    kept.append(self.numbers[hit])
            with self.path.open("a", encoding="utf-8") as file:  # a test may have replaced `print`
                file.write("\t".join([report.nodeid, f"{report.duration:.3f}", *map(str, kept)]))
                file.write("\n")


def numbers_of_lines(folder: Path) -> dict[tuple[str, int], int]:
    """The lines that are watched, each with the number by which it is noted."""
    lines = json.loads((folder / "lines.json").read_text("utf-8"))
    every = [(file, line) for file in sorted(lines) for line in sorted(set(lines[file]))]
    return {line: number for number, line in enumerate(every)}


def watch(probes: Probes) -> None:
    """Put the calls into files that are imported from now on."""
    setattr(builtins, _PROBE, probes.hits.add)  # built in: no frame that tracing could see
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = os.path.realpath(self.path)
        if path not in probes.lines:
            return usual(self, fullname)
        tree = with_probes(Path(path).read_text("utf-8"), *probes.lines[path])
        return compile(tree, self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the package is imported."""
    probes = Probes(Path(os.environ["PROBES"]))
    watch(probes)
    early_config.pluginmanager.register(probes)


class Runs:
    """Which tests ran which lines: of each file of tests, the first few that passed."""

    def __init__(self, folder: Path):
        self.numbers = numbers_of_lines(folder)
        self.tests: list[tuple[float, str]] = []  # how many seconds it took, and its name
        self.by_line: defaultdict[int, array[int]] = defaultdict(lambda: array("i"))
        for path in sorted(folder.glob("hits-*.txt")):
            for row in path.read_text("utf-8").splitlines():
                test, seconds, *lines = row.split("\t")
                for line in lines:
                    self.by_line[int(line)].append(len(self.tests))
                self.tests.append((float(seconds), test))

    def of(self, file: str, line: int) -> list[tuple[float, str]]:
        """The tests that ran a line, with their seconds."""
        number = self.numbers.get((file, line), -1)
        return [self.tests[test] for test in self.by_line.get(number, ())]
