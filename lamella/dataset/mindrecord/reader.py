"""Reading mindrecord files."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import format
from .exceptions import MRMDefineCategoryError, ParamValueError


def files_of(file_name: Any) -> list[format.File]:
    """All files of a mindrecord: of one of them, or of a list.

    Raises:
        RuntimeError: if one isn't there.
    """
    if not isinstance(file_name, (str, os.PathLike, list, tuple)):
        raise ParamValueError(f"For 'file_name', a path or a list of paths is needed, but got "
                              f"{file_name!r} of type {type(file_name).__name__}.")
    names = [file_name] if isinstance(file_name, (str, os.PathLike)) else list(file_name)
    paths = [str(name) for name in names]
    for path in paths:
        if not os.path.isfile(path):
            raise RuntimeError(f"The input: {path} is not exists.")
    known: dict[str, format.File] = {}
    if isinstance(file_name, (str, os.PathLike)):
        first = known[paths[0]] = format.File(paths[0])
        others, folder = first.header["shard_addresses"], os.path.dirname(paths[0])
        if len(others) > 1:
            paths = [os.path.join(folder, os.path.basename(other)) for other in others]
    opened = []
    for path in dict.fromkeys(paths):
        if not os.path.isfile(path):
            raise RuntimeError(f"The input: {path} is not exists; it is a part of {names[0]}.")
        opened.append(known.get(path) or format.File(path))
    if any(f.schema != opened[0].schema for f in opened):
        raise RuntimeError(f"The files {paths} have different schemas.")
    return opened


class FileReader:
    """Reads the rows of mindrecord files, in order.

    Args:
        file_name: one of the files, or a list of them.
        num_consumer: accepted as MindSpore does.
        columns: which fields; default: all.
        operator: not supported.
    """

    def __init__(self, file_name: Any, num_consumer: int = 4, columns: list[str] | None = None,
                 operator: Any = None):
        if operator is not None:
            raise ParamValueError("[ParamValueError]: 'operator' is not supported.")
        if isinstance(num_consumer, bool) or not isinstance(num_consumer, int) or num_consumer < 1:
            raise ParamValueError(f"[ParamValueError]: 'num_consumer' must be a positive int, but "
                                  f"got {num_consumer!r}.")
        if columns is not None and not isinstance(columns, list):
            raise ParamValueError(f"[ParamValueError]: 'columns' must be a list, but got "
                                  f"{columns!r}.")
        self._files = files_of(file_name)
        for column in columns or ():
            if column not in self._files[0].schema:
                raise ParamValueError(f"[ParamValueError]: there is no field {column!r}; there "
                                      f"are {sorted(self._files[0].schema)}.")
        self._columns = columns

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, as dicts."""
        for file in self._files:
            for number in range(len(file.rows)):
                row = file.row(number)
                yield row if not self._columns else {n: row[n] for n in self._columns}

    def schema(self) -> dict[str, Any]:
        """The fields with their types and shapes."""
        return self._files[0].schema

    def len(self) -> int:
        """How many rows there are."""
        return sum(builtins.len(file.rows) for file in self._files)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


class MindPage:
    """Reads the rows of mindrecord files page by page, by the values of an index field.

    Args:
        file_name: one of the files, or a list of them.
        num_consumer: accepted as MindSpore does.
    """

    def __init__(self, file_name: Any, num_consumer: int = 4):
        self._files = files_of(file_name)
        self._candidates = self._files[0].index_fields
        self._category: str | None = None

    @property
    def candidate_fields(self) -> list[str]:
        """The index fields."""
        return self._candidates

    @property
    def category_field(self) -> str | None:
        """The field whose values are the categories."""
        return self._category

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        if category_field not in self._candidates:
            raise MRMDefineCategoryError(f"[MRMDefineCategoryError]: {category_field!r} is no "
                                         f"index field; there are {self._candidates}.")
        self._category = category_field

    def _categories(self) -> list[tuple[Any, list[tuple[format.File, int]]]]:
        if self._category is None:
            raise MRMDefineCategoryError("[MRMDefineCategoryError]: 'category_field' must be set "
                                         "first.")
        found: dict[Any, list[tuple[format.File, int]]] = {}
        for file in self._files:
            for number, value in enumerate(file.field(self._category)):
                found.setdefault(value, []).append((file, number))
        return sorted(found.items())

    def read_category_info(self) -> str:
        """The categories with their numbers and how many rows each has, as JSON."""
        listed = [{"count": len(rows), "id": i, "name": str(value)}
                  for i, (value, rows) in enumerate(self._categories())]
        return json.dumps({"categories": listed, "key": f"{self._category}_0"},
                          separators=(",", ":"))

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict[str, Any]]:
        """The rows of a page of a category, by its number."""
        categories = self._categories()
        if not isinstance(category_id, int) or not 0 <= category_id < len(categories):
            raise ParamValueError(f"[ParamValueError]: 'category_id' must be in [0, "
                                  f"{len(categories)}), but got {category_id!r}.")
        return self._page(categories[category_id][1], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int,
                             num_row: int) -> list[dict[str, Any]]:
        """The rows of a page of a category, by its name."""
        for value, rows in self._categories():
            if str(value) == str(category_name):
                return self._page(rows, page, num_row)
        raise ParamValueError(f"[ParamValueError]: there is no category {category_name!r}.")

    @staticmethod
    def _page(rows: list[tuple[format.File, int]], page: int,
              num_row: int) -> list[dict[str, Any]]:
        for name, value, low in (("page", page, 0), ("num_row", num_row, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ParamValueError(f"[ParamValueError]: '{name}' must be an int of {low} or "
                                      f"more, but got {value!r}.")
        return [file.row(number) for file, number in rows[page * num_row:(page + 1) * num_row]]


def as_columns(row: dict[str, Any], schema: dict[str, Any], columns: list[str]) -> tuple[Any, ...]:
    """The arrays of a row, as `MindDataset` gives them."""
    out = []
    for name in columns:
        value, kind = row[name], schema[name]["type"]
        if isinstance(value, np.ndarray):
            out.append(value)
        elif isinstance(value, bytes):
            out.append(np.array([value], f"S{max(1, len(value))}"))
        else:
            out.append(np.asarray(value, None if kind == "string" else kind))
    return tuple(out)
