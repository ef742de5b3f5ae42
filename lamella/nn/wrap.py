"""Cells around a network: loss, training step, evaluation."""

from __future__ import annotations

__all__: list[str] = []
