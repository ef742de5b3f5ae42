"""The same elements in another shape or order."""

from __future__ import annotations

__all__: list[str] = []
