"""Resizing, sampling and patches of images."""

from __future__ import annotations

__all__: list[str] = []
