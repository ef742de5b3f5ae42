"""SummaryRecord: values of a run as TensorBoard's event files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...core import checks as check
from ...core import log
from ...core.require import one_of
from ...nn.cell import Cell
from ...ops.primitives.debug import take_summaries
from ...tensors.tensor import Tensor
from .._utils import _make_directory

__all__ = ["SummaryRecord"]

_PLUGINS = ("tensor", "scalar", "image", "histogram", "text")


def _writer(folder: str, suffix: str) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModuleNotFoundError("Summaries need the package 'tensorboard'; pip install "
                                  "'lamella[tensorboard]'.", name="tensorboard") from error
    return SummaryWriter(folder, filename_suffix=suffix)


def _get_summary_tensor_data() -> dict[str, Tensor]:
    """What the summary operators were given since the last call, by name: ``"relu[:Tensor]"``."""
    return {f"{name}[:{kind}]": value for kind, name, value in take_summaries()}


class SummaryRecord:
    """Writes numbers, images, histograms and tensors of a run to files that TensorBoard opens.

    Values come from `add_value`, and in training from `ops.ScalarSummary`, `ops.ImageSummary`,
    `ops.HistogramSummary` and `ops.TensorSummary`; `record` writes them for a step.

    Args:
        log_dir: the folder, made unless it is there.
        file_prefix: accepted as MindSpore does; TensorBoard asks for names of its own.
        file_suffix: what the file's name ends with.
        num_process: accepted as MindSpore does.
        network: a Cell, whose description is written as text.
        max_file_size: accepted as MindSpore does.
        raise_exception: accepted as MindSpore does; errors are raised.
        export_options: must be None or ``{"tensor_format": None}``.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or not supported.
        ModuleNotFoundError: if the package 'tensorboard' is missing.

    Examples:
        >>> import tempfile
        >>> import lamella as ms
        >>> with ms.train.SummaryRecord(tempfile.mkdtemp()) as record:
        ...     record.add_value("scalar", "loss", ms.Tensor(0.5))
        ...     record.record(step=1)
        True
    """

    def __init__(self, log_dir: str, file_prefix: str = "events", file_suffix: str = "_MS",
                 num_process: int = 32, network: Cell | None = None,
                 max_file_size: int | None = None, raise_exception: bool = False,
                 export_options: dict | None = None):
        where = "SummaryRecord"
        for name, value in (("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            check.check_value_type(name, value, str, where)
        check.check_value_type("max_file_size", max_file_size, [int, type(None)], where)
        check.check_value_type("raise_exception", raise_exception, [bool], where)
        check.check_value_type("network", network, [Cell, type(None)], where)
        if any(form is not None for form in (export_options or {}).values()):
            raise ValueError(f"For '{where}', 'export_options' must be None: values are written "
                             f"for TensorBoard alone, but got {export_options}.")
        self._folder = _make_directory(log_dir, "log_dir")
        self._writer = _writer(self._folder, file_suffix)
        self._mode = "train"
        self._pool: list[tuple[str, str, Any]] = []
        self._closed = False
        self.network = network
        self._described = False
        take_summaries()  # those of an earlier run

    def __enter__(self) -> SummaryRecord:
        if self._closed:
            raise ValueError("For 'SummaryRecord', it has been closed.")
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The file's path."""
        return self._writer.file_writer.event_writer._file_name

    def set_mode(self, mode: str) -> None:
        """Say whether values of the operators are of training, and so are recorded.

        Raises:
            ValueError: if `mode` is neither ``"train"`` nor ``"eval"``.
        """
        one_of(mode, ("train", "eval"), "mode", "SummaryRecord.set_mode")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keep a value, as it is now, for the next `record`; of two of one name the last counts.

        Args:
            plugin: ``"scalar"``, ``"image"`` (N, C, H, W), ``"histogram"``, ``"tensor"``, or
                ``"text"``, whose value is a str.
            name: its name.
            value: a Tensor.

        Raises:
            ValueError: for another `plugin`, or a wrong shape.
            TypeError: if `value` is no Tensor.
        """
        one_of(plugin, _PLUGINS, "plugin", "SummaryRecord.add_value")
        if not isinstance(name, str) or not name:
            raise ValueError(f"For 'SummaryRecord.add_value', 'name' must be a str that is not "
                             f"empty, but got {name!r}.")
        if plugin == "text":
            check.check_value_type("value", value, str, "SummaryRecord.add_value")
        elif not isinstance(value, Tensor):
            raise TypeError(f"For 'SummaryRecord.add_value', 'value' must be a Tensor, "
                            f"but got {type(value).__name__}.")
        else:
            value = _array(plugin, name, value)
        self._pool = [kept for kept in self._pool if kept[:2] != (plugin, name)]
        self._pool.append((plugin, name, value))

    def record(self, step: int, train_network: Cell | None = None,
               plugin_filter: Callable[[str], bool] | None = None) -> bool:
        """Write what has come together, for a step.

        Args:
            step: the step.
            train_network: described as text once, if `network` was not given.
            plugin_filter: says of a plugin whether its values are written.

        Returns:
            Whether it was written: False if the record is closed.
        """
        check.check_value_type("step", step, int, "SummaryRecord.record")
        if self._closed:
            log.error("For 'SummaryRecord.record', it has been closed.")
            return False
        network = self.network if self.network is not None else train_network
        if network is not None and not self._described:
            self._writer.add_text("network", f"```\n{network}\n```", step)
            self._described = True
        if self._mode == "train":
            for kind, name, value in take_summaries():
                self.add_value(kind.lower(), name, value)
        pool, self._pool = self._pool, []
        for plugin, name, value in pool:
            if plugin_filter is None or plugin_filter(plugin):
                self._write(plugin, name, value, step)
        return True

    def _write(self, plugin: str, name: str, value: Any, step: int) -> None:
        writer = self._writer
        if plugin == "scalar":
            writer.add_scalar(name, float(value.reshape(())), step)
        elif plugin == "image":
            writer.add_images(name, value, step)
        elif plugin == "histogram":
            writer.add_histogram(name, value, step)
        elif plugin == "text":
            writer.add_text(name, value, step)
        else:
            writer.add_tensor(name, torch.from_numpy(np.array(value)), step)

    def flush(self) -> None:
        """Write to the disk what is waiting."""
        if not self._closed:
            self._writer.flush()

    def close(self) -> None:
        """Write what is waiting, and close the file."""
        if not self._closed:
            self._writer.close()
            self._closed = True


def _array(plugin: str, name: str, value: Tensor) -> np.ndarray:
    array = value.float().asnumpy() if str(value.dtype) == "BFloat16" else value.asnumpy()
    if plugin == "scalar" and array.size != 1:
        raise ValueError(f"For 'SummaryRecord', the scalar {name!r} must have one element, "
                         f"but got shape {array.shape}.")
    if plugin == "image":
        if array.ndim != 4 or array.shape[1] not in (1, 3):
            raise ValueError(f"For 'SummaryRecord', the image {name!r} must have shape "
                             f"(N, 1 or 3, H, W), but got {array.shape}.")
        array = array.astype(np.float32)
        low, high = array.min(), array.max()
        if array.size and (low < 0 or high > 1):  # as MindSpore, stretched to what can be shown
            array = (array - low) / max(high - low, 1e-12)
    return np.array(array)  # as it is now: a Parameter's memory changes with each step
