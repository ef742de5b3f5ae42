"""Locks that a compiled function takes."""

import os
import threading
import time
import warnings

import pytest

import lamella as ms
from lamella import Tensor, jit


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
@pytest.mark.parametrize("inside", [lambda: None, lambda: time.sleep(0), lambda: os.getpid()])
def test_a_lock_is_released_where_a_dry_run_ends(make, inside):
    lock = make()

    @jit
    def counted(number, x):
        with lock:
            y = x * number
            inside()
        return y + 1

    def is_free():
        found = []

        def take():
            found.append(lock.acquire(timeout=0.5))
            if found[0]:
                lock.release()

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        return found[0]

    x = Tensor([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(5):  # numbers that vary are recorded in dry runs
            assert counted(float(number), x).asnumpy().tolist() == [number + 1, 2 * number + 1]
            assert is_free()
            gradient = ms.grad(lambda x: counted(number + 0.5, x).sum())(x)  # noqa: B023
            assert gradient.asnumpy().tolist() == [number + 0.5] * 2 and is_free()
