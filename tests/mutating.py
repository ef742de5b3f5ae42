"""Runs tests with changed lines: a plugin of pytest's that `tests.mutations` uses.

All tests are collected once. For each change a process is forked, in which the functions get their
changed code and the tests that run the line are run, until one fails. What runs on import is
changed in a process of its own, in the file. The current folder is a copy of the project: files of
it are changed while tests run, for the processes that tests start.
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

import pytest

from .mutations import FEW, Mutation, runs_for, runs_on_import, those_that_run
from .probes import Runs

NO_END = "the tests didn't end"
Place = tuple[str, int, str]  # of a function: its file, line and name


class Task(NamedTuple):
    """What a process is to do; it is told by a file."""

    changes: list[Mutation]
    runs: str  # the folder that says which tests run which lines, or ""
    chosen: bool  # whether tests were chosen: those that it doesn't know are run for all lines
    limit: float
    seconds: float

    def to_file(self, path: Path) -> None:
        """Write it for another process."""
        changes = [[str(change.path), *change[1:]] for change in self.changes]
        path.write_text(json.dumps([changes, *self[1:]]), encoding="utf-8")

    @staticmethod
    def from_file(path: Path) -> Task:
        """Read what `to_file` wrote."""
        changes, *others = json.loads(path.read_text("utf-8"))
        return Task([Mutation(Path(file), *rest) for file, *rest in changes], *others)


class Imported:
    """The functions that run while the package's files are imported."""

    def __init__(self, root: Path):
        self.package = f"{root}{os.sep}lamella{os.sep}"
        self.places: set[Place] = set()

    def start(self) -> None:
        """Note them from now on."""
        sys.setprofile(self._ran)

    def stop(self) -> None:
        """Note no more."""
        sys.setprofile(None)

    def _ran(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self.package):
            place = _place(code)
            if place not in self.places and self._importing(frame):
                self.places.add(place)

    def _importing(self, frame: FrameType | None) -> bool:
        while frame:
            code = frame.f_code
            if code.co_name == "<module>" and code.co_filename.startswith(self.package):
                return True
            frame = frame.f_back
        return False


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_firstlineno, code.co_name


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


class Functions:
    """All functions of the package that there are, by where they were written."""

    def __init__(self, imported: Imported):
        self.imported = imported.places
        self.by_place: defaultdict[Place, list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename.startswith(
                    imported.package):
                self.by_place[_place(each.__code__)].append(each)
        self.files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}

    def codes(self, file: Path, before: str, after: str) -> dict[CodeType, CodeType] | None:
        """The code of functions that a change of a file changes, for `change`.

        None if that doesn't suffice: where the changed code itself ran on import.
        """
        if str(file) not in self.files:
            return {}  # it will be imported with the change
        codes = dict(changed_code(*(compile(text, str(file), "exec", dont_inherit=True)
                                    for text in (before, after))))
        innermost = list(codes)[-1]
        its = self._those_with(codes)
        suffices = (its and innermost.co_flags & inspect.CO_OPTIMIZED  # no module or class
                    and _place(innermost) not in self.imported
                    and all(each.__code__ in codes for each in its))
        return codes if suffices else None

    def change(self, codes: dict[CodeType, CodeType]) -> None:
        """Give functions their changed code."""
        for each in self._those_with(codes):
            each.__code__ = codes.get(each.__code__, each.__code__)  # of nested ones on one line

    def _those_with(self, codes: dict[CodeType, CodeType]) -> list[FunctionType]:
        return [each for code in codes for each in self.by_place[_place(code)]]


class Mutating:
    """The plugin: it runs changes instead of the tests as they are."""

    def __init__(self, task: Task, results: Path):
        self.task, self.results = task, results
        self.root = Path.cwd()
        self.runs = Runs(Path(task.runs)) if task.runs else None
        self.seconds = {name: seconds for seconds, name in self.runs.tests} if self.runs else {}
        self.imported = Imported(self.root)
        self.sound: set[str] = set()  # tests that pass without a change
        self.broken: set[str] = set()
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.imported.stop()
        self.items = {item.nodeid: item for item in session.items}
        self.functions = Functions(self.imported)
        gc.collect()
        gc.freeze()
        with self.results.open("a", encoding="utf-8") as file:
            for change in self.task.changes:
                began = time.monotonic()
                by, count = self.noticed(change)
                print(json.dumps([str(change.path), *change[1:], by, count,
                                  round(time.monotonic() - began, 2)]), file=file, flush=True)
        return True

    def noticed(self, change: Mutation) -> tuple[str, int]:
        """The first test that fails with a change and passes without it, and how many ran."""
        source = (self.root / change.path).read_text("utf-8")
        codes = self.functions.codes(self.root / change.path, source, change.of(source))
        count = 0
        for chosen in self._runs(change, source):
            while failed := self._failed(chosen, change, source, codes):
                if failed == NO_END:
                    if self._failed(chosen) == NO_END:  # these tests take longer in any case
                        break
                    return failed, count
                if failed in self.sound or not self._failed([failed]):
                    self.sound.add(failed)
                    return failed, count + chosen.index(failed)
                self.broken.add(failed)
            count += len(chosen)
        return "", count

    def _runs(self, change: Mutation, source: str) -> Iterator[list[str]]:
        """The tests that should notice a change, the likeliest first."""
        if not self.runs:
            yield list(self.items)
            return
        if self.task.chosen:
            ran = {name for _, name in self.runs.of(str(change.path), change.line)}
            yield [name for name in self.items if name in ran or name not in self.seconds]
            return
        tests = [] if runs_on_import(source, change.line) else self.runs.of(
            str(change.path), change.line)
        tests = [test for test in tests if test[1] in self.items]
        if tests:
            yield those_that_run(change, tests, self.task.seconds)
        if len(tests) < FEW:  # the first that imports the file, maybe
            yield from map(self._within, runs_for(change, self.root))

    def _within(self, run: list[str]) -> list[str]:
        """The tests of some files or folders, until they take too long."""
        chosen, seconds = [], 0.0
        for place in run:
            place = os.path.relpath(place, self.root) if os.path.isabs(place) else place
            for name in self.items:
                if name == place or name.startswith((f"{place}::", f"{place}/")):
                    seconds += self.seconds.get(name, 0.1)
                    if seconds > self.task.seconds:
                        return chosen
                    chosen.append(name)
        return chosen

    def _failed(self, chosen: list[str], change: Mutation | None = None, source: str = "",
                codes: dict[CodeType, CodeType] | None = None) -> str:
        """The first of some tests that fails, or ''; with a change of a file.

        Without the codes that differ the tests run in a new process.
        """
        chosen = [name for name in chosen if name not in self.broken]
        if not chosen:
            return ""
        if not change:
            return self._fork(chosen, {})
        file = self.root / change.path
        compiled = Path(importlib.util.cache_from_source(str(file)))
        file.write_text(change.of(source), encoding="utf-8")
        compiled.unlink(missing_ok=True)  # Python compares times in seconds only
        try:
            return self._start(chosen) if codes is None else self._fork(chosen, codes)
        finally:
            file.write_text(source, encoding="utf-8")
            compiled.unlink(missing_ok=True)

    def _fork(self, chosen: list[str], codes: dict[CodeType, CodeType]) -> str:
        """Run tests in a copy of this process, with changed code."""
        end, begin = os.pipe()
        pid = os.fork()
        if pid == 0:
            failed = chosen[0]
            try:
                os.setsid()
                os.close(end)
                self.functions.change(codes)
                failed = self._run([self.items[name] for name in chosen])
            except BaseException:
                traceback.print_exc()
            finally:
                os.write(begin, failed.encode() or b"-")
                os._exit(0)
        os.close(begin)
        ready, _, _ = select.select([end], [], [], self.task.limit)
        said = os.read(end, 2**16).decode() if ready else NO_END
        os.close(end)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "" if said == "-" else said or chosen[0]  # nothing said: the process crashed

    def _run(self, items: list[pytest.Item]) -> str:
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                break
        return self.failed

    def _start(self, chosen: list[str]) -> str:
        """Run tests in a new process, which imports the changed file."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                   "-p", "no:xdist", "--no-header", "-rfE", *chosen]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              start_new_session=True) as process:
            try:
                said, _ = process.communicate(timeout=self.task.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return NO_END
        if process.returncode in (0, 5):  # 5: no test is there
            return ""
        failed = [name for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))
                  for name in chosen if line.split(" ", 1)[1].startswith(name)]
        return max(failed, key=len) if failed else chosen[0]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the package is imported."""
    task = Path(os.environ["MUTATING"])
    plugin = Mutating(Task.from_file(task), task.with_suffix(".results"))
    plugin.imported.start()
    early_config.pluginmanager.register(plugin)
