"""Special functions: error functions, gamma and Bessel families."""

from __future__ import annotations

__all__: list[str] = []
