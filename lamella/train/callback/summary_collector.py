"""SummaryCollector: the usual values of a run, written without code in the network."""

from __future__ import annotations

import re
from typing import Any

from ...core import checks as check
from ...tensors.tensor import Tensor
from ..summary import SummaryRecord
from .base import Callback, RunContext, _handle_loss, parameters_of

__all__ = ["SummaryCollector"]

_DEFAULT = {"collect_metric": True, "collect_graph": True, "collect_train_lineage": True,
            "collect_eval_lineage": True, "collect_input_data": True,
            "collect_dataset_graph": True, "histogram_regular": None, "collect_landscape": None}


class SummaryCollector(Callback):
    """Writes loss, metrics, learning rate, inputs and histograms of weights for TensorBoard.

    Args:
        summary_dir: the folder.
        collect_freq: after how many steps; the first step of an epoch's dataset counts as one.
        num_process: accepted as MindSpore does.
        collect_specified_data: what to collect, by name: ``"collect_metric"`` (the loss, and the
            metrics of `Model.fit`), ``"collect_graph"`` (the network as text),
            ``"collect_input_data"`` (the first input, if it is a batch of images),
            ``"histogram_regular"`` (which Parameters, as a regular expression),
            ``"collect_train_lineage"`` (the optimizer, loss and sizes as text). Others are accepted
            and have no effect.
        keep_default_action: whether what is not named is collected too.
        custom_lineage_data: texts and numbers by name, written as text.
        collect_tensor_freq, max_file_size, export_options: accepted as MindSpore does.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import tempfile
        >>> import lamella as ms
        >>> callback = ms.train.SummaryCollector(tempfile.mkdtemp(), collect_freq=5)
    """

    def __init__(self, summary_dir: str, collect_freq: int = 10, num_process: int = 32,
                 collect_specified_data: dict[str, Any] | None = None,
                 keep_default_action: bool = True, custom_lineage_data: dict | None = None,
                 collect_tensor_freq: int | None = None, max_file_size: int | None = None,
                 export_options: dict | None = None):
        super().__init__()
        where = "SummaryCollector"
        self._folder = check.check_value_type("summary_dir", summary_dir, str, where)
        self._freq = check.check_positive_int(collect_freq, "collect_freq", where)
        check.check_value_type("keep_default_action", keep_default_action, [bool], where)
        given = check.check_value_type("collect_specified_data", collect_specified_data or {},
                                       dict, where)
        for name in given:
            if name not in _DEFAULT:
                raise ValueError(f"For '{where}', 'collect_specified_data' can have "
                                 f"{', '.join(_DEFAULT)}, but got {name!r}.")
        base = _DEFAULT if keep_default_action else dict.fromkeys(_DEFAULT, None)
        self._data: dict[str, Any] = {**base, **given}
        self._lineage = custom_lineage_data or {}
        self._options = {"max_file_size": max_file_size, "export_options": export_options}
        self._record: SummaryRecord | None = None

    def __enter__(self) -> SummaryCollector:
        self._record = SummaryRecord(self._folder, **self._options)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Describe the run."""
        params, record = parameters_of(run_context, self), self._record
        if record is None:
            return
        if self._data["collect_train_lineage"]:
            lines = {"optimizer": type(params.optimizer).__name__, "loss": params.loss_fn,
                     "epochs": params.epoch_num, "steps of an epoch": params.batch_num,
                     **self._lineage}
            record.add_value("text", "train_lineage", "\n\n".join(
                f"{name}: {value}" for name, value in lines.items()))
        if self._data["collect_graph"]:
            record.add_value("text", "network", f"```\n{params.network}\n```")
        record.record(0)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Write values, if it is time."""
        params, record = parameters_of(run_context, self), self._record
        if record is None or params.cur_step_num != 1 and params.cur_step_num % self._freq:
            return
        if self._data["collect_metric"]:
            loss = _handle_loss(params.net_outputs)
            record.add_value("scalar", "loss", Tensor(loss))
            rate = getattr(params.optimizer, "learning_rate", None)
            if isinstance(rate, Tensor) and rate.size == 1:
                record.add_value("scalar", "learning_rate", rate)
        row = params.train_dataset_element
        if self._data["collect_input_data"] and row and isinstance(row[0], Tensor):
            first = row[0]
            if first.ndim == 4 and first.shape[1] in (1, 3):
                record.add_value("image", "input_data", first[:16])
        self._add_histograms(params)
        record.record(params.cur_step_num)

    def _add_histograms(self, params: Any) -> None:
        pattern = self._data["histogram_regular"]
        if pattern is None or self._record is None:
            return
        for parameter in params.train_network.trainable_params():
            if re.match(pattern, parameter.name):
                self._record.add_value("histogram", parameter.name, parameter)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Write the metrics of an evaluation."""
        params, record = parameters_of(run_context, self), self._record
        if record is None or not self._data["collect_metric"]:
            return
        for name, value in (params.get("eval_results") or {}).items():
            if isinstance(value, (int, float)):
                record.add_value("scalar", f"eval/{name.removeprefix('eval_')}", Tensor(value))
        record.record(params.cur_step_num)
