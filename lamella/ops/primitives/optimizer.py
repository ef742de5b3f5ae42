"""Primitive classes of optimizer steps."""

from __future__ import annotations

__all__: list[str] = []
