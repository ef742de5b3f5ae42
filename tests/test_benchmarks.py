"""The benchmarks: their arithmetic, the protocol of their workers, and that contestants agree."""

import dataclasses
import importlib
import itertools
import math
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import harness, minute, plot, table
from benchmarks.harness import Failed, Left, Process, Result, Settings
from benchmarks.papers import long
from benchmarks.papers.data import DATA
from benchmarks.worker import Worker
from benchmarks.workload import LeftOut, Step
from benchmarks.workloads import WORKLOADS, digits, photographs
from lamella import alias

BY_NAME = {w.name: w for w in WORKLOADS}
QUICK = {name: BY_NAME[name] for name in ("add", "chain", "mlp", "lenet", "lstm", "gpt-forward",
                                          "resnet-forward")}
SMALL = {  # the others' programs, on little data
    "rows": lambda: (np.ones((130, 4, 4), np.float32), np.arange(130, dtype=np.int32)),
    "photographs": lambda: photographs.photographs(6),
    "digits": lambda: tuple(part[:90] for part in digits.digits()),
    **dict.fromkeys(("checkpoint-write", "checkpoint-read", "safetensors-write",
                     "safetensors-read"),
                    lambda: (np.arange(3000, dtype=np.float32), np.ones((20, 30), np.float32)))}


@pytest.fixture
def mindspore_is_lamella():
    alias.install()
    yield
    alias.uninstall()
    for name in [n for n in sys.modules if n.startswith("benchmarks.") and "mindspore" in n]:
        del sys.modules[name]


# -- workloads -------------------------------------------------------------------------------------


OTHER = pytest.mark.long("the others show that contestants agree; `make bench` compares them all")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=OTHER if name in ("photographs", "digits") else ())
    for name in (*QUICK, *SMALL)])
def test_lamella_agrees_with_pytorch(name, mindspore_is_lamella):
    from benchmarks.runners import pytorch

    workload = QUICK.get(name) or dataclasses.replace(BY_NAME[name], data=SMALL[name])
    weights, data = pytorch.initial_weights(workload), list(workload.data())
    ours = importlib.import_module("benchmarks.runners.mindspore")
    steps = [pytorch.build(workload, "PyTorch", "cpu", weights, data),
             ours.build(workload, "Lamella", "cpu", weights, data)]
    for _ in range(2):
        theirs, own = (step.value(step.run()) for step in steps)
        assert own == pytest.approx(theirs, rel=workload.agree)


@OTHER
def test_jax_agrees_with_pytorch():
    pytest.importorskip("jax", reason="JAX is installed for benchmarks only")
    from benchmarks.runners import jax, pytorch

    workload = BY_NAME["lenet"]
    weights, data = pytorch.initial_weights(workload), list(workload.data())
    steps = [pytorch.build(workload, "PyTorch", "cpu", weights, data),
             jax.build(workload, "JAX jit", "cpu", weights, data)]
    for _ in range(3):
        theirs, own = (step.value(step.run()) for step in steps)
        assert own == pytest.approx(theirs, rel=workload.agree)


@pytest.mark.parametrize("name", ["llama-tiny", pytest.param("gpt2-tiny", marks=OTHER)])
def test_jax_writes_the_tokens_that_lamella_writes(name):
    pytest.importorskip("jax", reason="JAX is installed for benchmarks only")
    from benchmarks.generation import decoders, worker
    from lamella.generation import Generator

    shape = decoders.SHAPES[name]
    theirs = worker.InJAX(shape, "float32", rows=2)
    theirs.prefill(13)
    theirs.decode(5)
    ours = Generator(decoders.in_lamella(shape, "float32"), capacity=64, compiled=False)
    written = ours.generate(worker.prompts(2, 13, shape.vocabulary), max_new_tokens=6)
    assert [[int(step[row]) for step in theirs.written] for row in range(2)] == written
    assert theirs.tokens() == written[0]


def test_names_and_titles_are_unique():
    assert len({w.name for w in bench.ALL}) == len({w.title for w in bench.ALL}) == len(bench.ALL)


def test_a_program_that_is_not_written_in_a_language_is_left_out():
    with pytest.raises(LeftOut, match="not written in cobol"):
        BY_NAME["mlp"].written_in("cobol")
    with pytest.raises(LeftOut, match="not written in pytorch"):
        dataclasses.replace(BY_NAME["mlp"], does="nothing").written_in("pytorch")


# -- workers ---------------------------------------------------------------------------------------


@pytest.fixture
def process():
    started = []

    def start(*command, limit=60.0):
        settings = Settings(threads=1)
        started.append(Process(command or harness.command_for("Lamella", settings),
                               harness.environment(settings, "/nowhere"), limit))
        return started[-1]

    yield start
    for each in started:
        each.end()


def test_contestants_in_processes_of_their_own():
    settings = Settings(steps=3, patience=0.5, threads=1, contestants=("Lamella", "PyTorch"))
    found = harness.measure(BY_NAME["chain"], settings)
    for result in found.values():
        assert not result.reason
        assert len(result.times) == 3 and all(0 < t < 1 for t in result.times)
        assert result.first > 0 and result.memory >= 0 and result.cores > 0


def test_a_contestant_without_an_interpreter_is_left_out():
    with pytest.raises(Left, match="--mindspore"):
        harness.command_for("MindSpore graph", Settings())
    assert harness.command_for("MindSpore", Settings(mindspore="/a/python"))[0] == "/a/python"


def test_the_length_of_a_step_is_that_of_one_after_it_has_settled():
    worker, began_settled = Worker.__new__(Worker), []

    def settled():
        return len(began_settled) >= 4

    worker.step = Step(lambda: began_settled.append(settled()), wait=lambda _: None,
                       array=lambda _: np.ones(1), settled=settled)
    worker.workload, worker.repeat = BY_NAME["mlp"], 1
    worker.begin, worker.before = time.perf_counter(), 0
    worker.turn = lambda: 1.0  # it is not repeated
    worker.prepare(patience=60.0, settling=60.0)
    assert began_settled == [False] * 4 + [True]


def test_a_worker_says_what_went_wrong_and_goes_on(process):
    worker = process()
    for _ in range(2):
        with pytest.raises(Failed, match="ValueError: can't do 'turn' now"):
            worker.ask(do="turn")


def test_a_worker_that_dies_leaves_its_last_error_line(process):
    worker = process(sys.executable, "-c", "import sys; input(); sys.exit('no more memory')")
    with pytest.raises(Failed, match="ended with status 1: no more memory"):
        worker.ask(do="turn")


def test_a_stopped_worker_ends_with_the_harness():
    harness_dies = (
        "import os; from benchmarks import harness; s = harness.Settings(threads=1)\n"
        "p = harness.Process(harness.command_for('PyTorch', s), harness.environment(s, '/x'), 60)\n"
        "try: p.ask(do='turn')\n"
        "except harness.Failed: print(p.process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)")
    done = subprocess.run([sys.executable, "-c", harness_dies], cwd=harness.ROOT, text=True,
                          stdout=subprocess.PIPE, timeout=300)
    pid = int(done.stdout)
    for _ in range(1200):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().split()[2] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.1)
    os.kill(pid, 9)
    pytest.fail("it is still there")


def test_a_worker_that_does_not_answer_is_given_up(process):
    worker = process(sys.executable, "-c", "import time; time.sleep(60)", limit=0.2)
    with pytest.raises(Failed, match="no answer within 0.2 s"):
        worker.ask(do="turn")


GROWS = """
import sys, time
with open(sys.argv[1], "a") as file:
    while True:
        print(file=file, flush=True)
        time.sleep(0.005)
"""
STARTS = f"""
import json, os, subprocess, sys, time
for line in sys.stdin:
    if json.loads(line)["do"] == "start":
        subprocess.Popen([sys.executable, "-c", {GROWS!r}, sys.argv[1]], start_new_session=True)
    size = os.path.getsize(sys.argv[1])
    while os.path.getsize(sys.argv[1]) == size:
        time.sleep(0.01)
    print({{}}, flush=True)
"""


def test_what_a_worker_has_started_is_stopped_with_it(process, tmp_path):
    file = tmp_path / "grows"
    file.touch()
    worker = process(sys.executable, "-c", STARTS, str(file), limit=240.0)
    worker.ask(do="start")
    time.sleep(0.1)  # it may have been about to write
    stopped = file.stat().st_size
    time.sleep(0.3)
    assert file.stat().st_size == stopped
    worker.ask(do="wait until it has grown")
    assert file.stat().st_size > stopped


@pytest.mark.long("processes that take turns; how turns are shared out is below")
def test_the_first_half_minute_in_turns(monkeypatch):
    monkeypatch.setattr(minute, "SETTLING", 0.0)
    monkeypatch.setattr(minute, "TURN", 0.1)
    monkeypatch.setattr(minute, "ROUNDS", 3)
    said = []
    (line,) = minute.minute(["mlp"], Settings(threads=1), 2, said.append, seconds=0.3).lines
    title, theirs, own, shares, _, steps, *_ = line
    assert title == "MLP" and int(theirs) > 0 and int(own) > 0 and len(said) == 2
    assert len(shares.split(", ")) == len(steps.split(", ")) == 2
    assert all(int(size) > 0 for size in line[-4:])


# -- turns -----------------------------------------------------------------------------------------


def test_slow_contestants_sit_rounds_out_evenly():
    rounds = {"a": 10, "b": 10, "slow": 4, "once": 1}
    order = [harness.turns(i, 10, rounds) for i in range(10)]
    assert [sum(name in turn for turn in order) for name in rounds] == [10, 10, 4, 0]
    gaps = [i for i, turn in enumerate(order) if "slow" in turn]
    assert all(2 <= b - a <= 3 for a, b in itertools.pairwise(gaps))
    assert {turn[0] for turn in order} >= {"a", "b"}


def test_differing_results_are_refused():
    results = {"PyTorch": Result([1.0]), "Lamella": Result([1.0]), "JAX jit": Result([1.0])}
    values = {"PyTorch": [2.0, 1.0], "Lamella": [2.0, 1.1], "JAX jit": [2.001]}
    harness.refuse_differing(BY_NAME["mlp"], values, results)
    assert results["Lamella"].reason == "its result is 1.1, PyTorch's 1"
    assert results["Lamella"].wrong
    assert not results["JAX jit"].reason and not results["PyTorch"].reason


def test_not_a_number_is_refused():
    results = {"PyTorch": Result([1.0]), "Lamella": Result([1.0])}
    harness.refuse_differing(BY_NAME["mlp"], {"PyTorch": [2.0], "Lamella": [math.nan]}, results)
    assert results["Lamella"].wrong


# -- tables ----------------------------------------------------------------------------------------


def some_results():
    return {
        BY_NAME["mlp"]: {"Lamella": Result([0.003, 0.001, 0.0015], first=0.5, memory=2**20),
                         "Lamella graph": Result([0.001]), "PyTorch": Result([0.002]),
                         "JAX jit": Result([0.00125])},
        BY_NAME["chain"]: {"Lamella": Result([0.0002]), "PyTorch": Result([0.0001]),
                           "JAX jit": Result([0.00001], reason="its result is 1", wrong=True),
                           "MindSpore": Result(reason="no --mindspore given")}}


def test_medians_in_the_workloads_unit():
    found = table.step_table(some_results())
    assert found.head == ["workload", "Lamella", "Lamella graph", "PyTorch", "JAX jit"]
    assert found.lines[0][1:] == ["1.5 ms", "**1 ms**", "2 ms", "1.25 ms"]
    assert found.lines[1][1:] == ["1 µs", "–", "**0.5 µs**", "–"]


def test_rates_are_of_a_second():
    found = table.step_table({BY_NAME["rows"]: {"Lamella": Result([0.05]),
                                                "PyTorch": Result([0.5])}})
    assert found.lines[0][1:] == ["**1,200,000 rows/s**", "120,000 rows/s"]
    assert BY_NAME["checkpoint-read"].figure(0.1) == pytest.approx(1.34217728)


def test_what_compiles_by_itself_or_not_at_all_has_one_form():
    with pytest.raises(LeftOut, match="nothing to compile"):
        Worker(BY_NAME["rows"], "torch.compile", "cpu", 1, "")


def test_ratios_against_pytorch_and_the_best_peer():
    assert table.ratio_table(some_results()).lines == [
        ["MLP", "0.75", "0.50", "JAX jit", "1.20", "0.80"],
        ["chain, gradient", "2.00", "–", "PyTorch", "2.00", "–"]]


def test_scatter_first_answer_and_memory():
    results = some_results()
    assert table.spread_table(results).lines[0][1:3] == ["−27 … +80 %", "one step"]
    assert table.first_table(results).lines == [["MLP", "0.50", "–", "–", "–"]]
    assert table.memory_table(results, "cpu").lines == [["MLP", "1", "–", "–", "–"]]
    assert table.cores_table(results).lines == []


def test_reasons_of_those_who_take_part():
    assert table.reasons(some_results()) == ["JAX jit, chain, gradient: its result is 1"]


def test_the_page_keeps_what_is_not_between_its_markers():
    page = table.page_with("# Speed\n", "cpu", "one")
    page = table.page_with(table.page_with(page, "cuda", "gpu"), "cpu", "two")
    assert "two" in page and "gpu" in page and "one" not in page
    assert page.startswith("# Speed\n")


def test_tables_in_markdown_have_as_many_cells_in_each_line():
    lines = table.step_table(some_results()).markdown().splitlines()[2:]
    assert len({line.count("|") for line in lines}) == 1 and len(lines) == 4


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    picture = plot.draw(some_results(), tmp_path / "a.svg")
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_the_short_picture_shows_the_training_steps_of_the_page(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    page = (bench.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    rows = plot.training_rows(page)
    assert list(rows) == ["MLP", "LeNet-5", "LSTM", "GPT", "ResNet-18"]
    line = re.search(r"^\| LeNet-5 \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert line is not None
    found = [f"{rows['LeNet-5'][name]:.2f}" for name in ("Lamella", "Lamella graph")]
    assert found == [line[1], line[2]]
    assert rows["GPT"]["PyTorch"] == 1 and rows["GPT"]["MindSpore"] > 1
    picture = plot.draw_training(page, tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in picture for name in [*rows, "JAX jit", "torch.compile"])


def test_options_choose_workloads():
    names = [w.name for w in bench.chosen_workloads(bench.options(["--no-bf16"]))]
    assert "gpt" in names and "import" in names and "gpt-bf16" not in names
    assert "gpt-bf16" in [w.name for w in bench.chosen_workloads(bench.options(["--bf16"]))]
    only = bench.options(["--only", "mlp", "--only", "import"])
    assert [w.name for w in bench.chosen_workloads(only)] == ["mlp", "import"]


def test_a_whole_run_writes_the_page_and_the_picture(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    (tmp_path / "benchmarks.md").write_text("# Speed\n")
    result = {"Lamella": Result([0.001] * 3, 0.1, 2**20, 1.0), "PyTorch": Result([0.002] * 3)}
    monkeypatch.setattr(bench, "DOCS", tmp_path)
    monkeypatch.setattr(bench, "measure", lambda workload, *_: result)
    monkeypatch.setattr(bench, "measure_imports",
                        lambda _: {**result, "JAX jit": Result(reason="broken", wrong=True)})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--no-bf16"])
    with pytest.raises(SystemExit):  # something was wrong
        bench.main()
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "| MLP | 0.50 | PyTorch | 0.50 |" in page
    assert "- JAX jit, import: broken" in page
    assert "](benchmarks-cpu.svg)" in page and (tmp_path / "benchmarks-cpu.svg").exists()
    assert "Peak memory" in capsys.readouterr().out


def test_each_algorithm_of_a_paper_is_written_for_both_frameworks():
    pytest.importorskip("jax")
    from benchmarks.papers import data, in_jax, in_lamella

    for name, (weights, given) in data.DATA.items():
        for module in (in_lamella, in_jax):
            step, args = module.step_of(name)
            assert callable(step) and len(args) == 1 + len(given) and len(args[0]) == len(weights)


def test_an_equation_of_its_benchmark_has_one_gradient():
    """By the adjoint equation and by the steps that were taken."""
    from benchmarks import ode

    value, adjoint, steps = (ode.lamella(kind)() for kind in ode.KINDS)
    assert value.size == 1 and adjoint.shape == steps.shape == (4, 32)
    np.testing.assert_allclose(adjoint, steps, atol=ode.TOLERANCE * abs(steps).max())


def test_a_long_loop_is_measured(monkeypatch):
    monkeypatch.setitem(DATA, "spiking", DATA["spiking"])
    found = long.figures("lamella", 5, 0.0, loaded=False)
    assert 0 < found["first"] < found["two"] and found["step"] > 0
    assert found["memory"] <= found["later"]
