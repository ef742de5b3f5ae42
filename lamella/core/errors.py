"""Errors of operators: they name the operator and its arguments instead of a kernel."""

from __future__ import annotations

import functools
import inspect
import opcode
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import torch

from ..compat.arguments import culprit, of_mismatch
from .kernel_messages import VAGUE, error_type, is_failure, meaning, of_vmap, without_prefix
from .state import state

_OWN = __name__.partition(".")[0] + "."
_KERNELS = ("torch", "numpy", "contextlib", "functools")
# what kernels raise, and Python for an argument of a wrong type
KERNEL_ERRORS = (RuntimeError, AttributeError, IndexError, TypeError, ValueError, OverflowError,
                 ZeroDivisionError, KeyError, AssertionError)
_RAISE = opcode.opmap["RAISE_VARARGS"]

_AXES = {"axis", "axes", "dim", "dims"}

P = ParamSpec("P")
R = TypeVar("R")

_OF_TENSORS = ("_raw", "shape", "ndim", "dtype", "dim", "astype", "size", "numel", "sum", "reshape",
               "is_floating_point", "is_complex", "device", "to", "item", "requires_grad")


def describe(value: Any) -> str:
    """An argument as text for an error message: of a tensor its shape and type, not its data.

    >>> import lamella as ms
    >>> describe(ms.Tensor([1.0, 2.0])), describe(3), describe([ms.Tensor(1)])
    ('Tensor[2] Float32', '3', '[Tensor[] Int64]')
    """
    shape = getattr(getattr(value, "_raw", None), "shape", None)
    if shape is not None and not isinstance(value, type):
        return f"{type(value).__name__}{list(shape)} {value.dtype}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(describe(v) for v in value[:4]) + (", ..." if len(value) > 4 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (the message is about another error)
        return f"an object of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{type(value).__name__} {text[:70]}..."


def not_data(value: Any) -> TypeError:
    """The error of `Tensor` for a value that it can't hold.

    It knows the value, so that a function that makes Tensors of its arguments names the argument.
    """
    error: Any = TypeError(f"For 'Tensor', the type of 'input_data' should be one of Tensor, "
                           f"ndarray, list, tuple, float, int, bool or complex, but got "
                           f"'{type(value).__name__}'.")
    error.not_data = value
    return error


def op_error(name: str, error: BaseException, /, **arguments: Any) -> Exception:
    """The error to raise when operator `name` failed with `error` on `arguments`.

    Shape mismatches become ValueError, wrong types TypeError, as MindSpore raises them; the message
    names the operator and what each argument was. Errors that Lamella raised itself pass through.
    """
    text = str(error).split("\n")[0]
    if text.startswith("For '"):
        return error  # type: ignore[return-value]
    given = ", ".join(f"{k}={describe(v)}" for k, v in arguments.items())
    if isinstance(error, AttributeError):
        return _of_attribute(name, error, text, given, arguments)
    if isinstance(error, (KeyError, AssertionError)):
        if _origin(error) == "raise" or not _is_internal(error):
            return error
        return ValueError(f"For '{name}', an argument has a value or type that doesn't fit. "
                          f"Arguments: {given}.")
    if text == "ZeroDivisionError" or isinstance(error, ZeroDivisionError):
        return ZeroDivisionError(f"For '{name}', integers can't be divided by zero. Convert "
                                 f"them to a floating type first. Arguments: {given}.")
    if isinstance(error, OverflowError) or "Overflow when unpacking" in text:
        return ValueError(f"For '{name}', a number is too large for the type it is needed in. "
                          f"Arguments: {given}.")
    advice = of_vmap(text)
    if advice:
        return RuntimeError(f"For '{name}', {advice} Arguments: {given}.")
    kind, origin = error_type(name, error, text), _origin(error)
    deliberate = origin == "raise" and type(error) not in (RuntimeError, IndexError, TypeError,
                                                           ValueError)
    if kind is None or origin == "user" or deliberate:
        return error  # type: ignore[return-value]
    if origin == "kernel":
        tensors = _tensors(arguments)
        text = (_axis_outside(error, tensors, arguments)
                or _class_outside(text, tensors)
                or _channels_differ(text, tensors)
                or meaning(text, kind, any(t.numel() == 0 for t in tensors))
                or without_prefix(text))
    return kind(f"For '{name}', {text} Arguments: {given}.")


def _tensors(arguments: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors among arguments, those in lists included."""
    values = [v for a in arguments.values() for v in (a if isinstance(a, (list, tuple)) else (a,))]
    raws = [getattr(v, "_raw", v) for v in values if not isinstance(v, type)]
    return [raw for raw in raws if isinstance(raw, torch.Tensor)]


def _axis_outside(error: BaseException, tensors: list[torch.Tensor],
                  arguments: dict[str, Any]) -> str:
    """The message about an axis that the first tensor doesn't have; "" if that isn't the reason."""
    if not isinstance(error, IndexError) or not tensors:
        return ""
    rank = max(tensors[0].dim(), 1)
    for name in _AXES & arguments.keys():
        given = arguments[name]
        for axis in given if isinstance(given, (list, tuple)) else (given,):
            if type(axis) is int and not -rank <= axis < rank:
                return f"'{name}' must be in [{-rank}, {rank - 1}], but got {axis}."
    return ""


def _class_outside(text: str, tensors: list[torch.Tensor]) -> str:
    """The message about a class that the first tensor has no score for; "" if it isn't that."""
    found = re.search(r"^Target (-?\d+) is out of bounds", text)
    if found is None or not tensors or not tensors[0].dim():
        return ""
    classes = tensors[0].shape[min(1, tensors[0].dim() - 1)]
    return (f"the class {found[1]} is out of range: there are scores for {classes} classes, 0 to "
            f"{classes - 1}.")


def _channels_differ(text: str, tensors: list[torch.Tensor]) -> str:
    """The message about channels that a convolution's kernels don't have; "" if it isn't that."""
    found = re.search(r"expected input\[.*\] to have (\d+) channels, but got (\d+) channels", text)
    if found is None or not tensors:
        return ""
    return wrong_channels(tuple(tensors[0].shape), int(found[1]))


def wrong_channels(shape: tuple[int, ...], wanted: int) -> str:
    """The message about an input of a convolution without the wanted channels in dimension 1."""
    said = f"the input must have {wanted} channels, in dimension 1, but its shape is {shape}."
    if len(shape) > 2 and shape[-1] == wanted:
        order = (0, len(shape) - 1, *range(1, len(shape) - 1))
        said += f" Its channels seem to be last: x.transpose{order} puts them there."
    return said


def _of_attribute(name: str, error: AttributeError, text: str, given: str,
                  arguments: dict[str, Any]) -> Exception:
    """The error for a missing attribute: most often the argument should be a Tensor."""
    kind, attribute = (re.findall(r"'([^']*)'", text) + ["", ""])[:2]
    kind = kind.split(".")[-1]

    def lacks(value: Any) -> bool:
        if kind == "member_descriptor":  # an attribute of Tensor, looked up in the class
            return isinstance(value, type)
        return type(value).__name__ == kind and not hasattr(value, attribute)

    culprits = [f"the argument '{k}'" for k, v in arguments.items() if lacks(v)] or [
        f"an element of the argument '{k}'" for k, v in arguments.items()
        if isinstance(v, (list, tuple)) and any(map(lacks, v))]
    if not culprits and attribute != "_raw" and not _is_internal(error):
        return error
    which, got = culprits[0] if culprits else "an argument", f"but got {kind}"
    if kind == "member_descriptor":
        got = "but got a class"
    elif kind == "Tensor" and attribute == "_raw":
        got = "but got a torch.Tensor; make a Tensor of it with Tensor.from_torch"
    elif not culprits:
        got = "but it is not"
    wanted = "must be a Tensor" if attribute in _OF_TENSORS else "is of a wrong type"
    return TypeError(f"For '{name}', {which} {wanted}, {got}. Arguments: {given}.")


def of_backward(error: Exception) -> Exception:
    """The error to raise when a backward pass failed; an error of a user's rule stays as it is."""
    text = str(error).split("\n")[0]
    if is_failure(text) or _origin(error) != "kernel" or not _is_internal(error):
        return error
    reason = of_vmap(text) or meaning(text, type(error)) or without_prefix(text)
    return RuntimeError(f"For 'grad', the backward pass of an operator failed: {reason}")


def _origin(error: BaseException) -> str:
    """Where an error comes from: a "raise" in Lamella, a "kernel", or code of the "user"."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE:
        return "kernel"
    module = last.tb_frame.f_globals.get("__name__", "")
    if module.startswith(_OWN):
        return "raise"
    return "kernel" if module.startswith(_KERNELS) else "user"


# pairs: whether a fallback applies to an error, and the fallback
_fallbacks: list[tuple[Callable[[BaseException], bool], Callable[..., Any]]] = []


def add_fallback(applies: Callable[[BaseException], bool], fallback: Callable[..., Any]) -> None:
    """Run `fallback` instead of an operator that failed with an error for which `applies` is true.

    Args:
        fallback: called with the operator's function, its arguments and its keyword arguments.
    """
    _fallbacks.append((applies, fallback))


class Fallback(NamedTuple):
    """What the fallbacks made of a failed call: its value, or else the error to raise.

    Attributes:
        done: whether there is a value.
    """

    done: bool
    value: Any = None
    error: Exception | None = None


def by_fallback(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any],
                error: Exception) -> Fallback:
    """Run the fallbacks for an operator that failed with an error."""
    for applies, fallback in _fallbacks:
        if applies(error):
            try:
                value = fallback(function, args, kwargs)
                if state.trace is not None:
                    state.trace.recorder.forgive(error)
                return Fallback(True, value)
            except KERNEL_ERRORS as refusal:
                if "not implemented for" not in str(refusal):  # the fallback's own type
                    error = refusal
    return Fallback(False, error=error)


def op(function: Callable[P, R], name: str | None = None) -> Callable[P, R]:
    """Mark a function as an operator: `op_error` explains its errors.

    Costs about 0.1 µs a call; the operators of `Tensor`'s own syntax (``+``, ``@``, ...) do the
    same in line.

    Args:
        function: the function.
        name: what errors call it; default: its own name.
    """

    def recover(args: tuple, kwargs: dict[str, Any], error: Exception) -> R:
        found = by_fallback(function, args, kwargs, error)
        if found.done:
            return found.value
        error = found.error or error
        explained = _explain(function, name or function.__name__, args, kwargs, error)
        if explained is error:
            raise error
        raise explained from error

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except KERNEL_ERRORS as error:
            return recover(args, kwargs, error)

    vars(call).update(is_op=True, parts=Parts(call, function, recover))
    return call


class Parts(NamedTuple):
    """What `op` has made an operator of, for a caller that takes over the care for errors.

    Attributes:
        whole: the operator itself. A wrapper around it has these parts too, and is another one.
        function: the function that it marks.
        recover: called with arguments and the error that the function raised: gives the result of a
            fallback, or raises the error that explains it.
    """

    whole: Callable[..., Any]
    function: Callable[..., Any]
    recover: Callable[[tuple, dict[str, Any], Exception], Any]


def parts_of(function: Callable[..., Any]) -> Parts:
    """The parts of an operator; for another function itself, whose errors stay as they are."""
    parts = getattr(function, "parts", None)
    return parts if parts is not None and parts.whole is function else Parts(
        function, function, _raised)


def _raised(args: tuple, kwargs: dict[str, Any], error: Exception) -> Any:
    raise error


def _explain(function: Callable[..., Any], name: str, args: Any, kwargs: Any,
             error: Exception) -> Exception:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as mismatch:
        return of_mismatch(name, function, args, mismatch, kwargs)
    given = {k: v for k, v in bound.arguments.items()
             if k != "self" or hasattr(getattr(v, "_raw", None), "shape")}
    if name != "Tensor" and hasattr(error, "not_data"):  # an argument that was made a Tensor
        found = culprit(function, given)
        return TypeError(f"For '{name}', {found} Arguments: "
                         f"{', '.join(f'{k}={describe(v)}' for k, v in given.items())}."
                         ) if found else error
    explained = op_error(name, error, **given)
    vague = next((words for words in VAGUE if words in str(explained)), "")
    named = culprit(function, given) if vague and explained is not error else ""
    return type(explained)(str(explained).replace(vague, named)) if named else explained


def explained_in(name: str, owner: type, function: Callable[..., Any], args: Any, kwargs: Any,
                 error: Exception) -> Exception:
    """An error that explains that of `function`, if `owner` is one of Lamella's classes.

    An error that came through the user's code is returned as it is.
    """
    if not is_own(owner) or not _is_internal(error):
        return error
    return _explain(function, name, args, kwargs, error)


def is_own(kind: type) -> bool:
    """Whether a class is one of Lamella's."""
    return kind.__module__.startswith(_OWN)


def _is_internal(error: BaseException) -> bool:
    """Whether an error came only through Lamella's own code and its kernels."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_globals.get("__name__", "").startswith((_OWN, *_KERNELS)):
            return False
        trace = trace.tb_next
    return True


def explain_construction(owner: type[R]) -> type[R]:
    """Have errors inside a constructor of Lamella's name the class and the arguments.

    Errors that the constructor raises itself are left as they are. Used as a decorator, or in
    `__init_subclass__` for all derived classes.
    """
    init = vars(owner).get("__init__")
    if init is None or not getattr(init, "__module__", "").startswith(_OWN):
        return owner

    @functools.wraps(init)
    def explained(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except KERNEL_ERRORS as error:
            explained = error if _origin(error) == "raise" else explained_in(
                type(self).__name__, owner, init, (self, *args), kwargs, error)
            if explained is error:
                raise
            raise explained from error

    owner.__init__ = explained  # type: ignore[misc]
    return owner


def noted(error: Any, note: str) -> Any:
    """An error with a note after its message, in its traceback (Python 3.10: in the message)."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.args = (f"{error.args[0]} {note}", *error.args[1:])
    return error
