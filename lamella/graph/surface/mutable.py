"""`mutable`: an argument whose value stays variable in a graph."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Mark an argument as one whose value may change from call to call.

    Tensors inside tuples, lists and dicts are variable in a graph anyway, and differentiable; so
    the data is checked and returned unchanged.

    Args:
        input_data: a Tensor, a number, a boolean, or tuples, lists and dicts of them.
        dynamic_len: whether the length of a tuple or list may change, too.

    Returns:
        `input_data`.

    Raises:
        TypeError: for anything else, for a structure that holds itself, or if with `dynamic_len`
            `input_data` is neither a tuple nor a list.

    Examples:
        >>> import lamella as ms
        >>> pair = ms.mutable((ms.Tensor(2.0), ms.Tensor(3.0)))
        >>> print(ms.grad(lambda z: z[0] * z[1])(pair))
        (Tensor(shape=[], dtype=Float32, value= 3), Tensor(shape=[], dtype=Float32, value= 2))
    """
    if not _fits(input_data, ()):
        raise TypeError(f"For 'mutable', 'input_data' must be a Tensor, a number, or a tuple, list "
                        f"or dict of them that does not hold itself, but got "
                        f"{type(input_data).__name__}: {input_data!r}.")
    if not isinstance(dynamic_len, bool):
        raise TypeError(f"For 'mutable', 'dynamic_len' must be a bool, but got {dynamic_len!r}.")
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(f"For 'mutable', with dynamic_len=True 'input_data' must be a tuple or a "
                        f"list, but got {type(input_data).__name__}.")
    return input_data


def _fits(value: Any, around: tuple[int, ...]) -> bool:
    """Whether a value is made of what `mutable` takes; `around` are the structures it is in."""
    if isinstance(value, (tuple, list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return id(value) not in around and all(_fits(v, (*around, id(value))) for v in inner)
    return isinstance(value, (Tensor, int, float))
