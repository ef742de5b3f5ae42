"""Rewriting a recorded graph of kernels into a faster one that means the same.

A pass is a file. Each keeps results, changes of inputs, and the order of random draws.
"""

from .improve import improve as improve
