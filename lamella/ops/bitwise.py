"""Operations on the bits of whole numbers."""

from __future__ import annotations

__all__: list[str] = []
