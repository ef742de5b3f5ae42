"""Machine code: real compilations in worker processes, and the cache of them, also if damaged."""

import hashlib
import json
import os
import pathlib
import shutil
import time
import warnings

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.graph.aoti import native, worker
from lamella.graph.aoti.native import Native
from lamella.graph.passes.order import Decisions
from lamella.graph.runtime import execution
from lamella.graph.runtime import stage as stages
from lamella.graph.runtime.autotuner import ROUNDS, Autotuner
from lamella.graph.runtime.compiled import Compiled
from lamella.machine import cache

from ...zygote import run as python

PATIENCE = 300.0
needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("g++", "clang++")), reason="no C++ compiler here")


@pytest.fixture(autouse=True)
def _soon(kept, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", str(kept))
    monkeypatch.setattr(execution, "HOT", 0.0)
    monkeypatch.setattr(stages, "ENGINE", "inductor")


def make_step(level="O1"):
    ms.set_seed(3)
    net = nn.SequentialCell(nn.Dense(6, 16), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(16, 3))
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    criterion = nn.CrossEntropyLoss()
    gradient = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(ops.clip_by_global_norm(gradients, 1.0))
        return loss

    return net, Compiled(step, level=level), step


def data():
    rng = np.random.default_rng(0)
    return (Tensor(rng.standard_normal((8, 6)).astype(np.float32)),
            Tensor(rng.integers(0, 3, 8).astype(np.int32)))


def settle(compiled, *args):
    """Call until the autotuner has chosen what runs it; returns the number of calls.

    The n-th call draws the random numbers of seed n.
    """
    end = time.monotonic() + PATIENCE
    for calls in range(1, 10**6):
        ms.set_seed(calls)
        compiled(*args)
        if compiled.settled:
            return calls
        assert time.monotonic() < end, "never settled"
        time.sleep(0.01 if calls < 20 else 0.2)  # the compiler has the processor meanwhile


@needs_compiler
def test_a_step_becomes_machine_code_and_agrees_with_eager_calls(kept):
    """Also in the random numbers that it draws."""
    net, compiled, _ = make_step()
    x, y = data()
    calls = settle(compiled, x, y)
    (graph,) = compiled.graphs(x, y)
    entries = [f for f in kept.iterdir() if (f / "model.so").exists()]
    assert entries, "nothing was compiled"
    noted = [f / "fastest" for f in entries if (f / "fastest").exists()]  # none if it was unclear
    assert {f.read_text() for f in noted} <= {"replay", "inductor"}
    for stage in graph.execution.plan.stages:  # whichever was faster: from here on, machine code
        if stage.native is not None:
            stage.run = stage.native.load() or pytest.fail("it can't be loaded")
    other, _, eager = make_step()
    for call in range(1, calls + 1):
        ms.set_seed(call)
        eager(x, y)
    for seed in range(20):
        ms.set_seed(seed)
        found = compiled(x, y)
        ms.set_seed(seed)
        np.testing.assert_allclose(found.asnumpy(), eager(x, y).asnumpy(), rtol=1e-4)
    for mine, its in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(mine.asnumpy(), its.asnumpy(), rtol=1e-4, atol=1e-6)

    # the next compiled function of this graph knows at once what was found, and looks again
    _, again, _ = make_step()
    again(x, y)
    again(x, y)
    known = compiled.report()["backends"] if noted else ["replay"]  # nothing, if it was unclear
    assert again.report()["backends"] == known
    settle(again, x, y)


def _native(size=4):
    compiled = Compiled(lambda x: ops.tanh(x * 2 + 1).sum() * x, level="O1")
    x = ops.ones((size,))
    compiled(x)
    compiled(x)
    (graph,) = compiled.graphs(x)
    inputs = [x._raw, *graph.inputs.constants, *graph.execution.plan.constants]
    stage = graph.execution.plan.stages[0]
    return Native(stage.part, [inputs[i] for i in stage.takes]), inputs


def _wait(native):
    native.request()
    end = time.monotonic() + PATIENCE
    while not native.finished:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_graph_that_cannot_be_compiled_is_replayed(kept, monkeypatch):
    native, _ = _native(5)
    text = native._text().replace("aten.tanh.default", "aten.no_such_kernel.default")
    monkeypatch.setattr(native, "_text", lambda: text)
    _wait(native)
    assert native.load() is None
    assert "no_such_kernel" in (kept / native.key / "failed").read_text()
    assert not list(kept.glob("draft-*"))


def test_without_a_compiler_one_warning(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    native, _ = _native(6)
    with pytest.warns(UserWarning, match="no C\\+\\+ compiler was found"):
        native.request()
    assert native.finished and native.load() is None
    other, _ = _native(7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.request()
    assert other.finished


def test_an_unwritable_folder_keeps_nothing(monkeypatch, capsys):
    monkeypatch.setenv("LAMELLA_CACHE", "/proc/no/such/place")
    for _ in range(2):
        assert cache.cache_folder() is None
    assert capsys.readouterr().err.count("No compiled graphs are kept: '/proc/no/such/") == 1
    native, _ = _native(8)
    native.request()
    assert native.key is None and native.finished and native.load() is None


def test_a_folder_that_others_may_change_is_not_used(monkeypatch, tmp_path):
    around = tmp_path / "around"
    folder = around / "kept"
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(folder))
    around.chmod(0o755)
    assert cache.cache_folder() == folder
    folder.chmod(0o777)  # later than it was used first
    assert cache.cache_folder() is None
    folder.chmod(0o700)
    around.chmod(0o777)
    assert cache.cache_folder() is None
    around.chmod(0o1777)  # as /tmp: only who owns the folder may rename it
    assert cache.cache_folder() == folder
    if os.getuid() == 0:
        os.chown(around, 12345, -1)
        around.chmod(0o755)
        assert cache.cache_folder() is None


def test_the_folder_is_bounded(monkeypatch, tmp_path):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    monkeypatch.setenv("LAMELLA_CACHE_MIB", "0.01")
    for number in range(5):
        folder = cache.draft()
        (folder / "model.so").write_bytes(bytes(4000))
        os.utime(folder, (number, number))
        cache.publish(folder, f"key{number}")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["key3", "key4"]
    abandoned = cache.draft()
    os.utime(abandoned, (0, 0))
    cache.prune(tmp_path)
    assert not abandoned.exists()
    assert cache.entry("key4") is not None and cache.entry("nothing") is None


@needs_compiler
def test_code_that_is_forced_runs_from_the_second_replay_on(monkeypatch):
    """The same step as above, so it is compiled already if that test ran."""
    monkeypatch.setattr(stages, "ENGINE", "inductor-forced")
    monkeypatch.setattr(execution, "HOT", 1e9)  # it need not be hot
    (_, compiled, _), (_, _, eager) = make_step("O0"), make_step()
    for seed in range(3):
        ms.set_seed(seed)
        found = compiled(*data())
        ms.set_seed(seed)
        np.testing.assert_allclose(found.asnumpy(), eager(*data()).asnumpy(), rtol=1e-4)
    assert compiled.report()["backends"] == ["inductor"]


@pytest.mark.parametrize("text", ["abc", "-3", "nan"])
def test_a_wrong_size_limit_is_reported_once(monkeypatch, capsys, text):
    monkeypatch.setenv("LAMELLA_CACHE_MIB", text)
    assert cache.most_mib() == cache.most_mib() == cache.MOST_MIB
    assert capsys.readouterr().err.count("LAMELLA_CACHE_MIB must be a number") == 1


PROGRAM = """
import sys, time, json
import lamella as ms
from lamella import ops
from lamella.graph.runtime import execution, stage
execution.HOT = float(sys.argv[1])
stage.ENGINE = "inductor"
step = ms.jit(lambda x: (ops.tanh(x * 3 + 1) * ops.exp(x) - ops.sin(x) / 2).sum())
x = ops.sin(ops.arange(90000).astype(ms.float32))
end = time.monotonic() + float(sys.argv[2])
calls = 0
while calls < 3 or (not step.settled and time.monotonic() < end):
    value = float(step(x))
    calls += 1
    time.sleep(0.03)  # for the compiler
print(json.dumps([calls, step.settled, step.report()["backends"], value]))
"""


def _run(kept, hot, folder, patience=PATIENCE):
    """Run a program in a folder with modules named like those that the compiler's process imports.

    These must not run.

    Python puts the current folder on the path for ``-c`` and ``-m`` only.
    """
    (folder / "program").mkdir(exist_ok=True)
    (folder / "program" / "main.py").write_text(PROGRAM)
    for name in ("ctypes", "signal", "json", "torch", "lamella", "sitecustomize", "triton"):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write(__name__)")
    done = python(folder / "program" / "main.py", hot, patience, cwd=folder, timeout=1200,
                  env={**os.environ, "LAMELLA_CACHE": str(kept), "LAMELLA_CPP": "0"})
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    return json.loads(done.stdout)


@needs_compiler
def test_a_new_process_uses_what_an_earlier_one_compiled_unless_it_is_damaged(kept, tmp_path):
    before = set(kept.iterdir())
    first = _run(kept, "0", tmp_path)
    second = _run(kept, "1000", tmp_path, patience=0)  # it would never compile by itself
    assert first[1] and second[0] == 3
    assert second[2] == first[2] == ["inductor"]  # eight kernels in one: no contest
    assert first[3] == pytest.approx(second[3], rel=1e-5)

    (folder,) = [f for f in kept.iterdir() if f not in before and (f / "model.so").exists()]
    (folder / "fastest").write_text("replay")  # as it was on a busy day
    again = _run(kept, "0", tmp_path)
    assert again[1:3] == [True, ["inductor"]] and (folder / "fastest").read_text() == "inductor"
    library, known = folder / "model.so", (folder / "digest").read_text()
    whole = library.read_bytes()
    native, _ = _native(11)
    native.key = folder.name
    for damaged, its_digest in ((whole, "another"), (b"", hashlib.sha256(b"").hexdigest()),
                                (whole[:-5000], hashlib.sha256(whole[:-5000]).hexdigest()),
                                (whole[:1000], known)):
        folder.mkdir(exist_ok=True)
        (folder / "fastest").write_text("inductor")
        library.write_bytes(damaged)
        (folder / "digest").write_text(its_digest)
        if len(damaged) != 1000:
            assert native.load() is None and not folder.exists()  # so that it is made again
    third = _run(kept, "1000", tmp_path, patience=0)
    assert third[2] == ["replay"] and third[3] == pytest.approx(first[3], rel=1e-5)
    assert not folder.exists()


@pytest.mark.parametrize("what", [b"\xff\xfe", b"warp drive", b""])
def test_a_damaged_autotuning_result_is_ignored(kept, what):
    native, _ = _native(9)
    folder = kept / native.key
    folder.mkdir(exist_ok=True)
    (folder / "fastest").write_bytes(what)
    assert native.remembered() is None


@pytest.mark.parametrize("what", [b"\xff\xfe", b"sums maybe", b"sums"])
def test_a_damaged_trial_result_is_made_again(tmp_path, monkeypatch, what):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    known = Decisions(*_graph())
    known["sums"] = True
    known.keep()
    assert Decisions(*_graph()) == {"sums": True}
    (tmp_path / known.key / "paid").write_bytes(what)
    again = Decisions(*_graph())
    assert again == {} and not (tmp_path / known.key).exists()
    again["sums"] = False
    again.keep()
    assert Decisions(*_graph()) == {"sums": False}


def _graph():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.ops.aten.sin.default, (x,)),))
    return torch.fx.GraphModule(torch.nn.Module(), graph), [torch.ones(3)]


def test_choice_takes_the_faster():
    calls = []

    def slow(values):
        time.sleep(0.02)
        calls.append("slow")
        return values

    def fast(values):
        calls.append("fast")
        return values

    decided = []
    choice = Autotuner({"slow": slow, "fast": fast}, decided.append)
    for _ in range(2 * ROUNDS):
        assert choice([]) == []
    assert decided == ["fast"]
    assert calls.count("slow") == calls.count("fast") == ROUNDS


@needs_compiler
@pytest.mark.parametrize("end", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
                         ids=["at exit", "killed"])
def test_the_worker_ends_with_its_parent(tmp_path, end):
    """No process and no unfinished work is left when the program ends during a compilation."""
    tmp_path.chmod(0o700)
    program = """
import lamella as ms
from lamella import ops
from lamella.machine import background
from lamella.graph.runtime import execution, stage
import time
execution.HOT, stage.ENGINE = 0.0, "inductor"
step = ms.jit(lambda x: (ops.tanh(x * 5 + 1) * ops.exp(x) - ops.cos(x) / 2).sum())
x = ops.ones((30, 30))
while not background._running:
    step(x)
    time.sleep(0.005)
time.sleep(0.5)
print(background._running[0].pid, flush=True)
"""
    done = python("-c", program + end, timeout=600, env={
        **os.environ, "LAMELLA_CACHE": str(tmp_path), "LAMELLA_CPP": "0"})
    group = int(done.stdout)
    until = time.monotonic() + PATIENCE
    while _members(group) or list(tmp_path.glob("draft-*")):
        assert time.monotonic() < until, (_members(group), list(tmp_path.iterdir()))
        time.sleep(0.05)


def _members(group):
    """The processes of a group, without those that have ended."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            found.append(stat.parent.name)
    return found


def test_kernels_that_machine_code_cannot_call_are_replayed():
    net = nn.LSTM(4, 8, batch_first=True)
    x = Tensor(np.ones((2, 3, 4), np.float32))
    compiled = Compiled(lambda x: net(x)[0].sin().cos().tanh(), level="O1")
    compiled(x)
    graph, = compiled.graphs(x)
    if not any("mkldnn_rnn_layer" in str(n.target) for n in graph.execution.graph.graph.nodes):
        pytest.skip("this PyTorch runs an LSTM by other kernels")
    for _ in range(20):  # no time for a compilation
        compiled(x)
    assert compiled.settled and compiled.report()["backends"] == ["replay"]


def test_kernels_for_accelerators_become_a_part_of_the_library():
    assert "aot_inductor.embed_kernel_binary" not in worker.options_for({"cpu"}, 2)
    found = worker.options_for({"cuda", "cpu"}, 2)
    assert found["aot_inductor.embed_kernel_binary"] is True and found["cpp.threads"] == 2


def test_a_device_without_a_runner_of_compiled_code_replays():
    with pytest.raises(ValueError, match="no compiled code on meta"):
        native.runner_of("model.so", torch.device("meta"))
