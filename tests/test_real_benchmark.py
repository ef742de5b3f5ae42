"""``python -m benchmarks.real``: its programs agree in small sizes, and its table."""

import importlib
import os
import sys

import pytest

from benchmarks import real, worker
from benchmarks.harness import Result
from benchmarks.workload import Step
from benchmarks.workloads import REAL
from lamella import alias

from .zygote import run

NAMES = ("gpt2", "bert", "resnet50", "lstm-lm", "unet", "gpt2-bf16", "unet-bf16")


@pytest.fixture
def tiny(monkeypatch):
    """The small models, and MindSpore's programs in Lamella."""
    monkeypatch.setenv(real.TINY, "1")
    before = {name: module for name, module in sys.modules.items()
              if name.startswith("benchmarks.workloads")}
    for name in before:
        del sys.modules[name]
    alias.install()
    yield {w.name: w for w in importlib.import_module("benchmarks.workloads").REAL}
    alias.uninstall()
    for name in [n for n in sys.modules if n.startswith(("benchmarks.workloads",
                                                         "benchmarks.runners.mindspore"))]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.parametrize("name", NAMES)
def test_programs_agree(name, tiny):
    from benchmarks.runners import pytorch

    workload = tiny[name]
    weights, data = pytorch.initial_weights(workload), list(workload.data())
    ours = importlib.import_module("benchmarks.runners.mindspore")
    steps = [pytorch.build(workload, "PyTorch", "cpu", weights, data),
             *(ours.build(workload, by, "cpu", weights, data)
               for by in ("Lamella", "Lamella graph"))]
    theirs, *others = (step.value(step.run()) for step in steps)
    for own in others:
        assert own == pytest.approx(theirs, rel=workload.agree)


def test_the_real_sizes_are_those_of_the_papers():
    """124 million weights: the embeddings, and twelve layers."""
    from benchmarks.workloads import gpt2

    width = gpt2.WIDTH
    layer = 12 * width * width + 13 * width
    count = (gpt2.VOCABULARY + 1024) * width + gpt2.LAYERS * layer + 2 * width
    assert round(count / 1e6) == 124


def test_the_table():
    theirs = Result([0.2, 0.2], first=2.0, memory=2**30)
    ours = Result([0.1, 0.1], first=3.0, memory=2**29, limit=0.05)
    found = {REAL[0]: {"Lamella graph": ours, "PyTorch": theirs, "torch.compile": Result(
        reason="no compiler")}}
    lines = real.real_table(found).lines
    assert lines[0][2:9] == ["100 ms", "0.50", "3.0 s", "1.50", "512 MiB", "0.50", "2.00"]
    assert lines[2][2] == "no compiler"
    assert real.means(found) == ["compiled / PyTorch in float32, geometric mean of 1: 0.50"]


def test_a_model_that_there_is_not():
    with pytest.raises(SystemExit, match="gpt3: no such model; there are gpt2, bert"):
        real.main(["--only", "gpt3"])


def test_steps_are_measured_by_the_chosen_clock(monkeypatch):
    told = iter([1.0, 3.5])
    monkeypatch.setattr(worker, "CLOCK", lambda: next(told))
    one = object.__new__(worker.Worker)
    one.repeat, one.step = 1, Step(lambda: None, lambda _: None, lambda result: result)
    assert one.turn() == 2.5
    assert real.options(["--processor-time"]).processor_time
    assert run("-c", "import benchmarks.worker as w; print(w.CLOCK.__name__)", bare=True,
               env={**os.environ, real.CLOCK: "processor"}).stdout == "process_time\n"
