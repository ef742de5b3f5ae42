"""Primitives for debugging: values for summaries, files, checks of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...core import dtype as mstype
from ...core.errors import op
from ...core.state import state
from ...core.wrappers import of_all_examples
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive, primitive

__all__ = [
    "Assert", "CheckNumerics", "HistogramSummary", "ImageSummary", "NPUAllocFloatStatus",
    "NPUClearFloatStatus", "NPUClearFloatStatusV2", "NPUGetFloatStatus", "NPUGetFloatStatusV2",
    "ScalarSummary", "TensorDump", "TensorSummary", "tensordump",
]

_summaries: dict[tuple[str, str], Tensor] = {}


def _keep(kind: str, name: str, value: Any) -> None:
    _summaries[kind, name] = wrap(value._raw.detach().clone())


def take_summaries() -> list[tuple[str, str, Tensor]]:
    """What the summary operators were given since the last call: the kind (``"Scalar"``,
    ``"Image"``, ``"Tensor"``, ``"Histogram"``), the name, and the last value of each."""
    found = [(kind, name, value) for (kind, name), value in _summaries.items()]
    _summaries.clear()
    return found


def _afterwards(function: Any, *args: Any) -> None:
    """Call a function; in a run that is recorded as a graph, when each run is over."""
    if state.trace is None:
        function(*args)
    else:
        state.trace.defer(function, args, {})


class _Summary(Primitive):
    """A value to be written by `SummaryRecord`."""

    kind = ""

    def __init__(self):
        super().__init__(type(self).__name__)

    def __call__(self, name: str, value: Tensor) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"For '{self.name}', 'name' must be a str that is not empty, "
                            f"but got {name!r}.")
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{self.name}', 'value' must be a Tensor, "
                            f"but got {type(value).__name__}.")
        self._check(value)
        _afterwards(_keep, self.kind, name, value)

    def _check(self, value: Tensor) -> None:
        """Check the value's shape."""


class ScalarSummary(_Summary):
    """Keeps a number for the summary file, under a name.

    Inputs:
        - **name** - str.
        - **value** - Tensor of one element.

    Raises:
        TypeError: if `name` is no str, or `value` no Tensor.
        ValueError: if `value` has more than one element.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ScalarSummary()("loss", ms.Tensor(0.5))
    """

    kind = "Scalar"

    def _check(self, value: Tensor) -> None:
        if value._raw.numel() != 1:
            raise ValueError(f"For '{self.name}', 'value' must have one element, "
                             f"but got shape {value.shape}.")


class ImageSummary(_Summary):
    """Keeps images, a Tensor (N, C, H, W), for the summary file, under a name."""

    kind = "Image"

    def _check(self, value: Tensor) -> None:
        if value._raw.dim() != 4:
            raise ValueError(f"For '{self.name}', 'value' must have 4 dimensions (N, C, H, W), "
                             f"but got shape {value.shape}.")


class TensorSummary(_Summary):
    """Keeps a Tensor for the summary file, under a name."""

    kind = "Tensor"


class HistogramSummary(_Summary):
    """Keeps a Tensor whose histogram is to be in the summary file, under a name."""

    kind = "Histogram"


def _write(file: str, value: Tensor) -> None:
    path = Path(file if file.endswith(".npy") else f"{file}.npy")
    number = 0
    # `name_dtype_number.npy`, so that each call leaves a file
    stem = path.with_name(f"{path.stem}_{value.dtype.name.lower()}")
    while (target := stem.with_name(f"{stem.name}_{number}.npy")).exists():
        number += 1
    target.parent.mkdir(parents=True, exist_ok=True)
    kind = value.float() if value.dtype is mstype.bfloat16 else value
    np.save(target, kind.asnumpy())


class TensorDump(Primitive):
    """Writes a Tensor to a file of NumPy's, ``name_dtype_number.npy``, at each call.

    Args:
        input_output: accepted as MindSpore does.

    Inputs:
        - **file** - the path; ``.npy`` may be left out.
        - **input_x** - Tensor.

    Raises:
        TypeError: if `file` is no str, or `input_x` no Tensor.
    """

    def __init__(self, input_output: str = "out"):
        super().__init__("TensorDump")
        self.add_prim_attr("input_output", input_output)

    def __call__(self, file: str, input_x: Tensor) -> None:
        if not isinstance(file, str) or not file:
            raise TypeError(f"For 'TensorDump', 'file' must be a str that is not empty, "
                            f"but got {file!r}.")
        if not isinstance(input_x, Tensor):
            raise TypeError(f"For 'TensorDump', 'input_x' must be a Tensor, "
                            f"but got {type(input_x).__name__}.")
        _afterwards(_write, file, input_x)


def tensordump(file_name: str, tensor: Tensor, mode: str = "out") -> None:
    """As `TensorDump`.

    Args:
        file_name: the path.
        tensor: what is written.
        mode: accepted as MindSpore does.
    """
    TensorDump(mode)(file_name, tensor)


class Assert(Primitive):
    """Raises, with some values, if a condition is false.

    Args:
        summarize: how many elements of each value are shown.

    Inputs:
        - **condition** - Tensor of one element, or bool.
        - **input_data** - a tuple or list of Tensors to show.

    Raises:
        RuntimeError: if the condition is false.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Assert()(ms.Tensor(True), (ms.Tensor([1, 2]),))
    """

    def __init__(self, summarize: int = 3):
        super().__init__("Assert")
        if not isinstance(summarize, int) or isinstance(summarize, bool):
            raise TypeError(f"For 'Assert', 'summarize' must be an int, but got {summarize!r}.")
        self.add_prim_attr("summarize", summarize)

    def __call__(self, condition: Any, input_data: Any) -> None:
        if bool(condition):
            return
        shown = [x.reshape(-1)[:self.summarize].asnumpy() if isinstance(x, Tensor) else x
                 for x in input_data]
        raise RuntimeError("For 'Assert', assert failed: the condition is false. Input data: "
                           + ", ".join(map(str, shown)))


class _FloatStatus(Primitive):
    """A step of Ascend's overflow check, whose flag only an Ascend has: it can be made, not called.

    Raises:
        RuntimeError: when called, as on each device that is no Ascend.
    """

    def __init__(self):
        super().__init__(type(self).__name__)

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"For '{self.name}', the overflow flag of an Ascend is needed, and "
                           f"there is none here. Ask the results: ops.FloatStatus, amp.all_finite.")


class NPUAllocFloatStatus(_FloatStatus):
    """Memory for Ascend's overflow status."""


class NPUGetFloatStatus(_FloatStatus):
    """Reads Ascend's overflow status."""


class NPUClearFloatStatus(_FloatStatus):
    """Clears Ascend's overflow status."""


class NPUGetFloatStatusV2(_FloatStatus):
    """Reads Ascend's overflow status."""


class NPUClearFloatStatusV2(_FloatStatus):
    """Clears Ascend's overflow status."""


@op
def check_numerics(x: Tensor) -> Tensor:
    """The Tensor; an error if an element is infinite or no number."""
    if not bool(torch.isfinite(of_all_examples(x._raw)).all()):
        raise RuntimeError("For 'CheckNumerics', the input has elements that are infinite or nan.")
    return wrap(x._raw.clone())


CheckNumerics = primitive("CheckNumerics", check_numerics)
