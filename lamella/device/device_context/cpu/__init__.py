"""The CPU."""

from . import op_tuning
from .op_tuning import threads_num

__all__ = ["device_count", "is_available", "op_tuning", "threads_num"]


def is_available() -> bool:
    """Whether there is one: yes."""
    return True


def device_count() -> int:
    """How many there are: one."""
    return 1
