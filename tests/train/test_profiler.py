"""Traces of a run, as Chrome's JSON."""

import json
import os

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn, profiler
from lamella.train import Callback, Model
from lamella.train import profiler as implementation


def names(path):
    with open(path) as file:
        return {event.get("name") for event in json.load(file)["traceEvents"]}


def test_scheduled_steps_of_a_model_are_written_apart(tmp_path):
    class Profile(Callback):
        def __init__(self):
            self.profiler = profiler.profile(
                schedule=profiler.schedule(wait=1, warmup=1, active=1, repeat=2),
                on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path)),
                experimental_config=profiler._ExperimentalConfig())

        def on_train_begin(self, run_context):
            self.profiler.start()

        def on_train_step_end(self, run_context):
            self.profiler.step()

        def on_train_end(self, run_context):
            self.profiler.stop()

    x = np.ones((16, 2), np.float32)
    net = nn.Dense(2, 2)
    Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(
        1, dataset.NumpySlicesDataset((x, x)).batch(2), Profile())
    files = sorted(os.listdir(tmp_path))
    assert len(files) == 2
    for name in files:
        assert {"aten::addmm"} <= names(tmp_path / name)


def test_profiler_and_marks(tmp_path):
    made = ms.Profiler(output_path=str(tmp_path / "a"), start_profile=False)
    made.start()
    made.add_metadata("who", "me")
    number = profiler.mstx.range_start("part")
    profiler.mstx.mark("moment")
    ms.ops.matmul(ms.ops.ones((4, 4)), ms.ops.ones((4, 4)))
    profiler.mstx.range_end(number)
    made.analyse()
    assert {"part", "moment", "aten::mm"} <= names(tmp_path / "a" / "trace.json")
    with pytest.raises(ValueError, match="there is no open range"):
        profiler.mstx.range_end(number)
    with pytest.raises(ValueError, match="active"):
        profiler.schedule(wait=1, active=0)


def test_steps_that_a_file_names(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (config / "profiler_config.json").write_text('{"start_step": 2, "stop_step": 3}')
    net = ms.nn.Dense(2, 1)
    model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
    data = ms.dataset.NumpySlicesDataset(
        (np.ones((6, 2), np.float32), np.ones((6, 1), np.float32)), shuffle=False).batch(1)
    monitor = ms.profiler.DynamicProfilerMonitor(str(config), str(tmp_path / "out"))
    model.train(1, data, callbacks=[monitor])
    assert (tmp_path / "out" / "rank0_start2_stop3" / "trace.json").stat().st_size > 100
    (config / "profiler_config.json").write_text("{")  # nothing is recorded by what can't be read
    monitor = ms.profiler.DynamicProfilerMonitor(str(config), str(tmp_path / "second"))
    model.train(1, data, callbacks=[monitor])
    assert not (tmp_path / "second").exists()
    for wrong, error in (((None,), TypeError), ((str(config), 3), TypeError),
                         ((str(config), "x", 0), ValueError)):
        with pytest.raises(error):
            ms.profiler.DynamicProfilerMonitor(*wrong)


def test_a_profiler_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("MS_PROFILER_OPTIONS", raising=False)
    monkeypatch.setattr(ms.EnvProfiler, "profiler", None)
    ms.EnvProfiler.init_profiler()
    ms.EnvProfiler().analyse()
    assert ms.EnvProfiler.profiler is None
    for text in ("no JSON", "[]", '{"start": false}'):
        monkeypatch.setenv("MS_PROFILER_OPTIONS", text)
        ms.EnvProfiler.init_profiler()
        assert ms.EnvProfiler.profiler is None


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup:UserWarning")
@pytest.mark.parametrize("given, steps", [
    ({"wait": 1, "active": 2}, "NRSNRSNR"), ({"wait": 0, "active": 1}, "SSSSSSSS"),
    ({"wait": 1, "active": 1, "warmup": 2}, "NWWSNWWS"),
    ({"wait": 1, "active": 1, "repeat": 2}, "NSNSNNNN"),
    ({"wait": 0, "active": 2, "skip_first": 3}, "NNNRSRSR")])
def test_which_steps_are_recorded(given, steps):
    when = profiler.schedule(**given)
    letters = {"NONE": "N", "WARMUP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}
    assert "".join(letters[when(step).name] for step in range(8)) == steps
    assert when.to_dict() == {"warmup": 0, "repeat": 0, "skip_first": 0, **given}
    for name in ("wait", "warmup", "repeat", "skip_first"):
        with pytest.raises(ValueError, match=name):
            profiler.schedule(**{**given, name: -1})
        with pytest.raises(TypeError, match=name):
            profiler.schedule(**{**given, name: 1.5})


class Clock:
    """Stands for the module `time`."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


def recorded_steps(monitor, clock, steps, seconds, change=None):
    """Which steps a recording runs in, when each takes so many seconds."""
    found = []
    for step in range(1, steps + 1):
        if change and step in change:
            change[step]()
        monitor.on_train_step_begin(None)
        if monitor._running is not None:
            found.append(step)
        clock.now += seconds
        monitor.on_train_step_end(None)
    return found


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A monitor that reads its file every two seconds, a clock, and a function that writes it."""
    clock = Clock()
    monkeypatch.setattr(implementation, "time", clock)
    monkeypatch.delenv("RANK_ID", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    monitor = profiler.DynamicProfilerMonitor(str(tmp_path / "config"), str(tmp_path / "out"), 2)

    def write(**options):
        (tmp_path / "config" / "profiler_config.json").write_text(json.dumps(options))

    return monitor, clock, write


@pytest.mark.parametrize("first, last, wanted", [
    (1, 1, [1]), (2, 3, [2, 3]), (4, 9, [4, 5]), (3, 2, []), (-1, -1, []), (6, 6, []), (0, 3, [])])
def test_the_first_step_and_the_last(watched, tmp_path, first, last, wanted):
    monitor, clock, write = watched
    write(start_step=first, stop_step=last)
    assert recorded_steps(monitor, clock, 5, 1) == wanted
    monitor.on_train_end(None)
    assert monitor._running is None
    left = os.listdir(tmp_path / "out") if (tmp_path / "out").exists() else []
    assert left == [f"rank0_start{first}_stop{last}"] * bool(wanted)


@pytest.mark.parametrize("seconds, wanted", [(1, []), (2, [4, 5]), (1.5, [])])
def test_the_file_is_read_again_after_some_seconds(watched, tmp_path, seconds, wanted, monkeypatch):
    """At step 4 it says that step 4 is the first; with a second each it was read at step 3."""
    monitor, clock, write = watched
    monkeypatch.setenv("RANK", "5")
    write(start_step=-1, stop_step=-1)
    change = {4: lambda: write(start_step=4, stop_step=5, prof_path=str(tmp_path / "there"))}
    assert recorded_steps(monitor, clock, 6, seconds, change) == wanted
    if wanted:
        assert os.listdir(tmp_path / "there") == ["rank5_start4_stop5"]
    assert monitor._options["start_step"] == 4  # read by then


def test_options_of_a_recording(watched, tmp_path, monkeypatch):
    monitor, clock, write = watched
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("RANK_ID", "7")
    write(start_step="1", stop_step=1, record_shapes=1, with_stack=0)
    monitor.on_train_step_begin(None)
    inner = monitor._running._inner
    assert (inner.record_shapes, inner.with_stack, inner.profile_memory) == (True, False, False)
    ms.ops.matmul(ms.ops.ones((3, 4)), ms.ops.ones((4, 5)))
    monitor.on_train_step_end(None)
    trace = tmp_path / "out" / "rank7_start1_stop1" / "trace.json"
    events = json.loads(trace.read_text())["traceEvents"]
    shapes = [event["args"].get("Input Dims") for event in events
              if event.get("name") == "aten::mm"]
    assert shapes == [[[3, 4], [4, 5]]]


def test_a_file_that_says_nothing_changes_nothing(watched):
    monitor, clock, write = watched
    before = dict(monitor._options)
    assert before == {"start_step": -1, "stop_step": -1, "with_stack": False,
                      "profile_memory": False, "record_shapes": False}
    with open(monitor._file) as file:
        assert json.load(file) == before
    for options in ({}, {"start_step": 1}, {"start_step": "x", "stop_step": 1},
                    {"start_step": None, "stop_step": 1}):
        write(**options)
        monitor._read()
        assert monitor._options == before


@pytest.mark.parametrize("options, wanted", [
    ({}, (False, False, False)), ({"with_stack": 1}, (True, False, False)),
    ({"profile_memory": True}, (False, True, False)), ({"record_shapes": 1}, (False, False, True))])
def test_a_profiler_with_the_environments_options(tmp_path, monkeypatch, options, wanted):
    monkeypatch.setattr(ms.EnvProfiler, "profiler", None)
    monkeypatch.setenv("MS_PROFILER_OPTIONS", json.dumps({
        "start": True, "output_path": str(tmp_path / "out"), "other": 3, **options}))
    ms.EnvProfiler.init_profiler()
    inner = ms.EnvProfiler.profiler._inner
    ms.EnvProfiler().analyse()
    assert (inner.with_stack, inner.profile_memory, inner.record_shapes) == wanted
    assert os.listdir(tmp_path / "out") == ["trace.json"]


def test_a_profiler_that_starts_later(tmp_path):
    with profiler.profile(start_profile=False) as recorded:
        assert not recorded._running
        recorded.start()
        recorded.start()  # which changes nothing
        assert recorded._running
        for _ in range(3):
            ms.ops.matmul(ms.ops.ones((4, 4)), ms.ops.ones((4, 4)))
    assert not recorded._running
    recorded.stop()
    rows = recorded.table(1).splitlines()
    assert len([row for row in rows if row.lstrip().startswith("aten::")]) == 1
    write = profiler.tensorboard_trace_handler(str(tmp_path), "me")
    with profiler.profile() as other:
        ms.ops.ones(3)
    for each in (recorded, other):
        write(each)
    found = sorted(os.listdir(tmp_path))
    assert [name.split(".")[0] for name in found] == ["me", "me"]
    assert sorted(name.split("-")[1] for name in found) == ["0.pt.trace.json", "1.pt.trace.json"]
