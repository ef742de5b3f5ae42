"""Freed memory is kept for the next allocations: counted in page faults of real processes."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import lamella as ms
from lamella import ops

def step():
    x = ops.ones((12 << 20,))  # 48 MiB: more than the C library ever keeps by itself
    return (x * 2 + x).sum()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(3):
    step()
before = faults()
for _ in range(10):
    step()
print(faults() - before)
"""


def faults(**environment: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          check=True, env={**os.environ, **environment})
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is Linux's")
def test_steps_touch_no_new_pages():
    assert faults() < 500
    if faults(LAMELLA_KEEP_MEMORY="0") < 2500:
        pytest.skip("the allocator of this system keeps freed memory by itself")
    assert faults(MALLOC_ARENA_MAX="4") > 2500  # a setting of the user's own counts
