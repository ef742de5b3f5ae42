"""Freed memory is kept for the next allocations, seen in page faults and pages of processes."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource, statistics
import lamella as ms
from lamella import ops

def step():
    x = ops.ones((12 << 20,))  # 48 MiB: more than the C library ever keeps by itself
    return (x * 2 + x).sum()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

counts = []
for _ in range(13):
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
    assert faults() < 100
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
    done = subprocess.run([sys.executable, "-c", PROGRAM_OF_ONE], capture_output=True, text=True,
                          check=True)
    inside, outside = map(int, done.stdout.split())
    assert inside >= 24
    assert outside <= 4
