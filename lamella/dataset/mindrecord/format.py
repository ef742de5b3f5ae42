"""The bytes of mindrecord files, as MindSpore 2.10 writes and reads them.

A file begins with its header (a length and JSON, padded to 16 MiB), then come pages of 32 MiB: BLOB
pages with the arrays and bytes of rows, RAW pages with their scalars. Beside each file lies an
SQLite data base that says on which page each row is, and has the fields to search by.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
import weakref
from typing import Any
from urllib.parse import quote

import numpy as np

from ...core.forking import Lock
from ...core.reading import read_up_to
from ..errors import needs
from . import encryption
from .exceptions import MRMOpenError

HEADER_SIZE, PAGE_SIZE = 1 << 24, 1 << 25
SCALARS = ("int32", "int64", "float32", "float64", "string")
_WIDTHS = (1, 2, 4, 8)
_opening = Lock()
_INDEX_TYPES = {"int32": "INTEGER", "int64": "INTEGER", "float32": "NUMERIC",
                "float64": "NUMERIC", "string": "TEXT", "bytes": "TEXT"}
_COLUMNS = ("ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END", "ROW_GROUP_ID",
            "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END")


def blob_fields(schema: dict[str, Any]) -> list[str]:
    """The fields that are arrays or bytes, sorted."""
    return sorted(n for n, about in schema.items() if "shape" in about or about["type"] == "bytes")


def packed_integers(array: np.ndarray) -> bytes:
    """Integers in as few bytes as each needs: a count, two bits a number for its width, numbers."""
    values = array.reshape(-1).astype(np.int64)
    codes = np.zeros(len(values), np.uint8)
    for code, kind in ((1, np.int8), (2, np.int16), (3, np.int32)):
        limits = np.iinfo(kind)
        codes[(values < limits.min) | (values > limits.max)] = code
    filled = np.concatenate([codes, np.zeros(-len(codes) % 4, np.uint8)]).reshape(-1, 4)
    bits = (filled[:, 0] << 6 | filled[:, 1] << 4 | filled[:, 2] << 2 | filled[:, 3])
    body = b"".join(int(v).to_bytes(_WIDTHS[c], "little", signed=True)
                    for v, c in zip(values.tolist(), codes.tolist(), strict=True))
    return struct.pack(">I", len(values)) + bits.astype(np.uint8).tobytes() + body


def unpacked_integers(data: bytes, kind: str) -> np.ndarray:
    """The integers that `packed_integers` packed."""
    count = struct.unpack(">I", data[:4])[0]
    place = 4 + -(-count // 4)
    if place + count > len(data):  # before there is memory for them
        raise ValueError(f"{count} numbers can't be in {len(data)} bytes")
    bits = np.frombuffer(data[4:place], np.uint8)
    codes = np.stack([bits >> 6, bits >> 4 & 3, bits >> 2 & 3, bits & 3], 1).reshape(-1)[:count]
    if count and (codes == codes[0]).all():  # all of one width, as most are
        width = _WIDTHS[codes[0]]
        return np.frombuffer(data, f"<i{width}", count, place).astype(kind)
    out = np.empty(count, kind)
    for number, code in enumerate(codes.tolist()):
        width = _WIDTHS[code]
        out[number] = int.from_bytes(data[place:place + width], "little", signed=True)
        place += width
    return out


def packed_row(row: dict[str, Any], schema: dict[str, Any],
               blobs: list[str]) -> tuple[bytes, bytes]:
    """The RAW and the BLOB bytes of a row."""
    msgpack = needs("records", "msgpack")
    scalars = {n: _scalar(row[n], schema[n]["type"]) for n in sorted(schema) if n not in blobs}
    packer = msgpack.Packer(use_bin_type=True, autoreset=True)
    body = bytearray(packer.pack_map_header(len(scalars) or 1))
    for name, value in (scalars or {"id": 0}).items():
        body += packer.pack(name)
        if isinstance(value, float) and float(np.float32(value)) == value:
            body += b"\xca" + struct.pack(">f", value)
        else:
            body += packer.pack(value)
    raw = bytes(body)
    parts = []
    for name in blobs:
        kind, value = schema[name]["type"], row[name]
        if kind == "bytes" and "shape" not in schema[name]:
            parts.append(bytes(value))
        elif kind.startswith("int"):
            parts.append(packed_integers(np.asarray(value)))
        else:
            parts.append(np.ascontiguousarray(value, f"<{np.dtype(kind).str[1:]}").tobytes())
    if not parts:
        blob = b"\0\0\0\0"
    elif len(parts) == 1:
        blob = parts[0]
    else:
        blob = b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    return struct.pack("<Q", len(raw)) + raw, struct.pack("<Q", len(blob)) + blob


def _scalar(value: Any, kind: str) -> Any:
    if kind == "string":
        return str(value)
    return int(value) if kind.startswith("int") else float(value)


def unpacked_row(raw: bytes, blob: bytes, schema: dict[str, Any],
                 blobs: list[str]) -> dict[str, Any]:
    """The row of RAW and BLOB bytes, without their lengths."""
    msgpack = needs("records", "msgpack")
    found = msgpack.unpackb(raw, raw=False)
    row = {n: found[n] for n in sorted(schema) if n not in blobs}
    place = 0
    for name in blobs:
        part = blob
        if len(blobs) > 1:
            size = struct.unpack(">Q", blob[place:place + 8])[0]
            part = blob[place + 8:place + 8 + size]
            place += 8 + size
        about = schema[name]
        if about["type"] == "bytes":
            row[name] = part
            continue
        if about["type"].startswith("int"):
            array = unpacked_integers(part, about["type"])
        else:
            array = np.frombuffer(part, np.dtype(about["type"]).newbyteorder("<")).copy()
        row[name] = array.reshape(about["shape"])
    return row


class File:
    """One file of a mindrecord, open for reading.

    Args:
        path: the file.

    Raises:
        MRMOpenError: if it is no mindrecord, or its data base is missing or damaged.
    """

    def __init__(self, path: str):
        self.path = path
        size = os.path.getsize(path)
        if size < 8:
            raise RuntimeError(f"Invalid file, the size of mindrecord file: {size} is smaller than "
                               f"the lower limit: 8.\n Please check file path: {path} and use "
                               "'FileWriter' to generate valid mindrecord files.")
        if not os.path.isfile(path + ".db"):
            raise MRMOpenError(f"[MRMOpenError]: the index of {path} is missing: {path}.db")
        self._plain, self._plain_index = _plain_copies(self, path)
        try:
            with open(self._plain, "rb") as opened:
                size = struct.unpack("<Q", opened.read(8))[0]
                self.header: dict[str, Any] = json.loads(
                    read_up_to(opened, size if size < 1 << 28 else 0))
            about = self.header["schema"][0]
            self.schema: dict[str, Any] = dict(about["schema"])
            self.blobs: list[str] = list(about["blob_fields"])
            self.header_size = int(self.header.get("header_size", HEADER_SIZE))
            self.page_size = int(self.header.get("page_size", PAGE_SIZE))
            self.index_fields: list[str] = [
                str(f["index_field"]) for f in self.header.get("index_fields") or []]
        except (OSError, struct.error, ValueError, LookupError, TypeError, AttributeError,
                RecursionError) as error:
            raise MRMOpenError(f"[MRMOpenError]: {path} can't be read as a mindrecord file: "
                               f"{error}") from error
        self.rows = self._index(", ".join(_COLUMNS[i] for i in (1, 2, 3, 5, 6, 7)))
        self._opened: int | None = None
        self._closing: Any = None

    def _index(self, columns: str) -> list[tuple[Any, ...]]:
        try:
            address = f"file:{quote(os.path.abspath(self._plain_index))}?mode=ro"
            with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
                _check_tables(base)
                return base.execute(f"SELECT {columns} FROM INDEXES ORDER BY ROW_ID").fetchall()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise MRMOpenError(f"[MRMOpenError]: the index of {self.path} is damaged: "
                               f"{error}") from error

    def field(self, name: str) -> list[Any]:
        """An index field's value of each row."""
        column = f"{name}_0".replace("`", "``")  # in " an unknown one would be a text
        return [row[0] for row in self._index(f"`{column}`")]

    def row(self, number: int) -> dict[str, Any]:
        """A row.

        Raises:
            MRMOpenError: if its bytes can't be read.
        """
        raw_page, raw_start, raw_end, page, start, end = self.rows[number]
        try:
            raw = self._read(raw_page, raw_start, raw_end)
            return unpacked_row(raw, self._read(page, start, end), self.schema, self.blobs)
        except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError,
                struct.error) as error:
            raise MRMOpenError(f"[MRMOpenError]: row {number} of {self.path} is damaged: "
                               f"{error}") from error

    def _read(self, page: int, start: int, end: int) -> bytes:
        if self._opened is None:
            with _opening:  # by one of the threads that read
                if self._opened is None:
                    opened = os.open(self._plain, os.O_RDONLY)
                    # no `__del__`: when Python ends, modules may be gone before
                    self._closing = weakref.finalize(self, os.close, opened)
                    self._opened = opened
        place = self.header_size + page * self.page_size + start
        if end - start > os.fstat(self._opened).st_size:
            raise ValueError(f"the bytes {place} to {place + end - start} are beyond its end")
        data = os.pread(self._opened, end - start, place)  # threads and processes may at once
        if len(data) < end - start or struct.unpack("<Q", data[:8])[0] != end - start - 8:
            raise ValueError(f"the bytes {place} to {place + end - start} are not a row")
        return data[8:]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_closing": None}

    def close(self) -> None:
        """Close the file."""
        if self._closing is not None:
            self._closing()
            self._opened = self._closing = None


def _plain_copies(owner: File, path: str) -> list[str]:
    """Where a file and its index are read: decrypted copies live as long as their `owner`."""
    found = []
    for original in (path, path + ".db"):
        found.append(encryption.plain(original))
        weakref.finalize(owner, encryption.forget, original, found[-1])
    return found


def _check_tables(base: sqlite3.Connection) -> None:
    """Refuse an index that computes what it says; such a query may never end.

    Raises:
        sqlite3.Error: if the rows aren't in a plain table.
    """
    base.execute("PRAGMA trusted_schema = OFF")
    for kind, name, text in base.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if kind not in ("table", "index") or "VIRTUAL" in str(text).upper().split("(")[0]:
            raise sqlite3.DatabaseError(f"it has a {kind}, {name}, that no mindrecord has")
    for column in base.execute("PRAGMA table_xinfo(INDEXES)").fetchall():
        if column[-1]:
            raise sqlite3.DatabaseError(f"the column {column[1]} is computed")


def write(path: str, addresses: list[str], shard: int, about: dict[str, Any],
          index_fields: list[str], rows: list[tuple[bytes, bytes, dict[str, Any]]],
          sizes: tuple[int, int] = (HEADER_SIZE, PAGE_SIZE)) -> None:
    """Write one file and its data base.

    Args:
        path: the file.
        addresses: the names of all files.
        shard: which of them it is.
        about: the schema, as the header has it.
        index_fields: the fields to search by.
        rows: RAW bytes, BLOB bytes, and the row.
        sizes: of the header and of a page.
    """
    header_size, page_size = sizes
    pages: list[dict[str, Any]] = []
    places: list[list[int]] = [[] for _ in rows]
    data: list[bytearray] = []
    for kind, which in (("BLOB_DATA", 1), ("RAW_DATA", 0)):
        opened = False
        for number, row in enumerate(rows):
            part: bytes = row[1] if which else row[0]
            if not opened or len(data[-1]) + len(part) > page_size:
                if len(part) > page_size:
                    raise MRMOpenError(f"[MRMOpenError]: row {number} has {len(part)} bytes, but a "
                                       f"page {page_size}; set a larger page size.")
                same = sum(p["page_type"] == kind for p in pages)
                pages.append({"end_row_id": 0, "page_id": len(pages), "page_size": 0,
                              "page_type": kind, "page_type_id": same, "row_group_ids":
                              [{"id": same, "offset": 0}], "shard_id": shard,
                              "start_row_id": number if which else 0})
                data.append(bytearray())
                opened = True
            start = len(data[-1])
            data[-1] += part
            pages[-1]["page_size"] = len(data[-1])
            if which:
                pages[-1]["end_row_id"] = number + 1
            places[number].append(pages[-1]["page_type_id"])
            places[number] += [pages[-1]["page_id"], start, start + len(part)]
    fields = [{"index_field": f, "schema_id": 0} for f in index_fields] or None
    header = json.dumps({
        "compression_size": 0, "header_size": header_size, "index_fields": fields, "page": pages,
        "page_size": page_size, "schema": [about], "shard_addresses": addresses,
        "shard_id": shard, "statistics": None, "version": "3.0"}, sort_keys=True).encode()
    if len(header) + 8 > header_size:
        raise MRMOpenError(f"[MRMOpenError]: the header has {len(header)} bytes, but there are "
                           f"{header_size}; set a larger header size.")
    with open(path, "wb") as opened_file:
        opened_file.write(struct.pack("<Q", len(header)) + header)
        for number, page in enumerate(data):
            opened_file.seek(header_size + number * page_size)
            opened_file.write(page)
        if not data:
            opened_file.truncate(header_size)
    _write_index(path, about["schema"], index_fields, rows, places)


def _write_index(path: str, schema: dict[str, Any], index_fields: list[str], rows: Any,
                 places: list[list[int]]) -> None:
    more = "".join(f", INC_{i} INT, {f}_0 {_INDEX_TYPES[schema[f]['type']]}"
                   for i, f in enumerate(index_fields))
    key = ",".join(["ROW_ID", *(f"INC_{i}" for i in range(len(index_fields)))])
    columns = ", ".join(f"{name} INT NOT NULL" for name in _COLUMNS)
    with contextlib.closing(sqlite3.connect(path + ".db")) as base, base:
        base.execute(f"CREATE TABLE INDEXES({columns}{more}, PRIMARY KEY({key}))")
        base.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        base.execute("INSERT INTO SHARD_NAME VALUES (?)", (os.path.basename(path),))
        for number, (group, page, start, end, _, raw, raw_start, raw_end) in enumerate(places):
            values = [number, raw, raw_start, raw_end, group, page, start, end]
            for field in index_fields:
                values += [0, _scalar(rows[number][2][field], schema[field]["type"])]
            base.execute(f"INSERT INTO INDEXES VALUES ({','.join('?' * len(values))})", values)
