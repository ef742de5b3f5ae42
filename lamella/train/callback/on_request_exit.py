"""OnRequestExit: a run that stops on a signal, and is saved."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from ...core import checks as check
from ...core import log
from .._utils import _make_directory
from ..checkpoint import load_checkpoint, save_checkpoint
from ..exporting import export
from .base import Callback, RunContext, parameters_of

__all__ = ["OnRequestExit"]


class OnRequestExit(Callback):
    """On a signal, stops after the running step and saves; the next run starts from that file.

    Args:
        save_ckpt: whether to save ``DIRECTORY/rank_0/FILE_NAME_train.ckpt`` (in evaluation
            ``..._eval.ckpt``), and to load it when training begins.
        save_mindir: whether to export the network, without loss, too: ``..._train.mindir``.
        file_name: what the files' names begin with.
        directory: the folder; None for the current one.
        config_file: a JSON file; where ``"GracefulExit"`` is 1 in it, the run stops too.
        sig: the signal.

    Raises:
        ValueError: if `sig` can't be handled.

    Examples:
        >>> import tempfile
        >>> import lamella as ms
        >>> callback = ms.train.OnRequestExit(directory=tempfile.mkdtemp(), save_mindir=False)
        >>> callback.exit
        False
    """

    key = "GracefulExit"

    def __init__(self, save_ckpt: bool = True, save_mindir: bool = True, file_name: str = "Net",
                 directory: str | None = "./", config_file: str | None = None,
                 sig: int = signal.SIGTERM):
        super().__init__()
        self.save_ckpt = check.check_isinstance("save_ckpt", save_ckpt, bool)
        self.save_mindir = check.check_isinstance("save_mindir", save_mindir, bool)
        self.sig = check.check_isinstance("sig", sig, int)
        if sig == getattr(signal, "SIGKILL", None):
            raise ValueError("For 'OnRequestExit', 'sig' can't be SIGKILL, which no program can "
                             "handle.")
        self.exit = False
        self.remote_config_file = config_file
        self._before: Any = None
        folder = _make_directory(os.path.join(directory or os.getcwd(), "rank_0"))
        self.train_name = os.path.join(folder, f"{file_name}_train")
        self.eval_name = os.path.join(folder, f"{file_name}_eval")

    def __enter__(self) -> OnRequestExit:
        self._before = signal.signal(self.sig, self._handle_signal)
        return self

    def __exit__(self, *error: Any) -> None:
        signal.signal(self.sig, self._before)

    def on_train_begin(self, run_context: RunContext) -> None:
        """Load what an interrupted run has saved."""
        self._load(parameters_of(run_context, self).train_network, self.train_name)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Stop if that was asked for."""
        if self._is_asked():
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        """Save if the run was stopped."""
        params = parameters_of(run_context, self)
        self._save(params, params.train_network, "train_dataset_element", self.train_name)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Load what an interrupted run has saved."""
        network = parameters_of(run_context, self).eval_network
        if not self._load(network, self.eval_name):
            self._load(network, self.train_name)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Stop if that was asked for."""
        if self._is_asked():
            run_context.request_stop()

    def on_eval_end(self, run_context: RunContext) -> None:
        """Save if the run was stopped."""
        params = parameters_of(run_context, self)
        self._save(params, params.eval_network, "eval_dataset_element", self.eval_name)

    def _handle_signal(self, number: int, frame: Any) -> None:
        self.exit = True

    def _is_asked(self) -> bool:
        if not self.exit and self.remote_config_file and os.path.exists(self.remote_config_file):
            try:
                with open(self.remote_config_file, encoding="utf-8") as file:
                    self.exit = json.load(file).get(self.key) == 1
            except (ValueError, AttributeError) as error:
                log.warning(f"The file '{self.remote_config_file}' is no JSON object: {error}")
        return self.exit

    def _load(self, network: Any, name: str) -> bool:
        found = self.save_ckpt and os.path.isfile(f"{name}.ckpt")
        if found:
            load_checkpoint(f"{name}.ckpt", net=network)
        return found

    def _save(self, params: Any, network: Any, row: str, name: str) -> None:
        inputs = params.get(row)
        if not self.exit or inputs is None:
            return
        if self.save_ckpt:
            save_checkpoint(network, name)
        if self.save_mindir:
            export(params.network, *self._inputs(params, inputs), file_name=name,
                   file_format="MINDIR")

    @staticmethod
    def _inputs(params: Any, row: tuple) -> tuple:
        """What the network takes of a row: without the label, where there is a loss."""
        is_labelled = params.get("loss_fn") is not None or params.mode == "eval"
        return row[:1] if is_labelled else row
