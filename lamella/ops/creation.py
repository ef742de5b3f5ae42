"""Tensors from nothing: zeros, ones, ranges, grids."""

from __future__ import annotations

__all__: list[str] = []
