"""XLA's code from a real worker process: kept on disk, also if damaged, missing or refused."""

import json
import os
import time

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.ir.stages import Part
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.runtime.stage import Heat, Stage
from lamella.graph.xla.native import Native
from lamella.machine import cache

from ... import extensions
from ...zygote import run as python

PATIENCE = 300.0
compiling = Native.compile


@pytest.fixture(autouse=True)
def _cache(kept, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", str(kept))
    monkeypatch.setenv("LAMELLA_COMPILE_SHARE", "1")


def native(fn, x):
    """XLA's code of a function's only stage, not requested yet, and the stage's inputs."""
    compiled = Compiled(fn, level="O1")
    for _ in range(3):
        compiled(x)
    (graph,) = compiled.graphs(x)
    stage = graph.execution.plan.stages[0]
    inputs = [x._raw, *graph.inputs.constants, *graph.execution.plan.constants]
    values = [inputs[i] for i in stage.takes]
    return Native(stage.part, stage.native.name, stage.replay), values, stage


def finished(code, values):
    code.request(values)
    end = time.monotonic() + PATIENCE
    while not code.finished:
        assert time.monotonic() < end
        time.sleep(0.02)
    return code


def step(x):
    return ops.tanh(x * 2 + 1).sum() * x - ops.exp(x)


def test_code_is_compiled_once_and_used_again_unless_it_is_damaged(kept):
    x = ops.ones((5,)) / 3
    code, values, stage = native(step, x)
    wanted = stage.replay(values)
    assert code.key is not None and code.entry() is None and code.is_possible
    run = finished(code, values).load()
    assert run is not None and code.is_possible
    torch.testing.assert_close(run(values), wanted)
    folder = kept / code.key
    assert sorted(f.name for f in folder.iterdir()) >= ["call.json", "digest", "log", "model.xla"]
    assert not list(kept.glob("draft-*"))

    made = (folder / "model.xla").stat().st_mtime_ns
    again, _, _ = native(step, x)
    torch.testing.assert_close(finished(again, values).load()(values), wanted)
    assert (folder / "model.xla").stat().st_mtime_ns == made

    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    for name, damage in (("model.xla", b"abc"), ("call.json", b"{}"), ("digest", b"0")):
        (folder / name).write_bytes(damage)
        damaged, _, _ = native(step, x)
        assert finished(damaged, values).load() is None and not damaged.is_possible
        assert not folder.exists()  # so that it is made again
        folder.mkdir()
        for file, content in whole.items():
            (folder / file).write_bytes(content)


def test_code_that_is_asked_for_twice_at_once_is_compiled_once(monkeypatch):
    made = []
    monkeypatch.setattr(Native, "compile", lambda self, *rest: made.append(self.key) or compiling(
        self, *rest))
    x = ops.ones((7,))
    codes = [native(lambda x: ops.tanh(x / 2).sum() * x + ops.exp(x), x) for _ in range(2)]
    for code, values, _ in codes:
        code.request(values)
    for code, values, stage in codes:
        torch.testing.assert_close(finished(code, values).load()(values), stage.replay(values))
    assert made == [codes[0][0].key]


def test_a_plan_that_replaces_another_goes_on_with_its_code():
    x = ops.ones((9,)) / 3
    code, values, stage = native(step, x)
    stage.xla = finished(code, values)
    part = Part.whole(stage.part.copied())
    after = Stage(part, stage.takes, stage.stays, True, [stage])
    after.settle(values, Heat.WARM)
    assert after.xla is code and after.is_timed  # the code is there, and tried at once
    assert code.part is after.native.part is part  # the graph of the other plan may be freed
    after._decide("xla", code.load())
    last = Stage(stage.part, stage.takes, stage.stays, True, [after])
    last.settle(values, Heat.COLD)
    assert last.backend == "xla" and last.run is after.run
    other, _, _ = native(lambda x: ops.tanh(x * 3).sum() * x - ops.exp(x), x)
    assert other.key != code.key


@pytest.mark.parametrize(("memory", "is_timed"), [(None, True), (2**40, False)])
def test_code_that_takes_much_more_memory_than_a_replay_is_not_timed(memory, is_timed):
    x = ops.ones((1000,)) / 3
    code, values, stage = native(step, x)
    stage.xla = finished(code, values)
    assert 4_000 <= code.memory < 2**27  # its result, and little besides
    if memory is not None:
        code._run.memory = memory
    stage.settle(values, Heat.WARM)
    assert (stage.is_timed, stage.backend) == (is_timed, "replay")
    stage.settle(values, Heat.WARM)
    assert stage.is_timed is is_timed  # not asked again


def test_only_clear_answers_are_kept():
    code, values, stage = native(step, ops.ones((11,)))
    stage.xla = finished(code, values)
    stage._decide("xla", code.load())
    assert code.remembered() == "xla"
    stage._decide("replay", None, is_sure=False)
    assert code.remembered() is None and stage.backend == "replay"


def test_a_graph_that_cannot_be_compiled_is_replayed(kept, monkeypatch):
    code, values, _ = native(lambda x: ops.tanh(x * 3).sum() * x - 1, ops.ones((6,)))
    from lamella.graph.xla import native as module
    text_of = module.text_of

    def wrong(*args, **kwargs):
        found = json.loads(text_of(*args, **kwargs))
        found["steps"][0]["aval"][0] = [7]
        return json.dumps(found)

    monkeypatch.setattr(module, "text_of", wrong)
    assert finished(code, values).load() is None and not code.is_possible
    assert "not float32[7]" in (kept / code.key / "failed").read_text()


@pytest.mark.parametrize("fn", [
    lambda x: ops.matrix_exp(x) * 2, lambda x: ops.dropout(x * 2 + 1, 0.5),
    lambda x: (lambda y: (y, y.reshape(-1)))(x * 2 + 1)], ids=["no row", "random", "shared memory"])
def test_what_is_not_for_xla(fn):
    code, values, _ = native(lambda x: (ops.exp(x) * 3, fn(x)), ops.ones((4, 4)))
    code.request(values)
    assert code.finished and code.load() is None
    assert not code.is_possible and code.key is None


PROGRAM = """
import sys
if sys.argv[1] == "without":
    sys.modules["jax"] = sys.modules["jaxlib"] = None  # as if it weren't installed
import json, time
import lamella as ms
from lamella import ops
weight = ms.Parameter(ops.ones((8, 8)) / 9, name="weight")
def loss(x):
    for _ in range(30):
        x = ops.tanh(x @ weight + 0.1) * 1.01
    return (x * x).sum()
gradient = ms.value_and_grad(loss, None, [weight])
step = ms.jit(gradient)
x = ops.sin(ops.arange(64).astype(ms.float32)).reshape(8, 8)
begin = time.monotonic()
while (passed := time.monotonic() - begin) < float(sys.argv[2]) and (
        "xla" not in step.report()["backends"]):
    value, (g,) = step(x)
    if passed > 2:  # it has run for long enough to be compiled, elsewhere
        time.sleep(0.05)
value, (g,) = step(x)
print(json.dumps([step.report()["backends"], float(value), float(g.sum()),
                  [name for name in ("jax", "jaxlib") if sys.modules.get(name)]]))
"""


def _run(kept, how, seconds):
    done = python("-c", PROGRAM, how, seconds, timeout=600, bare=True,
                  env={**os.environ, "LAMELLA_CACHE": str(kept), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_program_gets_code_by_itself_and_the_next_process_has_it(kept):
    extensions.copy_to(kept)  # what would be compiled beside XLA's code, for minutes
    first, said = _run(kept, "with", PATIENCE)
    assert first[0] == ["xla"] and not said
    entries = [f for f in kept.iterdir() if (f / "fastest").exists()]
    assert "xla" in {(f / "fastest").read_text() for f in entries}
    before = set(kept.glob("*/model.xla"))
    second, _ = _run(kept, "with", PATIENCE)
    assert second[0] == ["xla"] and second[1:3] == pytest.approx(first[1:3], rel=1e-5)
    assert set(kept.glob("*/model.xla")) == before
    without, said = _run(kept, "without", 1.0)
    assert without[0] == ["replay"] and not without[3] and not said
    assert without[1:3] == pytest.approx(first[1:3], rel=1e-4)


def test_the_cache_folder_is_needed(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    assert cache.cache_folder() is None
    code, values, _ = native(step, ops.ones((7,)))
    code.request(values)
    assert code.finished and code.load() is None


def test_settings_of_the_programs_own_jax_stay():
    """The engine's client is another one than JAX's."""
    jax = pytest.importorskip("jax")
    code, values, stage = native(step, ops.ones((9,)).astype(ms.float64))
    run = finished(code, values).load()
    torch.testing.assert_close(run(values), stage.replay(values))
    assert jax.numpy.ones(3).dtype == np.float32 and not jax.config.jax_enable_x64
