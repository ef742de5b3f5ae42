"""Ascend, which needs ``torch_npu``: its settings are checked, and have no effect here."""

from ... import kinds
from . import op_debug, op_precision, op_tuning

__all__ = ["device_count", "is_available", "op_debug", "op_precision", "op_tuning"]


def is_available() -> bool:
    """Whether there is one."""
    return kinds.count("npu") > 0


def device_count() -> int:
    """How many there are.

    Raises:
        RuntimeError: if there is none.
    """
    if is_available():
        return kinds.count("npu")
    raise RuntimeError("Device Ascend not exist.")
