"""``dataset.transforms.py_transforms``, where it differs from ``dataset.transforms``."""

from __future__ import annotations

from ..dataset import transforms

__all__ = ["OneHotOp"]

OneHotOp = transforms.OneHot
