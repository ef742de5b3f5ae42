"""How MindSpore's operators read the forms of an argument, as functions that programs import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["arg_invalid_info", "to_2d_paddings", "to_dilations", "to_kernel_size",
           "to_output_padding", "to_pair", "to_rates", "to_strides"]


def arg_invalid_info(op_name: str, arg_name: str, arg_val: Any) -> str:
    """The text of an error about a value.

    Examples:
        >>> from lamella.compat.arg_handler import arg_invalid_info
        >>> arg_invalid_info("Conv2D", "stride", "x")
        "For 'Conv2D', the value of 'stride' is invalid: 'x'."
    """
    return f"For '{op_name}', the value of '{arg_name}' is invalid: '{arg_val}'."


def _pair(op_name: str, arg_name: str, given: Any, numbers: Any = int, cut: bool = True
          ) -> Sequence[Any]:
    """A number twice; a tuple or list as it is, but of four entries the last two."""
    if isinstance(given, numbers):
        return given, given
    if isinstance(given, (tuple, list)):
        return given[-2:] if cut and len(given) == 4 else given
    raise ValueError(arg_invalid_info(op_name, arg_name, given))


def to_pair(op_name: str, arg_name: str, arg_val: Any) -> Sequence[Any]:
    """A number as a pair; a tuple or list as it is.

    Examples:
        >>> from lamella.compat.arg_handler import to_kernel_size, to_pair
        >>> to_pair("Pool", "kernel", 3), to_kernel_size("Conv2D", "kernel", (1, 1, 2, 3))
        ((3, 3), (2, 3))
    """
    return _pair(op_name, arg_name, arg_val, (int, float), cut=False)


def to_kernel_size(op_name: str, arg_name: str, kernel_size: Any) -> Sequence[Any]:
    """An int as a pair; of four numbers the last two."""
    return _pair(op_name, arg_name, kernel_size)


def to_strides(op_name: str, arg_name: str, stride: Any) -> Sequence[Any]:
    """An int as a pair; of four numbers the last two."""
    return _pair(op_name, arg_name, stride)


def to_rates(op_name: str, arg_name: str, rates: Any) -> Sequence[Any]:
    """An int as a pair; of four numbers the last two."""
    return _pair(op_name, arg_name, rates)


def to_dilations(op_name: str, arg_name: str, dilation: Any) -> Sequence[Any]:
    """An int as a pair; of four numbers the last two."""
    return _pair(op_name, arg_name, dilation)


def to_output_padding(op_name: str, arg_name: str, output_padding: Any) -> Sequence[Any]:
    """An int as a pair; of four numbers the last two."""
    return _pair(op_name, arg_name, output_padding)


def to_2d_paddings(op_name: str, arg_name: str, pad: Any) -> Sequence[Any]:
    """An int as a pair; a tuple or list as it is."""
    return _pair(op_name, arg_name, pad, cut=False)
