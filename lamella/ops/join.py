"""Joining and splitting tensors."""

from __future__ import annotations

__all__: list[str] = []
