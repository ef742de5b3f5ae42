"""`Schema`: the columns of a dataset, with their types and shapes."""

from __future__ import annotations

import json
from typing import Any

from ..core.dtype import Type
from ..core.reading import read_json, reading
from .arguments import checked_call
from .checks import existing_file, string

_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "string")


class Schema:
    """The columns of a source.

    Args:
        schema_file: a JSON file with the columns; default: none yet.

    Examples:
        >>> import lamella as ms
        >>> import lamella.dataset as ds
        >>> schema = ds.Schema()
        >>> schema.add_column("label", ms.int32, [2])
        >>> schema.columns
        [{'name': 'label', 'type': 'int32', 'shape': [2], 'rank': 1}]
    """

    def __init__(self, schema_file: str | None = None):
        self.columns: list[dict[str, Any]] = []
        self.num_rows, self.dataset_type = None, ""
        if schema_file is not None:
            string("Schema", "schema_file", schema_file)
            content = read_json("Schema", existing_file(schema_file))
            with reading("Schema", schema_file):
                self.from_json(content)

    @checked_call("Schema.add_column")
    def add_column(self, name: str, de_type: Any, shape: list[int] | None = None) -> None:
        """Add a column.

        Args:
            name: its name.
            de_type: its type, Lamella's or the type's name.
            shape: its shape; -1: any size. Default: any.

        Raises:
            TypeError: if there is no such type, or no name.
        """
        kind = str(de_type).lower() if isinstance(de_type, Type) else str(de_type)
        kind = {"bool_": "bool"}.get(kind, kind)
        if not name or not kind or de_type is None:
            raise TypeError(f"Expected non-empty string for {'de_type' if name else 'column name'}."
                            " For 'add_column', a name and a type are needed.")
        if kind not in _TYPES:
            raise TypeError(f"Unknown column type: {de_type}. For 'add_column', 'de_type' must be "
                            f"one of {', '.join(_TYPES)}.")
        column: dict[str, Any] = {"name": name, "type": kind}
        if shape is not None:
            column.update(shape=list(shape), rank=len(shape))
        self.columns.append(column)

    def parse_columns(self, columns: Any) -> None:
        """Take the columns from a dict by name, in the order of names, or from a list of dicts."""
        if isinstance(columns, dict):
            listed = [{"name": name, **about} for name, about in sorted(columns.items())]
        elif isinstance(columns, list):
            listed = columns
        else:
            raise TypeError(f"For 'parse_columns', 'columns' must be a dict or a list, but got "
                            f"{columns!r}.")
        for about in listed:
            if "name" not in about or "type" not in about:
                raise RuntimeError(f"For 'parse_columns', each column must have a name and a type, "
                                   f"but got {about!r}.")
            shape = about.get("shape")
            if shape is None and about.get("rank") is not None:
                shape = [-1] * about["rank"]
            self.add_column(about["name"], about["type"], shape)

    def to_json(self) -> str:
        """The schema as JSON."""
        return json.dumps({"columns": self.columns, "datasetType": self.dataset_type,
                           "numRows": self.num_rows}, indent=2)

    def from_json(self, json_obj: dict[str, Any]) -> None:
        """Take the schema from what `to_json` wrote, read as a dict."""
        if "columns" not in json_obj:
            raise RuntimeError("For 'from_json', there must be 'columns'.")
        self.num_rows = json_obj.get("numRows")
        self.dataset_type = json_obj.get("datasetType", "")
        self.parse_columns(json_obj["columns"])

    def get_num_rows(self) -> int:
        """How many rows the file says there are."""
        return self.num_rows or 0

    def __str__(self) -> str:
        return self.to_json()
