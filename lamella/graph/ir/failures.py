"""Which kernels fail for some values of their tensors, and how a graph can compute whether they do.

A kernel of PyTorch's raises an error for an index that is out of range, for instance. That is a
side effect: the kernel has to run even if nothing reads what it gives. Machine code raises nothing:
XLA reads another element, and an error in Inductor's code may end the process. So a graph that is
compiled also computes whether one of its kernels fails (`passes.flags`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from .metadata import TensorMetadata, meta_of

Mask = Callable[[torch.Tensor], torch.Tensor]


class Check(NamedTuple):
    """What of a kernel's arguments makes it fail.

    Attributes:
        place: where the tensor is among the arguments, and in a list there.
        fails: from the tensor to a mask of the elements for which the kernel fails, or may fail.
        instead: an element for which it doesn't; None if machine code computes with any.
        within: the least and the greatest integer for which it doesn't; None if that isn't so.
    """

    place: tuple[int, ...]
    fails: Mask
    instead: int | None = None
    within: tuple[int, int] | None = None


class Unknown(Exception):
    """A kernel may fail, and what for can't be computed in a graph."""


# kernels that raise errors for some values, by the names of their overloads' families; not those
# where the program gets a value in place of the error (integers divided by 0)
RAISING = frozenset((
    "index", "_unsafe_index", "index_put", "_unsafe_index_put", "index_select", "index_add",
    "index_copy", "index_fill", "index_reduce", "take", "put", "gather", "scatter", "scatter_add",
    "scatter_reduce", "masked_scatter", "embedding", "_embedding_bag",
    "_embedding_bag_forward_only", "nll_loss_forward", "nll_loss2d_forward", "multi_margin_loss",
    "multilabel_margin_loss_forward", "binary_cross_entropy", "_ctc_loss", "max_unpool2d",
    "max_unpool3d", "histc", "segment_reduce", "searchsorted", "linalg_eig", "linalg_eigvals",
    "_linalg_eigvals", "_linalg_eigh", "_linalg_svd", "linalg_lstsq", "lu_unpack"))
_DIVISIONS = frozenset(("div.Tensor_mode", "floor_divide.default", "remainder.Tensor",
                        "remainder.Scalar_Tensor", "fmod.Tensor"))
_NEVER: Sequence[Check] = ()


def family_of(target: Any) -> str:
    """The name of an operation without its library, its overload, and the mark of one in place."""
    return str(target).removeprefix("aten.").partition(".")[0].removesuffix("_")


def checks_of(node: Node) -> Sequence[Check]:
    """What makes the kernel of a node fail; empty if nothing does.

    Raises:
        Unknown: if that isn't known.
    """
    name = str(node.target).removeprefix("aten.").replace("_.", ".")
    if name in _DIVISIONS:
        return _of_division(node)
    family = family_of(node.target)
    if family in _RULES:
        return _RULES[family](node)
    if family in RAISING:
        raise Unknown(f"what {node.target} fails for")
    return _NEVER


def argument(node: Node, place: tuple[int, ...]) -> Any:
    """The argument of a node at a place."""
    found: Any = node.args
    for number in place:
        found = found[number] if number < len(found) else None
    return found


def _meta(node: Node, place: int) -> TensorMetadata:
    meta = meta_of(argument(node, (place,)))
    if meta is None:
        raise Unknown(f"the shape of what {node.target} takes")
    return meta


def _in_bounds(place: tuple[int, ...], low: int, high: int, but: int | None = None) -> Check:
    """The check of indices, which have to be in [low, high), or `but`."""

    def fails(x: torch.Tensor) -> torch.Tensor:
        x = x.long() if x.dtype is torch.uint8 else x
        found = (x < low) | (x >= high)
        return found if but is None else found & (x != but)

    return Check(place, fails, 0, (low, high - 1))


def _of_places(node: Node) -> list[Check]:
    """The checks of an index for each dimension, which may count from the end; masks don't fail."""
    shape, found = _meta(node, 0).shape, []
    for axis, index in enumerate(node.args[1]):  # type: ignore[arg-type]
        meta = meta_of(index)
        if index is not None and meta is None:
            raise Unknown("the type of an index")
        if meta is not None and meta.dtype not in (torch.bool, torch.uint8):
            found.append(_in_bounds((1, axis), -shape[axis], shape[axis]))
    return found


def _along(node: Node, from_end: bool = False) -> list[Check]:
    """The check of indices along one dimension."""
    shape, dim = _meta(node, 0).shape, argument(node, (1,))
    length = shape[dim] if shape else 1
    return [_in_bounds((2,), -length if from_end else 0, length)]


def _of_elements(node: Node) -> list[Check]:
    """The check of the numbers of elements, which may count from the end."""
    count = _meta(node, 0).size
    return [_in_bounds((1,), -count, count)]


def _of_rows(node: Node) -> list[Check]:
    return [_in_bounds((1,), 0, _meta(node, 0).shape[0])]


def _of_rows_before(node: Node) -> list[Check]:
    """The check of an embedding's gradient: the kernel skips wrong rows, machine code doesn't."""
    return [_in_bounds((1,), 0, argument(node, (2,)))]


def _of_classes(node: Node, first: int = 0) -> list[Check]:
    """The check of the classes of a loss, whose scores are the argument with the number `first`."""
    shape, ignored = _meta(node, first).shape, argument(node, (first + 4,))
    return [_in_bounds((first + 1,), 0, shape[min(1, len(shape) - 1)], ignored)]


def _of_division(node: Node) -> Sequence[Check]:
    """The check of integers divided by 0."""
    meta, divisor = meta_of(node), argument(node, (1,))
    if not isinstance(divisor, Node) or meta is not None and (
            meta.dtype.is_floating_point or meta.dtype.is_complex):
        return _NEVER
    return [Check((1,), lambda x: x == 0, 1)]


def _of_order(node: Node) -> Sequence[Check]:
    """No check of a search in a sequence, unless it is given with its order."""
    if node.kwargs.get("sorter") is not None:
        raise Unknown("the order of a sequence that is searched")
    return _NEVER


def _of_matrix(node: Node) -> list[Check]:
    """The check of elements of a matrix that aren't finite."""
    return [Check((0,), lambda x: ~torch.isfinite(x))]


_RULES: dict[str, Callable[[Node], Sequence[Check]]] = {
    **dict.fromkeys(("index", "_unsafe_index", "index_put", "_unsafe_index_put",
                     "_index_put_impl"), _of_places),
    **dict.fromkeys(("index_select", "gather", "scatter", "scatter_add", "scatter_reduce",
                     "index_add", "index_copy", "index_reduce"), _along),
    "index_fill": lambda node: _along(node, True),
    "take": _of_elements, "put": _of_elements,
    "embedding": _of_rows, "embedding_dense_backward": _of_rows_before,
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _of_classes),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"),
                    lambda node: _of_classes(node, 1)),
    "binary_cross_entropy": lambda node: [Check((0,), lambda x: ~((x >= 0) & (x <= 1)))],
    "searchsorted": _of_order, "_linalg_eigh": _of_matrix, "_linalg_svd": _of_matrix,
}
