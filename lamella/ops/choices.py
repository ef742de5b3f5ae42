"""One of several functions by a value: `cond` and `switch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.require import of_type
from ..tensors.tensor import Tensor
from .loops import alike, check_function, chosen, varies


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any],
         *operands: Any) -> Any:
    """Applies one of two functions to the operands.

    Only that function runs, as by an ``if`` of Python's. A compiled function has a graph for each
    of the two. Inside of `vmap`, where examples may differ, both functions run and each example
    takes its own; a gradient that is NaN or infinite in the other function may then be NaN.

    Args:
        pred: a Tensor of one element, or a bool: whether `true_fun` is applied.
        true_fun, false_fun: the functions; inside of `vmap` their results must be of one structure.
        *operands: what they take.

    Returns:
        What the function gives.

    Raises:
        TypeError: if one isn't a function, or results differ in their structure inside of `vmap`.
        ValueError: if `pred` has more than one element.

    Examples:
        >>> import lamella as ms
        >>> step = lambda x: ms.cond(x > 0, lambda x: x * 2, lambda x: -x, x)
        >>> print(step(ms.Tensor(3.0)), ms.vmap(step)(ms.Tensor([3.0, -1.0])))
        6.0 [6. 1.]
    """
    check_function("cond", "true_fun", true_fun)
    check_function("cond", "false_fun", false_fun)
    _check_single("cond", "pred", pred)
    if varies(pred):
        return _chosen("cond", pred, true_fun(*operands), false_fun(*operands))
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Applies one of several functions to the operands, by its number.

    As `cond`, which has more to say. A number that is too small or too large counts as the nearest.

    Args:
        index: a Tensor of one integer, or an int.
        branches: the functions.
        *operands: what they take.

    Returns:
        What the function gives.

    Raises:
        TypeError: if `index` is no integer, or one of `branches` isn't a function.
        ValueError: if there are no functions, or `index` has more than one element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.switch(1, (ms.ops.sin, ms.ops.square, ms.ops.exp), ms.Tensor(3.0)))
        9.0
    """
    of_type(branches, (tuple, list), "branches", "switch")
    if not branches:
        raise ValueError("For 'switch', 'branches' must have a function, but is empty.")
    for branch in branches:
        check_function("switch", "branches", branch)
    of_type(index, (int, Tensor), "index", "switch")
    _check_single("switch", "index", index)
    if isinstance(index, Tensor) and (index.is_floating_point() or index.is_complex()):
        raise TypeError(f"For 'switch', 'index' must be an integer, but got {index.dtype}.")
    if varies(index):
        found = branches[0](*operands)
        for number, branch in enumerate(branches[1:], 1):
            found = _chosen("switch", index >= number, branch(*operands), found)
        return found
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def _check_single(name: str, argument: str, value: Any) -> None:
    if isinstance(value, Tensor) and value.size != 1:
        raise ValueError(f"For '{name}', '{argument}' must have one element, "
                         f"but got the shape {value.shape}.")


def _chosen(name: str, test: Tensor, then: Any, otherwise: Any) -> Any:
    if not alike(then, otherwise):
        raise TypeError(f"For '{name}', inside of 'vmap' the functions must give results of one "
                        f"structure, but got {then!r} and {otherwise!r}.")
    return chosen(test, then, otherwise)
