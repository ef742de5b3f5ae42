"""`eval_shape`: the shapes and types of results, without computing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..autodiff.tree import check_no_hidden, map_tensors
from ..core.dtype import from_raw
from ..core.state import state
from ..graph.guards.search import reachable_from_call
from ..graph.tracing.undo import undone
from ..tensors.tensor import Tensor, wrap


def eval_shape(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and types of what a function gives, without computing it.

    The function runs on tensors without data: no kernel runs, and no memory is taken. What it
    changes (states of layers, random generators, attributes) is put back.

    Args:
        fn: a function or Cell of Tensors, which may be a gradient function.
        args, kwargs: its arguments. Of Tensors only shape and type count, so they may be
            ``Tensor(shape=(2, 3), dtype=ms.float32)``.

    Returns:
        What `fn` returns, with a Tensor without data, of that kind, in place of each Tensor.

    Raises:
        TypeError: if `fn` can't be called.
        RuntimeError: if what it does depends on values.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor(shape=(512, 784), dtype=ms.float32)
        >>> y = ms.eval_shape(ms.nn.Dense(784, 10), x)
        >>> y.shape, y.dtype
        ((512, 10), mindspore.float32)
    """
    if not callable(fn):
        raise TypeError(f"For 'eval_shape', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    if state.trace is not None:
        state.trace.refuse("asks for shapes by 'eval_shape'")
    check_no_hidden("eval_shape", "the arguments", (args, kwargs))
    from torch._subclasses.fake_tensor import (  # takes seconds to import
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorMode,
    )

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def stand_in(tensor: Tensor) -> Tensor:
        if "sizes" in tensor.__dict__:
            raise ValueError(f"For 'eval_shape', the arguments must have known shapes, "
                             f"but got {tensor.__dict__['sizes']}.")
        raw = tensor._raw
        return wrap(torch.empty(raw.shape, dtype=raw.dtype, device=raw.device))

    whole, state.whole = state.whole, True  # nothing inside of it is compiled
    try:
        with undone(reachable_from_call(fn, args, kwargs)), mode:
            given, named = map_tensors(stand_in, (args, kwargs))
            found = fn(*given, **named)
            return map_tensors(
                lambda t: Tensor(shape=tuple(t._raw.shape), dtype=from_raw[t._raw.dtype]), found)
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(
                cause, (DataDependentOutputException, DynamicOutputShapeException)):
            cause = cause.__cause__
        if cause is None:
            raise
        raise RuntimeError("For 'eval_shape', what the function does, or the shape of a result, "
                           "depends on values, but Tensors have no values here.") from error
    finally:
        state.whole = whole
