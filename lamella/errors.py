"""Errors of operators: a kernel's complaint turned into a message that a user can act on."""

from __future__ import annotations

import functools
import inspect
import opcode
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from .complaints import meaning

_OWN = __name__.partition(".")[0] + "."
_KERNELS = ("torch", "numpy", "contextlib", "functools")
# what kernels raise, and Python where an argument is of a wrong type
KERNEL_ERRORS = (RuntimeError, AttributeError, IndexError, TypeError, ValueError, OverflowError,
                 ZeroDivisionError, KeyError, AssertionError)
_RAISE = opcode.opmap["RAISE_VARARGS"]

P = ParamSpec("P")
R = TypeVar("R")

_SHAPE_WORDS = ("shape", "size", "dimension", "mat1", "broadcast", "expand", "must match",
                "out of range", "channels", "expected input", "numel", "split", "square",
                "non-negative", "negative n", "not finite",
                "infs or NaNs", "non-finite", "non-empty", "is empty", "subscript", "equation",
                "einsum", "at least 1D", "Pivots given", "non-positive", "expects dims",
                "expects a", "must be", "positive",
                "number of data points", "normalization mode", "PyList_Check", "`shifts` required",
                "at least one axis", "Order ", "unsupported range", "only supports at least",
                "number of columns", "expected maxnorm", "too large relative", "1-D", "1-d",
                "expected rounding_mode", "expects p", "Indexing dim", "Index has to be",
                "probability tensor", "cannot sample", "expects std", "out of bounds for",
                "supported on matrices", "vector + matrix", "doesn't match the broadcast")
# places that an index names, outside of the tensor; what MindSpore's kernels find out, and two of
# its functions look for themselves
_OUTSIDE = re.compile(r"ind(ex|ices)\b.*out of (bounds|range)|^Target -?\d+ is out of bounds")
_REPEATED = ("std", "var", "std_mean", "var_mean", "norm", "vector_norm", "max", "min")
_CHECKED = ("tensor_scatter_update", "scatter_nd_update", "inplace_add", "inplace_sub",
            "inplace_update")
_FAILURES = ("allocate", "out of memory", "CUDA", "cuBLAS", "singular", "positive-definite",
             "INTERNAL ASSERT", "requires grad", "leaf Variable", "modified by an inplace")
_OF_TENSORS = ("_raw", "shape", "ndim", "dtype", "dim", "astype", "size", "numel", "sum", "reshape",
               "is_floating_point", "is_complex", "device", "to", "item")
# what PyTorch says of a tensor that stands for the examples of a `vmap`
_OF_VMAP = {
    "It looks like you're": "inside 'vmap' a Tensor stands for many examples, so it can't become a "
                            "Python value (by if, while, int(), float(), item()); choose with "
                            "ops.where or ops.select.",
    "dynamic shape": "inside 'vmap' the shape of a result can't depend on values, which differ "
                     "between the examples; keep all elements, and choose with ops.where.",
    "differently shaped Tensor": "inside 'vmap' the shape of a result can't depend on values, which"
                                 " differ between the examples; keep all elements, and choose with "
                                 "ops.where.",
    "same randomness with a batched": "inside 'vmap' random numbers can't be drawn by a Tensor "
                                      "that differs between the examples; draw them before, or "
                                      "call the operator in a loop.",
    "data pointer of Tensor that": "inside 'vmap' a Tensor stands for many examples and has no "
                                   "memory of its own.",
    "storage of BatchedTensorImpl": "inside 'vmap' a Tensor stands for many examples and has no "
                                    "memory of its own.",
    "due to `other` being vmapped": "inside 'vmap' what is the same for all examples can't be "
                                    "changed in place by what differs between them.",
    "may have escaped": "a Tensor made inside 'vmap' means nothing when that is over; return it "
                        "from the function."}
# the name of a kernel, or the place in its source
_PREFIX = re.compile(r"^(\[enforce fail.*?\] .*?\. )?((torch\.)?[\w.]+(\(\))?: (?=\w))?")
_TYPE_WORDS = ("dtype", "not implemented for", "scalar type", "Expected all tensors", "type",
               "found Long", "complex", "ScalarType", "Expected both inputs", "not support bool",
               "bool tensor", "boolean", "Boolean", "real number")


def describe(value: Any) -> str:
    """A short account of an argument for an error message: a tensor's shape and type, not its data.

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
    except Exception:  # noqa: BLE001  (what is wrong with it is not what the message is about)
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{type(value).__name__} {text[:70]}..."


def of_vmap(text: str) -> str:
    """What an error's text says about `vmap`, as a user can act on it; "" for any other error."""
    return next((told for words, told in _OF_VMAP.items() if words in text), "")


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
        if _origin(error) == "raise" or not _is_own_affair(error):
            return error
        return ValueError(f"For '{name}', an argument has a value or type that doesn't fit. "
                          f"Arguments: {given}.")
    if text == "ZeroDivisionError" or isinstance(error, ZeroDivisionError):
        return ZeroDivisionError(f"For '{name}', whole numbers can't be divided by zero. Convert "
                                 f"them to a floating type first. Arguments: {given}.")
    if isinstance(error, OverflowError) or "Overflow when unpacking" in text:
        return ValueError(f"For '{name}', a number is too large for the type it is needed in. "
                          f"Arguments: {given}.")
    told = of_vmap(text)
    if told:
        return RuntimeError(f"For '{name}', {told} Arguments: {given}.")
    kind, origin = _kind(name, error, text), _origin(error)
    deliberate = origin == "raise" and type(error) not in (RuntimeError, IndexError, TypeError,
                                                           ValueError)
    if kind is None or origin == "user" or deliberate:
        return error  # type: ignore[return-value]
    if origin == "kernel":
        text = meaning(text, kind) or _PREFIX.sub("", text)
    return kind(f"For '{name}', {text} Arguments: {given}.")


def _of_attribute(name: str, error: AttributeError, text: str, given: str,
                  arguments: dict[str, Any]) -> Exception:
    """What to raise where something lacks an attribute: most often it should be a Tensor."""
    kind, attribute = (re.findall(r"'([^']*)'", text) + ["", ""])[:2]
    kind = kind.split(".")[-1]

    def lacks(value: Any) -> bool:
        if kind == "member_descriptor":  # of Tensor's, looked up in the class
            return isinstance(value, type)
        return type(value).__name__ == kind and not hasattr(value, attribute)

    culprits = [f"the argument '{k}'" for k, v in arguments.items() if lacks(v)] or [
        f"an element of the argument '{k}'" for k, v in arguments.items()
        if isinstance(v, (list, tuple)) and any(map(lacks, v))]
    if not culprits and attribute != "_raw" and not _is_own_affair(error):
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
    """The error to raise when a backward pass failed; that of a rule of the user's as it is."""
    text = str(error).split("\n")[0]
    if any(word in text for word in _FAILURES) or _origin(error) != "kernel" \
            or not _is_own_affair(error):
        return error
    told = of_vmap(text) or meaning(text, type(error)) or _PREFIX.sub("", text)
    return RuntimeError(f"For 'grad', the backward pass of an operator failed: {told}")


def _kind(name: str, error: BaseException, text: str) -> type[Exception] | None:
    """What to raise for a kernel's error; None for one to leave alone."""
    if text in ("tuple index out of range", "list index out of range"):
        return IndexError
    if isinstance(error, (IndexError, RuntimeError)) and _OUTSIDE.search(text):
        return ValueError if name in _CHECKED else RuntimeError
    if "multiple times in the list of dims" in text or "duplicate dims" in text:
        return ValueError if name in _REPEATED else RuntimeError
    if isinstance(error, IndexError):
        return IndexError if "index" in text else ValueError
    if isinstance(error, (TypeError, ValueError)):
        return type(error) if type(error) in (TypeError, ValueError) else None
    if not isinstance(error, RuntimeError):
        return None
    if any(word in text for word in _FAILURES):
        return RuntimeError
    if any(word in text for word in _TYPE_WORDS) and "size" not in text:
        return TypeError
    return ValueError if any(word in text for word in _SHAPE_WORDS) else RuntimeError


def _origin(error: BaseException) -> str:
    """Who made an error: a `raise` of Lamella's, a "kernel" it called, or code of the "user"."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE:
        return "kernel"
    module = last.tb_frame.f_globals.get("__name__", "")
    if module.startswith(_OWN):
        return "raise"
    return "kernel" if module.startswith(_KERNELS) else "user"


# for each kind of refusal: whether an error is one, and what runs the operator all the same
_other_ways: list[tuple[Callable[[BaseException], bool], Callable[..., Any]]] = []


def on_refusal(applies: Callable[[BaseException], bool], another_way: Callable[..., Any]) -> None:
    """Have operators that fail with an error to which `applies` says yes run another way.

    Args:
        another_way: called with the operator's function, its arguments and its keyword arguments.
    """
    _other_ways.append((applies, another_way))


def op(function: Callable[P, R], name: str | None = None) -> Callable[P, R]:
    """Mark a function as an operator: its failures are explained by `op_error`.

    Costs about 0.1 µs a call; the operators of `Tensor`'s own syntax (``+``, ``@``, ...) do the
    same in line.

    Args:
        function: the function.
        name: what errors call it; default: its own name.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except KERNEL_ERRORS as error:
            for applies, another_way in _other_ways:
                if applies(error):
                    try:
                        return another_way(function, args, kwargs)
                    except (RuntimeError, TypeError, ValueError) as refusal:
                        if "not implemented for" not in str(refusal):  # for the type it tried
                            error = refusal
            explained = _explain(function, name or function.__name__, args, kwargs, error)
            if explained is error:
                raise error
            raise explained from error

    setattr(call, "is_op", True)  # noqa: B010
    return call


def _explain(function: Callable[..., Any], name: str, args: Any, kwargs: Any,
             error: Exception) -> Exception:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as mismatch:
        return TypeError(f"For '{name}', {mismatch}. It takes {inspect.signature(function)}.")
    given = {k: v for k, v in bound.arguments.items()
             if k != "self" or hasattr(getattr(v, "_raw", None), "shape")}
    return op_error(name, error, **given)


def explain_in(name: str, owner: type, function: Callable[..., Any], args: Any, kwargs: Any,
               error: Exception) -> None:
    """Raise what explains an error of `function`, if `owner` is a class of Lamella's.

    An error that code of the user's has to do with is left as it is.
    """
    if not owner.__module__.startswith(_OWN) or not _is_own_affair(error):
        return
    explained = _explain(function, name, args, kwargs, error)
    if explained is not error:
        raise explained from error


def _is_own_affair(error: BaseException) -> bool:
    """Whether an error came through code of Lamella's and of its kernels alone."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_globals.get("__name__", "").startswith((_OWN, *_KERNELS)):
            return False
        trace = trace.tb_next
    return True


def explain_making(owner: type) -> None:
    """Let what goes wrong inside the constructor of a class of Lamella's name class and arguments.

    Errors that it raises itself are left as they are.
    """
    make = vars(owner).get("__init__")
    if make is None or not getattr(make, "__module__", "").startswith(_OWN):
        return

    @functools.wraps(make)
    def making(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            make(self, *args, **kwargs)
        except KERNEL_ERRORS as error:
            if _origin(error) != "raise":
                explain_in(type(self).__name__, owner, make, (self, *args), kwargs, error)
            raise

    owner.__init__ = making  # type: ignore[misc]
