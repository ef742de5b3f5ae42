"""Private functions of ``ops.function.random_func`` and ``common.seed`` that programs import."""

from __future__ import annotations

from typing import Any

from ..core.forking import Lock
from ..core.require import int_at_least_0
from ..tensors.random import get_seed, when_seeded

__all__ = ["_get_graph_seed", "_get_seed", "_set_prim_op_user_data"]

_STEP = 533_697_028  # between the seeds of two operators of one kind, as in MindSpore
_LARGEST = 2**31 - 1
_counting = Lock()
_made: dict[tuple[str, int], int] = {}  # how many got seeds since the global seed was set
when_seeded(_made.clear)


def _get_graph_seed(op_seed: int | None, kernel_name: str) -> tuple[int, int]:
    """Two seeds for an operator that is made now, others than those of the one made before it.

    They are (0, 0), the default generator, where neither a global seed nor one of its own is set.

    Examples:
        >>> import lamella as ms
        >>> ms.set_seed(5)
        >>> _get_graph_seed(0, "dropout"), _get_graph_seed(0, "dropout")
        ((5, 0), (5, 533697028))
    """
    seed, own = get_seed(), op_seed or 0
    if seed is None and own == 0:
        return 0, 0
    own = int_at_least_0(own, "seed", kernel_name)
    with _counting:
        count = _made[kernel_name, own] = _made.get((kernel_name, own), -1) + 1
    whole = 0 if seed is None else seed or 87_654_321
    return whole % _LARGEST, (own + count * _STEP) % _LARGEST


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
