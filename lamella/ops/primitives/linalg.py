"""Primitive classes of linear algebra."""

from __future__ import annotations

__all__: list[str] = []
