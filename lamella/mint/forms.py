"""The forms in which MindSpore 2.10 declares functions of `mint`, by the kinds of their arguments.

``?`` behind a parameter says that it may be left out. See `lamella.tensors.overloads`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensors.overloads import overloaded
from ..tensors.tensor_forms import read

_DECLARED = """
add(input=<number,Tensor>, other=<number>, *, alpha=<number>?)
add(input=<number,Tensor>, other=<number,Tensor>, *, alpha=<number>?)
any(input=<Tensor>)
any(input=<Tensor>, dim=<int>, keepdim=<bool>?)
clamp(input=<Tensor>, min=<Tensor,None>?, max=<Tensor,None>?)
clamp(input=<Tensor>, min=<number,None>?, max=<number,None>?)
div(input=<Tensor>, other=<number>)
div(input=<number,Tensor>, other=<number,Tensor>)
div(input=<Tensor>, other=<number>, *, rounding_mode=<str,None>?)
div(input=<number,Tensor>, other=<number,Tensor>, *, rounding_mode=<str,None>?)
eq(input=<Tensor>, other=<number>)
eq(input=<Tensor>, other=<number,Tensor>)
floor_divide(input=<Tensor>, other=<number>)
floor_divide(input=<number,Tensor>, other=<number,Tensor>)
fmod(input=<Tensor>, other=<Tensor>)
fmod(input=<Tensor>, other=<number>)
greater_equal(input=<Tensor>, other=<number>)
greater_equal(input=<number,Tensor>, other=<number,Tensor>)
lerp(input=<Tensor>, end=<Tensor>, weight=<float,Tensor>)
lerp(input=<Tensor>, end=<Tensor>, weight=<float>)
less(input=<Tensor>, other=<number>)
less(input=<Tensor>, other=<number,bool,Tensor>)
max(input=<Tensor>)
max(input=<Tensor>, dim=<int>, keepdim=<bool>?)
max(input=<number,Tensor>, other=<number,Tensor>)
min(input=<Tensor>)
min(input=<Tensor>, dim=<int>, keepdim=<bool>?)
min(input=<number,Tensor>, other=<number,Tensor>)
mul(input=<Tensor>, other=<number>)
mul(input=<number,Tensor>, other=<number,Tensor>)
remainder(input=<Tensor>, other=<Tensor>)
remainder(input=<Tensor>, other=<number>)
remainder(input=<number>, other=<Tensor>)
repeat_interleave(input=<Tensor>, repeats=<Tuple,Tensor,List>, dim=<int,None>?, *,
    output_size=<int,None>?)
repeat_interleave(input=<Tensor>, repeats=<int>, dim=<int,None>?, *, output_size=<int,None>?)
sub(input=<number,Tensor>, other=<number>, *, alpha=<number>?)
sub(input=<number,Tensor>, other=<number,Tensor>, *, alpha=<number>?)
where(condition=<Tensor>, input=<number,Tensor>, other=<number,Tensor>)
where(input=<Tensor>)
xlogy(input=<Tensor>, other=<Tensor>)
xlogy(input=<number>, other=<Tensor>)
xlogy(input=<Tensor>, other=<number>)
"""
_FORMS = read(_DECLARED)


def with_forms(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """A function of `mint` that says of a wrong call what its forms are."""
    name = name or function.__name__
    return overloaded(name, function, _FORMS[name], skip=0)
