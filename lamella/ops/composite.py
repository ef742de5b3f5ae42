"""Functions over structures of tensors: Map, HyperMap, MultitypeFuncGraph, partial."""

from __future__ import annotations

__all__: list[str] = []
