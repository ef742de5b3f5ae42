"""Primitive classes of assignment to Parameters."""

from __future__ import annotations

__all__: list[str] = []
