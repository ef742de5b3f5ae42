"""What parameters of distributions and bijectors have to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from ...core import dtype as mstype
from ...core.dtype import Type
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

WHOLE = (*mstype.int_type, *mstype.uint_type)
FLOATING = mstype.float_type


def require_type(dtype: Any, allowed: Iterable[Type], where: str) -> None:
    """Raise TypeError unless `dtype` is one of the types."""
    if dtype not in tuple(allowed):
        raise TypeError(f"For '{where}', the type of 'dtype' should be one of "
                        f"{', '.join(t.printed for t in allowed)}, but got {dtype}.")


def as_parameter(value: Any, kind: Type) -> Tensor:
    """A distribution's parameter as a Tensor of type `kind`; a Parameter stays what it is."""
    if isinstance(value, bool) or not isinstance(value, (Tensor, np.ndarray, list, int, float)):
        raise TypeError(f"Unable to convert input of type {type(value)} to a Tensor of type "
                        f"{kind}")
    if isinstance(value, Parameter):
        return value
    return value.astype(kind) if isinstance(value, Tensor) else Tensor(value, kind)


def _known(value: Tensor | None) -> torch.Tensor | None:
    """The numbers of a Tensor, unless there is none, or a Parameter's that may change."""
    return None if value is None or isinstance(value, Parameter) else value._raw.detach()


def require_positive(value: Tensor | None, name: str) -> None:
    """Raise ValueError unless all numbers are above 0."""
    numbers = _known(value)
    if numbers is not None and not (numbers > 0).all():
        raise ValueError(f"{name} must be greater than zero.")


def require_not_negative(value: Tensor | None, name: str) -> None:
    """Raise ValueError unless all numbers are 0 or more."""
    numbers = _known(value)
    if numbers is not None and (numbers < 0).any():
        raise ValueError(f"{name} must be greater than or equal to zero.")


def require_less(a: Tensor | None, b: Tensor | None, name_a: str, name_b: str) -> None:
    """Raise ValueError unless one parameter is below the other."""
    low, high = _known(a), _known(b)
    if low is not None and high is not None and not (low < high).all():
        raise ValueError(f"{name_a} must be less than {name_b}")


def require_probabilities(value: Tensor | None) -> None:
    """Raise ValueError unless all numbers lie between 0 and 1."""
    numbers = _known(value)
    if numbers is None:
        return
    if not (numbers > 0).all():
        raise ValueError("Probabilities must be greater than zero")
    if not (numbers < 1).all():
        raise ValueError("Probabilities must be less than one")


def require_categories(value: Tensor | None) -> None:
    """Raise ValueError unless the last axis holds probabilities that add up to 1."""
    numbers = _known(value)
    if numbers is None:
        return
    if numbers.dim() == 0:
        raise ValueError("probs for Categorical distribution must have rank >= 1.")
    if not ((numbers.sum(-1) - 1).abs() <= 11 * torch.finfo(numbers.dtype).eps).all():
        raise ValueError("Probabilities for each category should sum to one for Categorical "
                         "distribution.")


def require_same_family(dist: Any, family: str) -> None:
    """Raise ValueError unless another distribution, given by its name, is of this family."""
    if dist is None:
        raise ValueError("Input dist must be a constant which is not None.")
    if dist != family:
        raise ValueError(f"Expected dist input is {family}, but got {dist}.")


def scalar_batch(values: Iterable[Any]) -> bool:
    """Whether all parameters that are given are plain numbers."""
    return all(isinstance(v, (int, float)) for v in values if v is not None)


def batch_shape(values: Iterable[Any]) -> tuple[int, ...] | None:
    """The shape that parameters broadcast to; None if one isn't given."""
    shapes = []
    for value in values:
        if value is None:
            return None
        shapes.append(as_parameter(value, mstype.float32).shape)
    return tuple(np.broadcast_shapes(*shapes))
