"""The `.ckpt` file format: a protobuf message, written and read piece by piece.

In protobuf's language::

    message Checkpoint     { repeated Value value = 1; }
    message Value          { required string tag = 1;
                             oneof value { TensorProto tensor = 2; MapTensorProto maptensor = 3; } }
    message TensorProto    { repeated int64 dims = 1; required string tensor_type = 2;
                             required bytes tensor_content = 3; }
    message MapTensorProto { repeated TensorProto tensor = 1; }

A large tensor is several Values of one tag in a row, each with all `dims` and a part of the bytes.
Text has the type ``"str"``, dims [0] and UTF-32 content. The bytes ``crc_num`` and a big-endian
number of 10 bytes may follow: the CRC-32 of all before them.

The wire format (https://protobuf.dev/programming-guides/encoding/) is simple enough to be read here
straight from the file into the tensor's memory. The protobuf library would hold three copies, stop
at 2 GiB, and could not say where a file is broken. Nothing is allocated that the file's size does
not justify, and nothing in a file is ever executed.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import torch

from ..core import dtype as mstype
from ..core import log
from ..tensors.construction import flat_bytes
from .atomic_file import replacing

__all__ = ["CheckpointFileError", "Record", "read_ckpt", "read_content", "records", "write_ckpt"]

_SLICE = 512 << 20  # bytes of a tensor in one Value; MindSpore's own limit
_CRC_MARK = b"crc_num"
_CRC_BYTES = 10
_MAX_DIMS = 32
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_TYPES = {t.printed: raw for raw, t in mstype.from_raw.items()}
NO_CHECKSUM = ("For 'load_checkpoint', the file '{}' has no checksum to compare: it was saved "
               "without 'crc_check'.")
# how to read a checkpoint of PyTorch's
FROM_PYTORCH = ("take {name: ms.Parameter(ms.Tensor(value.numpy()), name=name) for name, value in "
                "torch.load(file, weights_only=True).items()}")
_FOREIGN = (
    (b"PK\x03\x04", "it looks like a zip archive, such as torch.save and numpy.savez write; of "
     f"torch.save's, {FROM_PYTORCH}"),
    (b"\x80\x02", "it looks like a pickle, which is never opened because it could run code"),
    (b"\x80\x03", "it looks like a pickle, which is never opened because it could run code"),
    (b"\x80\x04", "it looks like a pickle, which is never opened because it could run code"),
    (b"\x80\x05", "it looks like a pickle, which is never opened because it could run code"),
    (b"\x89HDF", "it looks like an HDF5 file"),
    (b"\x93NUMPY", "it looks like a NumPy array; use numpy.load"),
    (b"\xd8^:\x7f", "it looks encrypted, which is not supported"),
)


class CheckpointFileError(ValueError):
    """A checkpoint file that is broken or no checkpoint at all."""

    def __init__(self, path: str, problem: str):
        super().__init__(f"For 'load_checkpoint', the file '{path}' can't be read: {problem}.")


class Record(NamedTuple):
    """Where a named value is in a file."""

    name: str
    kind: str  # the tensor_type
    dims: tuple[int, ...]
    parts: tuple[tuple[int, int], ...]  # offset and length of each piece of the content


# -- writing -------------------------------------------------------------------------------------


def write_ckpt(path: str, values: Mapping[str, torch.Tensor | str], crc: bool = False) -> None:
    """Write named tensors and texts to a `.ckpt` file, which takes the place of an old one.

    Args:
        path: the file.
        values: raw tensors and strings by name.
        crc: whether to append a checksum.

    Examples:
        >>> import os, tempfile, torch
        >>> path = os.path.join(tempfile.mkdtemp(), "a.ckpt")
        >>> write_ckpt(path, {"w": torch.ones(2), "note": "text"})
        >>> read_ckpt(path)
        {'w': tensor([1., 1.]), 'note': 'text'}
    """
    with replacing(path) as new, open(new, "wb") as file:
        checksum = 0

        def put(piece: Any) -> None:
            nonlocal checksum
            if crc:
                checksum = zlib.crc32(piece, checksum)
            file.write(piece)

        for name, value in values.items():
            for piece in _pieces(name, value):
                put(piece)
        if crc:
            file.write(_CRC_MARK + checksum.to_bytes(_CRC_BYTES, "big"))


def _pieces(name: str, value: torch.Tensor | str) -> Iterator[Any]:
    """The bytes of all Values that hold a tensor or a text."""
    if isinstance(value, str):
        kind, dims = "str", [0]
        content = memoryview((value or "\0").encode("utf-32-le", "surrogatepass"))
    else:
        kind, dims = mstype.from_raw[value.dtype].printed, list(value.shape)
        content = flat_bytes(value.cpu()).numpy().data
    header = b"".join(_field(1, _VARINT) + _varint(n) for n in dims)
    header += _prefixed(2, kind.encode())
    tag = _prefixed(1, name.encode())
    for start in range(0, max(len(content), 1), _SLICE):
        part = content[start:start + _SLICE]
        tensor = header + _field(3, _BYTES) + _varint(len(part))
        body = tag + _field(2, _BYTES) + _varint(len(tensor) + len(part)) + tensor
        yield _field(1, _BYTES) + _varint(len(body) + len(part)) + body
        yield part


def _field(number: int, wire_type: int) -> bytes:
    return bytes([number << 3 | wire_type])


def _prefixed(number: int, content: bytes) -> bytes:
    return _field(number, _BYTES) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


# -- reading -------------------------------------------------------------------------------------


def read_ckpt(path: str, keep: Callable[[str], str | None] = lambda name: name,
              crc: bool = False) -> dict[str, torch.Tensor | str]:
    """The tensors and texts of a `.ckpt` file by name.

    Args:
        path: the file.
        keep: gives for the name of each value the name to return it under, or None to leave it out.
        crc: whether to compare the checksum, if the file has one.

    Raises:
        CheckpointFileError: a ValueError, if the file is broken; it says where.
    """
    with open(path, "rb") as file:
        end = _content_end(file, path, crc)
        values: dict[str, torch.Tensor | str] = {}
        for record in records(file, path, end):
            name = keep(record.name)
            if name is not None:
                values[name] = read_content(file, path, record)
    return values


def records(file: BinaryIO, path: str, end: int) -> Iterator[Record]:
    """What a `.ckpt` file holds up to byte `end`, in order; contents are skipped over."""
    wire = _Wire(file, path)
    last: Record | None = None
    parts: list[tuple[int, int]] = []  # of the last record
    position = 0
    while position < end:
        try:
            number, start, stop = wire.field(position, end)
            record = _value(wire, start, stop) if number == 1 else None
        except CheckpointFileError as error:
            hint = _foreign(file) if last is None else ""
            if not hint:
                raise
            raise CheckpointFileError(path, hint) from error
        position = stop
        if record is None:
            continue
        if last is not None and last.name == record.name:
            if (last.kind, last.dims) != (record.kind, record.dims):
                raise wire.error(start, f"the parts of entry '{last.name}' differ in type or shape")
            parts += record.parts
            continue
        if last is not None:
            yield last._replace(parts=tuple(parts))
        last, parts = record, list(record.parts)
    if last is not None:
        yield last._replace(parts=tuple(parts))


def read_content(file: BinaryIO, path: str, record: Record) -> torch.Tensor | str:
    """The tensor or the text that a record points to."""
    size = sum(length for _, length in record.parts)
    where = f"entry '{record.name}' at byte {record.parts[0][0]}"
    if record.kind == "str":
        content = b"".join(_read(file, path, *part) for part in record.parts)
        try:
            return content.decode("utf-32-le", "surrogatepass").rstrip("\0")
        except UnicodeDecodeError as error:
            raise CheckpointFileError(path, f"the text of {where} is broken: {error}") from None
    if record.kind not in _TYPES:
        raise CheckpointFileError(path, f"{where} has the unknown type {record.kind[:40]!r}")
    raw_type = _TYPES[record.kind]
    dims = record.dims
    if dims == (0,) and size:
        dims = ()  # how MindSpore wrote numbers in earlier versions
    needed = math.prod(dims) * raw_type.itemsize
    if needed != size:
        raise CheckpointFileError(path, f"{where} has {size} bytes, but {record.kind} of shape "
                                        f"{str(dims)[:80]} takes {needed}")
    try:
        raw = torch.empty(dims, dtype=raw_type)
    except RuntimeError as error:  # negative sizes, or huge ones beside a zero
        raise CheckpointFileError(path, f"{where} has the impossible shape {dims}") from error
    memory = raw.reshape(-1).view(torch.uint8).numpy().data
    position = 0
    for offset, length in record.parts:
        file.seek(offset)
        if file.readinto(memory[position:position + length]) != length:  # type: ignore[attr-defined]
            raise CheckpointFileError(path, f"{where} ends early")
        position += length
    if raw_type is torch.bool:  # any byte but 0 is true; a tensor must hold 1 for it
        raw = raw.view(torch.uint8) != 0
    return raw


def _value(wire: _Wire, start: int, stop: int) -> Record:
    """The Value message in bytes `start` to `stop`."""
    tag: str | None = None
    tensor: tuple[int, int] | None = None
    position = start
    while position < stop:
        at = position
        number, begin, position = wire.field(position, stop)
        if number == 1:
            tag = wire.text(begin, position, "a name")
        elif number == 2:
            tensor = begin, position
        elif number == 3:
            raise wire.error(at, f"entry '{tag}' is a map parameter, which is not supported")
    if tag is None or tensor is None:
        raise wire.error(start, f"entry '{tag}' has no {'name' if tag is None else 'tensor'}")
    return _tensor(wire, tag, *tensor)


def _tensor(wire: _Wire, tag: str, start: int, stop: int) -> Record:
    """The TensorProto message in bytes `start` to `stop`."""
    dims: list[int] = []
    kind: str | None = None
    content: tuple[int, int] | None = None
    position = start
    while position < stop:
        number, begin, position = wire.field(position, stop)
        if number == 1:
            place = begin  # one number, or several that are packed
            while place < position:
                value, place = wire.varint(place, position)
                dims.append(value - (1 << 64) if value >> 63 else value)
                if len(dims) > _MAX_DIMS:
                    raise wire.error(begin, f"entry '{tag}' has more than {_MAX_DIMS} dimensions")
        elif number == 2:
            kind = wire.text(begin, position, f"the type of entry '{tag}'")
        elif number == 3:
            content = begin, position - begin
    if kind is None or content is None:
        raise wire.error(start, f"entry '{tag}' has no {'type' if kind is None else 'content'}")
    return Record(tag, kind, tuple(dims), (content,))


class _Wire:
    """Protobuf's wire format in a file."""

    def __init__(self, file: BinaryIO, path: str):
        self.file = file
        self.path = path

    def error(self, position: int, problem: str) -> CheckpointFileError:
        return CheckpointFileError(self.path, f"{problem} (at byte {position})")

    def varint(self, position: int, stop: int) -> tuple[int, int]:
        """The number at `position`, and where it ends."""
        self.file.seek(position)
        data = self.file.read(min(10, stop - position))
        number = 0
        for i, byte in enumerate(data):
            number |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return number & 0xFFFFFFFFFFFFFFFF, position + i + 1
        raise self.error(position, "a number is broken or cut off")

    def field(self, position: int, stop: int) -> tuple[int, int, int]:
        """The number of the field at `position`, and where its value begins and ends."""
        key, begin = self.varint(position, stop)
        number, wire_type = key >> 3, key & 7
        if wire_type == _BYTES:
            length, begin = self.varint(begin, stop)
            end = begin + length
        elif wire_type == _VARINT:
            end = self.varint(begin, stop)[1]
        elif wire_type in (_FIXED64, _FIXED32):
            end = begin + (8 if wire_type == _FIXED64 else 4)
        else:
            raise self.error(position, "this is no field of a checkpoint")
        if number == 0:
            raise self.error(position, "this is no field of a checkpoint")
        if end > stop:
            raise self.error(position, f"a field of {end - begin} bytes begins, of which only "
                                       f"{stop - begin} are there; the file may be cut off")
        return number, begin, end

    def text(self, begin: int, end: int, what: str) -> str:
        if end - begin > 1 << 16:
            raise self.error(begin, f"{what} takes {end - begin} bytes")
        try:
            return _read(self.file, self.path, begin, end - begin).decode()
        except UnicodeDecodeError:
            raise self.error(begin, f"{what} is no UTF-8 text") from None


def _read(file: BinaryIO, path: str, offset: int, length: int) -> bytes:
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise CheckpointFileError(path, f"it ends at byte {offset + len(data)}, in an entry")
    return data


def _content_end(file: BinaryIO, path: str, check: bool) -> int:
    """Where the message ends: before the checksum, if there is one, which is compared."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        raise CheckpointFileError(path, "it is empty")
    trailer = len(_CRC_MARK) + _CRC_BYTES
    tail = _read(file, path, end - trailer, trailer) if end >= trailer else b""
    if not tail.startswith(_CRC_MARK):
        if check:
            log.warning(NO_CHECKSUM.format(path))
        return end
    end -= trailer
    if check:
        file.seek(0)
        checksum, left = 0, end
        while left:
            block = file.read(min(left, 1 << 20))
            if not block:
                break
            checksum, left = zlib.crc32(block, checksum), left - len(block)
        if checksum != int.from_bytes(tail[len(_CRC_MARK):], "big"):
            raise CheckpointFileError(path, "its checksum differs, so it is damaged")
    return end


def _foreign(file: BinaryIO) -> str:
    """What kind of file this is, if it is a known other kind."""
    file.seek(0)
    head = file.read(16)
    for mark, what in _FOREIGN:
        if head.startswith(mark):
            return what
    if head[8:9] == b"{":
        return 'it looks like a safetensors file; use format="safetensors"'
    if head and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        return "it looks like a text file"
    return ""
