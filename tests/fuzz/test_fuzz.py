"""The fuzzer notices what it should; and a short run of it over everything."""

from __future__ import annotations

import pytest
import torch

from lamella import Tensor, ops

from ..zygote import run as python
from . import judge, samples
from .arguments import Arguments
from .harness import run
from .seeds import examples
from .surface import targets
from .worker import numbered, told


def judged(call) -> str:  # noqa: ANN001
    try:
        call()
    except Exception as error:  # noqa: BLE001  (judged)
        return judge.judge(error)
    return judge.FINE


def test_outcomes_are_distinguished() -> None:
    x = Tensor([1.0])
    assert judged(lambda: samples.fine(x)) == judge.FINE
    assert judged(lambda: samples.raw(x)) == judge.RAW
    assert judged(lambda: samples.inside(x)) == judge.INSIDE
    assert judged(lambda: samples.clear(x)) == judge.CLEAR
    assert judged(lambda: samples.clear()) == judge.CLEAR  # type: ignore[call-arg]
    assert judged(lambda: samples.raw()) == judge.SIGNATURE  # type: ignore[call-arg]
    assert judged(lambda: ops.ACos()(x, True)) == judge.CLEAR  # with Python's words in it
    assert judged(lambda: torch.ones(2**50)) == judge.MEMORY
    assert judged(lambda: ops.matmul(ops.ones((2, 3)), ops.ones((4, 5)))) == judge.CLEAR


def test_text_of_a_kernel_is_noticed() -> None:
    def show() -> None:
        try:
            torch.linalg.inv(torch.ones(2, 3))
        except RuntimeError as error:
            raise ValueError(f"For 'inv', {error}") from error

    assert judged(show) == judge.KERNEL


@pytest.mark.long("`make fuzz` would end; that each is told apart is above")
def test_crashes_and_hangs_are_survived() -> None:
    for name, kind, calls in (("crash", judge.CRASH, 1), ("hang", judge.HANG, 1)):
        report = run(calls, source="tests.fuzz.samples", only=name, patience=1.0)
        assert report.calls == calls
        assert report.counts[kind] == calls, report
        assert any(f.kind == kind and f"samples.{name}" in f.call for f in report.findings)
        assert any(name in line for line in report.lines())


def test_a_number_gives_the_same_call() -> None:
    everything = targets()
    for number in (3, 17, 101):
        first, second = (told(*numbered(everything, 5, number)) for _ in range(2))
        assert first == second
    assert Arguments("0:1").integers() == Arguments("0:1").integers()


def test_examples_of_docstrings_are_found() -> None:
    named = {t.name: t for t in targets()}
    assert len(named) > 1500
    for name in ("ops.add", "ops.ReLU", "nn.Dense", "Tensor.__add__"):
        assert name in named
    for name in ("ops.matmul", "ops.ApplyMomentum", "nn.Dense"):
        assert examples(named[name]), name


@pytest.mark.parametrize("seed", [11])
def test_many_calls(seed: int) -> None:
    report = run(1000, seed=seed)
    text = "\n".join(report.lines())
    assert not report.counts[judge.CRASH] and not report.counts[judge.HANG], text
    assert report.calls == 1000
    assert report.counts[judge.FINE] > 250 and report.counts[judge.CLEAR] > 250, text
    # what a few calls allow of what `make fuzz` counts
    shown = sum(report.counts[kind] for kind in (judge.KERNEL, judge.RAW, judge.INSIDE))
    assert shown < 25, text


def test_faults_are_survived(tmp_path) -> None:  # noqa: ANN001
    run = python("-m", "tests.fuzz.faults", "--kills", "2", "--truncations", "20", "--flips", "60",
                 "--threads", "16", "--forks", "1", "--signals", "1", "--disks", "2", "--formats",
                 "5", timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(" held") == 8


def test_killed_training_goes_on() -> None:
    run = python("-m", "tests.fuzz.resumes", "--kills", "6", "--each", "2", timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert ", 6 kills, 0 jobs that went on otherwise" in run.stdout
