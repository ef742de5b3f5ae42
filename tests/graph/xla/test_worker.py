"""What the compiler's process does in a folder, in this process."""

import hashlib
import importlib
import json
import os
import sys

import pytest
import torch

from lamella import ops
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.xla import lowering, worker
from lamella.graph.xla.native import Native


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder as the parent prepares it; what the process changes of its own is put back."""
    importlib.import_module("jax")
    graph = importlib.import_module("lamella.graph.xla.lowering.graph")
    monkeypatch.setitem(sys.modules, "lowering", lowering)  # as it is named there
    monkeypatch.setitem(sys.modules, "lowering.graph", graph)
    for name in ("NPROC", "TF_CPP_MIN_LOG_LEVEL", "JAX_PLATFORMS", "JAX_ENABLE_X64"):
        monkeypatch.setenv(name, "before")
    (tmp_path / "path").write_text("/given\n/library\n/x/site-packages\n")
    (tmp_path / "threads").write_text("2")
    for name in ("model.xla", "call.json", "digest"):
        (tmp_path / name).write_text("of before")
    return tmp_path


def paths_in(folder):
    """Run the process's function; returns where it imports from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", ["/library", "/x/site-packages", "/x/dist-packages",
                                    "/site-packages/library"])
        worker.main(folder)
        return [*sys.path]


def stage_of(function, x):
    compiled = Compiled(function, level="O1")
    for _ in range(3):
        compiled(x)
    (graph,) = compiled.graphs(x)
    stage = graph.execution.plan.stages[0]
    inputs = [x._raw, *graph.inputs.constants, *graph.execution.plan.constants]
    values = [inputs[i] for i in stage.takes]
    return Native(stage.part, stage.native.name, stage.replay), values, stage.replay(values)


def test_code_is_written_beside_what_a_call_needs(folder):
    code, values, wanted = stage_of(lambda x: ops.exp(x) * 2 - x, ops.arange(5.0))
    text = code._described(values)
    (folder / "graph.json").write_text(text)
    assert paths_in(folder) == ["/library", "/site-packages/library", "/given",
                                "/x/site-packages", os.path.dirname(worker.__file__)]
    assert {name: os.environ[name] for name in (
        "NPROC", "TF_CPP_MIN_LOG_LEVEL", "JAX_PLATFORMS", "JAX_ENABLE_X64")} == {
        "NPROC": "2", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    assert {f.name for f in folder.iterdir()} == {"path", "threads", "call.json", "model.xla",
                                                  "digest"}
    call, made = ((folder / name).read_bytes() for name in ("call.json", "model.xla"))
    assert (folder / "digest").read_text() == hashlib.sha256(call + made).hexdigest()
    given = json.loads(text)
    assert json.loads(call) == {name: given[name] for name in worker.CALL}
    found = code._executable(made, json.loads(call))(values)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("graph, is_kept", [("no graph", True), ("{}", True), (None, False)])
def test_errors_but_the_systems_are_kept(folder, graph, is_kept):
    if graph is not None:
        (folder / "graph.json").write_text(graph)
    paths_in(folder)
    failed = folder / "failed"
    assert failed.exists() == is_kept
    assert not is_kept or "Error" in failed.read_text()
    assert not any((folder / name).exists() for name in ("model.xla", "call.json", "digest"))
