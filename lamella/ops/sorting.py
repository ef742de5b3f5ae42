"""Order: sort, top k, unique, search."""

from __future__ import annotations

__all__: list[str] = []
