"""Primitive classes of shapes, joins, indices, creation and order."""

from __future__ import annotations

__all__: list[str] = []
