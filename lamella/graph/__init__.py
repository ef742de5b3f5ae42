"""Whole functions as one graph of kernels: recorded on the first call, replayed from then on."""

from .jit import Compiled, jit
