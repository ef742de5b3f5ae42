"""GPUs: how many there are, and how exactly they multiply."""

from ... import kinds
from . import op_precision, op_tuning

__all__ = ["device_count", "is_available", "op_precision", "op_tuning"]


def is_available() -> bool:
    """Whether there is one."""
    return device_count() > 0


def device_count() -> int:
    """How many there are."""
    return kinds.count(str(kinds.kind_of("GPU")))
