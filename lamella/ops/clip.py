"""Clipping by value, by norm and by global norm."""

from __future__ import annotations

__all__: list[str] = []
