"""Loops as operators; what they do in a compiled function is in `loops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensors.tensor import Tensor
from .loops import check_function, counting, looped, scanned
from .primitive import Primitive

__all__ = ["ForiLoop", "Scan", "WhileLoop"]


class WhileLoop(Primitive):
    """Applies a function to a value as long as a condition of the value holds.

    As `lamella.while_loop`, which has more to say.

    Inputs:
        - **cond_func** - takes the value; whether to go on.
        - **loop_func** - takes the value; the next one.
        - **init_val** - the first value.

    Outputs:
        The last value.

    Raises:
        TypeError: if one that should be a function isn't.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.WhileLoop()(lambda v: v < 10, lambda v: v * 2, ms.Tensor(1)))
        16
    """

    def __init__(self):
        super().__init__("WhileLoop")

    def __call__(self, cond_func: Callable[..., Any], loop_func: Callable[..., Any],
                 init_val: Any) -> Any:
        check_function(self.name, "cond_func", cond_func)
        check_function(self.name, "loop_func", loop_func)
        return looped(cond_func, loop_func, init_val)


class ForiLoop(Primitive):
    """Applies a function of a counter and a value, for each count from `lower` to `upper` - 1.

    Inputs:
        - **lower** - int or Tensor.
        - **upper** - int or Tensor.
        - **loop_func** - takes the counter and the value; the next value.
        - **init_val** - the first value.
        - **unroll** - whether a compiled function records each step, with the counter as an int.
          Otherwise it records one step, if `loop_func` only computes and keeps the value's shapes
          and types; the counter is then a Tensor of rank 0 and type int64, and bounds that are
          Tensors may be others in each call.

    Outputs:
        The last value.

    Raises:
        TypeError: if a bound is neither int nor Tensor, or `loop_func` is no function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ForiLoop()(0, 4, lambda i, v: v + i, ms.Tensor(1)))
        7
    """

    def __init__(self):
        super().__init__("ForiLoop")

    def __call__(self, lower: Any, upper: Any, loop_func: Callable[..., Any], init_val: Any,
                 unroll: bool = True) -> Any:
        check_function(self.name, "loop_func", loop_func)
        return counting(self.name, lower, upper, loop_func, init_val, unroll)


class Scan(Primitive):
    """Applies a function of a running value and each element; the last value and all results.

    In a compiled function the body is recorded once, as that of `lamella.scan`.

    Inputs:
        - **loop_func** - takes the value and an element; gives the next value and a result.
        - **init** - the first value.
        - **xs** - a tuple, list or Tensor of elements, or None.
        - **length** - how many elements to use; needed where `xs` is None, else all.
        - **unroll** - accepted as MindSpore does.

    Outputs:
        The last value, and the list of results.

    Raises:
        TypeError: if `loop_func` is no function, `xs` no sequence, or `length` no int.
        ValueError: if there are neither elements nor a length, or they contradict each other.

    Examples:
        >>> import lamella as ms
        >>> last, results = ms.ops.Scan()(lambda v, x: (v + x, v * x), 1, [1, 2, 3])
        >>> last, results
        (7, [1, 4, 12])
    """

    def __init__(self):
        super().__init__("Scan")

    def __call__(self, loop_func: Callable[..., Any], init: Any, xs: Any,
                 length: int | None = None, unroll: bool = True) -> tuple[Any, list[Any]]:
        check_function(self.name, "loop_func", loop_func)
        if length is not None and (not isinstance(length, int) or isinstance(length, bool)):
            raise TypeError(f"For '{self.name}', 'length' must be an int, but got {length!r}.")
        if xs is None:
            if length is None:
                raise ValueError(f"For '{self.name}', 'length' must be given where 'xs' is None.")
            xs = [None] * length
        if not isinstance(xs, (tuple, list, Tensor)):
            raise TypeError(f"For '{self.name}', 'xs' must be a tuple, a list or a Tensor, "
                            f"but got {type(xs).__name__}.")
        if length is not None and length > len(xs):
            raise ValueError(f"For '{self.name}', 'length' must be at most the number of elements, "
                             f"{len(xs)}, but got {length}.")
        return scanned(loop_func, init, list(xs)[:length])
