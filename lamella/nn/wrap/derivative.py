"""Cells that compute derivatives of a network, and networks called with other Parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...autodiff.forward import jvp
from ...autodiff.pullback import vjp
from ...core.errors import op
from ...core.require import of_type
from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell

__all__ = ["Jvp", "Vjp", "functional_call", "stack_parameters"]


class Jvp(Cell):
    """The value of a function and its derivative in a direction; the older form of `jvp`.

    Args:
        fn: a function or Cell of Tensors.

    Inputs:
        - **inputs** - those of `fn`.
        - **v** - last: the direction, a Tensor, or a tuple of them for several inputs.

    Outputs:
        The outputs and their tangents.

    Examples:
        >>> import lamella as ms
        >>> value, tangent = ms.nn.Jvp(lambda x: x * x)(ms.Tensor([3.0]), ms.Tensor([1.0]))
        >>> print(value, tangent)
        [9.] [6.]
    """

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        """Value and tangent."""
        return jvp(self.fn, args[:-1], args[-1])


class Vjp(Cell):
    """The value of a function and its gradient from a given one; the older form of `vjp`.

    Args:
        fn: a function or Cell of Tensors.

    Inputs:
        - **inputs** - those of `fn`.
        - **v** - last: the gradient of the output, or a tuple of them.

    Outputs:
        The outputs, and the gradient by the input, or a tuple of those by all inputs.

    Examples:
        >>> import lamella as ms
        >>> value, gradient = ms.nn.Vjp(lambda x: x * x)(ms.Tensor([3.0]), ms.Tensor([1.0]))
        >>> print(value, gradient)
        [9.] [6.]
    """

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        """Value and gradients."""
        value, pull = vjp(self.fn, *args[:-1])
        gradients = pull(args[-1])
        return value, gradients[0] if len(gradients) == 1 else gradients


def functional_call(cell: Cell, parameters: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
                    args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Call a Cell with other values in place of its Parameters.

    The Cell stays as it is: what the call assigns to those Parameters is dropped. Derivatives
    by the values, and `vmap` over them, go through.

    Args:
        cell: the Cell.
        parameters: the values by Parameter name (as in ``cell.parameters_dict()``), or several such
            dicts. Parameters without one keep their own.
        args: the input, or a tuple of inputs.
        kwargs: inputs by name.

    Returns:
        What the Cell returns.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a name is no Parameter's, or a shape differs.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, has_bias=False)
        >>> loss = lambda w: ms.nn.functional_call(net, {"weight": w}, ms.Tensor([[3.0]])).sum()
        >>> print(ms.grad(loss)(ms.Tensor([[2.0]])))
        [[3.]]
    """
    of_type(cell, Cell, "cell", "functional_call")
    given = _chosen(cell, parameters)
    own = [(parameter, parameter._data) for parameter, _ in given]
    before = state.overlay
    overlay = {} if before is None else before.copy()
    overlay.update(given)
    state.overlay = overlay
    try:
        inputs = args if isinstance(args, (tuple, list)) else (args,)
        out = cell(*inputs, **(kwargs or {}))
        return wrap(out._raw) if isinstance(out, Parameter) else out
    finally:
        state.overlay = before
        for parameter, data in own:
            parameter._data = data


def _chosen(cell: Cell, parameters: Any) -> list[tuple[Parameter, torch.Tensor]]:
    found: list[tuple[Parameter, torch.Tensor]] = []
    known = dict(cell.parameters_and_names())
    known.update({p.name: p for p in cell.get_parameters()})
    for group in parameters if isinstance(parameters, (tuple, list)) else (parameters,):
        if not isinstance(group, Mapping):
            raise TypeError(f"For 'functional_call', 'parameters' must be a dict of Tensors or "
                            f"several, but got {type(group).__name__}.")
        for name, value in group.items():
            if name not in known:
                raise ValueError(f"For 'functional_call', {name!r} is the name of no Parameter of "
                                 f"the {type(cell).__name__}; it has {sorted(known)}.")
            if not isinstance(value, Tensor):
                raise TypeError(f"For 'functional_call', the value for {name!r} must be a Tensor, "
                                f"but got {type(value).__name__}.")
            if value.shape != known[name].shape:
                raise ValueError(f"For 'functional_call', the value for {name!r} must have shape "
                                 f"{known[name].shape}, but got {value.shape}.")
            found.append((known[name], value._raw))
    return found


@op
def stack_parameters(cells: Sequence[Cell]) -> dict[str, Tensor]:
    """The Parameters of several alike Cells as one Tensor a name, for `vmap` over the Cells.

    Args:
        cells: the Cells, of one structure.

    Returns:
        The Tensors by Parameter name; their first dimension counts the Cells.

    Raises:
        ValueError: if there are none or they differ in the names of their Parameters.

    Examples:
        >>> import lamella as ms
        >>> nets = [ms.nn.Dense(3, 2) for _ in range(4)]
        >>> stacked = ms.nn.stack_parameters(nets)
        >>> stacked["weight"].shape
        (4, 2, 3)
        >>> call = lambda params, x: ms.nn.functional_call(nets[0], params, x)
        >>> ms.vmap(call, in_axes=(0, None))(stacked, ms.ops.ones((5, 3))).shape
        (4, 5, 2)
    """
    rows = [dict(cell.parameters_and_names()) for cell in cells]
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        raise ValueError("For 'stack_parameters', 'cells' must be one Cell or more, with "
                         "Parameters of the same names.")
    return {name: wrap(torch.stack([row[name]._raw for row in rows])) for name in rows[0]}
