"""What a program says of an operator of its own for `ops.Custom`: its inputs, types and layouts."""

from __future__ import annotations

from typing import Any

__all__ = ["CustomRegOp", "DataType"]

# the layouts, by the second half of a name of `DataType`: what each type has, and some further ones
_LAYOUTS: dict[str, tuple[str, ...]] = {
    "None": ("",), "Default": ("DefaultFormat",), "Default_List": ("DefaultFormat", "list"),
    "Default_Tuple": ("DefaultFormat", "tuple"), "5HD": ("NC1HWC0",), "FracZ": ("FRACTAL_Z",),
    "FracNZ": ("FRACTAL_NZ",), "C1HWNCoC0": ("C1HWNCoC0",), "ChannelLast": ("ChannelLast",),
    "NCHW": ("NCHW",), "NHWC": ("NHWC",), "HWCN": ("HWCN",), "NDHWC": ("NDHWC",)}
_VOLUMES = {"NCDHW": ("NCDHW",), "NDC1HWC0": ("NDC1HWC0",)}
_FLOATS = _VOLUMES | {
    "DHWCN": ("DHWCN",), "FRACTAL_Z_3D": ("FRACTAL_Z_3D",), "ND_RNNBIAS": ("ND_RNN_BIAS",),
    "FracZNLSTM": ("FRACTAL_ZN_LSTM",), "FracZNRNN": ("FRACTAL_ZN_RNN",)}
_BYTES = _VOLUMES | {"NC1HWC0": ("NC1HWC0",)}
_FURTHER = {"F16": _FLOATS, "F32": _FLOATS, "BF16": _FLOATS, "I8": _BYTES, "U8": _BYTES,
            "I32": _VOLUMES}
_TYPES = {"BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16",
          "I32": "int32", "U32": "uint32", "I64": "int64", "U64": "uint64", "F16": "float16",
          "F32": "float32", "F64": "float64", "BF16": "bfloat16"}


class DataType:
    """Types together with layouts, such as ``DataType.F32_Default``, for `CustomRegOp`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.DataType.F32_Default, ms.ops.DataType.F16_FracNZ
        (('float32', 'DefaultFormat'), ('float16', 'FRACTAL_NZ'))
    """

    None_None = ("", "")
    None_Default = ("", "DefaultFormat")
    C64_Default = ("complex64", "DefaultFormat")
    C64_Default_Tuple = ("complex64", "DefaultFormat", "tuple")
    C128_Default = ("complex128", "DefaultFormat")
    C128_Default_Tuple = ("complex128", "DefaultFormat", "tuple")


for _short, _type in _TYPES.items():
    for _layout, _names in (_LAYOUTS | _FURTHER.get(_short, {})).items():
        setattr(DataType, f"{_short}_{_layout}", (_type, *_names))


def _entry(index: Any, **named: Any) -> dict[str, Any]:
    """What was said of one input, output or attribute; names and kinds are strings."""
    given = {key: value for key, value in named.items() if value is not None}
    for value in given.values():
        if not isinstance(value, str):
            raise TypeError(f"For 'CustomRegOp', the value {value!r} must be str, "
                            f"but got {type(value).__name__}.")
    if index is None:
        return given
    if not isinstance(index, int) or isinstance(index, bool):
        raise TypeError(f"For 'CustomRegOp', the index {index!r} must be int, "
                        f"but got {type(index).__name__}.")
    return {"index": index, **given}


class CustomRegOp:
    """Collects what `ops.Custom` is told of an operator; here it has no effect, calls only return.

    Args:
        op_name: the operator's name.

    Raises:
        ValueError: if `op_name` is no string.

    Examples:
        >>> from lamella.ops import CustomRegOp, DataType
        >>> info = (CustomRegOp("scale").input(0, "x").output(0, "y")
        ...         .dtype_format(DataType.F32_Default, DataType.F32_Default).get_op_info())
        >>> info["dtype_format"]
        [(('float32', 'DefaultFormat'), ('float32', 'DefaultFormat'))]
    """

    def __init__(self, op_name: str = "Custom"):
        if not isinstance(op_name, str):
            raise ValueError(f"For 'CustomRegOp', 'op_name' must be a string, but got {op_name!r}.")
        self.op_name = op_name
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.attr_: list[dict[str, Any]] = []
        self.fusion_type_ = ""
        self.dtype_format_: list[tuple[Any, ...]] = []
        self.target_ = "UnKnown"

    def input(self, index: int | None = None, name: str | None = None,
              param_type: str = "required", **kwargs: Any) -> CustomRegOp:
        """Add an input: its place, its name, and ``"required"``, ``"optional"`` or ``"dynamic"``.

        Raises:
            TypeError: if `index` is no int, or `name` or `param_type` no string.
        """
        self.inputs.append(_entry(index, name=name, paramType=param_type) | kwargs)
        return self

    def output(self, index: int | None = None, name: str | None = None,
               param_type: str = "required", **kwargs: Any) -> CustomRegOp:
        """Add an output, as `input` does an input."""
        self.outputs.append(_entry(index, name=name, paramType=param_type) | kwargs)
        return self

    def attr(self, name: str | None = None, param_type: str | None = None,
             value_type: str | None = None, default_value: str | None = None,
             **kwargs: Any) -> CustomRegOp:
        """Add an attribute: its name, ``"required"`` or ``"optional"``, its type and default.

        Raises:
            TypeError: if one of the named arguments is no string.
        """
        self.attr_.append(_entry(None, name=name, paramType=param_type, type=value_type,
                                 defaultValue=default_value) | kwargs)
        return self

    def dtype_format(self, *args: Any) -> CustomRegOp:
        """Add a combination of types and layouts: one of `DataType` for each input and output.

        Raises:
            ValueError: if their number is another.
        """
        wanted = len(self.inputs) + len(self.outputs)
        if len(args) != wanted:
            raise ValueError(f"For 'CustomRegOp.dtype_format', there must be an argument for each "
                             f"of the {wanted} inputs and outputs, but got {len(args)}.")
        self.dtype_format_.append(args)
        return self

    def fusion_type(self, fusion_type: str) -> CustomRegOp:
        """Say how the operator may be fused, such as ``"OPAQUE"``.

        Raises:
            TypeError: if `fusion_type` is no string.
        """
        self.fusion_type_ = _entry(None, value=fusion_type).get("value", "")
        return self

    def target(self, target: str | None = None) -> CustomRegOp:
        """Say for which device it is: ``"Ascend"``, ``"GPU"`` or ``"CPU"``.

        Raises:
            TypeError: if `target` is no string.
        """
        self.target_ = _entry(None, value=target).get("value", self.target_)
        return self

    def get_op_info(self) -> dict[str, Any]:
        """All that was said, for ``ops.Custom(..., reg_info=...)``."""
        return {"op_name": self.op_name, "inputs": self.inputs, "outputs": self.outputs,
                "attr": self.attr_, "fusion_type": self.fusion_type_,
                "dtype_format": self.dtype_format_, "target": self.target_}
