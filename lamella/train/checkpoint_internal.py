"""Functions that MindSpore keeps to itself and programs import all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tensors.tensor import Tensor
from .checkpoint import save_checkpoint

__all__ = ["_exec_save", "_get_merged_param_data"]


def _exec_save(ckpt_file_name: str, data_list: Mapping[str, Sequence[Any]], enc_key: Any = None,
               enc_mode: str = "AES-GCM", map_param_inc: bool = False, crc_check: bool = False,
               format: str = "ckpt", remove_redundancy: bool | None = None) -> None:
    """Write values given as ``{name: [shape, type's name, Tensor or array]}``.

    Examples:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> _exec_save(path, {"w": [[2, 1], "Float32", np.ones(2, np.float32)]})
        >>> ms.load_checkpoint(path)
        {'w': Parameter (name=w, shape=(2, 1), dtype=Float32, requires_grad=True)}
    """
    values: dict[str, Any] = {}
    for name, (shape, kind, data) in data_list.items():
        if kind == "str":
            values[name] = str(data)
        else:
            raw = (data if isinstance(data, Tensor) else Tensor(data, kind.lower()))._raw
            values[name] = Tensor.from_torch(raw.detach().reshape(tuple(shape)))
    save_checkpoint(values, ckpt_file_name, enc_key=enc_key, enc_mode=enc_mode,
                    crc_check=crc_check, format=format, remove_redundancy=remove_redundancy)


def _get_merged_param_data(net: Any, parameter_layout_dict: Any, param_name: str,
                           param_data: Tensor, integrated_save: bool) -> Tensor:
    """The whole of a parameter, which in one process is what is there."""
    return param_data
