"""Weights of 128 MiB written to a file, and read from one."""

import functools
import tempfile

import numpy as np

SIZE = 2**27


def weights():
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((2048, 1024), np.float32) for _ in range(SIZE // 2**23))


@functools.cache
def folder():
    """A folder that goes with the process."""
    return tempfile.TemporaryDirectory(prefix="checkpoint-")


def path(kind):
    return f"{folder().name}/weights.{kind}"
