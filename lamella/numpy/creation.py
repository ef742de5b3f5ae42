"""Arrays from data, from a shape, from a range; random ones.

Python's integers make int32 here and its floats float32; what is made from a shape is float32.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .. import ops
from ..core import context
from ..core.errors import op
from ..core.require import of_type
from ..ops.arguments import as_shape, axis_in
from ..tensors.tensor import Tensor, wrap
from .shape import broadcast_arrays
from .types import (
    as_tensor,
    as_type,
    cast,
    fits_int32,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    nan,
    typed,
)

__all__ = ["arange", "array", "asarray", "asfarray", "copy", "empty", "empty_like", "eye", "full",
           "full_like", "geomspace", "identity", "linspace", "logspace", "ones", "ones_like",
           "rand", "randint", "randn", "zeros", "zeros_like"]


@op
def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A Tensor from data.

    Args:
        obj: a Tensor, a number, or nested lists and tuples of them.
        dtype: the type; default: that of a Tensor, else int32, float32 or bool.
        copy: whether a Tensor is copied.
        ndmin: the least number of dimensions; missing ones come first, with length 1.

    Raises:
        TypeError: if `obj` is of another type.

    Examples:
        >>> import lamella.numpy as np
        >>> np.array([1, 2], ndmin=2)
        Tensor(shape=[1, 2], dtype=Int32, value=
        [[1, 2]])
    """
    out = asarray(obj, dtype)
    if copy and out is obj:
        out = ops.deepcopy(out)
    return ops.reshape(out, (1,) * (ndmin - out.ndim) + out.shape) if ndmin > out.ndim else out


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """As `array`, without copying a Tensor that has the type."""
    return typed(as_tensor(a, "asarray", "a"), dtype, "asarray")


def asfarray(a: Any, dtype: Any = float32) -> Tensor:
    """As `asarray`, in a floating type: float32, unless `dtype` is another one."""
    if dtype is None:
        return asarray(a)
    kind = as_type(dtype, "asfarray")
    return cast(as_tensor(a, "asfarray", "a"),
                kind if kind in (float16, float32, float64) else float32)


def copy(a: Any) -> Tensor:
    """A copy of an array."""
    return ops.deepcopy(as_tensor(a, "copy", "a"))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of one value, or of values that broadcast to its shape.

    Args:
        shape: an int, a tuple, a list or a Tensor of ints.
        fill_value: a number, nested lists or a Tensor.
        dtype: the type; default: that of `fill_value`.

    Raises:
        TypeError: if `shape` or `dtype` is of another type.
        ValueError: if a length is below 0, or `fill_value` doesn't broadcast.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.full((2, 2), [1, 2]))
        [[1 2]
         [1 2]]
    """
    lengths = as_shape(shape, "full")
    value = typed(as_tensor(fill_value, "full", "fill_value"), dtype, "full")
    return wrap(ops.broadcast_to(value, lengths)._raw.clone(
        memory_format=torch.contiguous_format))


def ones(shape: Any, dtype: Any = float32) -> Tensor:
    """As `ops.ones`, in float32 by default.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.ones(3))
        [1. 1. 1.]
    """
    return ops.ones(as_shape(shape, "ones"), as_type(dtype, "ones"))


def zeros(shape: Any, dtype: Any = float32) -> Tensor:
    """As `ops.zeros`, in float32 by default.

    Examples:
        >>> import lamella as ms
        >>> ms.numpy.zeros((2, 3)).shape
        (2, 3)
    """
    return ops.zeros(as_shape(shape, "zeros"), as_type(dtype, "zeros"))


def empty(shape: Any, dtype: Any = float32) -> Tensor:
    """As `zeros`: MindSpore promises nothing about the values."""
    return ops.zeros(as_shape(shape, "empty"), as_type(dtype, "empty"))


def _like(prototype: Any, dtype: Any, shape: Any, where: str) -> tuple[Any, Any]:
    model = as_tensor(prototype, where, "prototype")
    kind = model.dtype if dtype is None else dtype
    return model.shape if shape is None or shape in ((), []) else shape, kind


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """`ones` in the shape and type of an array, where they aren't given.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.ones_like(ms.Tensor([3, 4])))
        [1 1]
    """
    return ones(*_like(a, dtype, shape, "ones_like"))


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """`zeros` in the shape and type of an array, where they aren't given.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.zeros_like(ms.Tensor([1.0, 2.0])))
        [0. 0.]
    """
    return zeros(*_like(a, dtype, shape, "zeros_like"))


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """`empty` in the shape and type of an array, where they aren't given."""
    return empty(*_like(prototype, dtype, shape, "empty_like"))


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """`full` in the shape and type of an array, where they aren't given."""
    lengths, kind = _like(a, dtype, shape, "full_like")
    return full(lengths, fill_value, kind)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:  # noqa: N803
    """A matrix of 0 with 1 on a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; default: `N`.
        k: which diagonal: above the main one if above 0.
        dtype: the type.

    Raises:
        TypeError: if `N`, `M` or `k` is no int.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.eye(2, 3, k=1))
        [[0. 1. 0.]
         [0. 0. 1.]]
    """
    columns = N if M is None else M
    if not all(isinstance(n, int) for n in (N, columns, k)):
        raise TypeError(f"For 'eye', 'N', 'M' and 'k' must be ints, but got {N!r}, {M!r}, {k!r}.")
    rows, columns = as_shape((N, columns), "eye", "N, M")
    device = context.current_device()
    positions = torch.arange(columns, device=device) - torch.arange(rows, device=device)[:, None]
    return wrap((positions == k).to(as_type(dtype, "eye").raw))


def identity(n: int, dtype: Any = float32) -> Tensor:
    """As `eye` of a square matrix."""
    return eye(n, dtype=dtype)


@op
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """Numbers from `start` up to and without `stop`, `step` apart.

    Args:
        start: the first number; if `stop` is None, that, and the first is 0.
        stop: the end, which doesn't belong to it.
        step: the distance; default: 1.
        dtype: the type; default: float32 if an argument is a float, else int32, or int64 where
            numbers don't fit that.

    Raises:
        ValueError: if there is no such number.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.arange(5), np.arange(3.0, 4.0, 0.25))
        [0 1 2 3 4] [3.   3.25 3.5  3.75]
    """
    given = [int(v) if isinstance(v, Tensor) and not v._raw.is_floating_point()
             else float(v) if isinstance(v, Tensor) else v for v in (start, stop, step)]
    first, end = (0, given[0]) if given[1] is None else (given[0], given[1])
    distance = 1 if given[2] is None else given[2]
    if distance == 0:
        raise ValueError("For 'arange', 'step' must not be 0.")
    count = math.ceil((end - first) / distance)
    if count <= 0:
        raise ValueError(f"For 'arange', there must be a number between 'start' and 'stop', but "
                         f"got start={start}, stop={stop}, step={step}.")
    whole = all(isinstance(v, int) for v in (first, end, distance))
    if dtype is not None:
        kind = as_type(dtype, "arange")
    elif whole:
        kind = int32 if fits_int32((first, first + (count - 1) * distance)) else int64
    else:
        kind = float32
    numbers = torch.arange(count, device=context.current_device(),
                           dtype=torch.int64 if whole else torch.float64) * distance + first
    return wrap(numbers.to(kind.raw))


def _ends(start: Any, stop: Any, num: Any, endpoint: Any, axis: int, where: str
          ) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Both ends as floating tensors of one shape, and the axis that numbers lie along."""
    if not isinstance(num, int):
        raise TypeError(f"For '{where}', 'num' must be an int, but got {num!r}.")
    of_type(endpoint, bool, "endpoint", where)
    if num < 1:
        raise ValueError(f"For '{where}', 'num' must be 1 or more, but got {num}.")
    ends = broadcast_arrays(as_tensor(start, where, "start"), as_tensor(stop, where, "stop"))
    kind = torch.float64 if any(e._raw.dtype is torch.float64 for e in ends) else torch.float32
    a, b = (e._raw.to(kind) for e in ends)
    return a, b, axis_in(axis, a.dim() + 1, where)


@op
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0) -> Any:
    """Numbers at equal distances.

    Args:
        start: the first number, or an array of first numbers.
        stop: the end, or an array of ends.
        num: how many.
        endpoint: whether the end belongs to it.
        retstep: whether the distance is returned too.
        dtype: the type; default: float32.
        axis: the axis of the result that the numbers lie along.

    Returns:
        Tensor, or (Tensor, distance).

    Raises:
        TypeError: if `num` is no int, or `endpoint` or `retstep` no bool.
        ValueError: if `num` is below 1.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.linspace(0, 5, 6), np.linspace(0, 1, 4, endpoint=False))
        [0. 1. 2. 3. 4. 5.] [0.   0.25 0.5  0.75]
    """
    of_type(retstep, bool, "retstep", "linspace")
    a, b, along = _ends(start, stop, num, endpoint, axis, "linspace")
    gaps = num - 1 if endpoint else num
    delta = (b - a) / gaps if gaps else torch.full_like(a, nan)
    shape = [1] * (a.dim() + 1)
    shape[along] = num
    count = torch.arange(num, dtype=a.dtype, device=a.device).reshape(shape)
    out = a.unsqueeze(along)
    if num > 1:
        out = out + count * delta.unsqueeze(along)
        if endpoint:
            out = torch.cat((out.narrow(along, 0, num - 1), b.unsqueeze(along)), along)
    result = cast(wrap(out), float32 if dtype is None else as_type(dtype, "linspace"))
    return (result, nan if not gaps else wrap(delta)) if retstep else result


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0,
             dtype: Any = None, axis: int = 0) -> Tensor:
    """`base` to the power of numbers at equal distances; arguments as in `linspace`.

    Raises:
        TypeError: if `base` is no number.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.logspace(0, 3, 4, base=2.0))
        [1. 2. 4. 8.]
    """
    if not isinstance(base, (int, float)):
        raise TypeError(f"For 'logspace', 'base' must be a number, but got {base!r}.")
    powers = linspace(start, stop, num, endpoint, axis=axis)
    return typed(base ** powers, float32 if dtype is None else dtype)


@op
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Tensor:
    """Numbers each of which is the same multiple of the one before; arguments as in `linspace`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.geomspace(1, 8, 4))
        [1. 2. 4. 8.]
    """
    a, b, along = _ends(start, stop, num, endpoint, axis, "geomspace")
    gaps = num - 1 if endpoint else num
    shape = [1] * (a.dim() + 1)
    shape[along] = num
    part = torch.arange(num, dtype=torch.float64, device=a.device).reshape(shape) / max(gaps, 1)
    ratio = (b.double() / a.double()).unsqueeze(along)
    found = wrap(a.double().unsqueeze(along) * ratio ** part)
    kind = float32 if dtype is None else as_type(dtype, "geomspace")
    if kind not in (float16, float32, float64):
        found = cast(found, float32)  # so that 9.999999999 isn't 9
    return cast(found, kind)


def _size(shape: tuple[Any, ...], where: str) -> tuple[int, ...]:
    if not shape:
        return (1,)
    return as_shape(shape[0] if len(shape) == 1 else shape, where)


def _random_type(dtype: Any, where: str, allowed: tuple[Any, ...]) -> Any:
    try:
        kind = as_type(dtype, where)
    except TypeError:
        kind = None
    if kind not in allowed:
        raise ValueError(f"For '{where}', 'dtype' must be one of "
                         f"{', '.join(t.name for t in allowed)}, but got {dtype!r}.")
    return kind


_FLOATING = (float16, float32, float64)


def rand(*shape: Any, dtype: Any = float32) -> Tensor:
    """Random numbers, uniform in [0, 1).

    Args:
        *shape: the lengths, one by one or as one tuple or list; default: one number.
        dtype: float16, float32 or float64.

    Raises:
        ValueError: if `dtype` is another.
    """
    return ops.rand(*_size(shape, "rand"), dtype=_random_type(dtype, "rand", _FLOATING))


def randn(*shape: Any, dtype: Any = float32) -> Tensor:
    """Random numbers of the standard normal distribution; arguments as in `rand`."""
    return ops.randn(*_size(shape, "randn"), dtype=_random_type(dtype, "randn", _FLOATING))


def randint(minval: int, maxval: int | None = None, shape: Any = None,
            dtype: Any = int32) -> Tensor:
    """Random integers of [minval, maxval), or of [0, minval) without `maxval`.

    Args:
        minval: the least number.
        maxval: the end, which doesn't belong to it.
        shape: default: one number.
        dtype: int8, int16, int32 or int64.

    Raises:
        TypeError: if `minval` or `maxval` is no int.
        ValueError: if there is no such number, or `dtype` is another.
    """
    for name, value in (("minval", minval), ("maxval", maxval)):
        if not isinstance(value, int) and (name == "minval" or value is not None):
            raise TypeError(f"For 'randint', '{name}' must be an int, but got {value!r}.")
    low, high = (0, minval) if maxval is None else (minval, maxval)
    if low >= high:
        raise ValueError(f"For 'randint', there must be an integer of [{low}, {high}), "
                         f"but there is none.")
    kind = _random_type(dtype, "randint", (int8, int16, int32, int64))
    size = (1,) if shape is None else as_shape(shape, "randint")
    return ops.randint(low, high, size, dtype=kind)
