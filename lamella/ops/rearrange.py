"""The elements in another order, or several times: transposing, flipping, rolling, repeating."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ..core.adapters import adapted
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .arguments import as_int, as_ints, axis_in, raw_of, require_values, varargs
from .operands import spelled

__all__ = [
    "flip", "fliplr", "flipud", "moveaxis", "movedim", "permute", "repeat_elements",
    "repeat_interleave", "reverse", "reverse_sequence", "roll", "rot90", "swapaxes", "swapdims",
    "t", "tile", "transpose",
]


def _permuted(input: Any, dims: Any, where: str) -> Tensor:
    raw = raw_of(input, where)
    order = as_ints(dims, where, "dims")
    with contextlib.suppress(IndexError, RuntimeError):
        return wrap_view(raw.permute(order))
    if sorted(axis_in(d, raw.dim(), where, "dims") for d in order) != list(range(raw.dim())):
        raise ValueError(f"For '{where}', 'dims' must name each of the {raw.dim()} dimensions of "
                         f"'input' once, but got {order}.")
    return wrap_view(raw.permute(order))  # which fails for another reason


@op
def transpose(input: Tensor, dims: Any) -> Tensor:
    """`input` with its dimensions in the order `dims`.

    Args:
        input: any shape and type.
        dims: a tuple that names each dimension once; negative ones count from the end.

    Raises:
        ValueError: if `dims` does not name each dimension once.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.transpose(ms.ops.ones((2, 3, 4)), (0, 2, 1)).shape
        (2, 4, 3)
    """
    return _permuted(input, dims, "transpose")


@op
def permute(input: Tensor, axis: Any) -> Tensor:
    """`input` with its dimensions in the order `axis`; as `transpose`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.permute(ms.ops.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return _permuted(input, axis, "permute")


@op
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`input` with two dimensions exchanged.

    Raises:
        ValueError: if there is no such dimension.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.swapaxes(ms.ops.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    raw = raw_of(input, "swapaxes")
    return wrap_view(raw.transpose(axis_in(axis0, raw.dim(), "swapaxes", "axis0"),
                              axis_in(axis1, raw.dim(), "swapaxes", "axis1")))


@op
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`input` with two dimensions exchanged; as `swapaxes`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.swapdims(ms.ops.ones((2, 3)), 0, 1).shape
        (3, 2)
    """
    return swapaxes(input, dim0, dim1)


@op
def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    """`x` with some dimensions at other positions; the rest keep their order.

    Args:
        x: any shape and type.
        source, destination: an int, or tuples of the same length.

    Raises:
        ValueError: if a dimension is out of range or named twice, or the lengths differ.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.movedim(ms.ops.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    raw = raw_of(x, "movedim", "x")
    out = tuple(axis_in(a, raw.dim(), "movedim", "source") for a in as_ints(source, "movedim"))
    to = tuple(axis_in(a, raw.dim(), "movedim", "destination")
               for a in as_ints(destination, "movedim"))
    if len(out) != len(to) or len(set(out)) != len(out) or len(set(to)) != len(to):
        raise ValueError(f"For 'movedim', 'source' and 'destination' must name as many dimensions, "
                         f"each once, but got {source} and {destination}.")
    return wrap_view(raw.movedim(out, to))


moveaxis = movedim


@op
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; other tensors stay as they are.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.t(ms.ops.ones((2, 3))).shape
        (3, 2)
    """
    raw = raw_of(input, "t")
    return wrap_view(raw.t() if raw.dim() == 2 else raw)


@op
def flip(input: Tensor, dims: Any) -> Tensor:
    """`input` with the order of elements reversed along `dims`.

    Args:
        input: any shape and type.
        dims: a tuple or list of dimensions.

    Raises:
        ValueError: if a dimension is out of range or named twice.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.flip(ms.Tensor([[1, 2], [3, 4]]), (0,)))
        [[3 4]
         [1 2]]
    """
    raw = raw_of(input, "flip")
    axes = [axis_in(d, raw.dim(), "flip", "dims") for d in as_ints(dims, "flip", "dims")]
    if len(set(axes)) != len(axes):
        raise ValueError(f"For 'flip', 'dims' must name each dimension once, but got {dims}.")
    return wrap(raw.flip(axes))


@op
def reverse(x: Tensor, axis: Any) -> Tensor:
    """`x` with the order of elements reversed along `axis`; as `flip`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reverse(ms.Tensor([1, 2, 3]), [0]))
        [3 2 1]
    """
    return flip(x, axis)


@op
def fliplr(input: Tensor) -> Tensor:
    """Columns in the opposite order (dimension 1).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fliplr(ms.Tensor([[1, 2]])))
        [[2 1]]
    """
    return flip(input, (1,))


@op
def flipud(input: Tensor) -> Tensor:
    """Rows in the opposite order (dimension 0).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.flipud(ms.Tensor([1, 2])))
        [2 1]
    """
    return flip(input, (0,))


@op
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Each sequence's first elements reversed, the rest as they are.

    Args:
        x: any shape and type.
        seq_lengths: how many elements to reverse of each sequence, of the length of `batch_dim`.
        seq_dim: the dimension along a sequence.
        batch_dim: the dimension that counts the sequences.

    Raises:
        ValueError: if the two dimensions are one.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1, 2, 3], [4, 5, 6]])
        >>> print(ms.ops.reverse_sequence(x, ms.Tensor([2, 3]), 1))
        [[2 1 3]
         [6 5 4]]
    """
    raw = raw_of(x, "reverse_sequence", "x")
    along = axis_in(seq_dim, raw.dim(), "reverse_sequence", "seq_dim")
    batch = axis_in(batch_dim, raw.dim(), "reverse_sequence", "batch_dim")
    if along == batch:
        raise ValueError(f"For 'reverse_sequence', 'seq_dim' and 'batch_dim' must differ, "
                         f"but got {seq_dim} and {batch_dim}.")
    lengths = raw_of(seq_lengths, "reverse_sequence", "seq_lengths").long()[:, None]
    position = torch.arange(raw.shape[along], device=raw.device)
    source = torch.where(position < lengths, lengths - 1 - position, position)  # (batch, sequence)
    moved = raw.movedim((batch, along), (0, 1))
    source = source.reshape(*source.shape, *[1] * (raw.dim() - 2)).expand(moved.shape)
    return wrap(moved.gather(1, source).movedim((0, 1), (batch, along)))


@op
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted along dimensions; those that leave at one end come in at the other.

    Args:
        input: any shape and type.
        shifts: how far, an int or a tuple of them.
        dims: along which dimension each; default: along the flattened tensor.

    Raises:
        ValueError: if `shifts` and `dims` differ in length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.roll(ms.Tensor([0, 1, 2, 3]), 1, 0))
        [3 0 1 2]
    """
    raw = raw_of(input, "roll")
    by = as_ints(shifts, "roll", "shifts")
    if dims is None:
        return wrap(raw.roll(by))
    axes = as_ints(dims, "roll", "dims")
    if len(axes) != len(by):
        raise ValueError(f"For 'roll', 'shifts' and 'dims' must have as many numbers, "
                         f"but got {shifts} and {dims}.")
    return wrap(raw.roll(by, [axis_in(a, raw.dim(), "roll", "dims") for a in axes]))


@op
def rot90(input: Tensor, k: int, dims: Any) -> Tensor:
    """`input` turned by `k` quarter turns, from the first of `dims` towards the second.

    Raises:
        ValueError: if `dims` is not two different dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rot90(ms.Tensor([[1, 2], [3, 4]]), 1, (0, 1)))
        [[2 4]
         [1 3]]
    """
    raw = raw_of(input, "rot90")
    axes = [axis_in(d, raw.dim(), "rot90", "dims") for d in as_ints(dims, "rot90", "dims")]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise RuntimeError(f"For 'rot90', 'dims' must be two different dimensions, but got {dims}.")
    return wrap(raw.rot90(as_int(k, "rot90", "k"), axes))


@op
def tile(input: Tensor, dims: Any) -> Tensor:
    """`input` laid out again and again, ``dims[i]`` times along dimension i.

    Args:
        input: any shape and type; gets leading dimensions of length 1 if `dims` is longer.
        dims: how often; counts for the last dimensions if it is shorter than the rank.

    Raises:
        ValueError: if a number is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tile(ms.Tensor([1, 2]), (2, 2)))
        [[1 2 1 2]
         [1 2 1 2]]
    """
    times = as_ints(dims, "tile", "dims")
    if any(n < 0 for n in times):
        raise ValueError(f"For 'tile', 'dims' must be 0 or more, but got {dims}.")
    return wrap(input._raw.tile(times))


@op
def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Each element `rep` times in a row along `axis`.

    Raises:
        ValueError: if `x` has more than 7 dimensions, or `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.repeat_elements(ms.Tensor([[1, 2]]), 2, 1))
        [[1 1 2 2]]
    """
    raw = raw_of(x, "repeat_elements", "x")
    if raw.dim() > 7:
        raise ValueError("For repeat_elements, the rank of x should be less than or equal to 7, "
                         f"but got {raw.dim()}.")
    return wrap(raw.repeat_interleave(as_int(rep, "repeat_elements", "rep"),
                                      axis_in(axis, raw.dim(), "repeat_elements")))


@op
def repeat_interleave(input: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element several times in a row.

    Args:
        input: any shape and type.
        repeats: how often: an int, or one int for each element along `axis`.
        axis: along which dimension; default: the flattened tensor.

    Raises:
        ValueError: if `repeats` does not fit or `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.repeat_interleave(ms.Tensor([1, 2]), ms.Tensor([1, 3])))
        [1 2 2 2]
    """
    raw = raw_of(input, "repeat_interleave")
    if axis is not None:
        axis = axis_in(axis, raw.dim(), "repeat_interleave")
    if isinstance(repeats, int):
        return wrap(raw.repeat_interleave(repeats, axis))
    counts = getattr(repeats, "_raw", None)
    if counts is None:
        counts = torch.tensor(as_ints(repeats, "repeat_interleave", "repeats"), device=raw.device)
    counts = counts.long()
    # the kernel adds the counts up in 64 bits, and writes beyond its result where that overflows
    require_values(counts.double().sum() * max(raw.numel(), 1) < 2.0**62,
                   "For 'repeat_interleave', the sum of 'repeats' is too large.")
    return wrap(raw.repeat_interleave(counts, axis))


def _tensor_transpose(self: Tensor, *axes: Any, **named: Any) -> Tensor:
    """The dimensions reversed, two of them exchanged, or all in a given order.

    ``transpose()``, ``transpose(dim0, dim1)``, and ``transpose(*order)`` or ``transpose(order)``.
    """
    axes = axes + tuple(named.values())
    if len(axes) == 1 and not isinstance(axes[0], int):
        return transpose(self, axes[0])
    if len(axes) == 2:
        return swapaxes(self, axes[0], axes[1])
    return self.T if not axes else transpose(self, axes)


def _tensor_permute(self: Tensor, *ints: Any, axis: Any = None) -> Tensor:
    """`ops.permute`; the order may be given as one tuple or int by int."""
    return _permuted(self, varargs(ints, "Tensor.permute", "axis", axis), "Tensor.permute")


def _tensor_tile(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """`ops.tile`; the numbers may be given as one tuple or int by int."""
    return tile(self, varargs(dims or tuple(named.values()), "Tensor.tile", "dims"))


def _tensor_repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """`self` laid out ``repeats[i]`` times along dimension i.

    There must be a number for each dimension at least.
    """
    unknown = named.keys() - {"repeats"}
    if unknown:
        raise TypeError(f"For 'Tensor.repeat', got an unexpected keyword argument "
                        f"'{sorted(unknown)[0]}'. It takes 'repeats'; `repeat_interleave` repeats "
                        f"along one axis.")
    times = varargs(repeats or tuple(named.values()), "Tensor.repeat", "repeats")
    if len(times) < self._raw.dim():
        raise RuntimeError(f"For 'Tensor.repeat', 'repeats' must have a number for each of the "
                         f"{self._raw.dim()} dimensions, but got {times}.")
    return tile(self, times)


def _tensor_repeat_interleave(self: Tensor, repeats: Any, dim: int | None = None, *,
                              output_size: int | None = None, axis: int | None = None) -> Tensor:
    """`ops.repeat_interleave`."""
    return repeat_interleave(self, repeats, axis if dim is None else dim)


def _tensor_flip(self: Tensor, *ints: Any, dims: Any = None) -> Tensor:
    """`ops.flip`."""
    return flip(self, varargs(ints, "Tensor.flip", "dims", dims))


tensor_methods(transpose=_tensor_transpose, permute=spelled(_tensor_permute, dims="axis"),
               swapaxes=swapaxes, swapdims=swapdims, movedim=movedim, moveaxis=moveaxis, t=t,
               tile=_tensor_tile, repeat=_tensor_repeat,
               repeat_interleave=_tensor_repeat_interleave, flip=_tensor_flip, fliplr=fliplr,
               flipud=flipud, reverse=reverse,
               reverse_sequence=adapted(reverse_sequence,
                                        "self:x, seq_lengths, seq_dim=0, batch_dim=0"),
               roll=roll, rot90=rot90)
