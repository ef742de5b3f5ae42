"""Operators that PyTorch's exporter has no ONNX form of: a form, or the line that needs them."""

from __future__ import annotations

from typing import Any

from ..core.dispatch_mode import DispatchMode
from ..graph.tracing.lines import NOWHERE, nearest_line


def sorted_in_onnx(raw: Any, stable: bool | None = None, dim: int = -1,
                   descending: bool = False) -> Any:
    """A stable sort: ONNX's TopK of all elements, which keeps the order of equal ones."""
    import onnxscript

    onnx: Any = onnxscript.opset18
    length = onnx.Gather(onnx.Shape(raw), [dim])
    return onnx.TopK(raw, length, axis=dim, largest=1 if descending else 0, sorted=1)


class LinesOf(DispatchMode):
    """Notes the first line of the user's program that runs a kernel of PyTorch's.

    Args:
        kernel: its name, as ``"aten.sort.stable"``.
    """

    def __init__(self, kernel: str):
        super().__init__()
        self.kernel, self.first = kernel, NOWHERE

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.first is NOWHERE and str(func) == self.kernel:
            self.first = nearest_line()
        return func(*args, **(kwargs or {}))
