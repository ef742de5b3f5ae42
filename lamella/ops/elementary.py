"""Elementary functions: exponentials, logarithms, roots, trigonometry, rounding."""

from __future__ import annotations

__all__: list[str] = []
