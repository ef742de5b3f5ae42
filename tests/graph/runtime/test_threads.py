"""Compiled functions called by several threads, and arguments that share memory."""

import importlib.util
import itertools
import sys
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.core.threads import ReadersWriterLock
from lamella.dataset.threads import Lanes
from lamella.graph.runtime.doubts import REHEARSALS
from lamella.graph.tracing.symbolic import preparation
from lamella.graph.tracing.threads import alone, other_thread

THREADS = 4


def together(*functions):
    """Run functions in threads of their own, started at the same moment; returns what they give."""
    start = threading.Barrier(len(functions))
    found: list = [None] * len(functions)
    errors: list[BaseException] = []

    def run(number, function):
        start.wait()
        try:
            found[number] = function()
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)

    threads = [threading.Thread(target=run, args=case) for case in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return found


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_no_update_is_lost_while_another_thread_records():
    weight = Parameter(np.zeros((), np.float32), name="w")

    @ms.jit
    def add(x):
        ops.assign_add(weight, ops.reduce_sum(x))
        return weight * 1

    calls, lengths = 60, range(1, 31)
    lock = threading.Lock()  # adding is no atomic operation, neither here nor eagerly

    def locked(size):
        x = Tensor(np.ones(size, np.float32) / size)
        with lock:
            add(x)

    def replay():
        for _ in range(calls):
            locked(1)

    def record():
        for size in lengths:  # each is recorded first
            locked(size)

    add(Tensor(np.ones(1, np.float32)))
    together(replay, record, replay)
    assert float(weight.asnumpy()) == pytest.approx(1 + 2 * calls + len(lengths), rel=1e-5)


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_reports_are_made_while_other_threads_record():
    double, over = ms.jit(lambda x, factor: x * factor), threading.Event()

    def record():
        try:
            for size in range(1, 25):
                for _ in range(REHEARSALS + 1):
                    double(Tensor(np.ones(size, np.float32)), size % 3)
        finally:
            over.set()

    def report():
        while not over.is_set():
            assert double.report()["graphs"] >= 0 and double.settled in (True, False)
        return double.report()["recompilations"]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        _, *found = together(record, report, report)
    finally:
        sys.setswitchinterval(before)
    assert all(found)


def test_a_run_that_raises_leaves_what_it_has_done():
    weight = Parameter(np.full(4, 2.0, np.float32), name="w")
    read = ms.jit(lambda x: x * weight)

    def failing(x):
        weight.set_data(x * 0)
        raise KeyError("late")

    def fail():
        for _ in range(3):
            with pytest.raises(KeyError):
                ms.jit(failing)(x)

    x = Tensor(np.ones(4, np.float32))
    together(fail, lambda: [read(x) for _ in range(5)])
    np.testing.assert_array_equal(read(x).asnumpy(), np.zeros(4))


def test_threads_that_call_first_at_once_share_one_graph():
    net = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 2))
    compiled = ms.jit(net.construct)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32))
    wanted = net(x).asnumpy()
    for found in together(*[lambda: [compiled(x).asnumpy() for _ in range(20)]] * 8):
        np.testing.assert_allclose(found, [wanted] * 20, rtol=1e-6)
    # on a busy machine all calls may be over before five recordings were undisturbed
    assert compiled.report()["traces"] <= 1
    compiled(x)
    assert compiled.report()["traces"] == 1


def test_each_thread_trains_a_network_of_its_own():
    def train(seed, wrap):
        rng = np.random.default_rng(seed)
        net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
        for parameter in net.get_parameters():
            parameter.set_data(Tensor(rng.standard_normal(parameter.shape).astype(np.float32)))
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

        def step(x):
            loss, gradients = gradient(x)
            optimizer(gradients)
            return loss

        step = wrap(step)
        x = Tensor(rng.standard_normal((5, 4)).astype(np.float32))
        return [float(step(x).asnumpy()) for _ in range(10)]

    wanted = [train(seed, lambda step: step) for seed in range(THREADS)]
    found = together(*[lambda seed=seed: train(seed, ms.jit) for seed in range(THREADS)])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_eager_runs_never_see_stand_ins():
    """One graph for all sizes is recorded with stand-ins for the data of Parameters."""
    preparation.begin()
    assert preparation.finished.wait(120)
    net = nn.Dense(3, 2, weight_init="ones", bias_init="ones")
    inner = ms.jit(lambda x: net(x) * 2)
    outer = ms.grad(lambda x: inner(x).sum())

    recording, done = threading.Event(), threading.Event()

    @partial(ms.jit, dynamic=1)
    def slow(x):
        out = net(x)
        for _ in range(100):  # of many runs, one is recorded with stand-ins
            out = ops.tanh(out + net(x))
        return out

    def record():
        recording.set()
        try:
            for size in range(2, 7):
                slow(ops.ones((size, 3)))
        finally:
            done.set()

    def differentiate():
        recording.wait(30)
        found = []
        while not done.is_set():
            found.append(outer(ops.ones((4, 3))).asnumpy())
        return found

    _, *found = together(record, differentiate, differentiate)
    for gradients in found:
        np.testing.assert_array_equal(gradients, np.full((len(gradients), 4, 3), 4.0))


def test_a_function_that_waits_for_other_threads_calls_does_not_hang():
    triple = ms.jit(lambda x: x * 3)
    found: list[Tensor] = []

    @ms.jit
    def waits(x):
        thread = threading.Thread(target=lambda: found.append(triple(x)))
        thread.start()
        thread.join()
        return x + found[-1]

    with pytest.warns(UserWarning, match=r"threading\."):
        assert waits(Tensor([1.0, 2.0])).asnumpy().tolist() == [4.0, 8.0]
    assert waits(Tensor([1.0, 2.0])).asnumpy().tolist() == [4.0, 8.0]


def test_a_call_is_recorded_while_another_thread_stays_inside():
    inside, go_on = threading.Event(), threading.Event()
    triple = ms.jit(lambda x: x * 3)

    @ms.jit
    def inner(x):
        inside.set()
        go_on.wait(30)
        return x * x

    x = Tensor(np.full(2, 2.0, np.float32))

    def call():
        inside.wait(30)
        for _ in range(REHEARSALS + 1):  # the other thread may run until it waits
            found = triple(x).asnumpy()
        go_on.set()
        return found

    with pytest.warns(UserWarning, match=r"threading\."):
        slope, found = together(lambda: ms.grad(lambda x: inner(x).sum())(x), call)
    np.testing.assert_array_equal(slope.asnumpy(), [4.0, 4.0])
    np.testing.assert_array_equal(found, [6.0, 6.0])
    assert triple.report()["traces"] == 1


def test_two_readers_may_both_become_writers():
    lock = ReadersWriterLock()

    def cross():
        for _ in range(50):
            entered = lock.enter()
            with lock.closed():
                assert not lock.enter()
            if entered:
                lock.leave()
        return True

    assert together(cross, cross, cross) == [True] * 3


def test_arguments_that_share_memory():
    def change(x, y):
        x += 1.0
        return y * 2

    compiled = ms.jit(change)

    def results(function):
        one, other = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
        same = Tensor(np.zeros(3, np.float32))
        return [function(one, other).asnumpy(), one.asnumpy(), function(same, same).asnumpy(),
                same.asnumpy(), function(other, one).asnumpy(), other.asnumpy()]

    for _ in range(3):
        for mine, its in zip(results(compiled), results(change), strict=True):
            np.testing.assert_array_equal(mine, its)


def test_the_same_argument_twice_is_one_more_replay():
    compiled = ms.jit(lambda x, y: x * y)
    x = Tensor([1.0, 2.0])
    compiled(x, Tensor([3.0, 4.0]))
    np.testing.assert_array_equal(compiled(x, x).asnumpy(), [1, 4])
    assert compiled.report()["replays"] == 1


@pytest.mark.filterwarnings("ignore:For 'jit'.*another thread")
def test_what_another_thread_appends_is_not_lost():
    log, count, over = [], itertools.count(), threading.Event()

    def change():
        while not over.is_set():
            log.append(next(count))
            time.sleep(1e-4)

    def run():
        try:
            for _ in range(20):
                @ms.jit
                def step(x):
                    log.append("step")
                    return x * 2

                for _ in range(4):
                    step(Tensor([1.0]))
        finally:
            over.set()

    together(change, run)
    assert log.count("step") == 80
    assert [each for each in log if each != "step"] == list(range(next(count)))


class Counted:
    """An object whose state two threads change."""

    def __init__(self):
        self.seen, self.names, self.latest = {}, set(), -1


def test_what_another_thread_changes_meanwhile_is_not_undone():
    own, over, changed = Counted(), threading.Event(), 0

    def change():
        nonlocal changed
        while not over.is_set():
            own.seen[changed] = True
            own.names.add(changed)
            own.latest = changed
            if (len(own.seen), len(own.names), own.latest) != (changed + 1, changed + 1, changed):
                return False
            changed += 1
            time.sleep(1e-4)
        return True

    def run():
        try:
            for _ in range(8):
                @ms.jit
                def step(x, scale):
                    return x * scale + own.seen.get("scale", 0) + len(own.names & {"a"}) + (
                        own.latest == "a")

                for number in range(5):
                    np.testing.assert_array_equal(step(Tensor([1.0]), number).asnumpy(), [number])
        finally:
            over.set()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert together(change, run)[0]


def test_numbers_become_inputs_once_no_other_thread_is_alive():
    over = threading.Event()
    other = threading.Thread(target=over.wait, name="beside")
    step = ms.jit(lambda x, scale: x * scale)

    def call(numbers):
        for number in numbers:
            np.testing.assert_array_equal(step(Tensor([1.0]), number).asnumpy(), [number])

    other.start()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(range(30))
    assert any("while the thread 'beside' runs" in str(warning.message) for warning in found)
    over.set()
    other.join()
    call(range(100, 103))
    traces = step.report()["traces"]
    call(range(200, 210))
    assert step.report()["traces"] == traces


def test_threads_of_a_pipeline_wait_while_a_run_is_tried():
    lanes = Lanes(1)
    lanes.submit(0, int).result(60)  # the thread is alive
    with alone() as is_alone:
        assert is_alone
        row = lanes.submit(0, lambda: 3)
        with pytest.raises(TimeoutError):
            row.result(0.05)
    assert row.result(60) == 3
    lanes.close()


def test_threads_that_threading_does_not_know(tmp_path):
    """One of a package doesn't count, as an interpreter's of a remote shell; the program's does."""
    package = tmp_path / "site-packages"
    package.mkdir()
    text = "import _thread\n\ndef start(wait):\n    _thread.start_new_thread(work, (wait,))\n\n" \
           "def work(wait):\n    wait()\n"
    (package / "of_a_package.py").write_text(text)
    (tmp_path / "of_the_program.py").write_text(text)
    for folder, name, counts in ((package, "of_a_package", False),
                                 (tmp_path, "of_the_program", True)):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        begun, end, ended = threading.Event(), threading.Event(), threading.Event()

        def wait(begun=begun, end=end, ended=ended):
            begun.set()
            end.wait()
            ended.set()

        wait.__code__ = wait.__code__.replace(co_filename=str(folder / f"{name}.py"))
        module.start(wait)
        assert begun.wait(60)
        try:
            assert (other_thread() is not None) == counts
        finally:
            end.set()
            assert ended.wait(60)
