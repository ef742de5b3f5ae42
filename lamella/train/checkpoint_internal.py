"""Private functions of MindSpore's checkpoints that programs import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ..core import dtype as mstype
from ..tensors.construction import flat_bytes
from ..tensors.tensor import Tensor
from .checkpoint import save_checkpoint
from .checkpoint_format import read_ckpt

__all__ = ["_exec_save", "_get_merged_param_data", "_parse_ckpt_proto", "tensor_to_ms_type",
           "tensor_to_np_type"]

# the names of data types in a file -> these, and NumPy's, which has no bfloat16
tensor_to_ms_type = {kind.printed: kind for kind in mstype.all_types}
tensor_to_np_type = {name: mstype.dtype_to_nptype(kind) for name, kind in tensor_to_ms_type.items()
                     if kind != mstype.bfloat16}
tensor_to_np_type["str"] = "U"


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


def _parse_ckpt_proto(ckpt_file_name: str, dec_key: Any = None, dec_mode: Any = None,
                      crc_check: bool = False) -> Any:
    """What a ``.ckpt`` file holds, in the form in which it is written.

    Returns:
        An object whose `value` is a list: each has a `tag`, its name, and a `tensor` with `dims`,
        `tensor_type` and `tensor_content`, its bytes.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> ms.save_checkpoint({"w": ms.Tensor([1, 2], ms.int8)}, path)
        >>> entry = _parse_ckpt_proto(path).value[0]
        >>> entry.tag, entry.tensor.dims, entry.tensor.tensor_type, entry.tensor.tensor_content
        ('w', [2], 'Int8', b'\\x01\\x02')

    Raises:
        ValueError: if the file is broken, or a key is given.
    """
    if dec_key is not None:
        raise ValueError("For '_parse_ckpt_proto', 'dec_key' must be None; load_checkpoint reads "
                         "what is encrypted.")
    return SimpleNamespace(value=[
        SimpleNamespace(tag=name, tensor=_entry(value))
        for name, value in read_ckpt(ckpt_file_name, crc=bool(crc_check)).items()])


def _entry(value: Any) -> SimpleNamespace:
    if isinstance(value, str):
        return SimpleNamespace(dims=[], tensor_type="str", tensor_content=value.encode("utf-32-le"))
    return SimpleNamespace(dims=list(value.shape), tensor_type=mstype.from_raw[value.dtype].printed,
                           tensor_content=bytes(flat_bytes(value)))


def _get_merged_param_data(net: Any, parameter_layout_dict: Any, param_name: str,
                           param_data: Tensor, integrated_save: bool) -> Tensor:
    """The whole of a parameter, which in one process is what is there."""
    return param_data
