"""Choosing elements by conditions and by indices, and functions along axes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import mul
from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..core.require import one_of
from ..ops.arguments import as_ints, axis_in
from ..tensors.tensor import Tensor, wrap
from .shape import broadcast_shape
from .types import as_tensor, as_tensors, bool_, cast, float32, together

__all__ = ["apply_along_axis", "apply_over_axes", "argwhere", "choose", "piecewise",
           "ravel_multi_index", "select", "take", "take_along_axis", "unravel_index", "where"]


def where(condition: Any, x: Any = None, y: Any = None) -> Tensor:
    """As `ops.where`; `x` and `y` are needed, and are converted to their common type.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.where(np.array([True, False]), 1, 2.5))
        [1.  2.5]
    """
    condition = as_tensor(condition, "where", "condition")
    a, b = together(*as_tensors("where", x=x, y=y))
    return ops.where(cast(condition, bool_), a, b)


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """The elements at `indices` along an axis, or of the flattened array.

    An index out of range is moved to the nearest end (``mode="clip"``, also one below 0) or counted
    around (``"wrap"``).

    Raises:
        NotImplementedError: if `mode` is ``"raise"``, as in MindSpore.
    """
    if mode == "raise":
        raise NotImplementedError("For 'take', the mode 'raise' is not there; use 'clip' or "
                                  "'wrap'.")
    return as_tensor(a, "take", "a").take(as_tensor(indices, "take", "indices"), axis, mode)


def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Tensor:
    """As `ops.gather_elements`, where the other axes broadcast; without `axis` of flat arrays.

    Raises:
        ValueError: if `arr` and `indices` don't have as many dimensions.
    """
    a, positions = as_tensors("take_along_axis", arr=arr, indices=indices)
    if axis is None:
        a, axis = ops.ravel(a), 0
    if a.ndim != positions.ndim:
        raise ValueError(f"For 'take_along_axis', 'arr' and 'indices' must have as many "
                         f"dimensions, but got shapes {a.shape} and {positions.shape}.")
    axis = axis_in(axis, a.ndim, "take_along_axis")
    others = [(*t.shape[:axis], *t.shape[axis + 1:]) for t in (a, positions)]
    common = broadcast_shape("take_along_axis", *others)

    def fitted(t: Tensor) -> Tensor:
        return ops.broadcast_to(t, (*common[:axis], t.shape[axis], *common[axis:]))

    return ops.gather_elements(fitted(a), axis, fitted(positions))


def argwhere(a: Any) -> Tensor:
    """As `ops.argwhere`."""
    return ops.argwhere(as_tensor(a, "argwhere", "a"))


@op
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """At each position the element of the first array whose condition holds, else `default`.

    Args:
        condlist: conditions, one for each array.
        choicelist: the arrays.
        default: a number, or a Tensor of one array's shape.

    Raises:
        ValueError: if there are not as many conditions as arrays, or one of the two has rank 0.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.select([[True, False, False], [True, True, False]],
        ...                 [[1, 2, 3], [4, 5, 6]], default=9))
        [1 5 9]
    """
    conditions, choices = as_tensors("select", condlist=condlist, choicelist=choicelist)
    if conditions.ndim == 0 or choices.ndim == 0 or conditions.shape[0] != choices.shape[0]:
        raise ValueError(f"For 'select', 'condlist' and 'choicelist' must be as many arrays, but "
                         f"got shapes {conditions.shape} and {choices.shape}.")
    shape = broadcast_shape("select", conditions.shape[1:], choices.shape[1:])
    default = cast(as_tensor(default, "select", "default"), choices.dtype)
    out = ops.broadcast_to(ops.reshape(default, ()) if default.size == 1 else default, shape)
    for i in range(choices.shape[0] - 1, -1, -1):
        out = ops.where(cast(conditions[i], bool_), choices[i], out)
    return out


@op
def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """At each position the element of the array whose number `a` says there.

    Args:
        a: integers.
        choices: the arrays, which broadcast with `a`, or a Tensor of them along its first axis.
        mode: numbers out of range: ``"clip"``: the nearest, ``"wrap"``: modulo their count.

    Raises:
        ValueError: if `a` isn't of integers, or `mode` is another.
        NotImplementedError: if `mode` is ``"raise"``, as in MindSpore.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.choose(np.array([1, 0, 7]), [[0, 1, 2], [10, 11, 12]]))
        [10  1 12]
    """
    if mode == "raise":
        raise NotImplementedError("For 'choose', the mode 'raise' is not there; use 'clip' or "
                                  "'wrap'.")
    one_of(mode, ("clip", "wrap"), "mode", "choose")
    a = as_tensor(a, "choose", "a")
    if a._raw.is_floating_point() or a.dtype is bool_:
        raise ValueError(f"For 'choose', 'a' must be integers, but got {a.dtype}.")
    parts = (list(ops.unbind(choices)) if isinstance(choices, Tensor)
             else together(*[as_tensor(c, "choose", "choices") for c in choices]))
    shape = broadcast_shape("choose", a.shape, *[p.shape for p in parts])
    stacked = torch.stack([p._raw.expand(shape) for p in parts])
    which = a._raw.long().expand(shape)
    which = which.clamp(0, len(parts) - 1) if mode == "clip" else which % len(parts)
    return wrap(torch.gather(stacked, 0, which.unsqueeze(0)).squeeze(0))


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """A piecewise function: at each position the value or function whose condition holds there.

    Args:
        x: any shape.
        condlist: conditions, of the shape of `x`.
        funclist: for each condition a number, an array or a function of ``(x, *args, **kw)``; one
            more is for where no condition holds, else 0.
        *args: further arguments of the functions.
        **kw: further arguments of the functions.

    Raises:
        ValueError: if there are neither as many functions as conditions nor one more.

    Examples:
        >>> import lamella.numpy as np
        >>> x = np.array([-2.0, 3.0])
        >>> print(np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x]))
        [2. 3.]
    """
    x = as_tensor(x, "piecewise")
    functions = list(funclist) if isinstance(funclist, (tuple, list)) else [funclist]
    conditions = list(condlist) if isinstance(condlist, (tuple, list)) else [condlist]
    if conditions and isinstance(conditions[0], (bool, int)):
        conditions = [condlist]
    if len(functions) - len(conditions) not in (0, 1):
        raise ValueError(f"For 'piecewise', there must be as many functions as conditions, or one "
                         f"more, but got {len(functions)} and {len(conditions)}.")
    values = [as_tensor(f(x, *args, **kw) if callable(f) else f, "piecewise", "funclist")
              for f in functions]
    *values, out = together(*values) if len(values) > len(conditions) else (*together(*values),
                                                                             Tensor(0))
    kind = values[0].dtype if values else out.dtype
    out = cast(out, kind)
    for condition, value in reversed(list(zip(conditions, values, strict=True))):
        condition = cast(as_tensor(condition, "piecewise", "condlist"), bool_)
        out = ops.where(condition, value, out)
    return ops.broadcast_to(out, x.shape) if not conditions else out


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any,
                     **kwargs: Any) -> Tensor:
    """What a function gives for each vector along an axis, in its place.

    Args:
        func1d: takes a vector and ``*args, **kwargs``, and gives a Tensor or a number.
        axis: the axis of the vectors.
        arr: any shape with an axis.
        *args: further arguments of the function.
        **kwargs: further arguments of the function.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.apply_along_axis(lambda v: v[0] + v[-1], 0, np.array([[1, 2], [3, 4]])))
        [4 6]
    """
    arr = as_tensor(arr, "apply_along_axis", "arr")
    axis = axis_in(axis, arr.ndim, "apply_along_axis")
    moved = ops.movedim(arr, axis, -1)
    vectors = ops.unbind(ops.reshape(moved, (-1, arr.shape[axis])))
    results = ops.stack([as_tensor(func1d(v, *args, **kwargs), "apply_along_axis", "func1d")
                         for v in vectors])
    rank = results.ndim - 1
    out = ops.reshape(results, moved.shape[:-1] + results.shape[1:])
    if rank == 0:
        return out
    return ops.movedim(out, tuple(range(arr.ndim - 1, out.ndim)), tuple(range(axis, axis + rank)))


def apply_over_axes(func: Callable[..., Tensor], a: Any, axes: Any) -> Tensor:
    """A function of ``(array, axis=...)`` applied along each axis in turn, which stays.

    Raises:
        ValueError: if the function takes away more than the axis.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1]))
        [[6.]]
    """
    a = as_tensor(a, "apply_over_axes", "a")
    out = a
    for axis in as_ints(axes, "apply_over_axes", "axes"):
        out = func(out, axis=axis)
        out = out if out.ndim == a.ndim else ops.expand_dims(out, axis)
        if out.ndim != a.ndim:
            raise ValueError(f"For 'apply_over_axes', 'func' must take away one axis or none, but "
                             f"made shape {out.shape} of {a.shape}.")
    return out


@op
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The indices into an array of `shape` of elements given by indices into the flat array.

    Indices out of range are moved to the nearest end.

    Args:
        indices: integers.
        shape: the shape of the array.
        order: ``"C"``: the last axis runs fastest, ``"F"``: the first one.

    Returns:
        a tuple with one Tensor an axis.

    Raises:
        ValueError: if `order` is another, or `shape` has no element.

    Examples:
        >>> import lamella.numpy as np
        >>> print(*np.unravel_index(np.array([22, 41]), (7, 6)))
        [3 6] [4 5]
    """
    one_of(order, ("C", "F"), "order", "unravel_index")
    lengths = as_ints(shape, "unravel_index")
    if not lengths or min(lengths) < 1:
        raise ValueError(f"For 'unravel_index', 'shape' must have lengths above 0, "
                         f"but got {shape}.")
    steps = list(accumulate(lengths if order == "F" else lengths[::-1], mul))
    total = steps[-1]
    raw = as_tensor(indices, "unravel_index", "indices")._raw
    flat = raw.clamp(-total, total - 1) % total
    kind = raw.dtype
    parts = [((flat // step) % length).to(kind) for step, length in
             zip([1, *steps[:-1]], lengths if order == "F" else lengths[::-1], strict=True)]
    parts = parts if order == "F" else parts[::-1]
    if raw.dim() == 0 and len(parts) == 1:
        return wrap(parts[0].reshape(1))
    return tuple(wrap(p) for p in parts)


@op
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """The indices into the flat array of elements of an array of shape `dims`, in float32.

    Args:
        multi_index: integers, one array an axis.
        dims: the shape of the array.
        mode: indices out of range: ``"clip"``: the nearest, ``"wrap"``: modulo the length.
        order: ``"C"``: the last axis runs fastest, ``"F"``: the first one.

    Raises:
        TypeError: if `multi_index` isn't of integers.
        ValueError: if `mode` or `order` is another, or there isn't one array an axis.
        NotImplementedError: if `mode` is ``"raise"``, as in MindSpore.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.ravel_multi_index(np.array([[3, 6], [4, 5]]), (7, 6)))
        [22. 41.]
    """
    if mode == "raise":
        raise NotImplementedError("For 'ravel_multi_index', the mode 'raise' is not there; use "
                                  "'clip' or 'wrap'.")
    if mode not in ("clip", "wrap") or order not in ("C", "F"):
        raise ValueError(f"For 'ravel_multi_index', 'mode' must be 'clip' or 'wrap' and 'order' "
                         f"'C' or 'F', but got {mode!r} and {order!r}.")
    lengths = as_ints(dims, "ravel_multi_index", "dims")
    positions = as_tensor(multi_index, "ravel_multi_index", "multi_index")
    if positions._raw.is_floating_point():
        raise TypeError(f"For 'ravel_multi_index', 'multi_index' must be integers, "
                        f"but got {positions.dtype}.")
    if positions.ndim == 0 or positions.shape[0] != len(lengths):
        raise ValueError(f"For 'ravel_multi_index', 'multi_index' must have one array for each of "
                         f"the {len(lengths)} axes, but got shape {positions.shape}.")
    ordered = lengths if order == "F" else lengths[::-1]
    steps = [1, *accumulate(ordered[:-1], mul)]
    steps = steps if order == "F" else steps[::-1]
    total = torch.zeros((), dtype=torch.int64, device=positions._raw.device)
    for row, length, step in zip(positions._raw.long(), lengths, steps, strict=True):
        total = total + (row.clamp(0, length - 1) if mode == "clip" else row % length) * step
    return cast(wrap(total), float32)
