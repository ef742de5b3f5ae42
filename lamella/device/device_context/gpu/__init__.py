"""GPUs: how many there are, and how exactly they multiply."""

import torch

from . import op_precision, op_tuning

__all__ = ["device_count", "is_available", "op_precision", "op_tuning"]


def is_available() -> bool:
    """Whether there is one."""
    return torch.cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return torch.cuda.device_count()
