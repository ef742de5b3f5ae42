"""ModelCheckpoint: saving the network every so often."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from ...core import checks as check
from ...core import log
from ...core.require import of_type, one_of
from ...core.tracebacks import user_stacklevel
from ...nn.cell import Cell
from ...tensors.random import Generator
from ...tensors.tensor import Tensor
from .. import background
from .._utils import _make_directory
from ..checkpoint import save_checkpoint
from .base import Callback, RunContext, parameters_of
from .checkpoint_files import CheckpointManager, age, free_prefix

__all__ = ["CheckpointConfig", "ModelCheckpoint"]

_WHERE = "CheckpointConfig"


class CheckpointConfig:
    """When `ModelCheckpoint` saves, what, and how many files it keeps.

    Args:
        save_checkpoint_steps: save after this many steps; 0 or None for not by steps.
        save_checkpoint_seconds: save after this many seconds, unless steps are given.
        keep_checkpoint_max: how many files to keep; the oldest are removed, once the newest is
            written.
        keep_checkpoint_per_n_minutes: keep one file of each so many minutes, unless
            `keep_checkpoint_max` is above 0.
        integrated_save: as for `save_checkpoint`.
        async_save: whether to write in the background, as for `save_checkpoint`.
        saved_network: the Cell to save; None for the whole training step, with the optimizer.
        append_info: more to save: ``"epoch_num"``, ``"step_num"``, and one dict of numbers, texts,
            Tensors, Parameters or Generators.
        enc_key, enc_mode: encryption is not supported; `enc_key` must be None.
        exception_save: whether to save also when training ends with an error.
        crc_check: whether a checksum is written.
        remove_redundancy: accepted as MindSpore does for processes that hold the same.
        format: ``"ckpt"`` or ``"safetensors"``.
        **kwargs: ``incremental`` and ``enable_redundance``, which have no effect.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> config = ms.train.CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=3)
        >>> config.get_checkpoint_policy()
        {'save_checkpoint_steps': 100, 'save_checkpoint_seconds': None, 'keep_checkpoint_max': 3,
         'keep_checkpoint_per_n_minutes': None, 'saved_network': None}
    """

    def __init__(self, save_checkpoint_steps: int | None = 1,
                 save_checkpoint_seconds: int | None = 0, keep_checkpoint_max: int | None = 5,
                 keep_checkpoint_per_n_minutes: int | None = 0, integrated_save: bool = True,
                 async_save: bool | str = False, saved_network: Cell | None = None,
                 append_info: list | None = None, enc_key: bytes | None = None,
                 enc_mode: str = "AES-GCM", exception_save: bool = False, crc_check: bool = False,
                 remove_redundancy: bool = False, format: str = "ckpt", **kwargs: Any):
        numbers = {"save_checkpoint_steps": save_checkpoint_steps,
                   "save_checkpoint_seconds": save_checkpoint_seconds,
                   "keep_checkpoint_max": keep_checkpoint_max,
                   "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes}
        for name, number in numbers.items():
            if number is not None:
                check.check_non_negative_int(number, name, _WHERE)
        if not any(numbers.values()):
            raise ValueError(f"For '{_WHERE}', {', '.join(repr(n) for n in numbers)} can't be all "
                             f"None or 0.")
        if not save_checkpoint_steps and not save_checkpoint_seconds:
            warnings.warn(f"For '{_WHERE}', 'save_checkpoint_steps' and 'save_checkpoint_seconds' "
                          f"are both 0 or None, so nothing is saved before the end of the "
                          f"training.", stacklevel=user_stacklevel())
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(f"For '{_WHERE}', 'saved_network' must be None or a Cell, "
                            f"but got {type(saved_network).__name__}.")
        for name, flag in (("integrated_save", integrated_save), ("crc_check", crc_check),
                           ("exception_save", exception_save),
                           ("remove_redundancy", remove_redundancy)):
            check.check_bool(flag, name, _WHERE)
        if not isinstance(async_save, bool) and async_save not in ("thread", "process"):
            raise ValueError(f"For '{_WHERE}', 'async_save' must be a bool, 'thread' or 'process', "
                             f"but got {async_save!r}.")
        if enc_key is not None:
            raise NotImplementedError(f"For '{_WHERE}', encryption is not supported: 'enc_key' "
                                      f"must be None. Encrypt the file as a whole instead.")
        one_of(format, ("ckpt", "safetensors"), "format", _WHERE)
        if save_checkpoint_steps:
            save_checkpoint_seconds = None
        if keep_checkpoint_max:
            keep_checkpoint_per_n_minutes = None
        elif not keep_checkpoint_per_n_minutes:
            keep_checkpoint_max = 1
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_per_n_minutes = keep_checkpoint_per_n_minutes
        self.integrated_save, self.async_save = integrated_save, async_save
        self.saved_network = saved_network
        self.append_dict = _appended(append_info)
        self.enc_key, self.enc_mode = enc_key, enc_mode
        self.exception_save, self.crc_check = exception_save, crc_check
        self.remove_redundancy, self.format = remove_redundancy, format
        self.map_param_inc = kwargs.get("incremental", False)
        self.enable_redundance = kwargs.get("enable_redundance", False)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When files are saved and kept, as a dict."""
        return {name: getattr(self, name) for name in (
            "save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max",
            "keep_checkpoint_per_n_minutes", "saved_network")}


def _appended(info: Any) -> dict[str, Any] | None:
    """What else is to be saved, by name."""
    if info is None or info == []:
        return None
    of_type(info, list, "append_info", _WHERE)
    if sum(isinstance(element, dict) for element in info) > 1:
        raise TypeError(f"For '{_WHERE}', 'append_info' can hold only one dict, but got {info}.")
    values: dict[str, Any] = {}
    for element in info:
        if isinstance(element, dict):
            values.update(element)
        elif not isinstance(element, str):
            raise TypeError(f"For '{_WHERE}', the elements of 'append_info' must be texts or a "
                            f"dict, but got {type(element).__name__}.")
        elif element not in ("epoch_num", "step_num"):
            raise ValueError(f"For '{_WHERE}', the texts in 'append_info' can be 'epoch_num' and "
                             f"'step_num', but got {element!r}.")
        else:
            values[element] = 0
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, (int, float, str, Tensor, Generator)):
            raise TypeError(f"For '{_WHERE}', the dict in 'append_info' must hold numbers, texts, "
                            f"Tensors, Parameters or Generators by name, but got {name!r}: "
                            f"{type(value).__name__}.")
    return values


class ModelCheckpoint(Callback):
    """Saves the network to files such as ``CKP-2_100.ckpt``: after step 100 of epoch 2.

    Args:
        prefix: what the files' names begin with; or a function of the callback parameters that
            gives the whole name without ending. Where an earlier run has files of this prefix, a
            number is added to it.
        directory: the folder, made unless it is there; or a function that gives it; default: the
            current folder.
        config: a `CheckpointConfig`; default: save each step and keep 5 files.

    Raises:
        ValueError: if `prefix` is no text, or has a ``/``.
        TypeError: if `config` is no `CheckpointConfig`.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> callback = ms.train.ModelCheckpoint("net", folder)
        >>> from lamella.train.callback import _InternalCallbackParam
        >>> params = _InternalCallbackParam(train_network=ms.nn.Dense(1, 1), cur_epoch_num=2,
        ...                                 cur_step_num=7, batch_num=4)
        >>> callback.step_end(ms.train.RunContext(params))
        >>> os.listdir(folder)
        ['net-2_3.ckpt']
    """

    def __init__(self, prefix: str | Callable = "CKP", directory: str | Callable | None = None,
                 config: CheckpointConfig | None = None):
        super().__init__()
        if not callable(prefix):
            _check_prefix(prefix)
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(f"For 'ModelCheckpoint', 'config' must be a CheckpointConfig, "
                            f"but got {type(config).__name__}.")
        self._config = config or CheckpointConfig()
        self._prefix_func = prefix if callable(prefix) else None
        self._directory_func = directory if callable(directory) else None
        self._prefix = self._exception_prefix = prefix
        if not callable(directory):
            self._directory = os.getcwd() if directory is None else _make_directory(directory)
            if not callable(prefix):
                self._prefix = free_prefix(self._directory, prefix)
        self._manager = CheckpointManager(self._config.format)
        self._append_dict = dict(self._config.append_dict or {})
        self._append_epoch_num = self._append_dict.get("epoch_num", 0)
        self._append_step_num = self._append_dict.get("step_num", 0)
        self._last_time = self._last_time_for_keep = time.time()
        self._last_triggered_step = 0
        self._latest_ckpt_file_name = ""
        # for subclasses of programs: no file of the graph is written, no Parameter waits in a cache
        self._graph_saved, self._need_flush_from_cache = True, False

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the last file; empty if there is none yet."""
        return self._latest_ckpt_file_name

    def begin(self, run_context: RunContext) -> None:
        """Count the steps of this run, and no longer those of one before."""
        self._last_triggered_step = 0

    def step_end(self, run_context: RunContext) -> None:
        """Save if it is time."""
        params = parameters_of(run_context, self)
        if self._prefix_func is not None:
            self._prefix = _check_prefix(self._prefix_func(params))
        if self._directory_func is not None:
            self._directory = _make_directory(self._directory_func(params))
        self._save_ckpt(params)

    def end(self, run_context: RunContext) -> None:
        """Save the last step, and wait for what is written in the background."""
        self._save_ckpt(parameters_of(run_context, self), force_to_save=True)
        background.wait()
        if self._latest_ckpt_file_name:
            self._remove_oldest(self._latest_ckpt_file_name)

    def _save_ckpt(self, params: Any, force_to_save: bool = False) -> None:
        if params.cur_step_num == self._last_triggered_step or not self._check_save_ckpt(
                params, force_to_save):
            return
        config, manager = self._config, self._manager
        step = (params.cur_step_num - 1) % params.batch_num + 1
        name = str(self._prefix)
        if not self._prefix_func:
            name += f"-{params.cur_epoch_num}_{step}"
        path = os.path.join(self._directory, f"{name}.{config.format}")
        self._last_time = time.time()
        self._last_triggered_step = params.cur_step_num
        self._write(config.saved_network or params.train_network, path, params.cur_epoch_num,
                    params.cur_step_num)
        self._latest_ckpt_file_name = path
        self._remove_oldest(path)
        if config.keep_checkpoint_per_n_minutes:
            now = time.time()
            if now - self._last_time_for_keep < config.keep_checkpoint_per_n_minutes * 60:
                manager.keep_one_ckpoint_per_minutes(config.keep_checkpoint_per_n_minutes, now)
        self._last_time_for_keep = time.time()

    def _remove_oldest(self, newest: str) -> None:
        """Keep as many files as are to be kept; one that is still being written doesn't count."""
        manager, most = self._manager, self._config.keep_checkpoint_max
        manager.update_ckpoint_filelist(self._directory, str(self._prefix))
        if most:
            for old in sorted((f for f in manager.ckpoint_filelist if f != newest),
                              key=age)[:max(0, manager.ckpoint_num - most)]:
                manager.remove_ckpoint_file(old)

    def _write(self, network: Any, path: str, epoch: int, step: int) -> None:
        config, more = self._config, self._append_dict
        if "epoch_num" in more:
            more["epoch_num"] = self._append_epoch_num + epoch
        if "step_num" in more:
            more["step_num"] = self._append_step_num + step
        save_checkpoint(network, path, config.integrated_save, config.async_save, more or None,
                        crc_check=config.crc_check, format=config.format)

    def save_after_error(self, network: Any, epoch: int, step: int) -> None:
        """Save ``PREFIX-EPOCH_STEP_breakpoint.ckpt``, if `exception_save` was asked for.

        An error is logged: that of the training is raised.
        """
        if not self._config.exception_save:
            return
        try:
            prefix = str(self._prefix) if self._prefix_func else free_prefix(
                self._directory, str(self._exception_prefix), after_error=True)
            name = f"{prefix}-{epoch}_{step}_breakpoint.{self._config.format}"
            self._write(network, os.path.join(self._directory, name), epoch, step)
            background.wait()
        except Exception as error:
            log.error(f"The network can't be saved after an error in its training: {error!r}")

    def _check_save_ckpt(self, params: Any, force_to_save: bool) -> bool:
        """Whether it is time to save."""
        config = self._config
        if force_to_save:
            return True
        if config.save_checkpoint_steps:
            return params.cur_step_num >= self._last_triggered_step + config.save_checkpoint_steps
        if config.save_checkpoint_seconds:
            return time.time() - self._last_time > config.save_checkpoint_seconds
        return False


def _check_prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or "/" in prefix:
        raise ValueError(f"For 'ModelCheckpoint', 'prefix' must be a text without '/', or a "
                         f"function that gives one, but got {prefix!r}.")
    return prefix
