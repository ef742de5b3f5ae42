"""TFRecord files, read without TensorFlow."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.reading import read_up_to
from ..checks import one_of
from ..errors import in_pipeline
from ..samplers import Shuffle
from ..schema import Schema
from .files import LinesDataset


def records(path: str, compression: str | None = None) -> Iterator[bytes]:
    """The records of a file, with the checksums of lengths verified.

    Raises:
        RuntimeError: if the file is damaged.
    """
    source: Any = _Inflated(path) if compression == "ZLIB" else (
        gzip.open if compression == "GZIP" else open)(path, "rb")
    place = 0
    try:
        with source as opened:
            while head := opened.read(12):
                if len(head) < 12 or _masked(head[:8]) != struct.unpack("<I", head[8:])[0]:
                    raise in_pipeline(f"The file {path} is damaged, or no TFRecord: at byte "
                                      f"{place}.")
                size = struct.unpack("<Q", head[:8])[0]
                body = read_up_to(opened, size + 4) if size < _LARGEST else b""
                if len(body) < size + 4 or _masked(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
                    raise in_pipeline(f"The file {path} is damaged: the record at byte {place}.")
                place += 16 + size
                yield body[:-4]
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise in_pipeline(f"The file {path} is damaged: at byte {place} of what it unpacks to: "
                          f"{error}.") from error


_LARGEST = 1 << 31  # bytes of a record: protobuf reads no more


class _Inflated:
    """A file in zlib's format, unpacked as far as is asked for."""

    def __init__(self, path: str):
        self.file, self.unpack, self.left = open(path, "rb"), zlib.decompressobj(), b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes."""
        parts: list[bytes] = []
        while size and not self.unpack.eof:
            packed = self.left or self.file.read(1 << 16)
            if not packed:
                break
            parts.append(self.unpack.decompress(packed, size))
            self.left, size = self.unpack.unconsumed_tail, size - len(parts[-1])
        return b"".join(parts)

    def __enter__(self) -> _Inflated:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


try:  # comes with the package tfrecord, and is a hundred times as fast
    from crc32c import crc32c as _checksum
except ImportError:
    _checksum = _crc32c


def _masked(data: bytes) -> int:
    crc = _checksum(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        if key & 7 == 2:
            size, place = _varint(data, place)
            if place + size > len(data):
                raise ValueError("a field is longer than its message")
            yield key >> 3, data[place:place + size]
            place += size
        elif key & 7 == 0:
            value, place = _varint(data, place)
            yield key >> 3, value
        elif key & 7 == 5:
            yield key >> 3, data[place:place + 4]
            place += 4
        else:
            raise ValueError(f"a field has the wire type {key & 7}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return value, place
        shift += 7


def example(data: bytes) -> dict[str, Any]:
    """The features of an Example: a list of bytes, or an array of int64 or float32, by name."""
    found: dict[str, Any] = {}
    for number, features in _fields(data):
        for _, entry in _fields(features) if number == 1 else ():
            parts = dict(_fields(entry))
            kind, values = next(_fields(parts.get(2, b"")), (1, b""))
            found[parts[1].decode()] = _values(kind, values)
    return found


def _values(kind: int, data: bytes) -> Any:
    if kind == 1:
        return [value for _, value in _fields(data)]
    flat: list[Any] = []
    for _, value in _fields(data):
        if kind == 2:
            flat += np.frombuffer(value, "<f4").tolist()
        elif isinstance(value, bytes):
            place = 0
            while place < len(value):
                one, place = _varint(value, place)
                flat.append(one)
        else:
            flat.append(value)
    if kind == 2:
        return np.array(flat, np.float32)
    return np.array(flat, np.uint64).astype(np.int64)


def examples(path: str, compression: str | None = None) -> Iterator[dict[str, Any]]:
    """The Examples of a file.

    Raises:
        RuntimeError: if the file is damaged.
    """
    for record in records(path, compression):
        try:
            yield example(record)
        except (ValueError, IndexError, KeyError) as error:
            raise in_pipeline(f"The file {path} has a record that is no Example: {error}") \
                from error


class TFRecordDataset(LinesDataset):
    """The Examples of TFRecord files.

    Args:
        dataset_files: paths or patterns.
        schema: a Schema or the path of its JSON file; default: types as the file has them, bytes
            as uint8.
        columns_list: which columns; default: all, sorted.
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id: as for `TextFileDataset`.
        shard_equal_rows: whether all shards get as many rows.
        cache: not supported.
        compression_type: ``""``, ``"GZIP"`` or ``"ZLIB"``.
    """

    def __init__(self, dataset_files: Any, schema: Any = None,
                 columns_list: list[str] | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None,
                 shard_equal_rows: bool = False, cache: Any = None,
                 compression_type: str | None = None):
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards,
                         shard_id, cache)
        self.schema = Schema(schema) if isinstance(schema, str) else schema
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise TypeError(f"For 'TFRecordDataset', 'schema' must be a Schema or a path, but got "
                            f"{type(schema).__name__}.")
        self.columns_list, self.shard_equal_rows = columns_list, shard_equal_rows
        self.compression_type = one_of(compression_type or "", ["", "GZIP", "ZLIB"],
                                       "compression_type", "TFRecordDataset")
        if num_samples is None and self.schema is not None and self.schema.num_rows:
            self.num_samples = self.schema.num_rows

    def _named(self) -> list[str]:
        known = [c["name"] for c in self.schema.columns] if self.schema is not None else sorted(
            next(examples(self.files[0], self.compression_type), {}))
        for column in self.columns_list or ():
            if column not in known:
                raise in_pipeline(f"TFRecordDataset: there is no column {column!r}; there are "
                                  f"{known}.")
        return list(self.columns_list or known)

    def _read(self, path: str) -> Iterator[Any]:
        about = {} if self.schema is None else {c["name"]: c for c in self.schema.columns}
        for found in examples(path, self.compression_type):
            yield tuple(self._column(name, found, about.get(name)) for name in self.columns)

    def _column(self, name: str, found: dict[str, Any], about: dict[str, Any] | None) -> Any:
        if name not in found:
            raise in_pipeline(f"TFRecordDataset: a row has no column {name!r}; it has "
                              f"{sorted(found)}.")
        values = found[name]
        kind = about["type"] if about is not None else None
        if isinstance(values, list):
            if kind == "string":
                words = np.array([v.decode() for v in values])
                shape = None if about is None else about.get("shape")
                return words.reshape(shape) if shape else words[0]
            widest = max(map(len, values), default=0)
            values = np.frombuffer(b"".join(v.ljust(widest) for v in values),
                                   np.uint8).copy()
        if kind is not None and kind != str(values.dtype):
            values = values.astype(kind)
        if about is not None and "shape" in about:
            values = values.reshape(about["shape"]) if about["shape"] else values.reshape(-1)[0]
        return values
