"""The squares of this process's gradients, added up in the backward pass: only on Ascend."""

from __future__ import annotations

from typing import Any

__all__ = ["get_squared_device_local_norm_param"]


def get_squared_device_local_norm_param() -> Any:
    """The Parameter with the sum, which isn't kept here.

    Raises:
        ValueError: always, as MindSpore does unless the setting 'dump_device_local_norm' is True.
    """
    raise ValueError("The parallel config 'dump_device_local_norm' is False; Lamella doesn't "
                     "follow it. Compute the norm of the gradients in the step instead.")
