"""Networks as ONNX files."""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from typing import Any

from .exporting import write_onnx

__all__ = ["export"]


def export(net: Any, *inputs: Any, file_name: str, input_names: list[str] | None = None,
           output_names: list[str] | None = None, export_params: bool = True,
           keep_initializers_as_inputs: bool = False,
           dynamic_axes: dict[str, Any] | None = None) -> None:
    """Write a network as ONNX.

    Args:
        net: a Cell, in the mode in which it is to run.
        *inputs: an example of each input; ``Tensor(shape=[None, 3], dtype=...)`` where a size may
            vary.
        file_name: the file; ``.onnx`` is added if it isn't there.
        input_names, output_names: the names of inputs and outputs.
        export_params: must be True: the file holds the parameters.
        keep_initializers_as_inputs: must be False.
        dynamic_axes: which dimensions of an input may vary, by its name.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: for what is not supported, and for names or dimensions in `dynamic_axes` that
            there are not.
        RuntimeError: if the network can't be recorded.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "net.onnx")
        >>> ms.onnx.export(ms.nn.ReLU(), ms.Tensor([1.0]), file_name=path, input_names=["x"])
        >>> os.path.exists(path)
        True
    """
    if not export_params or keep_initializers_as_inputs:
        raise ValueError("For 'onnx.export', 'export_params' must be True and "
                         "'keep_initializers_as_inputs' False; others are not supported.")
    write_onnx(net, inputs, file_name, input_names, output_names, dynamic_axes)
