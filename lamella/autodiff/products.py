"""Jacobian-vector products and transposes of linear maps, without forming the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensors.tensor import Tensor
from .forward import jvp
from .pullback import vjp
from .reverse import grad
from .tree import map_tensors


def _several(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def hvp(fn: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """The gradient of a scalar function, and the product of its Hessian with a vector.

    Forward over reverse mode (Pearlmutter, "Fast exact multiplication by the Hessian", 1994): it
    costs a few times as much as the gradient.

    Args:
        fn: a function or Cell of Tensors.
        inputs: the input, or a tuple of inputs.
        v: the vector, of the inputs' shapes; a tuple for several inputs.

    Returns:
        The gradient and the product, each of the form of `inputs`.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `v` doesn't have the form of the inputs.

    Examples:
        >>> import lamella as ms
        >>> x, v = ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 0.0])
        >>> gradient, product = ms.hvp(lambda x: (x**3).sum(), x, v)
        >>> print(gradient, product)
        [ 3. 12.] [6. 0.]
    """
    positions = tuple(range(len(_several(inputs))))
    return jvp(grad(fn, positions if len(positions) > 1 else 0), inputs, v)  # type: ignore


def gnvp(fn: Callable[..., Any], loss: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """The value of a loss, and the product of its Gauss-Newton matrix with a vector.

    With J the Jacobian of `fn` and H the Hessian of `loss` at `fn`'s result, that is J^T H J v
    (Schraudolph, "Fast curvature matrix-vector products", 2002): for a convex loss it is never
    negative, as the Hessian of the whole may be.

    Args:
        fn: a function or Cell of Tensors with one output.
        loss: a scalar function of that output.
        inputs: the input of `fn`, or a tuple of inputs.
        v: the vector, of the inputs' shapes; a tuple for several inputs.

    Returns:
        The loss, and the product in the form of `inputs`.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `v` doesn't have the form of the inputs.

    Examples:
        >>> import lamella as ms
        >>> x, v = ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 1.0])
        >>> value, product = ms.gnvp(lambda x: x * x, lambda y: (y * y).sum(), x, v)
        >>> print(value, product)
        17.0 [ 8. 32.]
    """
    several = _several(inputs)
    out, along = jvp(fn, inputs, v)
    _, bent = hvp(loss, out, along)
    _, pull = vjp(fn, *several)
    found = pull(bent)
    return loss(out), found if isinstance(inputs, tuple) else found[0]


def linear_transpose(fn: Callable[..., Any], *likes: Any) -> Callable[..., Any]:
    """The transpose of a linear function.

    Args:
        fn: a linear function of Tensors.
        likes: for each input a Tensor, or a structure of them, of the form that it has.

    Returns:
        A function from a Tensor like the result of `fn` to one like the input; to a tuple if there
        are several. It is linear itself.

    Raises:
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> back = ms.linear_transpose(lambda x: x[1:] - x[:-1], ms.ops.zeros(3))
        >>> print(back(ms.Tensor([1.0, 10.0])))
        [-1. -9. 10.]
    """
    zeros = [map_tensors(_zeros_like, like) for like in likes]
    pull = vjp(fn, *zeros)[1]

    def transposed(*gradients: Any) -> Any:
        found = pull(*gradients)
        return found[0] if len(found) == 1 else found

    return transposed


def _zeros_like(tensor: Tensor) -> Tensor:
    return Tensor(tensor._raw.new_zeros(tensor._raw.shape))
