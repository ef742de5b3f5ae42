"""Reverse-mode differentiation: `grad`, `value_and_grad`, `GradOperation`.

Each differentiated input is replaced by an alias that requires grad: cut from everything at the
outermost level, a view of itself inside another gradient call. The function runs on the aliases,
PyTorch's tape records, and one backward pass gives the gradients.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..core.require import of_type
from ..core.spreading import spreading
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .level import current
from .run import cut, detached, record
from .tree import check_no_hidden, map_tensors, tensors
from .weight_tensors import StandIns, is_weight

_run_as_graph: Callable[..., Any] | None = None


def register_graphs(run: Callable[..., Any] | None) -> None:
    """Have gradient functions run as one graph, as in GRAPH_MODE, or again by themselves.

    Args:
        run: called with the gradient function and its arguments, as a tuple and a dict; None:
            gradient functions run by themselves.
    """
    global _run_as_graph
    _run_as_graph = run


def runs_as_graphs() -> bool:
    """Whether gradient functions run as graphs."""
    return _run_as_graph is not None


def grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
         weights: Any = None, has_aux: bool = False, return_ids: bool = False,
         sens_param: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `fn`.

    All outputs of `fn` are summed first, unless `has_aux`. An input the outputs don't depend on has
    gradient zero. The gradient may itself be differentiated, to any order.

    Args:
        fn: a function, method or Cell of Tensors.
        grad_position: which inputs to differentiate by; None for none. Inputs given by name are
            counted after the others, in the order of the call.
        weights: a Parameter, or a tuple or list of them, to differentiate by.
        has_aux: differentiate only the first output; the others come back as they are.
        return_ids: pair each gradient with the position or Parameter name it belongs to; `get_grad`
            looks them up.
        sens_param: the function made takes one more argument, last or by the name `sens`: the
            gradient of the output to start from, in its structure. Otherwise ones.

    Returns:
        A function of `fn`'s arguments. It gives the gradient by the inputs (a Tensor for one
        position, a tuple for several), that by the weights (a tuple, or a Tensor for one
        Parameter), or a pair of both; with `has_aux`, a pair of that and a tuple of the other
        outputs.

    Raises:
        ValueError: if `grad_position` and `weights` are both None.
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
        >>> print(ms.grad(lambda x, y: x * y * y, grad_position=(0, 1))(x, y))
        (Tensor(shape=[2], dtype=Float32, value= [ 9.00000000e+00,  1.60000000e+01]),
         Tensor(shape=[2], dtype=Float32, value= [ 6.00000000e+00,  1.60000000e+01]))
    """
    request = Request("grad", fn, grad_position, weights, has_aux, return_ids, sens_param)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = request(*args, **kwargs)
        return (gradients, value[1:]) if has_aux else gradients

    return gradient


def value_and_grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
                   weights: Any = None, has_aux: bool = False, return_ids: bool = False,
                   sens_param: bool = False) -> Callable[..., Any]:
    """The function that computes `fn` and its gradient in one run.

    Args:
        fn, grad_position, weights, has_aux, return_ids, sens_param: as for `grad`.

    Returns:
        A function of `fn`'s arguments that gives a pair: what `fn` returned, and the gradients.

    Raises:
        ValueError: if `grad_position` and `weights` are both None.

    Examples:
        >>> import lamella as ms
        >>> value, gradient = ms.value_and_grad(lambda x: (x * x).sum())(ms.Tensor([1.0, 2.0]))
        >>> print(value, gradient)
        5.0 [2. 4.]
    """
    return Request("value_and_grad", fn, grad_position, weights, has_aux, return_ids,
                   sens_param).__call__


def get_grad(gradients: Any, identifier: Any) -> Tensor:
    """The gradient that belongs to an input position or a Parameter.

    Args:
        gradients: what a function made by `grad` or `value_and_grad` with ``return_ids=True`` gave.
        identifier: a position, a Parameter or its name.

    Raises:
        RuntimeError: if there is no gradient for it.

    Examples:
        >>> import lamella as ms
        >>> pairs = ms.grad(lambda x, y: x * y, (0, 1), return_ids=True)(
        ...     ms.Tensor(2.0), ms.Tensor(5.0))
        >>> print(ms.get_grad(pairs, 1))
        2.0
    """
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier

    def search(tree: Any) -> Tensor | None:
        if isinstance(tree, (tuple, list)):
            if len(tree) == 2 and isinstance(tree[0], (int, str)):
                return tree[1] if type(tree[0]) is type(wanted) and tree[0] == wanted else None
            for branch in tree:
                found = search(branch)
                if found is not None:
                    return found
        return None

    found = search(gradients)
    if found is None:
        raise RuntimeError(f"For 'get_grad', there is no gradient for {wanted!r}; gradients must "
                           f"come from grad(..., return_ids=True) that was asked for it.")
    return found


class GradOperation:
    """Makes gradient functions; the older form of `grad`.

    Args:
        get_all: differentiate by all inputs instead of the first.
        get_by_list: differentiate by the Parameters given with the function.
        sens_param: the gradient function takes, last, the gradient of the output to start from
            (otherwise ones).

    Examples:
        >>> import lamella as ms
        >>> gradient = ms.ops.GradOperation(get_all=True)(lambda x, y: x * y)
        >>> print(gradient(ms.Tensor(2.0), ms.Tensor(3.0)))
        (Tensor(shape=[], dtype=Float32, value= 3), Tensor(shape=[], dtype=Float32, value= 2))
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False):
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list),
                            ("sens_param", sens_param)):
            of_type(value, bool, name, "GradOperation")
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        if self.get_by_list and weights is None:
            weights = fn.trainable_params() if hasattr(fn, "trainable_params") else None
            if weights is None:
                raise ValueError("For 'GradOperation', with get_by_list=True the weights must be "
                                 "given with the function.")
        by_inputs = self.get_all or not self.get_by_list

        def gradient(*args: Any, **kwargs: Any) -> Any:
            position: Any = 0
            if self.get_all:
                given = args[:-1] if self.sens_param and "sens" not in kwargs else args
                if kwargs:
                    given = (*given, *(value for name, value in kwargs.items()
                                       if name != "sens" or not self.sens_param))
                position = tuple(i for i, a in enumerate(given) if _has_tensor(a))
            request = Request("GradOperation", fn, position if by_inputs else None,
                              weights if self.get_by_list else None, False, False,
                              self.sens_param, as_tuple=self.get_all)
            return request(*args, **kwargs)[1]

        return gradient


class Request:
    """The arguments of a gradient function, checked once."""

    def __init__(self, name: str, fn: Callable[..., Any], grad_position: Any, weights: Any,
                 has_aux: bool, return_ids: bool, sens_param: bool, as_tuple: bool = False):
        if not callable(fn):
            raise TypeError(f"For '{name}', 'fn' must be a function or a Cell, "
                            f"but got {type(fn).__name__}.")
        for key, flag in (("has_aux", has_aux), ("return_ids", return_ids),
                          ("sens_param", sens_param)):
            of_type(flag, bool, key, name)
        if grad_position is None and weights is None:
            raise ValueError("`grad_position` and `weight` can not be None at the same time.")
        self.name = name
        self.fn = fn
        self.has_aux = has_aux
        self.return_ids = return_ids
        self.sens_param = sens_param
        # MindSpore 2.10 gives a Tensor for a tuple of one position, too
        self.positions = checked_positions(name, grad_position)
        self.as_tuple = as_tuple
        self.single_position = not as_tuple and len(self.positions or ()) == 1
        self.single_weight = isinstance(weights, Parameter) or is_weight(weights)
        self.stand_ins = None
        if self.single_weight or isinstance(weights, (tuple, list)):
            stand_ins = StandIns([weights] if self.single_weight else weights)
            if stand_ins:
                self.stand_ins, weights = stand_ins, stand_ins.weights
                self.fn = stand_ins.around(fn)
        self.weights = checked_weights(name, weights)
        self.compiled: Any = None  # in GRAPH_MODE, see `graph.surface.mode`

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The value and the gradients, in the requested form; in GRAPH_MODE as one graph."""
        if _run_as_graph is not None and self.stand_ins is None:
            return _run_as_graph(self, args, kwargs)
        return self.run_on(*args, **kwargs)

    def key(self) -> tuple:
        """The key of the request among those for the same function."""
        return (self.positions, self.single_position, self.single_weight, self.has_aux,
                None if self.weights is None else tuple(id(w) for w in self.weights),
                self.return_ids, self.sens_param, self.as_tuple)

    def of(self, fn: Callable[..., Any]) -> Request:
        """The same request for another function."""
        made = copy.copy(self)
        made.fn, made.compiled = fn, None
        return made

    def run_on(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The value and the gradients, in the requested form."""
        sens = None
        if self.stand_ins is not None:
            self.stand_ins.refresh()
        if self.sens_param:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            elif args:
                args, sens = args[:-1], args[-1]
            else:
                raise ValueError(f"For '{self.name}', with sens_param=True the last argument must "
                                 f"be the gradient of the output.")
        positions = self._held((*args, *kwargs.values()) if kwargs else args)
        value, inputs, weights = differentiate(self.fn, args, kwargs, positions,
                                               self.weights or (), self.has_aux, sens)
        if self.return_ids:
            inputs = [(p, g) for p, g in zip(positions, inputs, strict=True)]
            weights = [(w.name, g) for w, g in zip(self.weights or (), weights, strict=True)]
        left_out = not self.as_tuple and len(positions) < len(self.positions or ())
        single = self.single_position or left_out
        by_inputs = inputs[0] if single and len(inputs) == 1 else tuple(inputs)
        by_weights = weights[0] if self.single_weight else tuple(weights)
        if self.weights is None:
            return value, by_inputs
        if self.positions is None:
            return value, by_weights
        return value, (by_inputs, by_weights)


    def _held(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """The positions of arguments that are or hold Tensors: there is no gradient by others."""
        if not args:
            return ()
        for position in self.positions or ():
            if position >= len(args):
                raise RuntimeError(f"For '{self.name}', 'grad_position' {position} is out of range:"
                                   f" the function was called with {len(args)} arguments.")
            if type(args[position]) is not Tensor:
                check_no_hidden(self.name, f"argument {position}", args[position])
        return tuple([p for p in self.positions or () if _has_tensor(args[p])])


def _by_position(fn: Callable[..., Any], args: tuple, kwargs: dict
                 ) -> tuple[Callable[..., Any], tuple, dict]:
    """The same call with its keyword arguments after the others, so that each has a position."""
    names, number = tuple(kwargs), len(args)

    def called(*every: Any) -> Any:
        return fn(*every[:number], **dict(zip(names, every[number:], strict=True)))

    return called, (*args, *kwargs.values()), {}


def checked_positions(name: str, position: Any) -> tuple[int, ...] | None:
    if position is None:
        return None
    positions = (position,) if isinstance(position, int) else position
    if not isinstance(positions, (tuple, list)):
        raise TypeError(f"For '{name}', 'grad_position' must be an int, a tuple of ints or None, "
                        f"but got {type(position).__name__}.")
    for p in positions:
        if not isinstance(p, int) or isinstance(p, bool):
            raise TypeError(f"For '{name}', each element of 'grad_position' must be an int, "
                            f"but got {p!r}.")
        if p < 0:
            raise ValueError(f"For '{name}', 'grad_position' must be 0 or more, but got {p}.")
    if len(set(positions)) != len(positions):
        raise ValueError(f"For '{name}', 'grad_position' must not repeat, but got {position}.")
    return tuple(positions)


def checked_weights(name: str, weights: Any) -> tuple[Parameter, ...] | None:
    if weights is None:
        return None
    listed = (weights,) if isinstance(weights, Parameter) else weights
    if not isinstance(listed, (tuple, list)):
        raise TypeError(f"For '{name}', 'weights' must be a Parameter, or a tuple or list of them, "
                        f"but got {type(weights).__name__}.")
    for weight in listed:
        if not isinstance(weight, Parameter):
            raise TypeError(f"For '{name}', each of 'weights' must be a Parameter, "
                            f"but got {type(weight).__name__}.")
    return tuple(listed)


def _has_tensor(arg: Any) -> bool:
    return isinstance(arg, Tensor) or next(tensors(arg), None) is not None


def differentiate(fn: Callable[..., Any], args: tuple, kwargs: dict, positions: tuple[int, ...],
                  weights: tuple[Parameter, ...], has_aux: bool = False,
                  sens: Any = None) -> tuple[Any, list[Any], list[Tensor]]:
    """Run `fn` and differentiate it.

    Returns:
        What `fn` returned; for each of `positions` the gradient, in the structure of that argument;
        for each of `weights` the gradient.
    """
    outer = current()
    asked, given = weights, fn
    if weights:
        weights = _once_each(weights)
        if outer is None:
            fn = spreading().differentiated(fn)
    if positions and max(positions) >= len(args):
        fn, args, kwargs = _by_position(fn, args, kwargs)
    run = None if outer is not None else _recorded_run(fn, args, kwargs, positions, weights)
    if run is None:
        run = record(fn, args, kwargs, positions, weights, outer)
    value, first = run.value, run.value
    if has_aux:
        if not isinstance(run.value, (tuple, list)) or len(run.value) < 2:
            raise ValueError("With has_aux=True, 'fn' must return two or more outputs, "
                             f"but it returned {type(run.value).__name__}.")
        first, value = run.value[0], tuple(run.value)
        value = (value[0], *map_tensors(detached, value[1:]))
    check_no_hidden("grad", "the result", first)
    gradients = iter(run.backward(first, sens))
    by_inputs = [next(gradients) if type(args[p]) is Tensor
                 else map_tensors(lambda _: next(gradients), args[p]) for p in positions]
    by_weight = {id(weight): next(gradients) for weight in weights}
    if outer is None:
        value = detached(value) if type(value) is Tensor else map_tensors(detached, value)
        cut(run.level.changed)
        if weights:
            spreading().collect(given, weights, [by_weight[id(weight)] for weight in weights])
    return value, by_inputs, [by_weight[id(weight)] for weight in asked]


def _once_each(weights: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return tuple({id(weight): weight for weight in weights}.values())


def _recorded_run(fn: Any, args: tuple, kwargs: dict, positions: tuple[int, ...],
                  weights: tuple[Parameter, ...]) -> Any:
    """The run that a Cell after `set_grad()` recorded on the same inputs; None if there is none."""
    take = getattr(fn, "_take_recorded_run", None)
    return None if take is None else take(args, kwargs, positions, weights)


def trains(call: Any) -> bool:
    """Whether a function differentiates something by weights, as far as its variables tell."""
    return _trains(call, set())


def _trains(value: Any, seen: set[int]) -> bool:
    value = inspect.unwrap(value) if callable(value) else value
    value = getattr(value, "__self__", value)  # what `value_and_grad` gives is a method
    if isinstance(value, Request):
        return bool(value.weights)
    if isinstance(value, GradOperation):
        return value.get_by_list
    if not isinstance(value, FunctionType) or id(value) in seen:
        return False
    seen.add(id(value))
    held = [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]
    held += [value.__globals__[name] for name in value.__code__.co_names
             if name in value.__globals__]
    return any(_trains(each, seen) for each in held)


def _is_set(cell: Any) -> bool:
    """Whether the variable of a closure has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
