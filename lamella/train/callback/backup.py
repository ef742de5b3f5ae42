"""BackupAndRestore: a run that starts from what an interrupted one has saved."""

from __future__ import annotations

import os
from typing import Any

from ...core import checks as check
from .._utils import _make_directory
from ..checkpoint import load_checkpoint, save_checkpoint
from .base import Callback, RunContext, parameters_of

__all__ = ["BackupAndRestore"]


class BackupAndRestore(Callback):
    """Saves the training step after epochs, and starts from what an interrupted run has saved.

    Args:
        backup_dir: the folder of the file ``backup.ckpt``.
        save_freq: ``"epoch"`` for each epoch, or after how many.
        delete_checkpoint: whether to remove the file when training is over.

    Raises:
        ValueError: if `save_freq` is neither ``"epoch"`` nor an int above 0.
        TypeError: if `delete_checkpoint` is no bool.

    Examples:
        >>> import tempfile
        >>> import lamella as ms
        >>> callback = ms.train.BackupAndRestore(tempfile.mkdtemp(), save_freq=2)
        >>> callback.save_freq
        2
    """

    def __init__(self, backup_dir: str, save_freq: str | int = "epoch",
                 delete_checkpoint: bool = True):
        super().__init__()
        self.backup_file = os.path.join(_make_directory(backup_dir), "backup.ckpt")
        self.save_freq: Any = 1 if save_freq == "epoch" else check.check_positive_int(
            save_freq, "save_freq", "BackupAndRestore")
        self.delete_checkpoint = check.check_bool(delete_checkpoint, "delete_checkpoint",
                                                  "BackupAndRestore")

    def on_train_begin(self, run_context: RunContext) -> None:
        """Load the file, if there is one."""
        if os.path.exists(self.backup_file):
            load_checkpoint(self.backup_file, net=parameters_of(run_context, self).train_network)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save, if it is time."""
        params = parameters_of(run_context, self)
        if params.cur_epoch_num % self.save_freq == 0:
            save_checkpoint(params.train_network, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the file, if that was asked for."""
        if self.delete_checkpoint and os.path.exists(self.backup_file):
            os.remove(self.backup_file)
