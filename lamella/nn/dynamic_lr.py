"""Learning rates as lists, a value a step."""

from __future__ import annotations

__all__: list[str] = []
