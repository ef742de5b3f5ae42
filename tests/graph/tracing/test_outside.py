"""Side effects outside of the graph: a compiled function has those of an eager call."""

from __future__ import annotations

import abc
import collections
import copy
import csv
import datetime
import gc
import io
import logging
import os
import queue
import secrets
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, from_numpy, jit, nn, ops
from lamella.autodiff.tree import tensors

X = Tensor([1.0, 2.0])


def called(fn, *args, times=3):
    """What calls of the compiled function give, and the warnings."""
    compiled = jit(fn)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = [compiled(*args) for _ in range(times)]
    return found, [str(w.message) for w in given], compiled


class Sink:
    def __init__(self):
        self.queue = queue.Queue()
        self.text = io.StringIO()
        self.rows = csv.writer(self.text)
        self.lock = threading.Lock()
        self.lines = io.StringIO("1\n2\n3\n4\n")


def put(sink, x):
    sink.queue.put(1)
    return x * 2


def log(sink, x):
    logging.getLogger("outside").warning("hello", extra={"more": 1})
    return x * 2


def write(sink, x):
    sink.text.write("a")
    return x * 2


def row(sink, x):
    sink.rows.writerow([1, 2])
    return x * 2


def environment(sink, x):
    return x * float(os.environ.get("LAMELLA_TEST_FACTOR", "1"))


def clock(sink, x):
    time.perf_counter()
    return x * 2


def today(sink, x):
    datetime.datetime.now()
    return x * 2


def entropy(sink, x):
    return x * (1 + len(os.urandom(2))) + len(secrets.token_bytes(3))


def line(sink, x):
    return x * float(sink.lines.readline())


def opened(sink, x):
    with open(os.devnull) as file:
        return x * (1 + len(file.read()))


def thread(sink, x):
    other = threading.Thread(target=sink.queue.put, args=(1,))
    other.start()
    other.join()
    return x * 2


# before Python 3.11 a frame doesn't know the class of its method
PUT, START = (("calls queue.Queue.put", "calls threading.Thread") if sys.version_info >= (3, 11)
              else ("calls queue.put", "calls threading."))


@pytest.mark.parametrize("fn, reason", [
    (put, PUT), (log, "writes to a log"), (write, "calls StringIO.write"),
    (row, "writerow"), (environment, "reads the environment"),
    (clock, "calls time.perf_counter"), (today, "calls datetime.now"),
    (entropy, "calls posix.urandom"), (line, "calls StringIO.readline"), (opened, "open"),
    (thread, START)])
def test_side_effects_make_a_function_run_eagerly_with_a_reason(fn, reason):
    eager, compiled = Sink(), Sink()
    want = [fn(eager, X) for _ in range(3)]
    found, said, function = called(lambda x: fn(compiled, x), X)
    assert [t.asnumpy().tolist() for t in found] == [t.asnumpy().tolist() for t in want]
    assert compiled.queue.qsize() == eager.queue.qsize()
    assert compiled.text.getvalue() == eager.text.getvalue()
    assert len(said) == 1 and reason in said[0] and f"{os.path.basename(__file__)}:" in said[0]
    assert function.report()["eager"]


def test_a_function_with_side_effects_warns_once_and_runs_once_a_call():
    calls = []
    items = queue.Queue()

    def fn(x):
        items.put(len(calls))
        return x.sum()

    found, said, _ = called(fn, X, times=1)
    assert items.qsize() == 1 and len(said) == 1
    compiled = jit(fn)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for size in (2, 3, 4, 5):
            compiled(ops.ones(size))
    assert len(given) == 1 and items.qsize() == 5


def test_the_environment_is_read_each_time(monkeypatch):
    compiled = jit(lambda x: x * float(os.environ.get("LAMELLA_TEST_FACTOR", "1")))
    with pytest.warns(UserWarning, match="reads the environment"):
        assert compiled(X).asnumpy().tolist() == [1.0, 2.0]
    monkeypatch.setenv("LAMELLA_TEST_FACTOR", "3")
    assert compiled(X).asnumpy().tolist() == [3.0, 6.0]


def swallowing(x):
    try:
        value = float(x.asnumpy().sum())
    except:  # noqa: E722
        value = 0.0
    return x * value


def swallowing_more(x):
    try:
        kept = str(x)
    except BaseException:
        kept = ""
    return x * len(kept)


@pytest.mark.parametrize("fn", [swallowing, swallowing_more])
def test_a_program_cannot_swallow_a_refusal(fn):
    found, said, _ = called(fn, X)
    assert [t.asnumpy().tolist() for t in found] == [fn(X).asnumpy().tolist()] * 3
    assert len(said) == 1


def test_calls_of_a_disabled_logger_stay_compiled():
    logger = logging.getLogger("outside.quiet")

    def fn(x):
        logger.debug("a %s", 1)
        return x * 2

    _, said, compiled = called(fn, X)
    assert not said and compiled.report()["replays"] == 2, str(compiled.report())


def pure(x):
    table = collections.OrderedDict(a=1, b=2)
    counted = collections.Counter("abca")
    names = sorted(["b", "a"], key=str.lower)
    scale = max(table.values()) + counted.most_common(1)[0][1] + len("-".join(names).upper())
    scale += np.array([1, 2, 3]).mean() + np.add.reduce([1, 2])
    scale += np.linspace(0, 1, 5)[1] + np.clip(3.0, 0, 2) + np.meshgrid([1, 2], [3, 4])[1][0, 0]
    return x * float(np.sqrt(scale)) + isinstance(x, Tensor)


def test_pure_functions_stay_compiled():
    found, said, compiled = called(pure, X)
    assert not said and compiled.report()["replays"] == 2, str(compiled.report())
    assert np.allclose(found[2].asnumpy(), pure(X).asnumpy())


def test_arguments_whose_memory_overlaps():
    def fn(p, q):
        p.fill_(1.0)
        return q * 2

    compiled = jit(fn)
    for _ in range(3):
        array = np.zeros(4, np.float32)
        assert compiled(from_numpy(array), from_numpy(array[1:])).asnumpy().tolist() == [2, 2, 2]
        apart = from_numpy(np.zeros(4, np.float32)), from_numpy(np.zeros(3, np.float32))
        assert compiled(*apart).asnumpy().tolist() == [0, 0, 0]


def test_one_tensor_given_twice_then_two_tensors():
    def fn(a, b):
        a.add_(1.0)
        return b * 1.0

    compiled = jit(fn)
    for _ in range(3):
        one = Tensor([1.0])
        assert compiled(one, one).asnumpy().tolist() == [2.0]
        assert compiled(Tensor([1.0]), Tensor([5.0])).asnumpy().tolist() == [5.0]


def test_an_update_by_another_thread_while_a_run_is_recorded_is_kept():
    total = Parameter(Tensor([0.0]), name="total")
    inside, done = threading.Event(), threading.Event()

    def other():
        inside.wait(30)
        ops.assign_add(total, Tensor([10.0]))
        done.set()

    def fn(x):
        inside.set()
        done.wait(30)
        ops.assign_add(total, x)
        return x * 2

    thread = threading.Thread(target=other)
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jit(fn)(Tensor([1.0]))
    thread.join()
    assert total.asnumpy().tolist() == [11.0]


def test_a_long_call_in_one_thread_holds_up_no_other():
    go = threading.Event()
    waiting = jit(lambda x: (go.wait(60), x * 2)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=waiting, args=(X,))
        thread.start()
        try:
            started = time.monotonic()
            assert jit(lambda x: x + 1)(X).asnumpy().tolist() == [2.0, 3.0]
            assert time.monotonic() - started < 30
        finally:
            go.set()
            thread.join()


def test_an_error_in_a_replay_is_that_of_an_eager_call():
    table = Tensor([1.0, 2.0, 3.0])

    def fn(index):
        return ops.gather(table, index, 0) * 2

    compiled = jit(fn)
    for _ in range(2):
        compiled(Tensor([0, 1]))
    with pytest.raises(Exception) as eager:
        fn(Tensor([0, 7]))
    with pytest.raises(type(eager.value)):
        compiled(Tensor([0, 7]))
    assert compiled(Tensor([0, 2])).asnumpy().tolist() == [2.0, 6.0]


def test_a_call_that_raises_keeps_what_it_has_done_and_runs_once():
    weight = Parameter(Tensor([1.0]), name="weight")
    calls = []

    def fn(x):
        ops.assign_add(weight, x)
        calls.append(1)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        jit(fn)(Tensor([1.0]))
    assert weight.asnumpy().tolist() == [2.0] and len(calls) == 1


@pytest.mark.parametrize("make", [
    lambda p: p.copy(), lambda p: p.clone(), copy.copy, copy.deepcopy,
    lambda p: Parameter(p * 2, name="twice"), lambda p: [p.copy()], lambda p: {"a": (p.clone(),)},
], ids=["copy", "clone", "copy.copy", "deepcopy", "Parameter", "list", "dict"])
def test_copies_of_a_parameter_are_made_each_time(make):
    def values(weight, call):
        def fn(x):
            weight.set_data(weight + x)
            return make(weight)

        fn = call(fn)
        return [next(tensors(fn(Tensor([1.0])))).asnumpy().tolist() for _ in range(3)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (values(Parameter(Tensor([1.0]), name="weight"), jit)
                == values(Parameter(Tensor([1.0]), name="weight"), lambda fn: fn))


def test_a_cell_in_graph_mode_that_gives_a_copy_of_its_parameter():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(Tensor([1.0]), name="p")

        def construct(self, x):
            self.p = self.p + x
            return self.p.copy()

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net = Net()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [net(Tensor([1.0])).asnumpy().tolist() for _ in range(3)] == [[2.], [3.], [4.]]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_a_checkpoint_is_saved_each_time(tmp_path):
    net = nn.Dense(2, 1)

    def fn(x):
        out = net(x)
        ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
        return out

    compiled = jit(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            compiled(ops.ones((1, 2)))
            (tmp_path / "net.ckpt").unlink()


def test_what_is_printed_appears_at_once_and_in_every_replay(capsys):
    def fn(x):
        print("sum", x.sum())
        return x * 2

    compiled = jit(fn)
    for _ in range(3):
        compiled(X)
    assert capsys.readouterr().out == "sum 3.0\n" * 3
    assert compiled.report()["replays"] == 2


@pytest.mark.usefixtures("executor")
def test_side_effects_are_seen_by_the_profiler_in_either_language():
    waiting = queue.Queue()

    def counted(gradient):
        waiting.put(1)
        return gradient

    def hooked(x):
        return (ops.HookBackward(counted)(x) ** 2).sum()

    found, warned, _ = called(lambda x: (hooked(x), ms.grad(hooked)(x)), X)
    assert waiting.qsize() == 3 and len(warned) == 1 and "Queue.put" in warned[0]
    assert [f[1].asnumpy().tolist() for f in found] == [[2.0, 4.0]] * 3
    assert called(lambda x: ms.grad(lambda y: (y ** 2).sum())(x), X)[2].report()["replays"] == 2
    assert sys.getprofile() is None


def test_no_garbage_collection_while_several_threads_record():
    """A collection may call functions that read clocks; all threads share its switch."""
    from lamella.graph.tracing.outside import Outside

    told: list[str] = []
    first, second = threading.Event(), threading.Event()

    def other():
        with Outside(told.append):
            first.set()
            assert second.wait(60)

    before = gc.isenabled()
    gc.enable()
    try:
        thread = threading.Thread(target=other)
        thread.start()
        assert first.wait(60)
        watched = Outside(told.append)
        with watched:
            second.set()
            while thread.is_alive():
                pass
            held = gc.isenabled()
        assert not held
        assert gc.isenabled()
    finally:
        if not before:
            gc.disable()


def test_side_effects_inside_of_a_kernel_are_ignored():
    """PyTorch's kernels in Python import modules, and these look at Python's frames."""
    from lamella.graph.tracing.outside import Outside

    told: list[str] = []
    with Outside(told.append) as watched:
        watched.pause()
        os.getpid()
        watched.resume()
        assert not told
        os.getpid()
    assert told == ["calls posix.getpid"] or sys.platform == "win32"


def test_generic_types_are_no_side_effect():
    """`typing_extensions` looks at frames where the standard library's `typing` calls it."""
    import typing

    import typing_extensions

    kind = typing_extensions.TypeVar("kind", default=int)

    def function(x):
        class Pair(typing.Generic[kind]):
            pass

        return x * (2 if Pair else 1)

    _, warned, compiled = called(function, X)
    assert warned == [] or "__build_class__" in warned[0]
    assert not any("typing_extensions" in line for line in warned)


def test_only_registrations_for_the_functions_classes_count():
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Square:
        pass

    class Other(abc.ABC):
        @abc.abstractmethod
        def other(self): ...

    shape = Square()

    @jit
    def scaled(x):
        return x * (2 if isinstance(shape, Shape) else 3)

    def result():
        return scaled(X).asnumpy().tolist()

    assert result() == result() == [3.0, 6.0]
    Other.register(int)  # as modules do that another thread imports
    assert result() == [3.0, 6.0] and scaled.report()["traces"] == 1
    Shape.register(Square)
    assert result() == [2.0, 4.0] and scaled.report()["traces"] == 2
