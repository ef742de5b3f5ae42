"""Random numbers. Without a seed they come from the default generator, which `set_seed` seeds.

With a seed each call continues that seed's stream (see `lamella.random`). The numbers are not
MindSpore's, their distributions are.
"""

from __future__ import annotations

from typing import Any

import torch

from ..core import dtype as mstype
from ..core.context import current_device
from ..core.dtype import is_integer, promote_types, to_raw
from ..core.errors import op
from ..tensors.random import seeded
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, as_shape, kind_or, raw_of, raw_or_number

__all__ = [
    "gamma", "laplace", "normal", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "random_gamma", "standard_laplace", "standard_normal", "uniform",
]


def draw(kind: str, shape: tuple[int, ...], dtype: torch.dtype,
         generator: torch.Generator | None) -> torch.Tensor:
    """Raw numbers: evenly from [0, 1) (`kind` ``"rand"``) or standard normal ones (``"randn"``)."""
    make = torch.rand if kind == "rand" else torch.randn
    return make(shape, dtype=dtype, device=current_device(), generator=generator)


def _floating_type(dtype: Any, default: torch.dtype, where: str) -> torch.dtype:
    kind = kind_or(dtype, default, where)
    if not kind.is_floating_point:
        raise ValueError(f"For '{where}', 'dtype' must be a floating type, but got {kind}.")
    return kind


def _integer_type(dtype: Any, default: torch.dtype, where: str) -> torch.dtype:
    kind = kind_or(dtype, default, where)
    if not is_integer(kind):
        raise ValueError(f"For '{where}', 'dtype' must be an int type, but got {kind}.")
    return kind


def _size(size: tuple[Any, ...], where: str) -> tuple[int, ...]:
    if not size:
        return (1,)
    return as_shape(size[0] if len(size) == 1 else size, where, "size")


def tuple_shape(shape: Any, where: str) -> tuple[int, ...]:
    """A shape given as a tuple, list or Tensor; an int is refused, as in MindSpore."""
    if not isinstance(shape, (tuple, list, Tensor)):
        raise TypeError(f"For '{where}', 'shape' must be a tuple of ints, but got {shape!r} "
                        f"of type {type(shape).__name__}.")
    return as_shape(shape, where)


@op
def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers from the standard normal distribution.

    Args:
        size: the shape, as one tuple or int by int.
        dtype: a floating type; default: float32.
        seed: an op-level seed.

    Raises:
        ValueError: if `dtype` is no floating type or `seed` is negative.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randn(2, 3).shape
        (2, 3)
    """
    kind = _floating_type(dtype, torch.float32, "randn")
    return wrap(draw("randn", _size(size, "randn"), kind, seeded(seed)))


@op
def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers evenly distributed over [0, 1); arguments and errors as for `randn`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.rand(2, 3).shape
        (2, 3)
    """
    kind = _floating_type(dtype, torch.float32, "rand")
    return wrap(draw("rand", _size(size, "rand"), kind, seeded(seed)))


@op
def randn_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Numbers from the standard normal distribution, in the shape of `input`.

    Args:
        input: its type is used too where it is floating, else float32.
        seed: an op-level seed.
        dtype: a floating type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randn_like(ms.Tensor([1.0, 2.0])).shape
        (2,)
    """
    raw = raw_of(input, "randn_like")
    own = raw.dtype if raw.is_floating_point() else torch.float32
    return wrap(draw("randn", tuple(raw.shape), _floating_type(dtype, own, "randn_like"),
                     seeded(seed)))


@op
def rand_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Numbers evenly distributed over [0, 1), in the shape and floating type of `input`.

    Raises:
        ValueError: if the type is no floating type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.rand_like(ms.Tensor([1.0, 2.0])).shape
        (2,)
    """
    raw = raw_of(input, "rand_like")
    kind = _floating_type(dtype, raw.dtype, "rand_like")
    return wrap(draw("rand", tuple(raw.shape), kind, seeded(seed)))


def _integers(low: Any, high: Any, shape: tuple[int, ...], kind: torch.dtype, seed: Any,
              where: str) -> Tensor:
    first, last = as_int(low, where, "low"), as_int(high, where, "high")
    if first >= last:
        raise ValueError(f"For '{where}', 'low' must be less than 'high', "
                         f"but got {first} and {last}.")
    return wrap(torch.randint(first, last, shape, generator=seeded(seed),
                              device=current_device()).to(kind))


@op
def randint(low: int, high: int, size: tuple, seed: int | None = None, *,
            dtype: Any = None) -> Tensor:
    """Integers evenly distributed over ``[low, high)``.

    Args:
        low, high: ints.
        size: the shape, a tuple.
        seed: an op-level seed.
        dtype: an int type; default: int64.

    Raises:
        TypeError: if `low` or `high` is no int.
        ValueError: if `size` is no tuple, `dtype` no int type, or `low` not less than `high`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randint(0, 5, (2, 3)).dtype
        mindspore.int64
    """
    if not isinstance(size, (tuple, list)):
        raise ValueError(f"For 'randint', 'size' must be a tuple, but got {size!r}.")
    return _integers(low, high, as_shape(size, "randint", "size"),
                     _integer_type(dtype, torch.int64, "randint"), seed, "randint")


@op
def randint_like(input: Tensor, low: int, high: int, seed: int | None = None, *,
                 dtype: Any = None) -> Tensor:
    """Integers evenly distributed over ``[low, high)``, in the shape and type of `input`.

    Raises:
        ValueError: if the type is no int type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randint_like(ms.Tensor([1, 2]), 0, 5).shape
        (2,)
    """
    raw = raw_of(input, "randint_like")
    return _integers(low, high, tuple(raw.shape), _integer_type(dtype, raw.dtype, "randint_like"),
                     seed, "randint_like")


def parameters(*values: Any, where: str) -> list[torch.Tensor]:
    """Raw tensors of a distribution's parameters, in one floating type."""
    raws = [raw_or_number(v) for v in values]
    kind = torch.float32
    for raw in raws:
        if raw.is_floating_point():
            kind = promote_types(kind, raw.dtype)
    return [raw.to(kind) for raw in raws]


def broadcast(shape: tuple[int, ...], *raws: torch.Tensor) -> tuple[int, ...]:
    """The shape of numbers drawn by parameters that broadcast with the shape asked for."""
    return tuple(torch.broadcast_shapes(shape, *[raw.shape for raw in raws]))


@op
def uniform(shape: Any, minval: Tensor, maxval: Tensor, seed: int | None = None,
            dtype: Any = mstype.float32) -> Tensor:
    """Numbers evenly distributed over ``[minval, maxval)``.

    Args:
        shape: a tuple, which broadcasts with the bounds.
        minval, maxval: Tensors.
        seed: an op-level seed.
        dtype: float32 or int32.

    Raises:
        TypeError: if a bound is no Tensor or `dtype` another type.
        ValueError: if `seed` is negative.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.uniform((100,), ms.Tensor(1.0), ms.Tensor(2.0), seed=1)
        >>> print((x >= 1).all(), (x < 2).all())
        True True
    """
    where = tuple_shape(shape, "uniform")
    low, high = raw_of(minval, "uniform", "minval"), raw_of(maxval, "uniform", "maxval")
    kind = to_raw(dtype, "uniform")
    if kind not in (torch.float32, torch.int32):
        raise TypeError(f"For 'uniform', 'dtype' must be float32 or int32, but got {dtype}.")
    out = draw("rand", broadcast(where, low, high), torch.float32 if kind.is_floating_point
               else torch.float64, seeded(seed))
    if kind is torch.int32:
        return wrap((low + (out * (high - low)).floor()).to(kind))
    return wrap(low + out * (high - low))


@op
def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Numbers from normal distributions.

    Args:
        shape: a tuple, which broadcasts with `mean` and `stddev`.
        mean, stddev: Tensors or numbers.
        seed: an op-level seed.

    Raises:
        TypeError: if `shape` is no tuple.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.normal((3, 2), ms.Tensor([0.0, 5.0]), 1.0).shape
        (3, 2)
    """
    where = tuple_shape(shape, "normal")
    center, spread = parameters(mean, stddev, where="normal")
    out = draw("randn", broadcast(where, center, spread), center.dtype, seeded(seed))
    return wrap(center + out * spread)


@op
def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers from the standard normal distribution, float32.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.standard_normal((3, 2)).shape
        (3, 2)
    """
    return wrap(draw("randn", tuple_shape(shape, "standard_normal"), torch.float32, seeded(seed)))


@op
def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers from Laplace's distribution about 0 of scale 1, float32.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.standard_laplace((3, 2)).shape
        (3, 2)
    """
    where = tuple_shape(shape, "standard_laplace")
    return wrap(laplace_from(draw("rand", where, torch.float32, seeded(seed))))


def laplace_from(even: torch.Tensor) -> torch.Tensor:
    """Laplace's distribution from the even one over [0, 1), by its inverse cumulative one."""
    centered = even - 0.5
    tail = (1 - 2 * centered.abs()).clamp_min(torch.finfo(even.dtype).tiny)
    return -centered.sign() * tail.log()


@op
def laplace(shape: Any, mean: Tensor, lambda_param: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from Laplace's distributions about `mean`, of scale `lambda_param`.

    Args:
        shape: a tuple, which broadcasts with the Tensors.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.laplace((2, 2), ms.Tensor(0.0), ms.Tensor(1.0)).shape
        (2, 2)
    """
    where = tuple_shape(shape, "laplace")
    center, scale = parameters(mean, lambda_param, where="laplace")
    out = draw("rand", broadcast(where, center, scale), center.dtype, seeded(seed))
    return wrap(center + scale * laplace_from(out))


def standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Raw numbers from gamma distributions of scale 1, differentiable in `alpha`."""
    return torch._standard_gamma(  # pyright: ignore[reportPrivateImportUsage]
        alpha, generator=generator)


@op
def gamma(shape: Any, alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from gamma distributions of shape `alpha` and rate `beta`.

    Args:
        shape: a tuple, which broadcasts with the Tensors.
        seed: an op-level seed.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.gamma((3, 2), ms.Tensor([1.0, 2.0]), ms.Tensor([1.0])).shape
        (3, 2)
    """
    where = tuple_shape(shape, "gamma")
    a, b = parameters(alpha, beta, where="gamma")
    out = standard_gamma(a.expand(broadcast(where, a, b)).contiguous(), seeded(seed))
    return wrap(out / b)


@op
def random_gamma(shape: Any, alpha: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from gamma distributions of scale 1: of shape ``shape + alpha.shape``.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.random_gamma((3,), ms.Tensor([1.0, 2.0])).shape
        (3, 2)
    """
    raw = raw_of(alpha, "random_gamma", "alpha")
    where = (*tuple_shape(shape, "random_gamma"), *raw.shape)
    return wrap(standard_gamma(raw.expand(where).contiguous(), seeded(seed)))


def _tensor_uniform(self: Tensor, from_: float = 0.0, to: float = 1.0,
                    generator: Any = None) -> Tensor:
    """Numbers evenly distributed over ``[from_, to)``, in this tensor's shape and type."""
    kind = _floating_type(None, self._raw.dtype, "Tensor.uniform")
    return wrap(from_ + (to - from_) * draw("rand", self.shape, kind, seeded(generator)))


def cauchy(shape: tuple[int, ...], median: float, sigma: float) -> torch.Tensor:
    """Raw numbers of float32 from Cauchy's distribution."""
    even = draw("rand", shape, torch.float32, None)
    return median + sigma * torch.tan(torch.pi * (even - 0.5))


def _cauchy(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Numbers from Cauchy's distribution, in this tensor's shape and type."""
    return wrap(cauchy(self.shape, median, sigma).to(self._raw.dtype))


def _log_normal(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Numbers whose logarithms are normally distributed, in this tensor's shape and type."""
    kind = _floating_type(None, self._raw.dtype, "Tensor.log_normal")
    return wrap((mean + std * draw("randn", self.shape, kind, None)).exp())


tensor_methods(uniform=op(_tensor_uniform), cauchy=_cauchy, log_normal=op(_log_normal))
