"""Arguments by other names: what another framework calls them, or a misspelling."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

from ..core.dtype import Type
from .absent import nearest

# what an argument may be called elsewhere -> what it may be called here
OTHER_NAMES = {
    "lr": "learning_rate", "learning_rate": "lr", "dim": "axis axes dims", "dims": "axis axes",
    "axis": "dim axes dims", "axes": "axis dim dims", "bias": "has_bias", "use_bias": "has_bias",
    "keepdim": "keep_dims keepdims", "keepdims": "keep_dims keepdim",
    "keep_dims": "keepdims keepdim", "in_features": "in_channels", "out_features": "out_channels",
    "features": "out_channels", "params": "parameters", "parameters": "params",
    "input": "x input_x inputs logits", "x": "input input_x", "input_x": "input x",
    "other": "y x2", "y": "other", "eps": "epsilon", "epsilon": "eps", "betas": "beta1",
    "num_embeddings": "vocab_size", "embedding_dim": "embedding_size", "size": "shape",
    "shape": "size", "target": "labels label", "labels": "target label", "label": "labels target",
    "tensors": "inputs", "requires_grad": "", "device": "", "out": "", "p": "keep_prob",
    "elementwise_affine": "affine", "nesterov": "use_nesterov", "amsgrad": "use_amsgrad",
    "epochs": "epoch", "data": "train_dataset", "loss": "loss_fn", "criterion": "loss_fn",
    "name": "file_name ckpt_file_name", "path": "file_name ckpt_file_name", "f": "file_name",
    "min": "clip_value_min", "max": "clip_value_max", "dtype": "type"}
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def what_it_is_called(given: str, names: Iterable[str]) -> str:
    """What a function's message about an unknown argument says besides; "" if nothing is near.

    >>> what_it_is_called("lr", ["params", "learning_rate"])
    "'lr' is called 'learning_rate' here"
    """
    names = [n for n in names if n not in ("self", "args", "kwargs")]
    known = [n for n in OTHER_NAMES.get(given, "").split() if n in names]
    if known:
        return f"'{given}' is called '{known[0]}' here"
    near = nearest(given, names)
    return "" if near is None else f"did you mean '{near}'?"


def of_mismatch(name: str, function: Callable[..., Any] | inspect.Signature, args: Sequence[Any],
                mismatch: TypeError, given: Container[str] | None = None) -> TypeError:
    """The error for a call that doesn't fit a function's signature.

    Args:
        args: what it was given by position.
        given: the names of what it was given by name. With them the error has Python's own words
            for such calls, which programs match, else those of `inspect`.
    """
    signature = _signature(function)
    taken, said = signature.parameters, str(mismatch)
    unknown = _UNEXPECTED.search(said)
    hint = what_it_is_called(unknown[1], taken) if unknown else ""
    if said == "too many positional arguments":
        bound = "self" in taken
        places = _by_place(signature)[bound:]
        least, most = sum(p.default is p.empty for p in places), len(places)
        count = len(args) - bound
        said = (f"{name}() takes {most if least == most else f'from {least} to {most}'} positional "
                f"argument{'s' * (most != 1)} but {count} {'was' if count == 1 else 'were'} given")
    elif said.startswith("missing a required") and given is not None:
        lacking = _missing(signature, len(args), given)
        said = f"{name}() {lacking}" if lacking else said
    return TypeError(f"For '{name}', {said}{'; ' + hint if hint else ''}"
                     f"{'' if hint.endswith('?') else '.'} "
                     f"It takes {plain_signature(signature)}.")


def _by_place(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [p for p in signature.parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _missing(signature: inspect.Signature, count: int, given: Container[str]) -> str:
    """Which arguments a call with `count` of them by position lacks, in Python's words."""
    kind, names = "positional", [p.name for p in _by_place(signature)[count:]
                                 if p.default is p.empty and p.name not in given]
    if not names:
        kind, names = "keyword-only", [p.name for p in signature.parameters.values()
                                       if p.kind is p.KEYWORD_ONLY and p.default is p.empty
                                       and p.name not in given]
    quoted = [f"'{name}'" for name in names]
    listed = (" and ".join(quoted) if len(names) < 3
              else f"{', '.join(quoted[:-1])}, and {quoted[-1]}")
    return (f"missing {len(names)} required {kind} argument{'s' * (len(names) > 1)}: {listed}"
            if names else "")


def plain_signature(function: Callable[..., Any] | inspect.Signature) -> inspect.Signature:
    """What a function takes, without the types."""
    taken = _signature(function).parameters.values()
    return inspect.Signature([p.replace(annotation=p.empty) for p in taken if p.name != "self"])


def _signature(function: Callable[..., Any] | inspect.Signature) -> inspect.Signature:
    return function if isinstance(function, inspect.Signature) else inspect.signature(function)


def culprit(function: Callable[..., Any], given: dict[str, Any]) -> str:
    """The argument that a kernel took amiss: a text or an object where a function takes neither.

    Args:
        given: the arguments by name.

    Returns:
        The beginning of a message; "" if it can't be told.
    """
    parameters = inspect.signature(function).parameters
    for name, value in given.items():
        annotation = str(parameters[name].annotation)
        if any(word in annotation for word in ("Any", "str", "None", "empty", "Callable")):
            continue  # it may take anything
        if _is_strange(value) or value is None:
            return f"'{name}' must not be {_kind(value)}."
    suspects = list(_suspects(parameters, given))
    return f"'{suspects[0][0]}' must not be {_kind(suspects[0][1])}." if len(suspects) == 1 else ""


def _suspects(parameters: Mapping[str, inspect.Parameter],
              given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Texts, objects and None where a function may take anything, but has no such default."""
    for name, value in given.items():
        parameter = parameters[name]
        if "str" in str(parameter.annotation) or "Callable" in str(parameter.annotation):
            continue
        parts = value if isinstance(value, tuple) else (value,)
        for place, part in enumerate(parts):
            if (_is_strange(part) or part is None) and type(part) is not type(parameter.default):
                yield (f"{name}[{place}]" if isinstance(value, tuple) else name), part


def _is_strange(value: Any) -> bool:
    """Whether something is neither a number nor a tensor nor anything that holds some."""
    return not (value is None or value is ... or isinstance(value, (Number, slice, list, tuple))
                or hasattr(value, "dtype") or hasattr(value, "_raw") or callable(value)
                or isinstance(value, Type))


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
