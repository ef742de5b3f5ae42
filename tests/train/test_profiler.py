"""Traces of a run, as Chrome's JSON."""

import json
import os

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn, profiler
from lamella.train import Callback, Model


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
