"""Reading mindrecord files."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import format
from .exceptions import (
    MRMDefineCategoryError,
    ParamValueError,
    check_path,
    wrong_type,
    wrong_value,
)


def no_column(column: Any) -> str:
    """MindSpore's sentence about a column that isn't in the files."""
    return (f"Invalid data, column name: {column} can not found in schema. Please check the "
            "'column_list'.")


def files_of(file_name: Any) -> list[format.File]:
    """All files of a mindrecord: of one of them, or of a list.

    Raises:
        RuntimeError: if one isn't there.
    """
    if not isinstance(file_name, (os.PathLike, list, tuple)):
        check_path(file_name)
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
            raise wrong_value(f"Parameter num_consumer: {num_consumer} should between 1 and "
                              f"{os.cpu_count()}.")
        if columns is not None and not isinstance(columns, list):
            raise wrong_type("'columns' expect list type.")
        self._files = files_of(file_name)
        for column in columns or ():
            if column not in self._files[0].schema:
                raise RuntimeError(no_column(column))
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
            raise MRMDefineCategoryError(
                "[MRMDefineCategoryError]: Failed to define category field. Detail: Field "
                f"{category_field!r} is not a candidate category field. There are "
                f"{self._candidates}.")
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
        """The rows of a page of a category, by its number.

        Raises:
            RuntimeError: if there is no such category, or the page is behind its last.
        """
        categories = self._categories()
        if isinstance(category_id, bool) or not isinstance(category_id, int) or category_id < 0:
            raise wrong_value("Category id should be int and greater than or equal to 0.")
        if category_id >= len(categories):
            raise RuntimeError(f"Invalid data, category_id: {category_id} must be in the range "
                               f"[0, {len(categories)}].")
        return self._page(categories[category_id][1], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int,
                             num_row: int) -> list[dict[str, Any]]:
        """The rows of a page of a category, by its name; as `read_at_page_by_id`."""
        if not isinstance(category_name, str):
            raise wrong_value("Category name should be str.")
        for value, rows in self._categories():
            if str(value) == category_name:
                return self._page(rows, page, num_row)
        raise RuntimeError(f"category_name: {category_name} could not found. For "
                           f"'read_at_page_by_name', there is no category {category_name!r}.")

    @staticmethod
    def _page(rows: list[tuple[format.File, int]], page: int,
              num_row: int) -> list[dict[str, Any]]:
        for name, value, low in (("Page", page, 0), ("num_row", num_row, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise wrong_value(f"{name} should be int and greater than"
                                  f"{' or equal to' if low == 0 else ''} 0.")
        if page * num_row >= len(rows):
            raise RuntimeError(f"Invalid data, page no: {page} or page size: {num_row} is invalid. "
                               f"The category has {len(rows)} rows.")
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
