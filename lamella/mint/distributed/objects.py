"""Exchanging Python objects: numbers, texts, containers, Tensors and NumPy arrays.

An object travels as bytes of `pickle`. What comes from another process is read without running
code of its choice: classes other than the ones named here are refused.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import torch

from ...communication import exchange, messages
from ...communication.comm_func import member
from ...communication.groups import Group, group_of
from ...core import context
from ...core.require import of_type
from ...tensors.tensor import Tensor

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
           "scatter_object_list", "send_object_list"]

_ALLOWED = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"OrderedDict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
}


class _Pickler(pickle.Pickler):
    """Writes a Tensor as an array."""

    def persistent_id(self, obj: Any) -> Any:
        return ("Tensor", obj.asnumpy()) if isinstance(obj, Tensor) else None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"an object of class '{module}.{name}' is not read from another process; exchange "
            f"numbers, texts, containers, Tensors and NumPy arrays")

    def persistent_load(self, pid: Any) -> Any:
        return Tensor(pid[1])


def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """Put the object of process i into ``object_list[i]``.

    Raises:
        ValueError: if `object_list` has not a place for each process.
        pickle.UnpicklingError: if an object is of a class that isn't read.

    Examples:
        >>> from lamella.mint import distributed
        >>> found = [None]
        >>> distributed.all_gather_object(found, {"loss": 0.5})
        >>> found
        [{'loss': 0.5}]
    """
    name = "all_gather_object"
    found = group_of(group, name)
    _check_places(name, "object_list", object_list, found.size)
    object_list[:] = [_read(data) for data in _all_gather(name, _written(obj), found)]


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0,
                  group: str | None = None) -> None:
    """As `all_gather_object`; only process `dst` gets the objects."""
    name = "gather_object"
    found = group_of(group, name)
    here = found.rank == member(name, "dst", dst, found)
    if here:
        _check_places(name, "object_gather_list", object_gather_list, found.size)
    parts = _all_gather(name, _written(obj), found)
    if here and object_gather_list is not None:
        object_gather_list[:] = map(_read, parts)


def broadcast_object_list(object_list: list[Any], src: int = 0, group: str | None = None,
                          device: Any = None) -> None:
    """Put the objects of process `src` into the list of every process. `device` has no effect."""
    name = "broadcast_object_list"
    found = group_of(group, name)
    here = found.rank == member(name, "src", src, found)
    of_type(object_list, list, "object_list", name)
    data = _written(object_list) if here else b""
    length = exchange.broadcast(name, _tensor(len(data).to_bytes(8, "little")), src, found)
    count = int.from_bytes(_bytes(length), "little")
    moved = exchange.broadcast(name, _tensor(data or bytes(count)), src, found)
    if not here:
        objects = _read(_bytes(moved))
        _check_places(name, "object_list", object_list, len(objects))
        object_list[:] = objects


def scatter_object_list(scatter_object_output_list: list[Any],
                        scatter_object_input_list: list[Any] | None, src: int = 0,
                        group: str | None = None) -> None:
    """Put object i of process `src` into the first place of the list of process i."""
    name = "scatter_object_list"
    found = group_of(group, name)
    here = found.rank == member(name, "src", src, found)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise TypeError(f"For '{name}', 'scatter_object_output_list' must be a list with a place, "
                        f"but got {scatter_object_output_list!r}.")
    if here:
        _check_places(name, "scatter_object_input_list", scatter_object_input_list, found.size)
    objects = list(scatter_object_input_list or ()) if here else [None] * found.size
    broadcast_object_list(objects, src, group)
    scatter_object_output_list[0] = objects[found.rank]


def send_object_list(object_list: list[Any], dst: int, group: str | None = None,
                     device: Any = None) -> None:
    """Send objects to process `dst`. `device` has no effect."""
    name = "send_object_list"
    found = group_of(group, name)
    member(name, "dst", dst, found)
    data = _written(list(object_list))
    for part in (len(data).to_bytes(8, "little"), data):
        messages.send(name, _tensor(part), dst, found).wait()


def recv_object_list(object_list: list[Any], src: int = 0, group: str | None = None,
                     device: Any = None) -> int:
    """Receive the objects that process `src` sends; returns its rank. `device` has no effect."""
    name = "recv_object_list"
    found = group_of(group, name)
    member(name, "src", src, found)
    data = bytes(8)
    for count in (8, None):
        size = int.from_bytes(data, "little") if count is None else count
        moved, work = messages.receive(name, _tensor(bytes(size)), src, found)
        work.wait()
        data = _bytes(moved)
    objects = _read(data)
    _check_places(name, "object_list", object_list, len(objects))
    object_list[:] = objects
    return src


def _all_gather(name: str, data: bytes, group: Group) -> list[bytes]:
    """The bytes of all processes, whose lengths may differ."""
    lengths = [int.from_bytes(_bytes(part), "little") for part in
               exchange.all_gather(name, _tensor(len(data).to_bytes(8, "little")), group)]
    padded = data + bytes(max(lengths) - len(data))
    return [_bytes(part)[:length] for part, length in
            zip(exchange.all_gather(name, _tensor(padded), group), lengths, strict=True)]


def _written(value: Any) -> bytes:
    exchange.refuse_graphs("sends Python's objects to other processes")
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def _read(data: bytes) -> Any:
    return _Unpickler(io.BytesIO(data)).load()


def _tensor(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(context.current_device())


def _bytes(raw: torch.Tensor) -> bytes:
    return raw.cpu().numpy().tobytes()


def _check_places(name: str, argument: str, places: Any, size: int) -> None:
    of_type(places, list, argument, name)
    if len(places) != size:
        raise ValueError(f"For '{name}', '{argument}' must have {size} entries, "
                         f"but has {len(places)}.")
