"""Primitive classes of reductions and scans."""

from __future__ import annotations

__all__: list[str] = []
