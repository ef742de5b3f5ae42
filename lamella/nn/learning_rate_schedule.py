"""Learning rates as functions of the step."""

from __future__ import annotations

__all__: list[str] = []
