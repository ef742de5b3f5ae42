"""Operators that need the numbers in a Tensor, inside of `vmap`: one example after the other.

Some operators turn an argument into Python numbers (an axis, an order, the rows of a table), and
the shapes of some results depend on them. Inside of `vmap` the argument stands for many examples.
Such an operator is called again for each example, and the results are stacked, if they have one
shape. Calls that PyTorch accepts cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.errors import add_fallback
from ..core.wrappers import functorch
from ..tensors.tensor import Tensor, wrap

_REFUSALS = ("It looks like you're", "dynamic shape", "data pointer of Tensor that",
             "Inside 'vmap' a Tensor stands for many examples, so it can't")


def refused(error: BaseException) -> bool:
    """Whether an operator needed numbers of a Tensor that differs between examples."""
    return isinstance(error, RuntimeError) and any(part in str(error) for part in _REFUSALS)


def retried(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` gives for each example of the innermost `vmap`, stacked.

    Raises:
        RuntimeError: if the results aren't Tensors of one shape and type.
    """
    batched = [raw for raw in _raws((args, list(kwargs.values())))
               if functorch.is_functorch_wrapped_tensor(raw)]
    if not batched or not all(map(functorch.is_batchedtensor, batched)):
        raise _no_kernel()  # a derivative inside of `vmap` has wrapped them once more
    level = max(functorch.maybe_get_level(raw) for raw in batched)
    size = next(functorch.get_unwrapped(raw).shape[functorch.maybe_get_bdim(raw)]
                for raw in batched if functorch.maybe_get_level(raw) == level)
    results = []
    for place in range(size):
        one = _example(args, level, place)
        named = {name: _example(value, level, place) for name, value in kwargs.items()}
        try:
            result = function(*one, **named)
        except RuntimeError as error:
            if not refused(error):
                raise
            result = retried(function, one, named)  # the examples of a `vmap` around it
        results.append(_example(result, level, place))
    return _stacked(results, level)


def _no_kernel() -> RuntimeError:
    return RuntimeError("not implemented for these results")  # the first error is reported


def _raws(value: Any) -> list[torch.Tensor]:
    if isinstance(value, (tuple, list)):
        return [raw for part in value for raw in _raws(part)]
    return [value._raw] if isinstance(value, Tensor) else []


def _example(value: Any, level: int, place: int) -> Any:
    """A structure with the Tensors that differ at a level replaced by those of one example."""
    if isinstance(value, (tuple, list)):
        parts = [_example(part, level, place) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if not isinstance(value, Tensor):
        return value
    raw = value._raw
    if not functorch.is_batchedtensor(raw) or functorch.maybe_get_level(raw) != level:
        return value
    return wrap(functorch.get_unwrapped(raw).select(functorch.maybe_get_bdim(raw), place))


def _stacked(results: list[Any], level: int) -> Any:
    first = results[0]
    if isinstance(first, (tuple, list)):
        if any(len(result) != len(first) for result in results):
            raise _no_kernel()
        parts = [_stacked(list(part), level) for part in zip(*results, strict=True)]
        return parts if isinstance(first, list) else tuple(parts)
    if not all(isinstance(result, Tensor) and result.shape == first.shape for result in results):
        raise _no_kernel()
    rows = torch.stack([result._raw for result in results])
    return wrap(functorch._add_batch_dim(rows, 0, level))


add_fallback(refused, retried)
