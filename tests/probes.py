"""Which tests run which lines? A plugin of pytest's: `PROBES=folder pytest -p tests.probes`.

`folder/lines.json` names the lines, {file: [numbers]}. Before the statement of each, a call is put
in when the file is imported; what a test has run is noted at its end (`folder/hits-PROCESS.txt`).
`tests.mutations` chooses by them which tests to run.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from collections import defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).parents[1]
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
    for line in lines:
        found = None
        for node in ast.walk(tree):  # outer statements come before inner ones
            for _, block in ast.iter_fields(node):
                if isinstance(block, list):
                    for at, child in enumerate(block):
                        if isinstance(child, ast.stmt) and child.lineno <= line <= (
                                child.end_lineno or 0):
                            found = block, at
        if found:
            block, at = found
            call = ast.parse(f"{_PROBE}(({file!r}, {line}))").body[0]
            for node in ast.walk(call):
                ast.copy_location(node, block[at])
            block.insert(at, call)
    return ast.fix_missing_locations(tree)


class Probes:
    """The lines that are watched, and those that ran since the test began."""

    def __init__(self, folder: Path):
        self.lines = {str(ROOT / file): (file, set(lines)) for file, lines
                      in json.loads((folder / "lines.json").read_text("utf-8")).items()}
        self.hits: set[tuple[str, int]] = set()
        self.test = ""
        self.path = folder / f"hits-{os.getpid()}.txt"

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.test = item.nodeid
        self.hits.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and report.nodeid == self.test:
            with self.path.open("a", encoding="utf-8") as file:
                for hit in sorted(self.hits):
                    print(report.nodeid, f"{report.duration:.3f}", *hit, sep="\t", file=file)


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


def lines_tests(folder: Path) -> dict[tuple[str, int], list[tuple[float, str]]]:
    """The tests that passed and run each line, the fastest first, with their seconds."""
    found: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for path in folder.glob("hits-*.txt"):
        for row in path.read_text("utf-8").splitlines():
            test, seconds, file, line = row.rsplit("\t", 3)
            found[file, int(line)].append((float(seconds), test))
    return {line: sorted(tests) for line, tests in found.items()}
