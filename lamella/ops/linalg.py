"""Products of matrices and vectors, decompositions, solvers."""

from __future__ import annotations

__all__: list[str] = []
