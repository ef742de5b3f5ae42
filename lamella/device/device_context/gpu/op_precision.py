"""How exactly GPUs multiply."""

import torch

__all__ = ["conv_allow_tf32", "matmul_allow_tf32"]


def matmul_allow_tf32(value: bool) -> None:
    """Whether products of float32 may be computed with 10 bits of mantissa.

    Raises:
        TypeError: if it is no bool.
    """
    torch.backends.cuda.matmul.allow_tf32 = _switch("matmul_allow_tf32", value)


def conv_allow_tf32(value: bool) -> None:
    """Whether convolutions of float32 may be computed with 10 bits of mantissa.

    Raises:
        TypeError: if it is no bool.
    """
    torch.backends.cudnn.allow_tf32 = _switch("conv_allow_tf32", value)


def _switch(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"For '{name}', the value must be a bool, but got {value!r}.")
    return value
