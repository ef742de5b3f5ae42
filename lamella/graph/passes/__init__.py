"""Passes: rewritings of a recorded graph of kernels into a faster graph with the same meaning.

Each pass is a file. It keeps the results, the mutations of inputs, and the order of random draws.
"""

from .order import improve as improve
from .order import was_measured_before as was_measured_before
from .routes import plain as plain
from .routes import plain_part as plain_part
