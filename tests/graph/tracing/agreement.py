"""Checks that programs with state give the same with compiled functions."""

import functools
import random

import lamella as ms
from lamella import Tensor, jit


class Plain:
    pass


def numbers(value):
    """A result as plain values; reading a Tensor takes its numbers now."""
    if isinstance(value, Tensor):
        return value.dtype.name, value.asnumpy().tolist()
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if isinstance(value, dict):
        return {key: numbers(v) for key, v in value.items()}
    return value


def agree(program):
    """Check that what a program yields is the same if the functions in it are compiled."""
    def results(wrap):
        ms.set_seed(5)
        random.seed(5)
        return [numbers(value) for value in program(wrap)]

    wanted = results(lambda fn: fn)
    for level in ("O0", "O1"):
        assert str(results(functools.partial(jit, jit_level=level))) == str(wanted)


def x(*values):
    return Tensor(list(values) or [1.0, 2.0], ms.float32)
