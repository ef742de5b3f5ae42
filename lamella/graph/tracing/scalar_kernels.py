"""Symbolic scalars as arguments of kernels, passed as tensors of one element."""

from __future__ import annotations

from typing import Any

import torch

from .scalars import SymbolicScalar, value_of, without

MOST = 2**53  # the largest int up to which each is exact in float64


def _functions(names: str) -> frozenset[Any]:
    """Functions and methods of PyTorch, by their names."""
    return frozenset(getattr(owner, name) for owner in (torch, torch.Tensor)
                     for name in names.split() if hasattr(owner, name))


# functions that take tensors of one element for numbers: of any type, or of the operands' type
_OF_OPERANDS = _functions("""
    add sub subtract mul multiply div divide true_divide lt le gt ge eq ne pow maximum minimum
    remainder fmod floor_divide where
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __div__ __rdiv__
    __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __pow__ __rpow__ __mod__ __floordiv__""")
_OF_ONE_TYPE = _functions("masked_fill clamp clip lerp fill_")
_POWERS = _functions("pow __pow__")
_BOUNDS = _functions("clamp clip")  # their bounds are both numbers, or both tensors
_WHOLE_TENSORS = _functions("full scalar_tensor full_like")
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
_SHORT = (torch.float16, torch.bfloat16)


def _beside(number: SymbolicScalar, like: torch.Tensor, is_exponent: bool = False) -> Any:
    """What stands for a number beside a tensor: a tensor of one element, if a kernel takes one."""
    kind = torch.result_type(like, number.value)
    if (not (like.is_floating_point() or like.dtype in _WHOLE) or number.is_whole()
            and abs(number.value) > MOST or not like.dim() and like.dtype in _SHORT):
        return number.plain()
    if number.is_whole() and (like.dtype is torch.uint8 or is_exponent and like.dtype in _WHOLE):
        negative: Any = number  # whose comparison is a guard
        if negative < 0:  # no such tensor has it, or kernels compute it another way
            return number.plain()
    wide = torch.int64 if number.is_whole() else torch.float64
    # beside a tensor with dimensions the wide type doesn't count, and is exact
    wanted = wide if like.dim() and like.is_floating_point() else kind
    return number.scalar(wanted)


def _called(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a function of PyTorch gives for arguments with symbolic scalars among them."""
    kwargs = kwargs or {}
    if func is torch.result_type:  # depends on types only
        return func(*map(value_of, args))
    if func in _WHOLE_TENSORS:
        return _whole(func, args, kwargs)
    if func in _OF_ONE_TYPE or func in _OF_OPERANDS and not kwargs:
        like = next((arg for arg in args if isinstance(arg, torch.Tensor)
                     and (func is not torch.where or arg is not args[0])), None)
        if like is not None:
            is_power = func in _POWERS and args[0] is like
            return func(*[_argument(func, arg, like, is_power) for arg in args],
                        **{k: _argument(func, v, like) for k, v in kwargs.items()})
    return func(*without(args), **without(kwargs))


def _argument(func: Any, value: Any, like: torch.Tensor, is_exponent: bool = False) -> Any:
    """An argument of a function that takes tensors of one element for numbers."""
    if isinstance(value, SymbolicScalar):
        if func in _OF_OPERANDS:
            return _beside(value, like, is_exponent)
        return value.scalar(like.dtype) if like.is_floating_point() else value.plain()
    if func in _BOUNDS and isinstance(value, (int, float)) and like.is_floating_point():
        return torch.full((), value, dtype=like.dtype, device=like.device)
    return value


def _whole(func: Any, args: tuple, kwargs: dict) -> Any:
    """A new tensor filled with a number that varies."""
    number = next((value for value in (*args[:2], kwargs.get("fill_value"), kwargs.get("s"))
                   if isinstance(value, SymbolicScalar)), None)
    if number is None:  # it is a size
        return func(*without(args), **without(kwargs))
    args = tuple([0 if value is number else without(value) for value in args])
    kwargs = {k: 0 if value is number else without(value) for k, value in kwargs.items()}
    if func is torch.full and kwargs.get("dtype") is None:
        kwargs["dtype"] = torch.int64 if number.is_whole() else torch.get_default_dtype()
    found = func(*args, **kwargs)
    if not found.is_floating_point() and not number.is_whole():
        number.plain()
        return found.fill_(number.value)
    return found.fill_(number.scalar(found.dtype))


SymbolicScalar.beside = _beside
SymbolicScalar.__torch_function__ = classmethod(_called)  # type: ignore[attr-defined]
