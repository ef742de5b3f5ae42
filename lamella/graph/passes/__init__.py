"""Rewriting a recorded graph of kernels into a faster one that means the same.

A pass is a file. Each keeps results, changes of inputs, and the order of random draws.
"""

from .order import improve as improve
from .order import was_measured_before as was_measured_before
from .routes import plain as plain
