"""Ascend, of which there is none: settings of its compiler are checked and have no effect, so that
a program written for it runs."""

from . import op_debug, op_precision, op_tuning

__all__ = ["device_count", "is_available", "op_debug", "op_precision", "op_tuning"]


def is_available() -> bool:
    """Whether there is one: no."""
    return False


def device_count() -> int:
    """How many there are.

    Raises:
        RuntimeError: always, as MindSpore does without an Ascend.
    """
    raise RuntimeError("Device Ascend not exist.")
