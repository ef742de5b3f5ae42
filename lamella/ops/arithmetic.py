"""Elementwise arithmetic: add, mul, pow, lerp, ..."""

from __future__ import annotations

__all__: list[str] = []
