"""A pipeline's rows written to mindrecord files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .mindrecord.writer import FileWriter

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
    for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
        if not schema:
            schema = {name: _about(value) for name, value in row.items()}
            writer.add_schema(schema)
        writer.write_raw_data([{n: _value(v, schema[n]) for n, v in row.items()}])
    if not schema:
        raise RuntimeError("For 'save', the dataset has no rows.")
    writer.commit()


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
