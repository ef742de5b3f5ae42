"""`mindspore.scipy`: SciPy's names for linear algebra, cosine transforms and minimization."""

from . import fft, linalg, ops, optimize

__all__ = ["fft", "linalg", "ops", "optimize"]
