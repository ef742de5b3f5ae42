"""Primitive classes of elementwise mathematics."""

from __future__ import annotations

__all__: list[str] = []
