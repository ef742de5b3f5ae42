"""Reductions: sums, means, extremes, norms of all or some dimensions."""

from __future__ import annotations

__all__: list[str] = []
