"""Messages of protocol buffers, read by tables of their fields.

The wire format (https://protobuf.dev/programming-guides/encoding/) is a list of fields: a number
that says which field it is and how it is written, and its content. A message's bytes are views of
those it was read from.
"""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["Fields", "Message", "bytes_field", "parse", "varint_field", "write"]

# by field number: name, what it holds ("int", "float", "double", "bytes", "str" or a message's
# fields), whether it repeats
Fields = dict[int, tuple[str, Any, bool]]

_DEEPEST = 64  # messages inside of messages
_EMPTY: dict[str, Any] = {"int": 0, "float": 0.0, "double": 0.0, "bytes": b"", "str": ""}
_FIXED = {"float": ("<f", 5), "double": ("<d", 1)}


class Message:
    """A message: its fields as attributes.

    A field that isn't there is 0 or empty, and None for a message.
    """

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"Message({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number of 64 bits, with its sign, and where the next field begins.

    Raises:
        ValueError: if the data ends in it.
    """
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value - (1 << 64) if value >> 63 else value, at


def parse(data: bytes | memoryview, fields: Fields, depth: int = 0) -> Message:
    """A message from its wire format; fields that the table doesn't have are left out.

    Raises:
        ValueError: if the data is no such message.
    """
    if depth > _DEEPEST:
        raise ValueError(f"messages are nested more than {_DEEPEST} deep")
    found: dict[str, Any] = {name: [] if repeats else None if isinstance(kind, dict)
                             else _EMPTY[kind] for name, kind, repeats in fields.values()}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        content, at = _content(data, at, tag & 7)
        if tag >> 3 not in fields:
            continue
        name, kind, repeats = fields[tag >> 3]
        values = _values(content, kind, tag & 7, name, depth)
        if repeats:
            found[name].extend(values)
        elif values:
            found[name] = values[-1]
    return Message(**found)


def _content(data: bytes | memoryview, at: int, wire: int) -> tuple[Any, int]:
    """What a field holds, and where the next begins."""
    if wire == 0:
        return _varint(data, at)
    if wire == 2:
        length, at = _varint(data, at)
    elif wire in (1, 5):
        length = 8 if wire == 1 else 4
    else:
        raise ValueError(f"a field of wire type {wire}")
    if length < 0 or at + length > len(data):
        raise ValueError("a field is cut off")
    return data[at:at + length], at + length


def _values(content: Any, kind: Any, wire: int, name: str, depth: int) -> list[Any]:
    """The values of one field; several, where numbers are packed."""
    if isinstance(kind, dict) or kind in ("bytes", "str"):
        if wire != 2:
            raise ValueError(f"field {name} is a number")
        if isinstance(kind, dict):
            return [parse(content, kind, depth + 1)]
        return [str(content, "utf-8") if kind == "str" else content]
    if kind == "int":
        return [content] if wire == 0 else _packed_ints(content, wire, name)
    form, single = _FIXED[kind]
    if wire not in (single, 2) or len(content) % struct.calcsize(form):
        raise ValueError(f"field {name} is no {kind}")
    return [value for value, in struct.iter_unpack(form, content)]


def _packed_ints(content: Any, wire: int, name: str) -> list[int]:
    if wire != 2:
        raise ValueError(f"field {name} is no whole number")
    numbers, at = [], 0
    while at < len(content):
        number, at = _varint(content, at)
        numbers.append(number)
    return numbers


def write(message: Message, fields: Fields) -> bytes:
    """A message in its wire format; a field that it doesn't have is left out."""
    found = []
    for number, (name, kind, repeats) in fields.items():
        value = message.__dict__.get(name)
        for each in [] if value is None else value if repeats else [value]:
            found.append(_written(number, kind, each))
    return b"".join(found)


def _written(number: int, kind: Any, value: Any) -> bytes:
    if kind == "int":
        return varint_field(number, value)
    if isinstance(kind, str) and kind in _FIXED:
        form, wire = _FIXED[kind]
        return _varint_bytes(number << 3 | wire) + struct.pack(form, value)
    if isinstance(kind, dict):
        return bytes_field(number, write(value, kind))
    return bytes_field(number, value.encode() if kind == "str" else value)


def varint_field(number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return _varint_bytes(number << 3) + _varint_bytes(value)


def bytes_field(number: int, content: bytes) -> bytes:
    """A field that holds bytes, a text or a message."""
    return _varint_bytes(number << 3 | 2) + _varint_bytes(len(content)) + content


def _varint_bytes(value: int) -> bytes:
    found, value = bytearray(), value % (1 << 64)
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
