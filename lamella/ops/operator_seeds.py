"""Private functions of ``ops.function.random_func`` that programs import."""

from __future__ import annotations

from typing import Any

from ..core.require import int_at_least_0
from ..tensors.random import get_seed

__all__ = ["_get_seed", "_set_prim_op_user_data"]


def _get_seed(op_seed: int | None, kernel_name: str) -> tuple[int, int]:
    """The two seeds of a random Primitive; (0, 0), its default generator, without one of its own.

    Examples:
        >>> _get_seed(None, "dropout"), _get_seed(3, "dropout")[1]
        ((0, 0), 3)
    """
    if op_seed is None:
        return 0, 0
    return get_seed() or 0, int_at_least_0(op_seed, "seed", kernel_name)


def _set_prim_op_user_data(prim: Any, key: str, value: Any) -> Any:
    """Keep a value with a Primitive, as its attribute; returns it."""
    return prim.add_prim_attr(key, value)
