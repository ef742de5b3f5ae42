"""Embedding and one-hot encoding."""

from __future__ import annotations

__all__: list[str] = []
