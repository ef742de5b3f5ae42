"""Writing elements by index."""

from __future__ import annotations

__all__: list[str] = []
