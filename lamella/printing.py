"""Tensors as text, character for character as MindSpore prints them."""

from __future__ import annotations

import numpy as np
import torch

from .dtype import Type


def to_str(raw: torch.Tensor) -> str:
    """The printed form of a tensor."""
    array = raw.float().cpu().numpy() if raw.dtype is torch.bfloat16 else raw.cpu().numpy()
    return str(array)


def to_repr(raw: torch.Tensor, dtype: Type) -> str:
    """The form of a tensor inside tuples and lists."""
    array = raw.float().cpu().numpy() if raw.dtype is torch.bfloat16 else raw.cpu().numpy()
    text = np.array2string(array, separator=", ", formatter={"float_kind": lambda v: f"{v: .8e}"})
    return f"Tensor(shape={list(raw.shape)}, dtype={dtype}, value=\n{text})"
