"""Code that says itself that it is outside: where its file lies doesn't matter."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
import types
import warnings

import pytest

import lamella
from lamella import Tensor, jit
from lamella.core.outside import is_outside, outside
from lamella.graph.tracing.outside import OURS, TRANSPARENT, origin_of

X = Tensor([1.0, 2.0])
ROOT = pathlib.Path(lamella.__file__).parent
READS = "import os\ndef read():\n    return float(os.stat('/').st_nlink)\n"


def module(name, text, **names):
    """A module of Lamella's as if its file lay in the package."""
    made = types.ModuleType(name)
    made.__dict__.update(names)
    file = ROOT.parent.joinpath(*name.split(".")).with_suffix(".py")
    exec(compile(text, str(file), "exec"), made.__dict__)
    return made


@pytest.mark.parametrize("name", ["lamella.somewhere", "lamella.nn.somewhere"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_module_says_that_it_is_outside(monkeypatch, name, marked):
    made = module(name, READS, __outside__=marked)
    monkeypatch.setitem(sys.modules, name, made)
    compiled = jit(lambda x: x * made.read())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compiled(X)
    assert [("runs eagerly: it calls" in str(w.message)) for w in said] == [True] * marked
    assert is_outside(name) is marked


def test_a_room_says_it_for_all_that_lies_in_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "lamella.room", module("lamella.room", "", __outside__=True))
    monkeypatch.setitem(sys.modules, "lamella.room.part", module("lamella.room.part", READS))
    assert is_outside("lamella.room.part") and not is_outside("lamella.roomy.part")
    assert origin_of(str(ROOT / "room" / "part.py")) == TRANSPARENT


def test_what_reads_files_or_asks_the_device_is_outside():
    for name in ("train.serialization", "dataset.node", "profiler", "hal", "runtime", "log",
                 "debug", "onnx"):
        importlib.import_module(f"lamella.{name}")
        file = ROOT.joinpath(*name.split("."))
        assert origin_of(f"{file}.py") == TRANSPARENT, name
    for name in ("ops.math", "nn.cell", "context", f"graph{os.sep}tracing{os.sep}trace"):
        assert origin_of(f"{ROOT.joinpath(*name.split('.'))}.py") == OURS, name


def test_a_function_that_no_graph_can_hold_runs_in_each_call():
    calls = []

    @outside
    def note(value):
        calls.append(value)

    compiled = jit(lambda x: (x * 2, note(1))[0])
    with pytest.warns(UserWarning, match="runs eagerly: it calls .*note"):
        compiled(X)
    compiled(X)
    assert calls == [1, 1]
