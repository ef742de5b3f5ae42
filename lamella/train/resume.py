"""All of a training run in one file, to go on from as if nothing had happened.

A checkpoint has the Parameters: weights, the optimizer's moments, its step, learning rates. A run
also has random generators, a place in its data, and numbers in Python. `save_run` writes both,
`load_run` puts both back.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..core import log
from ..core.reading import reading
from ..nn.cell import Cell
from ..nn.checks import of_type
from ..tensors import random as streams
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .checkpoint import load_checkpoint, save_checkpoint
from .checkpoint_net import load_param_into_net

__all__ = ["latest_run", "load_run", "save_run"]

_STATE = "lamella.run"
_TENSOR = f"{_STATE}.tensor."  # before the numbers of Tensors in the state
_NAME = re.compile(r"run-(\d+)\.ckpt")


def save_run(path: str, network: Cell, rows: Any = None, **more: Any) -> None:
    """Write a run's whole state to a file, which takes the place of an old one.

    The file is complete or not there: a crash while it is written leaves the old one.

    Args:
        path: the file, which ends in ``.ckpt``.
        network: the Cell of a training step, with its optimizer.
        rows: the iterator over the data, which has a ``state_dict``.
        **more: numbers, texts, arrays, Tensors, and lists, tuples and dicts of them.

    Raises:
        TypeError: if `more` holds something else.
        OSError: if the file can't be written.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> from lamella.train.resume import load_run, save_run
        >>> path = os.path.join(tempfile.mkdtemp(), "run.ckpt")
        >>> net = ms.nn.Dense(2, 2)
        >>> save_run(path, net, step=7)
        >>> first = ms.ops.rand(2)
        >>> load_run(path, net)
        {'step': 7}
        >>> print((ms.ops.rand(2) == first).all())
        True
    """
    tensors: dict[str, Tensor] = {}
    state = run_state(rows, more, tensors)
    save_checkpoint(network, path, append_dict={_STATE: state, **tensors}, crc_check=True)


def load_run(path: str, network: Cell, rows: Any = None) -> dict[str, Any]:
    """Put everything back as it was when `save_run` wrote the file.

    Nothing is changed unless the whole file is good.

    Args:
        path: the file.
        network: a Cell as the one that was saved.
        rows: a new iterator over the same data.

    Returns:
        What `save_run` was given as ``more``.

    Raises:
        ValueError: if the file is missing, broken, or none of `save_run`.
        RuntimeError: if the network has other Parameters.
    """
    of_type(network, Cell, "network", "load_run")
    found = load_checkpoint(path, crc_check=True)
    text = found.pop(_STATE, None)
    if not isinstance(text, str):
        raise ValueError(f"For 'load_run', '{path}' is a checkpoint, but 'save_run' did not "
                         f"write it.")
    tensors = {name: found.pop(name) for name in list(found) if name.startswith(_TENSOR)}
    with reading("load_run", path):
        state = state_in(text, tensors)
    check_names("load_run", path, {p.name for _, p in network.parameters_and_names()}, set(found))
    load_param_into_net(network, found, strict_load=True)
    return put_back(state, rows)


def run_state(rows: Any, more: dict[str, Any], tensors: dict[str, Tensor] | None = None) -> str:
    """What a run has besides Parameters, as a text; its Tensors go to `tensors`, if that is given.
    """
    state = {"more": more, "rows": None if rows is None else rows.state_dict(),
             "random": streams.snapshot(), "python": random.getstate()}
    return json.dumps(_packed(state, tensors))


def state_in(text: str, tensors: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """What a text of `run_state` holds.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, RecursionError: if it is another text.
    """
    state = _unpacked(json.loads(text), tensors)
    if not isinstance(state, dict) or not {"more", "rows", "python", "random"} <= set(state):
        raise ValueError("it has no state of a run")
    random.Random().setstate(state["python"])  # before anything is changed
    np.random.RandomState().set_state(state["random"]["numpy"])
    return state


def put_back(state: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Put back what `state_in` gave; returns what the program had added to it."""
    random.setstate(state["python"])
    streams.put_back(state["random"])
    if rows is not None and state["rows"] is not None:
        # the last: where rows are made again, they begin with the numbers that they had then
        rows.load_state_dict(state["rows"])
    return state["more"]


def check_names(function: str, path: str, names: set[str], found: set[str]) -> None:
    """Check that a network has the Parameters that a file has."""
    if names != found:
        differ = sorted(names ^ found)[:6]
        raise RuntimeError(f"For '{function}', '{path}' is of another network: {differ} are in one "
                           f"of both only.")


def run_files(directory: str) -> list[tuple[int, str]]:
    """The runs' files in a folder, by the step after which they were written."""
    found = ((_NAME.fullmatch(name), name) for name in os.listdir(directory))
    return sorted((int(match[1]), os.path.join(directory, name)) for match, name in found if match)


def latest_run(directory: str, network: Cell, rows: Any = None) -> dict[str, Any] | None:
    """`load_run` with the newest file ``run-STEP.ckpt`` in a folder that is good.

    Returns:
        As `load_run`; None where there is no good file.
    """
    for _, path in reversed(run_files(directory)):
        try:
            return load_run(path, network, rows)
        except ValueError as error:
            log.warning(f"The file '{path}' is passed over: {error}")
    return None


def _packed(value: Any, tensors: dict[str, Tensor] | None = None) -> Any:
    """What JSON can hold, for numbers, texts, bytes, arrays, lists, tuples and dicts; of a Tensor,
    the name that it has in `tensors` then."""
    if isinstance(value, Tensor) and tensors is not None:
        name = f"{_TENSOR}{len(tensors)}"
        tensors[name] = value
        return {"tensor": name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), content]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_packed(part, tensors) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_packed(part, tensors) for part in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_packed(key, tensors), _packed(part, tensors)]
                         for key, part in value.items()]}
    raise TypeError(f"For 'save_run', the state must be made of numbers, texts, arrays, lists, "
                    f"tuples and dicts, but got {type(value).__name__}: {str(value)[:80]}")


def _unpacked(value: Any, tensors: Mapping[str, Any] = MappingProxyType({})) -> Any:
    if isinstance(value, list):
        return [_unpacked(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "array":
        dtype, shape, text = content
        return np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "tensor":
        return _value_of(tensors[content])
    if kind == "tuple":
        return tuple(_unpacked(part, tensors) for part in content)
    return {_unpacked(key, tensors): _unpacked(part, tensors) for key, part in content}


def _value_of(found: Any) -> Tensor:
    if not isinstance(found, Parameter):
        raise ValueError("a text is where a Tensor should be")
    return found.value()
