"""Giving Parameters new values, dependence between operators, and printing from a graph.

What is assigned to may also be a plain Tensor, which is then changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import promote_types
from ..core.errors import op
from ..core.primitive import Primitive
from ..core.spreading import spreading
from ..core.state import state
from ..tensors.inplace import in_place
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, is_tensor, tensor_methods, wrap
from ..tensors.views import follow
from .arguments import raw_of, raw_or_number

__all__ = ["assign", "assign_add", "assign_sub", "depend", "identity", "is_tensor", "print_"]


def store(variable: Any, change: Callable[[torch.Tensor], torch.Tensor], where: str,
          within: Callable[[torch.Tensor], Any] | None = None) -> Tensor:
    """Give `variable` the value that `change` makes of its present one; returns the new value.

    The two must have one shape. The value is stored in the variable's own type. A gradient goes
    through what is returned to the change, but not through the variable, as in MindSpore. Where
    none is recorded, `within`, the same change by one kernel in place, is run instead: what
    another thread adds between two kernels would be lost.
    """
    old = raw_of(variable, where, "variable")
    if (within is not None and isinstance(variable, Parameter) and variable.keeps_memory()
            and state.level is None):
        within(old)
        return wrap(old)
    new = change(old)
    if isinstance(variable, Parameter):
        variable.init_data()
        before = variable._raw
        variable.assign_raw(new)
        follow(before, variable._raw)
    else:
        in_place(variable, lambda raw: raw.copy_(new))
    return wrap(new if new.requires_grad else variable._raw)


def _value(variable: Any, value: Any, where: str) -> torch.Tensor:
    """`value` as a raw tensor fit to be assigned.

    Raises:
        ValueError: if it has another shape.
        TypeError: if its type would have to be narrowed.
    """
    old = raw_of(variable, where, "variable")
    new = raw_or_number(value, old)
    if not isinstance(value, Tensor) and (old.is_floating_point() or not new.is_floating_point()):
        new = new.to(old.dtype)  # Python's numbers take the type of what they meet
    if new.shape != old.shape and not (new.numel() == old.numel() == 1):
        raise ValueError(f"For '{where}', 'value' must have the shape of 'variable', "
                         f"{tuple(old.shape)}, but got {tuple(new.shape)}.")
    if promote_types(old.dtype, new.dtype) != old.dtype:
        raise TypeError(f"For '{where}', 'value' must be of the type of 'variable' or one that "
                        f"it can hold, but 'variable' is {old.dtype} and 'value' {new.dtype}.")
    return new.to(old.dtype).reshape(old.shape)


@op
def assign(variable: Any, value: Any) -> Tensor:
    """Give a Parameter a new value.

    Args:
        variable: a Parameter, or a Tensor to change in place.
        value: a Tensor of the same shape, of the same type or one that promotes to it, or numbers.

    Returns:
        Tensor, the new value.

    Raises:
        TypeError: if the type of `value` does not promote to that of `variable`.
        ValueError: if the shapes differ.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> _ = ms.ops.assign(w, ms.Tensor([3.0, 4.0]))
        >>> print(w.value())
        [3. 4.]
    """
    new = _value(variable, value, "assign")
    store(variable, lambda old: new, "assign")
    return wrap(variable._raw)  # no gradient goes to `value`


@op
def assign_add(variable: Any, value: Any) -> Tensor:
    """Add to a Parameter; arguments, result and errors as for `assign`.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> print(ms.ops.assign_add(w, ms.Tensor([1.0, 1.0])))
        [2. 3.]
    """
    new = _value(variable, value, "assign_add")
    return store(variable, lambda old: old + new, "assign_add", lambda old: old.add_(new))


@op
def assign_sub(variable: Any, value: Any) -> Tensor:
    """Subtract from a Parameter; arguments, result and errors as for `assign`.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> print(ms.ops.assign_sub(w, ms.Tensor([1.0, 1.0])))
        [0. 1.]
    """
    new = _value(variable, value, "assign_sub")
    return store(variable, lambda old: old - new, "assign_sub", lambda old: old.sub_(new))


def depend(value: Any, expr: Any) -> Any:
    """`value`, once `expr` has been computed; Python computes arguments in order, so they both are.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.depend(1, print("first"))
        first
        1
    """
    return value


class _Identity(Primitive):
    """`x` itself. An operator, as in MindSpore, so that it may take the place of a Cell.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.identity(3)
        3
    """

    __name__ = "identity"  # under which the reference lists it among the functions

    def __call__(self, x: Any) -> Any:
        return x


identity = _Identity("identity")


def print_(*input_x: Any) -> None:
    """Print values, one a line, Tensors with their shape and type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.print_("sum", 3)
        sum
        3
    """
    if state.trace is not None:
        state.trace.defer(_print_lines, input_x, {})
    else:
        _print_lines(*input_x)


def _print_lines(*values: Any) -> None:
    for value in values if spreading().computes(values) else ():
        print(repr(value) if isinstance(value, Tensor) else value)


def _assign_value(self: Tensor, value: Tensor) -> Tensor:
    """Take the values of another tensor, whatever its shape and type; returns this one."""
    raw = raw_of(value, "Tensor.assign_value", "value")
    if (isinstance(self, Parameter) and state.level is not None
            and raw.shape == self.shape and raw.dtype is self._raw.dtype):
        self.assign_raw(raw)  # no gradient flows to what is assigned
    else:
        self._raw = raw.clone()
    return self


tensor_methods(assign_value=_assign_value, assign_value_cpp=_assign_value)
