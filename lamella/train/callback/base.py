"""Callback, what it is given, and the manager that calls several of them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ...core.errors import describe
from ...core.require import of_type
from ...tensors.tensor import Tensor

__all__ = ["Callback", "CallbackManager", "InternalCallbackParam", "RunContext"]

_NAMES = [f"on_{mode}{part}_{edge}" for mode in ("train", "eval")
          for part in ("", "_epoch", "_step") for edge in ("begin", "end")]


class Callback:
    """The base of callbacks; a subclass defines the methods that it needs.

    Each method gets a `RunContext`. ``on_train_...`` and ``on_eval_...`` call the older names
    without those words unless they are defined: ``on_train_step_end`` calls ``step_end``.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> class Losses(ms.train.Callback):
        ...     def on_train_step_end(self, run_context):
        ...         params = run_context.original_args()
        ...         print(params.cur_epoch_num, params.cur_step_num, params.net_outputs)
        >>> net = ms.nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> x = np.array([[1.0], [2.0]], np.float32)
        >>> data = ms.dataset.NumpySlicesDataset((x, x / x), shuffle=False).batch(1)
        >>> model = ms.train.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
        >>> model.train(1, data, Losses())
        1 1 0.0
        1 2 1.0
    """

    _evaluates = False  # whether one of Lamella's own also follows the evaluations of `Model.fit`

    def __enter__(self) -> Any:
        """Entered before training or evaluation begins; must return the callback to use."""
        return self

    def __exit__(self, *error: Any) -> Any:
        """Left when training or evaluation is over, also when it raised."""

    def begin(self, run_context: RunContext) -> None:
        """Before training or evaluation."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before each step."""

    def step_end(self, run_context: RunContext) -> None:
        """After each step."""

    def end(self, run_context: RunContext) -> None:
        """After training or evaluation."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch of training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After each epoch of training, and the evaluation that belongs to it."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before each step of training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After each step of training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the epoch of evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the epoch of evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before each step of evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After each step of evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After evaluation."""
        self.end(run_context)


class CallbackManager(Callback):
    """Several callbacks as one, entered and left together.

    Args:
        callbacks: a Callback, a list of them, or None.

    Raises:
        TypeError: if `callbacks` is something else.
    """

    def __init__(self, callbacks: Callback | list[Callback] | None):
        if callbacks is None:
            callbacks = []
        elif isinstance(callbacks, Callback):
            callbacks = [callbacks]
        elif not isinstance(callbacks, list):
            raise TypeError(f"The 'callbacks' must be a Callback or a list of them, "
                            f"but got {type(callbacks).__name__}.")
        for callback in callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"When 'callbacks' is a list, its elements must be Callbacks, "
                                f"but got {type(callback).__name__}.")
        self._callbacks: list[Callback] = list(callbacks)
        self._stack: contextlib.ExitStack | None = None

    def __enter__(self) -> CallbackManager:
        if self._stack is None:
            with contextlib.ExitStack() as stack:
                entered = [(c, stack.enter_context(c)) for c in self._callbacks]
                self._stack = stack.pop_all()
            self._callbacks = [t if isinstance(t, Callback) else c for c, t in entered]
        return self

    def __exit__(self, *error: Any) -> Any:
        return None if self._stack is None else self._stack.__exit__(*error)


def _forward(name: str) -> Any:
    def call(self: CallbackManager, run_context: RunContext) -> None:
        for callback in self._callbacks:
            getattr(callback, name)(run_context)

    call.__name__, call.__doc__ = name, f"Call '{name}' of each callback."
    return call


for _name in (*_NAMES, *("begin", "epoch_begin", "epoch_end", "step_begin", "step_end", "end")):
    setattr(CallbackManager, _name, _forward(_name))


class _NoParam(KeyError, AttributeError):
    """A missing name, asked for as an item (MindSpore's error) or by `hasattr`."""


class InternalCallbackParam(dict):
    """The state of the run that callbacks read and change: a dict with its keys as attributes.

    Examples:
        >>> from lamella.train.callback.base import InternalCallbackParam
        >>> params = InternalCallbackParam(cur_step_num=3)
        >>> params.cur_step_num, params.get("metrics"), hasattr(params, "metrics")
        (3, None, False)
    """

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise _NoParam(key) from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value


def parameters_of(run_context: Any, callback: Callback) -> Any:
    """The run's parameters, for one of a callback's methods.

    Raises:
        TypeError: if `run_context` is no RunContext.
    """
    if not hasattr(run_context, "original_args"):
        raise TypeError(f"For '{type(callback).__name__}', 'run_context' must be a RunContext, "
                        f"but got {describe(run_context)}.")
    return run_context.original_args()


class RunContext:
    """The argument of callbacks: the run's parameters, and a method that stops the run.

    Args:
        original_args: a dict of the run's parameters.

    Raises:
        TypeError: if `original_args` is no dict.

    Examples:
        >>> import lamella as ms
        >>> context = ms.train.RunContext({"cur_step_num": 1})
        >>> context.request_stop()
        >>> context.get_stop_requested(), context.original_args()
        (True, {'cur_step_num': 1})
    """

    def __init__(self, original_args: dict):
        of_type(original_args, dict, "original_args", "RunContext")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The run's parameters, the same dict in each call.

        In training: ``train_network``, ``epoch_num``, ``batch_num``, ``mode``, ``loss_fn``,
        ``optimizer``, ``parallel_mode``, ``device_number``, ``train_dataset``, ``list_callback``,
        ``train_dataset_element``, ``network``, ``net_outputs``, ``last_save_ckpt_step``,
        ``latest_ckpt_file``, ``loss_scale_mananger`` (so spelt), ``initial_step``,
        ``dataset_sink_mode``, ``cur_step_num``, ``cur_epoch_num``. In evaluation also
        ``eval_network``, ``valid_dataset``, ``eval_dataset_element``, ``metrics``.
        """
        return self._original_args

    def request_stop(self) -> None:
        """Ask for the run to stop, which it does after this step or epoch."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop_requested


def set_cur_net(net: Any) -> None:
    """Accepted as MindSpore does: there it tells which network its executor saves."""


def _handle_loss(loss: Any) -> Any:
    """The loss in what a training step gave: a float, or the first Tensor of several outputs."""
    if isinstance(loss, (tuple, list)):
        return loss[0] if loss and isinstance(loss[0], Tensor) else loss
    return float(np.mean(loss.asnumpy())) if isinstance(loss, Tensor) else loss
