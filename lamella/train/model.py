"""Model: a network, its loss and its optimizer, with the loops over data around them."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from ..amp.build import build_train_network
from ..communication.settings import get_auto_parallel_context
from ..core import checks as check
from ..core import context
from ..core.require import one_of
from ..graph import Compiled, JitConfig
from ..nn.cell import Cell
from ..nn.wrap import WithEvalCell, WithLossCell
from ..tensors.tensor import Tensor
from .callback import Callback, ModelCheckpoint, RunCheckpoint, RunContext
from .callback.base import CallbackManager, InternalCallbackParam
from .callback.own import as_list, check_methods, is_own
from .callback.progress import with_progress
from .feeding import Endless, check_dataset, check_run, release, row_of
from .fitting import check_columns, check_frequency, check_parts, is_due, warn_of_no_optimizer
from .metrics import Loss, get_metric_fn, get_metrics

__all__ = ["Model"]

_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")
_numbers = itertools.count()


class Model:
    """A network to train, evaluate and predict with.

    The steps are compiled, as by `jit`; they run eagerly after
    ``set_context(mode=PYNATIVE_MODE)``, which changes nothing in what they compute.

    Args:
        network: the network.
        loss_fn: called with what the network gave and the label; None if the network gives the
            loss itself.
        optimizer: the optimizer; None if the network has it in itself.
        metrics: a set of metrics' names, or a dict of `Metric` objects by name.
        eval_network: the network for evaluation; default: `network` with `loss_fn`, that gives
            loss, output and label.
        eval_indexes: where among the results of `eval_network` loss, output and label are; None
            gives all of them to each metric.
        amp_level: mixed precision, as for `amp.build_train_network`.
        boost_level: accepted as MindSpore does; training is not boosted.
        **kwargs: ``loss_scale_manager``, ``keep_batchnorm_fp32``; ``boost_config_dict`` and
            ``acc_level``, which have no effect.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, or they don't fit together.

    Examples:
        >>> import lamella as ms
        >>> import numpy as np
        >>> from lamella.train import LossMonitor, Model
        >>> x = np.arange(4, dtype=np.float32).reshape(4, 1)
        >>> data = ms.dataset.NumpySlicesDataset((x, 2 * x), shuffle=False).batch(2)
        >>> net = ms.nn.Dense(1, 1, weight_init="zeros", bias_init="zeros")
        >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.0625)
        >>> model = Model(net, ms.nn.MSELoss(), optimizer, metrics={"mae"})
        >>> model.train(2, data, LossMonitor(2))
        epoch: 1 step: 2, loss is 21.6953125
        epoch: 2 step: 2, loss is 0.19511759281158447
        >>> print(round(model.eval(data)["mae"], 4))
        0.3409
        >>> model.predict(ms.Tensor([[1.0]])).shape
        (1, 1)
    """

    def __init__(self, network: Cell, loss_fn: Any = None, optimizer: Any = None,
                 metrics: Any = None, eval_network: Cell | None = None,
                 eval_indexes: list[int] | None = None, amp_level: str = "O0",
                 boost_level: str = "O0", **kwargs: Any):
        check.check_value_type("network", network, Cell, "Model")
        check_parts(loss_fn, optimizer)
        self._check_kwargs(kwargs)
        if optimizer is None and amp_level != "O0":
            raise ValueError("For 'Model', 'amp_level' needs an 'optimizer', or must be 'O0'.")
        if optimizer is None and kwargs.get("loss_scale_manager") is not None:
            raise ValueError("For 'Model', 'loss_scale_manager' needs an 'optimizer'.")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._amp_level = amp_level
        self._boost_level = kwargs.get("acc_level", boost_level)
        self._options = {k: kwargs[k] for k in _OPTIONS[:2] if k in kwargs}
        # models of programs' own build their networks from these
        self._loss_scale_manager, self._keep_bn_fp32 = map(kwargs.get, _OPTIONS[:2])
        self._loss_scale_manager_set = "loss_scale_manager" in kwargs
        self._parallel_mode = get_auto_parallel_context("parallel_mode")
        self._device_number = get_auto_parallel_context("device_num")
        self._metrics, self.batch_num = metrics, -1
        self._backbone_is_train = True
        self._current_epoch_num = self._current_step_num = 0
        self._number = next(_numbers)
        self._compiled: dict[Any, tuple[Cell, Any]] = {}
        self._keeper: RunCheckpoint | None = None
        self._train_network = self._build_train_network()
        self._eval_network, self._eval_indexes = eval_network, eval_indexes
        self._build_eval_network(metrics, eval_network, eval_indexes)
        self._predict_network = network

    def _check_kwargs(self, kwargs: dict[str, Any]) -> None:
        unknown = [key for key in kwargs if key not in _OPTIONS]
        if unknown:
            raise ValueError(f"For 'Model', the keywords can be {', '.join(_OPTIONS)}, "
                             f"but got {unknown}.")

    # -- the networks ----------------------------------------------------------------------------

    @property
    def train_network(self) -> Cell:
        """The Cell of one step of training."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The Cell of one step of evaluation."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The Cell that predicts."""
        return self._predict_network

    def _build_train_network(self) -> Cell:
        network = self._network
        if self._optimizer is not None:
            made = build_train_network(network, self._optimizer, self._loss_fn, self._amp_level,
                                       self._boost_level, **self._options)
        elif self._loss_fn is not None:
            made = WithLossCell(network, self._loss_fn)
        else:
            return network
        made.__dict__["_jit_config"] = network.jit_config_dict
        return made

    def _build_eval_network(self, metrics: Any, eval_network: Cell | None,
                            eval_indexes: list[int] | None) -> None:
        self._metric_fns = get_metrics(metrics)
        if not self._metric_fns:
            return
        if eval_network is not None:
            if eval_indexes is not None and not (isinstance(eval_indexes, list)
                                                 and len(eval_indexes) == 3):
                raise ValueError(f"For 'Model', 'eval_indexes' must be None or a list of three "
                                 f"ints, but got {eval_indexes!r}.")
            return
        if self._loss_fn is None:
            raise ValueError("For 'Model', 'metrics' need an 'eval_network', or a 'loss_fn' to "
                             "make it with.")
        self._eval_network = WithEvalCell(self._network, self._loss_fn,
                                          self._amp_level in ("O2", "O3", "auto"))
        self._eval_indexes = [0, 1, 2]

    def _runner(self, network: Cell) -> Any:
        """What to call for a step of `network`: the compiled Cell, unless it is to run eagerly."""
        if context.get_context("mode") == context.GRAPH_MODE or "mode" in context.chosen:
            return network  # in GRAPH_MODE it compiles itself
        key = id(network), self._keeper is None
        known = self._compiled.get(key)
        if known is None or known[0] is not network:
            options = network.jit_config_dict or JitConfig(jit_level="O1").jit_config_dict
            level = "O0" if self._keeper or options.get("jit_level") == "O0" else "O1"
            known = network, Compiled(network, options.get("jit_syntax_level") == "STRICT", level)
            self._compiled[key] = known
        return known[1]

    def _check_network_mode(self, network: Cell, is_train: bool) -> Cell:
        """Change the mode where the last step was of the other kind.

        Three Cells stand around one network, so the kind of the step before counts, not the mode
        of the Cell of this one; and a layer that the program froze stays frozen.
        """
        if self._backbone_is_train != is_train:
            self._set_mode(network, is_train)
        if not is_train:
            network.set_grad(False)
        return network

    def _set_mode(self, network: Cell, is_train: bool) -> None:
        network.set_train(is_train)
        self._backbone_is_train = is_train

    # -- training --------------------------------------------------------------------------------

    def train(self, epoch: int, train_dataset: Any, callbacks: Any = None,
              dataset_sink_mode: bool = False, sink_size: int = -1,
              initial_epoch: int = 0, *, progress: bool | None = None) -> None:
        """Train.

        Args:
            epoch: up to which epoch.
            train_dataset: a dataset whose columns are what the network takes; with `loss_fn`, the
                network's input and the label.
            callbacks: a `Callback` or a list of them.
            dataset_sink_mode: whether `sink_size` counts.
            sink_size: with `dataset_sink_mode`, the steps of an epoch; the next goes on in the
                dataset where this stopped. -1 for the dataset's size.
            initial_epoch: how many epochs have been trained before.
            progress: whether to show a `ProgressBar`; default: on a terminal and in a notebook,
                unless a callback prints losses or times, or is a bar itself.

        Raises:
            TypeError, ValueError: if an argument is of the wrong type or out of range.
        """
        given = (epoch, train_dataset, dataset_sink_mode, sink_size, initial_epoch)
        self._check_run("Model.train", *given)
        check_methods(callbacks, "train")
        callbacks = with_progress(as_list(callbacks), progress, "Model.train")
        self._train(epoch, train_dataset, callbacks=callbacks, dataset_sink_mode=dataset_sink_mode,
                    sink_size=sink_size, initial_epoch=initial_epoch)

    def fit(self, epoch: int, train_dataset: Any, valid_dataset: Any = None,
            valid_frequency: int | list[int] = 1, callbacks: Any = None,
            dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False,
            sink_size: int = -1, initial_epoch: int = 0, *, progress: bool | None = None) -> None:
        """Train, and evaluate after epochs.

        Args:
            epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, progress:
                as for `train`.
            valid_dataset: the dataset to evaluate with; None for no evaluation.
            valid_frequency: after how many epochs, or a list of those after which.
            valid_dataset_sink_mode: accepted as MindSpore does.

        Raises:
            TypeError, ValueError: if an argument is of the wrong type or out of range.
        """
        self._check_run("Model.fit", epoch, train_dataset, dataset_sink_mode, sink_size,
                        initial_epoch)
        check.check_bool(valid_dataset_sink_mode, "valid_dataset_sink_mode", "Model.fit")
        check_frequency(valid_frequency)
        if valid_dataset is not None and not self._metric_fns:
            raise ValueError("For 'Model.fit', with a 'valid_dataset' the Model must be made with "
                             "'metrics'.")
        check_methods(callbacks, "fit")
        callbacks = with_progress(as_list(callbacks), progress, "Model.fit")
        self._train(epoch, train_dataset, callbacks=callbacks, dataset_sink_mode=dataset_sink_mode,
                    sink_size=sink_size, initial_epoch=initial_epoch, valid_dataset=valid_dataset,
                    valid_frequency=valid_frequency)

    def _check_run(self, where: str, *given: Any) -> None:
        check_run(where, *given, model=self._number)
        if self._optimizer is None:
            warn_of_no_optimizer(self._network, where)

    def _train(self, epoch: int, train_dataset: Any, callbacks: Any = None,
               dataset_sink_mode: bool = True, sink_size: int = -1, initial_epoch: int = 0,
               valid_dataset: Any = None, valid_frequency: Any = 1) -> None:
        sunk = dataset_sink_mode and sink_size > 0
        params = InternalCallbackParam()
        params.update(
            cur_step_num=0, train_network=self._train_network, epoch_num=epoch - initial_epoch,
            batch_num=sink_size if sunk else train_dataset.get_dataset_size(), mode="train",
            loss_fn=self._loss_fn, optimizer=self._optimizer, parallel_mode=self._parallel_mode,
            device_number=self._device_number, train_dataset=train_dataset,
            list_callback=as_list(callbacks), train_dataset_element=None, network=self._network,
            last_save_ckpt_step=None, latest_ckpt_file=None,
            loss_scale_mananger=self._loss_scale_manager, initial_step=None,
            dataset_sink_mode=False)  # steps are single ones, as MindSpore's are on a CPU
        self.batch_num = params.batch_num
        rows = Endless(train_dataset) if sunk else train_dataset.create_tuple_iterator(
            num_epochs=epoch - initial_epoch)
        self._keeper = next((c for c in params.list_callback if isinstance(c, RunCheckpoint)), None)
        with CallbackManager(params.list_callback) as callbacks:
            try:
                self._train_epochs((initial_epoch + 1, epoch), rows, sunk, callbacks, params,
                                   valid_dataset, valid_frequency)
            except BaseException:
                for callback in params.list_callback:
                    if isinstance(callback, ModelCheckpoint):
                        callback.save_after_error(self._train_network, self._current_epoch_num,
                                                  self._current_step_num)
                raise
            finally:
                self._keeper = None
                release(rows)

    def _train_epochs(self, epochs: tuple[int, int], rows: Any, sunk: bool,
                      callbacks: CallbackManager, params: Any, valid_dataset: Any,
                      valid_frequency: Any) -> None:
        run = RunContext(params)
        self._set_mode(self._train_network, True)
        callbacks.on_train_begin(run)
        first, last = epochs
        if self._keeper is not None:
            params.cur_epoch_num = first
            self._keeper.restore(params, getattr(rows, "rows", rows))
            first = params.cur_epoch_num
        for epoch in range(first, last + 1):
            params.cur_epoch_num = self._current_epoch_num = epoch
            self._current_step_num = 0
            callbacks.on_train_epoch_begin(run)
            done = params.cur_step_num - params.batch_num * (epoch - epochs[0])
            for row in (next(rows) for _ in range(params.batch_num - done)) if sunk else rows:
                self._train_step(row_of(row), callbacks, params, run)
                if self._keeper is not None:
                    self._keeper.save_if_due(params, getattr(rows, "rows", rows))
                if run.get_stop_requested():
                    break
            if valid_dataset is not None and is_due(epoch, valid_frequency):
                self._eval_in_fit(valid_dataset, callbacks, params)
            if not sunk:
                params.train_dataset.reset()
            callbacks.on_train_epoch_end(run)
            params.pop("metrics", None)
            params.pop("eval_results", None)
            if run.get_stop_requested():
                break
        callbacks.on_train_end(run)

    def _train_step(self, row: tuple, callbacks: CallbackManager, params: Any,
                    run: RunContext) -> None:
        if self._loss_fn is None:
            check_columns(self._network, len(row))
        elif len(row) != 2:
            raise ValueError("For 'Model', with a 'loss_fn' the dataset must have two columns, "
                             f"data and label, but it has {len(row)}. Give no 'loss_fn' otherwise.")
        params.cur_step_num += 1
        self._current_step_num = (params.cur_step_num - 1) % params.batch_num + 1
        params.train_dataset_element = row
        callbacks.on_train_step_begin(run)
        network = self._check_network_mode(self._train_network, True)
        params.net_outputs = outputs = self._runner(network)(*row)
        scaling = self._loss_scale_manager
        if scaling is not None and scaling.get_drop_overflow_update():
            scaling.update_loss_scale(bool(np.all(outputs[1].asnumpy())))
        callbacks.on_train_step_end(run)

    def _eval_in_fit(self, dataset: Any, callbacks: CallbackManager, params: Any) -> None:
        """Evaluate, with the callbacks that are the user's own."""
        own: list[Callback] = [c for c in callbacks._callbacks if c._evaluates or is_own(c)]
        kept = {name: params.get(name) for name in ("cur_step_num", "batch_num", "net_outputs",
                                                    "dataset_sink_mode")}
        params.update(eval_network=self._eval_network, valid_dataset=dataset, mode="eval",
                      batch_num=dataset.get_dataset_size(), cur_step_num=0)
        with CallbackManager(own) as eval_callbacks:
            self._eval_process(dataset, eval_callbacks, params, add_eval_loss=True)
        params.update(kept, mode="train")

    # -- evaluation and prediction ---------------------------------------------------------------

    def eval(self, valid_dataset: Any, callbacks: Any = None,
             dataset_sink_mode: bool = False) -> dict[str, Any]:
        """Evaluate.

        Args:
            valid_dataset: the dataset.
            callbacks: a `Callback` or a list of them.
            dataset_sink_mode: accepted as MindSpore does.

        Returns:
            dict of the metrics' values by name.

        Raises:
            ValueError: if the Model was made without metrics.
        """
        check.check_bool(dataset_sink_mode, "dataset_sink_mode", "Model.eval")
        if not self._metric_fns:
            raise ValueError("For 'Model.eval', the Model must be made with 'metrics'.")
        check_dataset(valid_dataset, "valid_dataset", "Model.eval")
        check_methods(callbacks, "eval")
        params = InternalCallbackParam()
        params.update(eval_network=self._eval_network, valid_dataset=valid_dataset,
                      batch_num=valid_dataset.get_dataset_size(), mode="eval", cur_step_num=0,
                      list_callback=as_list(callbacks), network=self._network)
        with CallbackManager(params.list_callback) as callbacks:
            return self._eval_process(valid_dataset, callbacks, params)

    def _eval_process(self, dataset: Any, callbacks: CallbackManager, params: Any,
                      add_eval_loss: bool = False) -> dict[str, Any]:
        run = RunContext(params)
        params.dataset_sink_mode = False
        self._clear_metrics()
        losses = get_metric_fn("loss") if add_eval_loss and self._eval_indexes is not None else None
        network: Any = self._eval_network
        callbacks.on_eval_begin(run)
        self._set_mode(network, False)
        callbacks.on_eval_epoch_begin(run)
        for row in dataset.create_tuple_iterator(num_epochs=1):
            params.cur_step_num += 1
            params.eval_dataset_element = row = row_of(row)
            callbacks.on_eval_step_begin(run)
            params.net_outputs = outputs = self._runner(
                self._check_network_mode(network, False))(*row)
            callbacks.on_eval_step_end(run)
            self._update_metrics(outputs)
            if losses is not None:
                losses.update(outputs[self._eval_indexes[0]])  # type: ignore[index]
            if run.get_stop_requested():
                break
        callbacks.on_eval_epoch_end(run)
        dataset.reset()
        params.metrics = metrics = self._get_metrics()
        if add_eval_loss:
            params.eval_results = copy.deepcopy(metrics)
            if losses is not None:
                params.eval_results["eval_loss"] = losses.eval()
        callbacks.on_eval_end(run)
        return metrics

    def _clear_metrics(self) -> None:
        for metric in self._metric_fns.values():
            metric.clear()

    def _update_metrics(self, outputs: Any) -> None:
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        if not isinstance(outputs, tuple):
            raise ValueError(f"For 'Model', 'eval_network' must give a tuple, "
                             f"but it gave {type(outputs).__name__}.")
        places = self._eval_indexes
        if places is not None and len(outputs) < 3:
            raise ValueError(f"For 'Model', 'eval_network' must give loss, output and label, "
                             f"but it gave {len(outputs)} values.")
        for metric in self._metric_fns.values():
            if places is None:
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[places[0]])
            else:
                metric.update(outputs[places[1]], outputs[places[2]])

    def _get_metrics(self) -> dict[str, Any]:
        return {name: metric.eval() for name, metric in self._metric_fns.items()}

    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """The network's output for inputs.

        Args:
            *predict_data: Tensors, numbers, texts or None.
            backend: ``"lite"`` or None; both run the network here.
            config: accepted as MindSpore does for ``"lite"``.

        Raises:
            TypeError, ValueError: if an input is of another type, or an empty Tensor.
        """
        one_of(backend, ("lite", None), "backend", "Model.predict")
        for item in predict_data:
            if item is not None and not isinstance(item, (Tensor, int, float, str)):
                raise TypeError(f"For 'Model.predict', inputs must be Tensors, numbers, texts or "
                                f"None, but got {type(item).__name__}.")
            if isinstance(item, Tensor) and item.size == 0:
                raise ValueError("For 'Model.predict', an input can not be an empty Tensor.")
        return self._runner(self._check_network_mode(self._predict_network, False))(*predict_data)

    # -- before the first step -------------------------------------------------------------------

    def build(self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1,
              epoch: int = 1, sink_mode: bool = True) -> None:
        """Check datasets and arguments before training; steps are compiled when they first run.

        Args:
            train_dataset, valid_dataset: what `train` and `eval` will be given.
            sink_size, epoch, sink_mode: as for `train`.

        Raises:
            TypeError, ValueError, RuntimeError: as `train` and `eval` would raise.
        """
        if train_dataset is None and valid_dataset is None:
            raise ValueError("For 'Model.build', give 'train_dataset', 'valid_dataset' or both.")
        if train_dataset is not None:
            check_run("Model.build", epoch, train_dataset, sink_mode, sink_size, 0,
                      self._number)
        if valid_dataset is not None and not self._metric_fns:
            raise RuntimeError("For 'Model.build', with a 'valid_dataset' the Model must be made "
                               "with 'metrics'.")

    def infer_train_layout(self, train_dataset: Any, dataset_sink_mode: bool = True,
                           sink_size: int = -1) -> dict[str, Any]:
        """How parameters would be sliced over processes in training.

        Raises:
            RuntimeError: unless the parallel mode slices parameters.
        """
        return self._layout("Model.infer_train_layout")

    def infer_predict_layout(self, *predict_data: Any,
                             skip_backend_compile: bool = False) -> dict[str, Any]:
        """How parameters would be sliced over processes in prediction.

        Raises:
            RuntimeError: unless the parallel mode slices parameters.
        """
        return self._layout("Model.infer_predict_layout")

    def _layout(self, where: str) -> dict[str, Any]:
        if self._parallel_mode not in ("semi_auto_parallel", "auto_parallel"):
            raise RuntimeError(f"'{where}' only supports 'semi_auto_parallel' and 'auto_parallel' "
                               f"mode, but got {self._parallel_mode}.")
        return getattr(self._train_network, "parameter_layout_dict", {})
