"""Comparison, logic, and tests of values."""

from __future__ import annotations

__all__: list[str] = []
