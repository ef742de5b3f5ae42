"""`vjp`: a function's value, and a function that turns output gradients into input gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.require import of_type
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .forward import split_aux
from .level import current
from .reverse import checked_weights
from .run import cut, detached, record
from .tree import check_no_hidden, map_tensors, tensors


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None,
        has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fn`, and a function that pulls a gradient of the output back to the inputs.

    Args:
        fn: a function or Cell of Tensors.
        inputs: its inputs: Tensors, or tuples, lists and dicts of them.
        weights: a Parameter, or a tuple or list of them, to differentiate by as well.
        has_aux: differentiate only the first output; the others come back as they are.

    Returns:
        The outputs, or with `has_aux` the first; a function; with `has_aux` also the other outputs:
        a tuple, or the one there is. The function takes a gradient for each output, or a tuple of
        them, and gives a tuple of gradients, one for each input; with `weights` a pair of that and
        the weights' gradients. It can be called any number of times, and under `vmap`.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if with `has_aux` there is one output only, or a gradient has the wrong shape.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
        >>> value, pull = ms.vjp(lambda x, y: x * y, x, y)
        >>> dx, dy = pull(ms.Tensor([1.0, 10.0]))
        >>> print(value, dx, dy)
        [3. 8.] [ 3. 40.] [ 1. 20.]
    """
    if not callable(fn):
        raise TypeError(f"For 'vjp', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    of_type(has_aux, bool, "has_aux", "vjp")
    for place, arg in enumerate(inputs):
        check_no_hidden("vjp", f"input {place}", arg)
        if next(tensors(arg), None) is None:
            raise TypeError(f"For 'vjp', input {place} must be a Tensor or hold Tensors, "
                            f"but got {type(arg).__name__}.")
    parameters = checked_weights("vjp", weights) or ()
    outer = current()
    run = record(fn, inputs, {}, tuple(range(len(inputs))), parameters, outer)
    recorded = run.value
    # in Tensors of its own: those that `fn` changed in place are cut below
    value = map_tensors(lambda t: wrap(t._raw), recorded)
    run.value = value
    aux = split_aux(value, "vjp") if has_aux else None
    first = value[0] if has_aux else value
    check_no_hidden("vjp", "the result", first)
    raws = [t._raw for t in tensors(first)]  # on the tape

    def pull(*gradients: Any) -> Any:
        if not gradients:
            raise TypeError("For the function that 'vjp' gives, the gradient of the output must "
                            "be given.")
        for gradient in gradients:
            if next(tensors(gradient), None) is None:
                raise TypeError(f"For the function that 'vjp' gives, a gradient must be a Tensor "
                                f"or hold Tensors, but got {type(gradient).__name__}.")
        outputs, left = first, iter(raws)
        if any(t._raw is not raw for t, raw in zip(tensors(first), raws, strict=True)):
            # a recorded run, which finds these Tensors here, has cut them off the tape
            outputs = map_tensors(lambda _: wrap(next(left)), first)
        found = iter(run.backward(outputs, gradients[0] if len(gradients) == 1 else gradients,
                                  again=True))
        by_inputs = tuple([map_tensors(lambda _: next(found), arg) for arg in inputs])
        by_weights = tuple([next(found) for _ in parameters])
        if current() is None:
            by_inputs, by_weights = map_tensors(detached, (by_inputs, by_weights))
        if weights is None:
            return by_inputs
        return by_inputs, by_weights[0] if isinstance(weights, Parameter) else by_weights

    shown: Any = first
    if outer is None:
        shown = map_tensors(detached, first)
        cut(run.level.changed)
    elif isinstance(first, Tensor):
        shown = wrap(first._raw)
    return (shown, pull, aux) if has_aux else (shown, pull)
