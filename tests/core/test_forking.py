"""Forked processes compute, and don't wait for threads of the parent."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.autodiff import forward
from lamella.core.forking import Lock, ReentrantLock
from lamella.core.threads import compiled_calls
from lamella.dataset.vision import kernels
from lamella.machine import collector
from lamella.train import background

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
              pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]
PATIENCE = 120


def forked(work):
    """Run `work` in a forked process; True if it gave something true, within a time."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def test_products_of_many_threads_in_a_child():
    """OpenMP's threads are the parent's: a child that waited for them would wait for ever."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x = ops.randn(600, 600)
        want = (x @ x).asnumpy()
        assert forked(lambda: np.allclose((x @ x).asnumpy(), want, atol=1e-3))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_fork_while_threads_compile_and_run():
    stop, started = threading.Event(), threading.Event()
    net = nn.Dense(4, 3)
    x = Tensor(np.ones((2, 4), np.float32))
    step = ms.jit(lambda x: net(x).sum())
    want = float(step(x))

    def busy():
        while not stop.is_set():
            fresh = ms.jit(lambda x: (net(x) * 2).sum())
            fresh(x)
            fresh(x)
            started.set()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert started.wait(PATIENCE)
        for _ in range(10):
            assert forked(lambda: float(step(x)) == want
                          and float(ms.jit(lambda x: net(x).sum())(x)) == want)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_child_sees_what_a_recorded_run_has_done_so_far():
    """As it would if the run were eager: there are no copies."""
    weight = Parameter(np.full(3, 2.0, np.float32), name="w")
    inside = threading.Event()

    def slow(x):
        weight.set_data(x * 5)
        inside.set()
        time.sleep(0.3)
        raise KeyError("late")

    def record():
        with pytest.raises(KeyError):
            ms.jit(slow)(Tensor(np.ones(3, np.float32)))

    thread = threading.Thread(target=record)
    thread.start()
    assert inside.wait(PATIENCE)
    assert forked(lambda: weight.asnumpy().tolist() == [5.0, 5.0, 5.0])
    thread.join()


@pytest.mark.parametrize("where", [forward._dual_numbers, background._lock, ms.random._lock,
                                   kernels._OPTIMIZATION],
                         ids=["jvp", "checkpoints", "random", "images"])
def test_locks_of_other_threads_are_free_in_a_child(where):
    taken, stop = threading.Event(), threading.Event()

    def hold():
        with where:
            taken.set()
            stop.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(PATIENCE)
    assert forked(lambda: where.acquire(blocking=False))
    stop.set()
    thread.join()


def test_recordings_of_other_threads_neither_block_a_child_nor_stop_its_collector():
    taken, stop = threading.Event(), threading.Event()

    def hold():
        with collector.not_collecting(), collector._lock:
            taken.set()
            stop.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(PATIENCE) and not gc.isenabled()
    double = ms.jit(lambda x: x * 2)
    assert forked(lambda: gc.isenabled() and float(double(ops.ones(1))) == 2.0 and gc.isenabled())
    stop.set()
    thread.join()
    assert gc.isenabled()


def test_who_forks_keeps_its_locks():
    lock = Lock()
    with lock:
        assert forked(lambda: not lock.acquire(blocking=False) and lock.release() is None)
    assert lock.acquire(blocking=False)


def test_a_readers_writer_lock_in_a_child():
    assert compiled_calls.enter()
    try:
        assert forked(lambda: not compiled_calls.enter()
                      and compiled_calls._inside == {threading.get_ident()})
    finally:
        compiled_calls.leave()


def test_a_reentrant_lock_is_free_once_it_is_released_as_often_as_taken():
    lock, other = ReentrantLock(), []

    def try_it():
        other.append(lock.acquire(blocking=False))
        if other[-1]:
            lock.release()

    assert lock.acquire() is True and lock.acquire() is True and lock.acquire(False) is True
    for _ in range(4):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        if len(other) < 4:
            lock.release()
    assert other == [False, False, False, True]
