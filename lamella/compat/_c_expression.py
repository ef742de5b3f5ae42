"""Names of MindSpore's C++ module that programs reach for, as far as they mean something here."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import torch

from ..common.drawing import draw_normal, draw_truncated, draw_uniform
from ..core import context
from ..core.dtype import to_raw
from ..graph import ms_memory_recycle as _ms_memory_recycle
from ..nn.cell_marks import MixedPrecisionType
from ..tensors.param_info import ParamInfo
from ..tensors.tensor import Tensor as TensorPy
from ..tensors.tensor import wrap

__all__ = [
    "CreationType", "MSContext", "MixedPrecisionType", "ParamInfo", "TensorPy", "_empty_instance",
    "_framework_profiler_step_end", "_framework_profiler_step_start", "_ms_memory_recycle",
    "_random_normal", "_random_uniform", "_truncated_normal", "disable_multi_thread",
    "is_reboot_node", "ms_ctx_param", "reset_op_id", "security", "swap_cache",
]


class _ParameterNames:
    """Gives the name of any setting as an attribute: ``ms_ctx_param.mode`` is ``"mode"``."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


ms_ctx_param = _ParameterNames()


class MSContext:
    """The process's settings as an object, with what it knows of Ascend: there is none."""

    _instance: MSContext | None = None

    @classmethod
    def get_instance(cls) -> MSContext:
        """The one object."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_ascend_soc_version(self) -> str:
        """The kind of Ascend chip: none, ``""``."""
        return ""

    def is_ascend_plugin_loaded(self) -> bool:
        """Whether there is support of Ascend: no."""
        return False

    def is_pkg_support_device(self, device_target: str) -> bool:
        """Whether a kind of device is supported."""
        return device_target in ("CPU", "GPU")

    def get_backend_policy(self) -> str:
        """The name of what runs graphs."""
        return "ms"

    def get_param(self, param: str) -> Any:
        """A setting, as `get_context` gives it."""
        return context.get_context(param)

    def set_param(self, param: str, value: Any) -> None:
        """Set a setting, as `set_context` does."""
        context.set_context(**{param: value})


class CreationType(enum.Enum):
    """Under what a view was made, of which MindSpore forbids changes in place."""

    DEFAULT = 0
    NO_GRAD_MODE = 1
    MULTI_OUTPUT = 2
    CUSTOM_BPROP = 3


class _Security:
    """How the framework was built: with what looks into training, dumps and summaries."""

    @staticmethod
    def enable_security() -> bool:
        """Whether what looks into training is left out: no."""
        return False


security = _Security()


def disable_multi_thread() -> None:
    """Run each operator in the thread that calls it, which is always so here."""


def reset_op_id() -> None:
    """Count operators of graphs anew; they have no numbers here."""


def is_reboot_node() -> bool:
    """Whether this process stands for one that was lost: never, here."""
    return False


def _framework_profiler_step_start() -> None:
    """Mark the beginning of a step for MindSpore's own profiler of its runtime, which isn't here;
    `Profiler` and `explain` look at steps."""


def _framework_profiler_step_end() -> None:
    """Mark the end of a step, see `_framework_profiler_step_start`."""


def _empty_instance(*size: Any, dtype: Any = None, device: Any = None) -> TensorPy:
    """A Tensor whose elements are not set; `device` is the one that Tensors are made on.

    Args:
        size: ints, or one tuple or list of them.
        dtype: default float32.
        device: accepted as MindSpore does.

    Examples:
        >>> _empty_instance((2, 3)).shape
        (2, 3)
    """
    shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return wrap(torch.empty(tuple(shape), dtype=torch.float32 if dtype is None else to_raw(dtype),
                            device=context.current_device()))


def _random_normal(seed: int, data: np.ndarray, mean: float, sigma: float) -> None:
    """Fill a float32 array with normal numbers, those that MindSpore draws with this seed."""
    draw_normal(torch.from_numpy(data), mean, sigma, seed=int(seed))


def _random_uniform(seed: int, data: np.ndarray, low: float, high: float) -> None:
    """Fill a float32 array with numbers uniform between two bounds, see `_random_normal`."""
    draw_uniform(torch.from_numpy(data), low, high, seed=int(seed))


def _truncated_normal(seed: int, data: np.ndarray, a: float, b: float, mean: float,
                      sigma: float) -> None:
    """Fill a float32 array with normal numbers within [a, b], see `_random_normal`."""
    draw_truncated(torch.from_numpy(data), a, b, mean, sigma, seed=int(seed))


def swap_cache(host: TensorPy, device: TensorPy, block_mapping: TensorPy,
               is_device_to_host: bool) -> None:
    """Copy blocks of a cache of keys or values between its place on the host and on the device.

    Args:
        host, device: the caches, whose first axis counts blocks.
        block_mapping: shape (blocks, 2): each row a block to read and one to write.
        is_device_to_host: whether to read from `device` and write to `host`, or the other way.
    """
    source, target = (device, host) if is_device_to_host else (host, device)
    read, write = block_mapping._raw.long().T
    target._raw.index_copy_(0, write, source._raw[read].to(target._raw.device))
