"""Warnings at operations where a gradient ends, though the program goes on with the value.

A number read off a Tensor (`float(x)`), an array (`x.asnumpy()`) and a value assigned to a
Parameter are constants for every derivative, here as in MindSpore. A program that computes its
result from them has a gradient other than it seems to have, without an error.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.autograd.forward_ad import unpack_dual

from .flow import comes_back
from .wrappers import functorch

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OTHERS = tuple(os.path.dirname(os.path.abspath(str(sys.modules[name].__file__))) + os.sep
                for name in ("numpy", "torch") if name in sys.modules)
# where methods of Tensors and Parameters are, by which a program reads and assigns
_METHODS = tuple(_PACKAGE + os.path.join(*parts) for parts in (
    ("tensors", "tensor.py"), ("tensors", "conversion.py"), ("tensors", "parameter.py"),
    ("tensors", "overloads.py"), ("tensors", "indexing.py"), ("tensors", "inplace.py"),
    ("tensors", "inplace_methods.py"), ("ops", "assign.py"), ("core", "")))


class _Quiet(threading.local):
    """Whether nothing is said in this thread."""

    on: bool = False


_quiet = _Quiet()
_seen: set[tuple[str, int, str]] = set()

_ADVICE = ("lamella.inspect_gradients(fn, *args) shows where gradients end; ops.stop_gradient says "
           "that one is meant to.")


@contextmanager
def silenced() -> Iterator[None]:
    """A block without these warnings, for what looks for cuts itself."""
    before, _quiet.on = _quiet.on, True
    try:
        yield
    finally:
        _quiet.on = before


def depends(raw: torch.Tensor, level: Any) -> bool:
    """Whether a running transformation differentiates by inputs that a raw tensor depends on."""
    forward = level is not None and level.forward
    while True:
        if raw.requires_grad or forward and unpack_dual(raw).tangent is not None:
            return True
        if not functorch.is_functorch_wrapped_tensor(raw):
            return False
        raw = functorch.get_unwrapped(raw)


def read(raw: torch.Tensor, level: Any, what: str) -> None:
    """Warn of a read off a tensor inside of a gradient call that the result is computed from.

    Args:
        level: the innermost transformation.
        what: how the program reads, as in ``"asnumpy()"``.
    """
    if _quiet.on or not torch.is_grad_enabled() or not depends(raw, level):
        return
    frame = program_frame()
    if frame is None or not _is_new(frame, what) or not comes_back(frame, _holds_raw):
        return
    _warn(frame, f"The gradient doesn't flow through '{what}': what is computed from it counts as "
                 f"a constant. Compute with Tensors where the gradient matters. {_ADVICE}")


def assigned(raw: torch.Tensor, level: Any) -> tuple[str, int] | None:
    """The line at which the program assigns what is differentiated to a Parameter.

    None if nothing of it is, or Lamella itself assigns (moving averages).
    """
    if not torch.is_grad_enabled() or not depends(raw, level):
        return None
    frame = program_frame()
    if frame is None:
        return None
    place = (frame.f_code.co_filename, frame.f_lineno)
    return None if _quiet.on or (*place, "assigned") in _seen else place


def warn_assigned(place: tuple[str, int], name: str) -> None:
    """Warn that the result depends on what was assigned to a Parameter at a line."""
    key = (*place, "assigned")
    if key not in _seen:
        _seen.add(key)
        _warn_at(place, f"The gradient doesn't flow through the assignment to parameter '{name}': "
                        f"the value that it was given counts as a constant. {_ADVICE}")


def stepped(raws: Any, level: Any, name: str) -> None:
    """Warn of an optimizer's step by gradients that are being differentiated."""
    if not torch.is_grad_enabled() or not any(depends(raw, level) for raw in raws):
        return
    frame = program_frame(direct=False)
    if frame is not None and _is_new(frame, "step"):
        _warn(frame, f"The gradient doesn't flow through the step of '{name}': the weights that "
                     f"it makes count as constants. Compute them (w - rate * gradient) where the "
                     f"gradient matters. {_ADVICE}")


def closed_over(rule: str, name: str) -> None:
    """Warn of a rule that reaches a Tensor which is being differentiated, but is no input of it."""
    frame = program_frame(direct=False)
    if frame is not None and _is_new(frame, f"{rule} {name}"):
        _warn(frame, f"The gradient doesn't flow to '{name}', which the {rule} uses and which is "
                     f"none of its inputs. Make it one. {_ADVICE}")


def program_frame(direct: bool = True) -> FrameType | None:
    """The innermost frame of the program.

    Args:
        direct: give None where code of Lamella, not the program, called a Tensor's method.
    """
    frame: FrameType | None = sys._getframe(1)
    inside = False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            inside = inside or not file.startswith(_METHODS)
        elif not file.startswith(_OTHERS):
            return None if direct and inside else frame
        frame = frame.f_back
    return None


def _is_new(frame: FrameType, what: str) -> bool:
    if _quiet.on:
        return False
    key = (frame.f_code.co_filename, frame.f_lineno, what)
    if key in _seen:
        return False
    _seen.add(key)
    return True


def _holds_raw(value: Any) -> bool:
    return isinstance(getattr(value, "_raw", None), torch.Tensor)


def _warn(frame: FrameType, text: str) -> None:
    _warn_at((frame.f_code.co_filename, frame.f_lineno), text)


def _warn_at(place: tuple[str, int], text: str) -> None:
    if not _quiet.on:
        warnings.warn_explicit(text, UserWarning, *place)
