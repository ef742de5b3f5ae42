"""Dense, Dropout, Flatten, Embedding and other elementary layers."""

from __future__ import annotations

__all__: list[str] = []
