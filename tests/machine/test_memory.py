"""Freed memory is kept for the next allocations, seen in page faults and pages of processes."""

import os
import subprocess
import sys

import pytest

from ..zygote import run as python

PROGRAM = """
import resource, statistics
import lamella as ms
from lamella import ops

def step():
    x = ops.ones((9 << 20,))  # 36 MiB: more than the C library ever keeps by itself
    return (x * 2 + x).sum()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

counts = []
for _ in range(10):
    before = faults()
    step()
    counts.append(faults() - before)
# Where a block lies may change once or twice, as small ones are freed around it
print(int(statistics.median(counts[3:])))
"""


def faults(**environment: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          check=True, env={**os.environ, **environment})
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is Linux's")
def test_steps_touch_no_new_pages():
    assert faults() < 100  # a process of its own: how a forked one's heap lies is chance


@pytest.mark.long("without Lamella's setting the system's holds, which costs only time")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is Linux's")
def test_settings_of_the_users_own_count():
    if faults(LAMELLA_KEEP_MEMORY="0") < 1000:
        pytest.skip("the allocator of this system keeps freed memory by itself")
    assert faults(MALLOC_ARENA_MAX="4") > 1000  # a setting of the user's own counts


PROGRAM_OF_ONE = """
import os, lamella, torch
from lamella.machine.memory import returning_freed_memory

def resident():  # MiB
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

def freed():
    blocks = [torch.ones(2 << 20) for _ in range(8)]  # 8 MiB each
    before = resident()
    del blocks[::2]  # holes between others
    return before - resident()

with returning_freed_memory():
    inside = freed()
print(inside, freed())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is Linux's")
def test_memory_of_work_that_is_done_once_goes_back_to_the_system():
    done = python("-c", PROGRAM_OF_ONE)
    assert done.returncode == 0, done.stderr
    inside, outside = map(int, done.stdout.split())
    assert inside >= 24
    assert outside <= 4


PROGRAM_OF_STATES = """
import os
import numpy as np
import lamella as ms
from lamella import nn

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

weight = ms.Parameter(ms.Tensor(np.ones((1024, 8192), np.float32)), name="weight")  # 32 MiB
before = resident()
optimizer = nn.Adam([weight], 0.1)
made = resident() - before
states = [optimizer.moment1[0], optimizer.moment2[0]]
assert [p.name for p in states] == ["moment1.weight", "moment2.weight"]
child = os.fork()
if not child:  # what it writes is its own
    optimizer((ms.ops.ones_like(weight),))
    os._exit(0)
os.waitpid(child, 0)
zeros = [bool((p.asnumpy() == 0).all()) for p in states]
optimizer((ms.ops.ones_like(weight),))
print(made / weight.nbytes, (resident() - before) / weight.nbytes, zeros,
      round(float(states[0].asnumpy().max()), 6))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_states_of_an_optimizer_take_memory_when_they_are_written():
    done = python("-c", PROGRAM_OF_STATES)
    assert done.returncode == 0, done.stderr
    made, written, *found = done.stdout.split(maxsplit=2)
    assert float(made) < 0.2 and float(written) > 1.9
    assert found == ["[True, True] 0.1\n"]
