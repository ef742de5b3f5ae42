"""``LAMELLA_LOGS``: the program of the page on the compiler, and what the compiler says of it."""

import os
import pathlib
import re

import pytest
import torch

from lamella.graph.ir import logs
from lamella.graph.tracing.lines import Line

from ...zygote import run as python
from ..passes.checks import recorded

PAGE = (pathlib.Path(__file__).parents[3] / "docs" / "compiler.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    assert PROGRAM is not None
    path = tmp_path_factory.mktemp("logs") / "program.py"
    path.write_text(PROGRAM[1])

    def run(parts):
        done = python(path, env={**os.environ, "LAMELLA_LOGS": parts}, timeout=600, bare=True)
        assert done.returncode == 0, done.stderr
        return done.stderr.replace(str(path), "program.py")

    return run


def test_everything(said):
    found = said("all")
    lines = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    for line in "".join(lines).splitlines():
        start, *_ = line.split("...")  # the page leaves out the middle of long lines
        assert start.rstrip(", ") in found, line


def test_one_part(said):
    found = said("guards")
    assert found.startswith("[guards] 1 numbers were read off tensors\n    True (program.py:15)\n")
    assert "[trace]" not in found and "[schedule]" not in found
    assert "recorded again, since a guard failed" in found


def test_nothing(said):
    assert said("") == ""


def test_unknown_parts(capsys):
    assert logs.parts_of("guards,nothing") == {"guards"}
    assert capsys.readouterr().err == (
        "LAMELLA_LOGS: there is no part 'nothing'; there are trace, guards, passes, schedule "
        "and all.\n")


def test_operations_as_text():
    graph = recorded(lambda x: torch.add(torch.cat([x, x], 1), 1, alpha=2).sum(), torch.ones(2, 3))
    x, joined, added, total, _ = graph.graph.nodes
    joined.meta["line"] = Line("/some/where/net.py", 12, "forward")
    added.meta["line"] = Line("", 3, "forward")
    total.meta.clear()
    assert list(logs.kernels(graph.graph)) == [
        f"{joined} = cat([{x}, {x}], 1)  # float32[2, 6] forward, net.py:12",
        f"{added} = add.Tensor({joined}, 1, alpha=2)  # float32[2, 6]",
        f"{total} = sum({added})"]


@pytest.mark.parametrize("shown", [True, False])
def test_what_is_shown(monkeypatch, capsys, shown):
    monkeypatch.setattr(logs, "SHOWN", {"trace"} if shown else {"guards"})
    asked = []
    logs.show("trace", "a title", (asked.append(n) or f"line {n}" for n in range(2)))
    assert capsys.readouterr().err == ("[trace] a title\n    line 0\n    line 1\n" if shown else "")
    assert asked == ([0, 1] if shown else [])
