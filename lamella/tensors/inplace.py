"""Changing a tensor in place, also while a gradient is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core import cuts
from ..core.state import state
from .views import follow, is_part, leave_inputs

# what PyTorch says of parts of what a gradient is taken for, and of parts that one call has made
_OF_ALIASES, _OF_PIECES = "view of a leaf", "returns multiple views"
# what PyTorch says if a tensor that all examples of a `vmap` share can't take what differs
_DIFFERS = ("vmap:", "mutate a captured", "doesn't match the broadcast shape")


_is_alias_of = torch._C._is_alias_of  # type: ignore[attr-defined]
is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # type: ignore[attr-defined]


def repeats_elements(raw: torch.Tensor) -> bool:
    """Whether elements of a tensor are one in memory, as `expand` makes them: it can't be written
    to."""
    return not raw.is_contiguous() and any(
        n > 1 and not step for n, step in zip(raw.shape, raw.stride(), strict=True))


def may_overlap(raw: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors may share memory: inside of `vmap` none can tell."""
    return _is_alias_of(raw, other) or is_wrapped(raw) or is_wrapped(other)


def apart(raw: torch.Tensor, other: Any) -> Any:
    """What is read while `raw` is changed in place: a copy, if other elements of it are changed.

    PyTorch's kernels read elements that they have written before, where two parts overlap, and its
    forward mode tangents that it has changed, where both are one.
    """
    if not isinstance(other, torch.Tensor) or not may_overlap(raw, other):
        return other
    same = (other is raw or _is_alias_of(raw, other)) and (
        raw.storage_offset() == other.storage_offset() and raw.shape == other.shape
        and raw.stride() == other.stride())
    forward = state.level is not None and state.level.forward
    return other if same and not forward else other.clone()


def in_place(tensor: Any, change: Callable[[torch.Tensor], Any], seen: bool = True) -> Any:
    """Run `change` on the tensor's raw data, which it changes in place; returns the tensor.

    While a gradient is recorded the change goes to a copy, which the tensor holds from now on: the
    record may need the value as it was, and the alias that a gradient is taken for must keep it.
    Views follow it there if the change is `seen` by them.

    A part of a tensor (``y = x[0]``) is changed where it lies, so that the whole sees it. If it is
    a part of what the gradient call was given, that becomes a copy first.

    A Parameter is assigned its new value: no gradient flows to what was written, as in MindSpore
    2.10. Nor does one to what is written into a part of a Parameter, which is changed where it
    lies.
    """
    level, raw = state.level, tensor._raw
    if level is not None:
        level.changed.append(tensor)
        if level.given and is_part(raw):
            leave_inputs(raw)
            raw = tensor._raw
    recorded = (raw.requires_grad and torch.is_grad_enabled()
                or level is not None and level.forward)
    if _is_assigned(tensor):  # what is written into a Parameter is assigned to it
        tensor.assign_raw(_changed(raw.detach().clone(), change))
        if seen:
            follow(raw, tensor._raw)
        return tensor
    is_given = level is not None and any(
        tensor is given and raw is alias for given, alias in level.given)
    if recorded and not is_part(raw) or is_given or _has_alias(tensor, raw):
        tensor._raw = _changed(raw.clone(), change)
        if seen:
            follow(raw, tensor._raw, is_given)
        return tensor
    try:
        after = _changed(raw, change)
        if after is not raw:
            tensor._raw = after
    except RuntimeError as error:
        is_piece = _OF_PIECES in str(error)
        if not is_piece and _OF_ALIASES not in str(error):
            raise
        if _changed_in_parameter(raw, change):
            return tensor
        if is_piece:
            raise RuntimeError(
                "Inside a gradient call, a part that 'split', 'chunk', 'unbind' or iteration has "
                "made can't be changed in place. Change a copy of it (x.copy()), or its whole."
            ) from None
        raise RuntimeError(
            "Inside a gradient call, a part of an input that the gradient is taken for can't be "
            "changed in place. Change the input itself (x[0, 1] = value instead of x[0][1] = "
            "value), or a copy of it (x.copy()).") from None
    return tensor


def _changed_in_parameter(raw: torch.Tensor, change: Callable[[torch.Tensor], Any]) -> bool:
    """Change a part of a Parameter's alias where it lies, in the memory that both have.

    Then all of its parts see it, and the gradient by the Parameter counts the new value in all
    places. If a derivative needs the old one, PyTorch raises an error in the backward pass.

    Returns:
        Whether it is a part of one.
    """
    level, base, trace = state.level, raw._base, state.trace
    if base is None or level is None or level.kind != "reverse" or level.outer is not None or (
            level.journal is not None):
        return False
    # a compiled function in a gradient call has aliases of its own, views of the call's; their
    # parts are parts of the call's from now on, which its backward pass wouldn't see
    taped = trace if trace is not None and trace.pulls is not None else None
    place = base.untyped_storage().data_ptr()
    for parameter, alias in (state.overlay or {}).items():
        if alias is base or taped is not None and alias._base is base:
            if parameter._data.untyped_storage().data_ptr() != place:
                return False  # an alias of another type
            probe = raw.detach().clone()
            change(probe)
            line = cuts.assigned(probe, level)
            if taped is not None:
                taped.refuse("writes into a part of a Parameter that is differentiated")
            with torch.no_grad():
                change(raw)
            if line is not None:
                level.probes.append((alias, line, parameter.name))
            return True
    return False


def _changed(raw: torch.Tensor, change: Callable[[torch.Tensor], Any]) -> torch.Tensor:
    """The tensor after `change`: itself, or inside `vmap` one that differs between the examples."""
    try:
        change(raw)
    except RuntimeError as error:
        if state.level is None or not any(words in str(error) for words in _DIFFERS):
            raise
        varied = raw
        for mark in state.level.marks:
            varied = torch.where(mark, varied, varied)
        varied = varied.clone()
        change(varied)  # raises what has nothing to do with `vmap`
        if raw._base is not None:
            raise RuntimeError(
                "Inside 'vmap', a part of a tensor that all examples share can't be changed in "
                "place to what differs between them. Change the whole (x[0, 1] = value instead of "
                "x[0][1] = value).") from None
        return varied
    return raw


def _is_assigned(tensor: Any) -> bool:
    """Whether `tensor` is a Parameter inside a gradient call, where its data are replaced."""
    return state.level is not None and hasattr(tensor, "_data")


def _has_alias(tensor: Any, raw: torch.Tensor) -> bool:
    """Whether `tensor` is a Parameter that a gradient or a trace has put an alias in place of."""
    return getattr(tensor, "_data", raw) is not raw
