"""PyTorch's functional collectives, by which DTensors exchange, made by `exchange`.

So these are numbered, compared and named like the program's own, are in graphs, and are not made
again by a run that starts over.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from . import exchange, groups, rules
from .groups import Group, ended

__all__ = ["IMPLEMENTATIONS", "install", "joined"]

_NAME = "DTensor"  # what exchanges are made for, in messages
_meshes: list[weakref.ref[Any]] = []  # meshes that are equal are one in a set


def _group_of(given: Any) -> Group:
    """The group that a functional collective is given, as a group of torch's or its name."""
    return _named(given if isinstance(given, str) else given.group_name, ended())


@functools.lru_cache
def _named(name: str, world: int) -> Group:
    process_group = dist.distributed_c10d._resolve_process_group(name)  # type: ignore[arg-type]
    ranks = dist.get_process_group_ranks(process_group)
    # torch's name is a number, which processes that are simulated in one have each their own of
    return Group(f"mesh of {ranks}", ranks, process_group)


def _all_reduce(raw: torch.Tensor, op: str, group: Any) -> torch.Tensor:
    op = "prod" if op == "product" else op
    exchange.check_op(_NAME, op)
    return exchange.all_reduce(_NAME, raw, op, _group_of(group))


def _all_gather(raw: torch.Tensor, size: int, group: Any) -> torch.Tensor:
    return exchange.all_gather(_NAME, raw, _group_of(group)).flatten(0, 1)


def _reduce_scatter(raw: torch.Tensor, op: str, size: int, group: Any) -> torch.Tensor:
    op, found = "prod" if op == "product" else op, _group_of(group)
    exchange.check_op(_NAME, op)
    pending = exchange.begin_scatter(_NAME, raw, found)
    return rules.combined(exchange.end_scatter(_NAME, pending, found), op)


def _all_to_all(raw: torch.Tensor, taken: list[int], given: list[int], group: Any) -> torch.Tensor:
    shapes = [(count, *raw.shape[1:]) for count in taken]
    parts = exchange.all_to_all(_NAME, list(raw.split(given)), shapes, _group_of(group))
    return torch.cat(parts)


def _broadcast(raw: torch.Tensor, root: int, group: Any) -> torch.Tensor:
    found = _group_of(group)
    return exchange.broadcast(_NAME, raw, found.ranks[root], found)


# by the operator's name in ``torch.ops._c10d_functional``
IMPLEMENTATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "all_gather_into_tensor": _all_gather, "all_reduce": _all_reduce,
    "all_to_all_single": _all_to_all, "broadcast": _broadcast,
    "reduce_scatter_tensor": _reduce_scatter,
}


@functools.cache
def install() -> Any:
    """Register these implementations of functional collectives for CPUs."""
    library = torch.library.Library("_c10d_functional", "IMPL")
    for name, function in IMPLEMENTATIONS.items():
        library.impl(name, function, "CPU")
    return library  # the registrations end when it is freed


def joined(mesh: Any) -> Any:
    """The mesh, whose communicators end with all groups although DTensors still hold it."""
    _meshes.append(weakref.ref(mesh))
    return mesh


def _drop() -> None:
    if _meshes:
        from torch.distributed.tensor import debug

        # else results of a later world have an ended mesh; some versions of PyTorch lack it
        getattr(debug, "_clear_sharding_prop_cache", lambda: None)()
    for each in _meshes:
        # a name that PyTorch has changed: before, meshes knew the names of their groups alone
        getattr(each(), "_pg_registry", {}).clear()
    _meshes.clear()


groups.at_end.append(_drop)
