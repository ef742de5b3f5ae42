"""RunCheckpoint: a training run that goes on after it was killed, bit for bit."""

from __future__ import annotations

import itertools
import os
from typing import Any

from ...core import checks as check
from ...machine.products import routes
from .._utils import _make_directory
from ..resume import latest_run, run_files, save_run
from .base import Callback

__all__ = ["RunCheckpoint"]


class RunCheckpoint(Callback):
    """Saves the whole run every so often; a run that finds such a file goes on from it.

    A file has the weights, the optimizer with its schedule, the random generators, the place in the
    dataset, the loss scale, and the state of callbacks that have ``state_dict`` and
    ``load_state_dict``. The losses after it are bit for bit those of a run that was never
    interrupted: steps are compiled without machine code, whose choice depends on time. Only what
    functions and objects of the program keep to themselves is not saved.

    Args:
        directory: the folder of the files ``run-STEP.ckpt``, made unless it is there.
        save_steps: save after this many steps.
        keep: how many files to keep.
        delete_at_end: whether to remove the files when training is over.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import lamella as ms
        >>> from lamella.train import LossMonitor, Model, RunCheckpoint
        >>> folder = tempfile.mkdtemp()
        >>> def train(epochs):
        ...     x = np.ones((4, 2), np.float32)
        ...     data = ms.dataset.NumpySlicesDataset((x, x), shuffle=False).batch(2)
        ...     net = ms.nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
        ...     optimizer = ms.nn.Momentum(net.trainable_params(), 0.0625, 0.5)
        ...     model = Model(net, ms.nn.MSELoss(), optimizer)
        ...     model.train(epochs, data, [RunCheckpoint(folder, 2), LossMonitor()])
        >>> train(1)
        epoch: 1 step: 1, loss is 1.0
        epoch: 1 step: 2, loss is 0.66015625
        >>> train(2)
        epoch: 2 step: 1, loss is 0.3208160400390625
        epoch: 2 step: 2, loss is 0.11367565393447876
        >>> sorted(os.listdir(folder))
        ['run-2.ckpt', 'run-4.ckpt']
    """

    def __init__(self, directory: str, save_steps: int = 100, keep: int = 2,
                 delete_at_end: bool = False):
        super().__init__()
        self.directory = _make_directory(directory, "directory")
        self.save_steps = check.check_positive_int(save_steps, "save_steps", "RunCheckpoint")
        self.keep = check.check_positive_int(keep, "keep", "RunCheckpoint")
        self.delete_at_end = check.check_bool(delete_at_end, "delete_at_end", "RunCheckpoint")
        self._enabled: list[bool] = []

    def __enter__(self) -> RunCheckpoint:
        # which kernel multiplies matrices is timed, so another process may choose another
        self._enabled.append(routes.enabled)
        routes.enabled = False
        return self

    def __exit__(self, *error: Any) -> None:
        routes.enabled = self._enabled.pop()

    def on_train_end(self, run_context: Any) -> None:
        """Remove the files, if that was asked for."""
        if self.delete_at_end:
            for _, path in run_files(self.directory):
                os.remove(path)

    def restore(self, params: Any, rows: Any) -> bool:
        """Put back what the last good file has; called by `Model` before the first epoch.

        Returns:
            Whether there was one.
        """
        state = hasattr(rows, "state_dict")
        found = latest_run(self.directory, params.train_network, rows if state else None)
        if found is None:
            return False
        if not state:
            for _ in range(found["epoch"] - params.cur_epoch_num):
                for _ in rows:  # a whole epoch
                    pass
            done = found["cur_step_num"] - (found["epoch"] - 1) * params.batch_num
            for _ in itertools.islice(iter(rows), done):
                pass
        params.cur_epoch_num, params.cur_step_num = found["epoch"], found["cur_step_num"]
        manager = params.loss_scale_mananger
        if manager is not None:
            vars(manager).update(found["loss_scale"])
        for callback, kept in zip(params.list_callback, found["callbacks"], strict=False):
            if kept is not None:
                callback.load_state_dict(kept)
        return True

    def save_if_due(self, params: Any, rows: Any) -> None:
        """Save, if it is time; called by `Model` after all callbacks of a step."""
        if params.cur_step_num % self.save_steps:
            return
        manager = params.loss_scale_mananger
        scale = {} if manager is None else {
            k: v for k, v in vars(manager).items() if isinstance(v, (int, float))}
        kept = [c.state_dict() if hasattr(c, "state_dict") else None for c in params.list_callback]
        path = os.path.join(self.directory, f"run-{params.cur_step_num}.ckpt")
        save_run(path, params.train_network, rows if hasattr(rows, "state_dict") else None,
                 epoch=params.cur_epoch_num, cur_step_num=params.cur_step_num, loss_scale=scale,
                 callbacks=kept)
        for _, old in run_files(self.directory)[:-self.keep]:
            os.remove(old)
