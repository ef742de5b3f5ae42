"""A pipeline's rows written to mindrecord files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import in_pipeline
from .mindrecord.writer import FileWriter
from .rows import dtype_of

if TYPE_CHECKING:
    from .node import Dataset

_WIDER = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32",
          "uint32": "int64", "uint64": "int64", "float16": "float32", "bool": "int32"}


def save(dataset: Dataset, file_name: str, num_files: int, file_type: str) -> None:
    """Write the rows of one epoch; see `Dataset.save`."""
    if file_type != "mindrecord":
        raise ValueError(f"For 'save', 'file_type' must be 'mindrecord', but got {file_type!r}.")
    writer = FileWriter(file_name, num_files)
    schema: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
        for name, value in row.items():
            _check(name, value, first.get(name, value))
        if not schema:
            first, schema = row, {name: _about(value) for name, value in row.items()}
            writer.add_schema(schema)
        writer.write_raw_data([{n: _value(v, schema[n]) for n, v in row.items()}])
    if not schema:
        raise RuntimeError("For 'save', the dataset has no rows.")
    writer.commit()


def _check(name: str, value: Any, first: Any) -> None:
    """Check that a file can hold a value as it is, beside the first of its column.

    Raises:
        RuntimeError: if not.
    """
    if isinstance(value, dict) or value.dtype.kind in "US" and value.ndim:
        raise in_pipeline(f"Invalid data, mindrecord can not support multi-dimensional string "
                          f"tensor. For 'save', the column {name!r} has a value that is "
                          f"{'a dict' if isinstance(value, dict) else f'{value.ndim}-D'}.")
    if (value.ndim, dtype_of(value)) != (first.ndim, dtype_of(first)) or (
            value.shape[1:] != first.shape[1:]):
        raise in_pipeline(f"Tensor with dynamic shape do not currently support saving. For 'save', "
                          f"the values of the column {name!r} may only differ in the first "
                          f"dimension's size, but have types {first.dtype} and {value.dtype}, "
                          f"shapes {first.shape} and {value.shape}.")
    if value.dtype == np.uint64 and (value >> np.uint64(63)).any():
        raise in_pipeline(f"For 'save', the column {name!r} has integers of 2**63 or more, but "
                          f"mindrecord files hold int64 at most.")


def _about(value: np.ndarray) -> dict[str, Any]:
    if value.dtype.kind == "U":
        return {"type": "string"}
    if value.dtype.kind == "S":
        return {"type": "bytes"}
    kind = _WIDER.get(str(value.dtype), str(value.dtype))
    if value.dtype == np.uint8 and value.ndim == 1:
        return {"type": "bytes"}  # an encoded image
    return {"type": kind} if value.ndim == 0 else {"type": kind, "shape": [-1, *value.shape[1:]]}


def _value(value: np.ndarray, about: dict[str, Any]) -> Any:
    if about["type"] == "bytes":
        return value.tobytes()
    if about["type"] == "string":
        return str(value)
    value = value.astype(about["type"])
    return value if "shape" in about else value.item()
