"""Writing mindrecord files."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import numpy as np

from ...core import log
from . import encryption, format
from .exceptions import (
    MRMDefineIndexError,
    MRMInvalidSchemaError,
    check_path,
    wrong_type,
    wrong_value,
)

SUCCESS, FAILED = "SUCCESS", "FAILED"
_TYPES = (*format.SCALARS, "bytes")
_NO_SCHEMA = ("Invalid data, schema is not found in header, please use 'add_schema' to add a "
              "schema for new mindrecord files.")


class FileWriter:
    """Writes rows into mindrecord files that MindSpore reads too.

    Args:
        file_name: the file; with several, numbers are appended.
        shard_num: into how many files.
        overwrite: whether files of these names may be replaced.

    Examples:
        >>> import os, tempfile
        >>> from lamella.mindrecord import FileReader, FileWriter
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers.mindrecord")
        >>> writer = FileWriter(path)
        >>> writer.add_schema({"n": {"type": "int32"}}, "numbers")
        >>> writer.write_raw_data([{"n": 1}, {"n": 2}])
        >>> writer.commit()
        >>> list(FileReader(path).get_next())
        [{'n': 1}, {'n': 2}]
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False):
        check_path(file_name)
        if isinstance(shard_num, bool) or not isinstance(shard_num, int):
            raise wrong_value("Parameter shard_num's type is not int.")
        if not 1 <= shard_num <= 1000:
            raise wrong_value(f"Parameter shard_num's value: {shard_num} should between 1 and "
                              f"1000.")
        if not isinstance(overwrite, bool):
            raise wrong_value("Parameter overwrite's type is not bool.")
        if shard_num > 1 and encryption.is_on():
            raise RuntimeError(f"When encode mode is enabled, the automatic sharding function is "
                               f"unavailable. For 'FileWriter', 'shard_num' must be 1, but got "
                               f"{shard_num}.")
        digits = len(str(shard_num - 1))
        self._paths = [file_name] if shard_num == 1 else [
            f"{file_name}{i:0{digits}}" for i in range(shard_num)]
        self._overwrite, self._sizes = overwrite, (format.HEADER_SIZE, format.PAGE_SIZE)
        self._schema: dict[str, Any] | None = None
        self._about: dict[str, Any] = {}
        self._index: list[str] | None = None
        self._rows: list[tuple[bytes, bytes, dict[str, Any]]] = []
        self._done = False

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that adds rows to a file, or to all files of a mindrecord."""
        first = format.File(file_name)
        folder = os.path.dirname(file_name)
        made = cls.__new__(cls)
        made._paths = [os.path.join(folder, n) for n in first.header["shard_addresses"]]
        made._overwrite, made._sizes = True, (first.header_size, first.page_size)
        made._about, made._schema = first.header["schema"][0], first.schema
        made._index, made._done, made._rows = first.index_fields, False, []
        for path in made._paths:
            opened = format.File(path)
            for number in range(len(opened.rows)):
                made.write_raw_data([opened.row(number)])
            opened.close()
        return made

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> None:
        """Say what fields there are.

        Args:
            content: by name, ``{"type": ...}``: int32, int64, float32, float64, string or bytes;
                arrays have a "shape" too, -1 in which is any size.
            desc: what it is about.

        Raises:
            MRMInvalidSchemaError: if it can't be.
        """
        problem = "Schema content should be dict." if not isinstance(content, dict) else (
            "" if content else "Schema content is empty.")
        if problem:
            raise MRMInvalidSchemaError(f"[MRMInvalidSchemaError]: Schema format is error. "
                                        f"Detail: {problem}")
        for name, about in content.items():
            problem = ""
            if not re.fullmatch(r"\w+", str(name)):
                problem = (f"Field {name!r} should be composed of '0-9' or 'a-z' or 'A-Z' or '_'.")
            elif not isinstance(about, dict):
                problem = f"Field {name!r} should be dict."
            elif about.get("type") not in _TYPES:
                problem = f"Field {name!r} contain illegal attribute {about.get('type')!r}."
            elif set(about) - {"type", "shape"}:
                problem = f"Field {name!r} contain illegal attribute {about!r}."
            elif "shape" in about and not isinstance(about["shape"], list):
                problem = f"Field {name!r} contain illegal attribute '{about['shape']}'."
            elif "shape" in about and about["type"] in ("string", "bytes"):
                problem = f"Field {name!r} contain illegal attribute {about['type']!r}."
            if problem:
                raise MRMInvalidSchemaError(f"[MRMInvalidSchemaError]: Schema format is error. "
                                            f"Detail: {problem}")
        self._schema = {n: dict(about) for n, about in content.items()}
        self._about = {"blob_fields": format.blob_fields(content), "desc": desc or "",
                       "schema": self._schema}

    def add_index(self, index_fields: list[str]) -> None:
        """Say by which fields rows can be found; default: all scalars.

        Raises:
            RuntimeError: if one isn't in the schema.
            MRMDefineIndexError: if one is no scalar.
        """
        if not isinstance(index_fields, list):
            raise wrong_type("'index_fields' expect list type.")
        for field in index_fields:
            if not isinstance(field, str):
                raise wrong_type(f"'index field' expect str type. It is {field!r}.")
            if field not in (self._schema or {}):
                raise RuntimeError(f"Invalid input, 'index_fields': {field} can not found in "
                                   f"schema: {self._schema}. Please use 'add_index' function to "
                                   "add proper 'index_fields'.")
            if field in self._about["blob_fields"]:
                raise MRMDefineIndexError(f"[MRMDefineIndexError]: Failed to define index field. "
                                          f"Detail: Failed to set field {field} since it's not "
                                          "primitive type.")
        self._index = index_fields

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> None:
        """Add rows. Those that don't fit the schema are left out, with a warning.

        Args:
            raw_data: dicts, a value by field.
            parallel_writer: accepted as MindSpore does.

        Raises:
            RuntimeError: if there is no schema, or no row fits it.
        """
        if not isinstance(raw_data, list):
            raise wrong_type("'raw_data' expect list type.")
        if self._schema is None:
            raise RuntimeError(_NO_SCHEMA)
        if self._done:
            raise RuntimeError("Not allowed to call `write_raw_data` on flushed MindRecord files.")
        written = 0
        for number, row in enumerate(raw_data):
            if not isinstance(row, dict):
                raise wrong_type(f"'raw_data item' expect dict type. It is {row!r}.")
            problem = self._problem(row)
            if problem:
                log.warning(f"mindrecord: row {number} is left out: {problem}")
                continue
            kept = {f: row[f] for f in self._schema if f not in self._about["blob_fields"]}
            raw, blob = format.packed_row(row, self._schema, self._about["blob_fields"])
            self._rows.append((raw, blob, kept))
            written += 1
        if raw_data and not written:
            worker = "Parallel write worker error, please check the above log. "
            raise RuntimeError(f"{worker if parallel_writer else ''}There is no valid data which "
                               "can be written by 'write_raw_data' to mindrecord file. Please "
                               "check the abnormal input data indicated in the warning log above.")

    def _problem(self, row: dict[str, Any]) -> str:
        assert self._schema is not None
        for name, about in self._schema.items():
            if name not in row:
                return f"there is no {name!r}"
            value, kind = row[name], about["type"]
            if "shape" in about:
                if not isinstance(value, np.ndarray) or value.dtype != np.dtype(kind):
                    return f"{name!r} must be an array of {kind}, but got {_about(value)}"
                try:
                    value.reshape(about["shape"])
                except ValueError:
                    return f"{name!r} must have the shape {about['shape']}, but got {_about(value)}"
            elif kind == "bytes":
                if not isinstance(value, bytes):
                    return f"{name!r} must be bytes, but got {_about(value)}"
            elif kind == "string":
                if not isinstance(value, str):
                    return f"{name!r} must be a str, but got {_about(value)}"
            elif isinstance(value, bool) or not isinstance(
                    value, (int, np.integer) if kind.startswith("int")
                    else (int, float, np.integer, np.floating)):
                return f"{name!r} must be {kind}, but got {_about(value)}"
            elif kind.startswith("int") and not -1 << 63 <= value < 1 << 63:
                return f"{name!r} must be an int of 64 bits, but got {value}"
        return ""

    def set_header_size(self, header_size: int) -> str:
        """Set the size of the header in bytes: a power of two from 16 KiB to 128 MiB."""
        self._sizes = (_power("header_size", header_size, 14, 27), self._sizes[1])
        return SUCCESS

    def set_page_size(self, page_size: int) -> str:
        """Set the size of a page in bytes: a power of two from 32 KiB to 256 MiB."""
        self._sizes = (self._sizes[0], _power("page_size", page_size, 15, 28))
        return SUCCESS

    def commit(self) -> None:
        """Write the files.

        Raises:
            RuntimeError: if one is there already and may not be replaced.
            MRMOpenError: if a row is larger than a page; then files that are there stay.
        """
        if self._schema is None:
            raise RuntimeError(_NO_SCHEMA)
        encrypts = encryption.is_on()
        parts = [part for path in self._paths for part in (path, path + ".db")]
        there = [part for part in parts if os.path.exists(part)]
        if there and not self._overwrite:
            raise RuntimeError(f"Invalid file, mindrecord files already exist. Please check file "
                               f"path: {there[0]}. If you do not want to keep the files, set the "
                               f"'overwrite' parameter to True and try again.")
        index = self._index
        if index is None:
            index = [f for f in self._schema if f not in self._about["blob_fields"]]
        names, count = [os.path.basename(p) for p in self._paths], len(self._paths)
        edges = [len(self._rows) * i // count for i in range(count + 1)]
        # files that are there stay until all new ones are complete
        with tempfile.TemporaryDirectory(
                prefix=".mindrecord-", dir=os.path.dirname(self._paths[0]) or ".") as folder:
            for shard, name in enumerate(names):
                path = os.path.join(folder, name)
                format.write(path, names, shard, self._about, index,
                             self._rows[edges[shard]:edges[shard + 1]], self._sizes)
                if encrypts:
                    encryption.encrypt_by_settings(path)
                    encryption.encrypt_by_settings(path + ".db")
            for part in parts:
                os.replace(os.path.join(folder, os.path.basename(part)), part)
        self._done = True

    def check_all_worker_status(self) -> None:
        """There are no workers that could fail."""

    def check_worker_status(self, index: int) -> None:
        """There are no workers that could fail."""


def _about(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {list(value.shape)}"
    return f"{type(value).__name__}"


def _power(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"For 'set_{name}', '{name}' must be an int of 0 or more, but got "
                        f"{value!r}.")
    if not 1 << low <= value <= 1 << high:
        raise RuntimeError(f"Invalid data, {name.replace('_', ' ')}: {value} should be in range "
                           f"[{1 << low} bytes, {1 << high} bytes].")
    if value & (value - 1):
        raise RuntimeError(f"Invalid data, {name.replace('_', ' ')}: {value} should be a power of "
                           "two.")
    return value
