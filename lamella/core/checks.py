"""Validators of arguments: what programs import from ``mindspore._checkparam``.

Each returns the value that it checked and raises TypeError or ValueError otherwise. `arg_name` and
`prim_name` (the argument's and the operator's name) only serve the message. A bool is no number.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

from .dtype import Number, TensorType

# relations, by MindSpore's numbers
EQ, NE, LT, LE, GT, GE = 1, 2, 3, 4, 5, 6
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = 7, 8, 9, 10
IN, NOT_IN = 11, 12

_COMPARE: dict[int, tuple[str, Callable[[Any, Any], bool]]] = {
    EQ: ("=", operator.eq), NE: ("!=", operator.ne), LT: ("<", operator.lt),
    LE: ("<=", operator.le), GT: (">", operator.gt), GE: (">=", operator.ge)}
_RANGE: dict[int, tuple[str, Callable[[Any, Any, Any], bool]]] = {
    INC_NEITHER: ("({}, {})", lambda v, a, b: a < v < b),
    INC_LEFT: ("[{}, {})", lambda v, a, b: a <= v < b),
    INC_RIGHT: ("({}, {}]", lambda v, a, b: a < v <= b),
    INC_BOTH: ("[{}, {}]", lambda v, a, b: a <= v <= b)}


def _the(arg_name: str | None, prim_name: str | None) -> str:
    """How a message starts: ``For 'Dense', the 'in_channels'``."""
    what = f"the '{arg_name}'" if arg_name else "the input value"
    return f"For '{prim_name}', {what}" if prim_name else what[0].upper() + what[1:]


def _typed(value: Any, kind: type, arg_name: str | None, prim_name: str | None) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{_the(arg_name, prim_name)} must be {kind.__name__}, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return value


def _compared(value: Any, bound: Any, rel: int, kind: type, arg_name: str | None,
              prim_name: str | None) -> Any:
    _typed(value, kind, arg_name, prim_name)
    sign, holds = _COMPARE[rel]
    if not holds(value, bound):
        raise ValueError(f"{_the(arg_name, prim_name)} must be {kind.__name__} and must be {sign} "
                         f"{bound}, but got {value!r}.")
    return value


def _ranged(value: Any, low: Any, high: Any, rel: int, kind: type, arg_name: str | None,
            prim_name: str | None) -> Any:
    _typed(value, kind, arg_name, prim_name)
    form, holds = _RANGE[rel]
    if not holds(value, low, high):
        raise ValueError(f"{_the(arg_name, prim_name)} must be in the range "
                         f"{form.format(low, high)}, but got {value!r}.")
    return value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int."""
    return _typed(arg_value, int, arg_name, prim_name)


def check_int(arg_value: Any, value: int, rel: int, arg_name: str | None = None,
              prim_name: str | None = None) -> int:
    """An int in relation `rel` to `value`.

    >>> check_int(3, 2, GE, "groups")
    3
    """
    return _compared(arg_value, value, rel, int, arg_name, prim_name)


def check_equal_int(arg_value: Any, value: int, arg_name: str | None = None,
                    prim_name: str | None = None) -> int:
    """The int `value`."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def _beside_zero(name: str, kind: type, rel: int, words: str) -> Callable[..., Any]:
    """The check of a number's sign.

    >>> check_positive_int(0, "in_channels", "Dense")
    Traceback (most recent call last):
        ...
    ValueError: For 'Dense', the 'in_channels' must be int and must be > 0, but got 0.
    """

    def check(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        return _compared(arg_value, kind(0), rel, kind, arg_name, prim_name)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"{'An' if kind is int else 'A'} {kind.__name__} {words}."
    return check


check_positive_int = _beside_zero("check_positive_int", int, GT, "above 0")
check_non_negative_int = _beside_zero("check_non_negative_int", int, GE, "of 0 or more")
check_negative_int = _beside_zero("check_negative_int", int, LT, "below 0")
check_non_positive_int = _beside_zero("check_non_positive_int", int, LE, "of 0 or less")
check_positive_float = _beside_zero("check_positive_float", float, GT, "above 0")
check_non_negative_float = _beside_zero("check_non_negative_float", float, GE, "of 0 or more")
check_negative_float = _beside_zero("check_negative_float", float, LT, "below 0")
check_non_positive_float = _beside_zero("check_non_positive_float", float, LE, "of 0 or less")


def _each(check: Callable[..., Any], sequence: Any, arg_name: str | None,
          prim_name: str | None) -> Any:
    if not isinstance(sequence, (list, tuple)):
        raise TypeError(f"{_the(arg_name, prim_name)} must be a list or tuple, "
                        f"but got {sequence!r} of type {type(sequence).__name__}.")
    for i, value in enumerate(sequence):
        check(value, f"{arg_name or 'sequence'}[{i}]", prim_name)
    return sequence


def check_positive_int_sequence(sequence: Any, arg_name: str | None = None,
                                prim_name: str | None = None) -> Any:
    """A list or tuple of ints above 0."""
    return _each(check_positive_int, sequence, arg_name, prim_name)


def check_non_negative_int_sequence(sequence: Any, arg_name: str | None = None,
                                    prim_name: str | None = None) -> Any:
    """A list or tuple of ints of 0 or more."""
    return _each(check_non_negative_int, sequence, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None,
                   prim_name: str | None = None) -> float:
    """A float; an int is refused."""
    return _typed(arg_value, float, arg_name, prim_name)


def check_float(arg_value: Any, value: float, rel: int, arg_name: str | None = None,
                prim_name: str | None = None) -> float:
    """A float in relation `rel` to `value`."""
    return _compared(arg_value, value, rel, float, arg_name, prim_name)


def check_positive_float_sequence(sequence: Any, arg_name: str | None = None,
                                  prim_name: str | None = None) -> Any:
    """A list or tuple of floats above 0."""
    return _each(check_positive_float, sequence, arg_name, prim_name)


def check_int_range(arg_value: Any, lower_limit: int, upper_limit: int, rel: int,
                    arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int between two limits; `rel` (``INC_LEFT``, ...) says which of them belong to it."""
    return _ranged(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value: Any, lower_limit: float, upper_limit: float, rel: int,
                      arg_name: str | None = None, prim_name: str | None = None) -> float:
    """A float between two limits; `rel` says which of them belong to the range.

    >>> check_float_range(1.0, 0.0, 1.0, INC_LEFT, "keep_prob")
    Traceback (most recent call last):
        ...
    ValueError: The 'keep_prob' must be in the range [0.0, 1.0), but got 1.0.
    """
    return _ranged(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_number_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int,
                       value_type: type, arg_name: str | None = None,
                       prim_name: str | None = None) -> Any:
    """A number of type `value_type` between two limits."""
    return _ranged(arg_value, lower_limit, upper_limit, rel, value_type, arg_name, prim_name)


def _check_3d_int_or_tuple(arg_name: str, arg_value: Any, prim_name: str, allow_five: bool = False,
                           ret_five: bool = False, greater_zero: bool = True,
                           third_one: bool = False, three_input: bool = False,
                           pad_value: int = 1) -> tuple[int, ...]:
    """Three lengths, from an int for all three or a tuple; or five, with batch and channel.

    Args:
        allow_five: whether five may be given; without `three_input`, which forbids that.
        ret_five: whether five are wanted; the first two are `pad_value` if three were given.
        greater_zero: whether 0 is refused.
        third_one: whether the third from the end must be 1.

    >>> _check_3d_int_or_tuple("stride", 2, "Conv3d"), _check_3d_int_or_tuple(
    ...     "stride", (1, 2, 3), "Conv3d", ret_five=True)
    ((2, 2, 2), (1, 1, 1, 2, 3))
    """
    given = (arg_value,) * 3 if isinstance(arg_value, int) else arg_value
    counts = (3, 5) if allow_five and not three_input else (3,)
    least = 1 if greater_zero else 0
    if not isinstance(given, tuple):
        check_value_type(arg_name, arg_value, (int, tuple), prim_name)
    if len(given) not in counts or not all(
            isinstance(n, int) and not isinstance(n, bool) and n >= least for n in given):
        raise ValueError(f"{_the(arg_name, prim_name)} should be an int of {least} or more, or "
                         f"{' or '.join(map(str, counts))} of them, but got {arg_value!r}.")
    if third_one and given[-3] != 1:
        raise ValueError(f"{_the(arg_name, prim_name)} should have 1 as its depth, but got "
                         f"{arg_value!r}.")
    if ret_five:
        return given if len(given) == 5 else (pad_value, pad_value, *given)
    return given[-3:]


def check_is_number(arg_value: Any, arg_type: type, arg_name: str | None = None,
                    prim_name: str | None = None) -> Any:
    """A number of type `arg_type`."""
    return _typed(arg_value, arg_type, arg_name, prim_name)


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str | None) -> Any:
    """Any value in relation `rel` to `value`."""
    sign, holds = _COMPARE[rel]
    if not holds(arg_value, value):
        raise ValueError(f"{_the(arg_name, prim_name)} must be {sign} {value}, "
                         f"but got {arg_value!r}.")
    return arg_value


def check(arg_name: str, arg_value: Any, value_name: str, value: Any, rel: int = EQ,
          prim_name: str | None = None, excp_cls: type[Exception] = ValueError) -> Any:
    """A value in relation `rel` to `value`, which the message calls `value_name`.

    >>> check("rank of x", 3, "rank of y", 3)
    3
    """
    if rel in _COMPARE:
        sign, holds = _COMPARE[rel]
        good, wanted = holds(arg_value, value), f"{sign} {value_name}: {value}"
    elif rel in _RANGE:
        form, within = _RANGE[rel]
        good, wanted = within(arg_value, *value), f"in {value_name} {form.format(*value)}"
    else:
        good, wanted = arg_value in value, f"in {value_name}: {value}"
        if rel == NOT_IN:
            good, wanted = not good, f"not {wanted}"
    if not good:
        raise excp_cls(f"{_the(arg_name, prim_name)} should be {wanted}, but got {arg_value!r}.")
    return arg_value


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """True or False."""
    return _typed(arg_value, bool, arg_name, prim_name)


def check_string(arg_value: Any, valid_values: Iterable[str], arg_name: str | None = None,
                 prim_name: str | None = None) -> str:
    """One of the strings `valid_values`."""
    valid = list(valid_values)
    if not isinstance(arg_value, str) or arg_value not in valid:
        raise ValueError(f"{_the(arg_name, prim_name)} must be one of {valid}, "
                         f"but got {arg_value!r}.")
    return arg_value


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """An instance of `classes`; raises ValueError otherwise."""
    if not isinstance(arg_value, classes):
        raise ValueError(f"{_the(arg_name, None)} must be an instance of {classes}, "
                         f"but got {arg_value!r}.")
    return arg_value


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any,
                     prim_name: str | None = None) -> Any:
    """A value of one of the types; a bool only where bool is among them.

    >>> check_value_type("axis", 1.5, [int, tuple], "Softmax")
    Traceback (most recent call last):
        ...
    TypeError: For 'Softmax', the 'axis' must be of type int or tuple, but got 1.5 of type float.
    """
    types = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    if not isinstance(arg_value, types) or (isinstance(arg_value, bool) and bool not in types):
        names = " or ".join(getattr(t, "__name__", str(t)) for t in types)
        raise TypeError(f"{_the(arg_name, prim_name)} must be of type {names}, "
                        f"but got {arg_value!r} of type {type(arg_value).__name__}.")
    return arg_value


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    """A data type (or Python type) that is one of `valid_types`."""
    valid = tuple(valid_types) if isinstance(valid_types, (list, tuple, set)) else (valid_types,)
    if arg_type not in valid:
        raise TypeError(f"{_the(arg_name, prim_name)} must be one of {', '.join(map(str, valid))}, "
                        f"but got {arg_type}.")
    return arg_type


def check_subclass(arg_name: str, type_: Any, template_types: Any, prim_name: str | None,
                   addition_error_info: str | None = None) -> None:
    """A data type of one of the families `template_types` (``mindspore.number``), or a subclass."""
    templates = template_types if isinstance(template_types, (list, tuple)) else (template_types,)
    if not any(_belongs(type_, t) for t in templates):
        more = f" {addition_error_info}" if addition_error_info else ""
        raise TypeError(f"{_the(arg_name, prim_name)} must be a subclass of "
                        f"{', '.join(map(str, templates))}, but got {type_}.{more}")


def _belongs(type_: Any, template: Any) -> bool:
    if isinstance(type_, type) and isinstance(template, type):
        return issubclass(type_, template)
    if isinstance(type_, type) or isinstance(template, type):
        return not isinstance(type_, type) and isinstance(type_, template)
    # `mindspore.number` and `mindspore.tensor_type` stand for all types of their class
    return type_ == template or (type(template) in (Number, TensorType)
                                 and isinstance(type_, type(template)))


def check_types_same_and_valid(args: dict[str, Any], valid_values: Any,
                               prim_name: str | None) -> None:
    """Data types, by argument name, that are all the same and among `valid_values`."""
    first = None
    for name, kind in args.items():
        check_type_name(name, kind, valid_values, prim_name)
        if first is not None and kind != first[1]:
            raise TypeError(f"{_the(name, prim_name)} must have the same type as '{first[0]}', "
                            f"which is {first[1]}, but got {kind}.")
        first = first or (name, kind)


def _repeated(length: int) -> Callable[[Any], tuple[int, ...]]:
    """A function that gives an int `length` times, and a tuple or list of so many as a tuple."""
    def repeat(m: Any) -> tuple[int, ...]:
        given = (m,) * length if isinstance(m, int) else m
        if not isinstance(given, (tuple, list)) or len(given) != length or not all(
                isinstance(i, int) and not isinstance(i, bool) for i in given):
            raise TypeError(f"{_the(None, None)} must be an int or {length} ints, but got {m!r}.")
        return tuple(given)
    return repeat


once = once_sequence = _repeated(1)
twice = twice_sequence = _repeated(2)
triple = triple_sequence = _repeated(3)


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Callable[..., Any]:
    """Decorator: check the types of a function's arguments; None is always allowed.

    >>> @args_type_check(rate=(int, float), name=str)
    ... def schedule(rate, name=None):
    ...     return rate
    >>> schedule("fast")
    Traceback (most recent call last):
        ...
    TypeError: For 'schedule', the 'rate' must be of type int or float, but got 'fast' of type str.
    """
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(func)
        wanted = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                types = wanted.get(name)
                if types is not None and value is not None and not isinstance(value, types):
                    check_value_type(name, value, types, func.__name__)
            return func(*args, **kwargs)

        return wrapper

    return decorate
