"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

__all__: list[str] = []
