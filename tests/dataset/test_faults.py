"""Failures while a pipeline runs: a clear error, no process left over, no hang."""

import os
import pathlib
import signal
import time

import numpy as np
import pytest

import lamella.dataset as ds

from ..zygote import Started


class Pids:
    def __len__(self):
        return 400

    def __getitem__(self, place):
        return (np.int64(os.getpid()),)


class Bad:
    def __len__(self):
        return 40

    def __getitem__(self, place):
        if place == 13:
            raise KeyError("row thirteen")
        return (np.int64(place),)


def gone(pid, seconds=120):
    for _ in range(seconds * 20):
        try:
            os.kill(pid, 0)
            if pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def in_processes(source):
    return ds.GeneratorDataset(source, ["x"], num_parallel_workers=2, shuffle=False)


def test_several_processes_read_and_end():
    pids = {int(x) for (x,) in in_processes(Pids())}
    assert len(pids) == 2 and os.getpid() not in pids
    assert all(gone(pid) for pid in pids)


def test_a_killed_worker_is_an_error_and_leaves_nothing():
    rows = in_processes(Pids()).create_tuple_iterator(output_numpy=True)
    pids = {int(next(rows)[0]) for _ in range(16)}
    os.kill(min(pids), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="worker"):
        for _ in range(400):
            next(rows)
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_row_that_raises_names_the_function_and_the_error(workers):
    data = ds.GeneratorDataset(Bad(), ["x"], num_parallel_workers=workers, shuffle=False)
    rows, seen = data.create_tuple_iterator(output_numpy=True), []
    with pytest.raises(RuntimeError, match="Exception thrown from user defined Python function"
                                           r"(.|\n)*KeyError(.|\n)*row thirteen"):
        for row in rows:
            seen.append(int(row[0]))
    assert seen == list(range(len(seen))) and len(seen) <= 13
    with pytest.raises(StopIteration):
        next(rows)


def test_an_iterator_that_is_dropped_leaves_no_process():
    rows = in_processes(Pids()).create_tuple_iterator(output_numpy=True)
    pids = {int(next(rows)[0]) for _ in range(16)}
    del rows
    assert all(gone(pid) for pid in pids)


def test_rows_that_fail_can_be_left_out_or_replaced():
    def odd(x):
        if x % 2 == 0:
            raise ValueError("even")
        return x

    data = ds.NumpySlicesDataset([1, 2, 3, 4, 5], shuffle=False).map(odd, num_parallel_workers=1)
    try:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
        assert [int(x) for (x,) in data] == [1, 3, 5]
        pooled = ds.NumpySlicesDataset(list(range(20)), shuffle=False).map(
            odd, num_parallel_workers=2, python_multiprocessing=True)
        iterator = pooled.create_tuple_iterator(num_epochs=2, output_numpy=True)
        assert [[int(x) for (x,) in iterator] for _ in range(2)] == [list(range(1, 20, 2))] * 2
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
        assert [int(x) for (x,) in data] == [1, 1, 3, 1, 5]
        # before the first good row there is none that could take a place
        late = ds.NumpySlicesDataset([2, 4, 5, 6, 7], shuffle=False).map(odd)
        assert [int(x) for (x,) in late] == [5, 5, 7]
    finally:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.RETURN)


# shells start what runs in the background with SIGINT ignored, which is inherited
PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import lamella.dataset as ds

class Slow:
    def __len__(self):
        return 10000
    def __getitem__(self, place):
        time.sleep(0.01)
        return (np.int64(os.getpid()),)

seen = set()
for (pid,) in ds.GeneratorDataset(Slow(), ["x"], num_parallel_workers=2, shuffle=False):
    if int(pid) not in seen:
        seen.add(int(pid))
        print(int(pid), flush=True)
"""


def started():
    process = Started("-c", PROGRAM)
    return process, [int(process.stdout.readline()) for _ in range(2)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_program_that_is_stopped_leaves_no_process(number):
    process, pids = started()
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.kill()
    _, told = process.communicate(timeout=300)
    assert process.returncode != 0
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in told
    assert all(gone(pid) for pid in pids)
