"""Feeding rows of a dataset to a network: `DatasetHelper`, `data_sink`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..core import checks as check
from ..core.dtype import pytype_to_dtype
from ..core.errors import describe
from ..graph import JitConfig, jit
from ..nn.cell import Cell
from ..nn.checks import of_type
from ..tensors.tensor import Tensor

__all__ = ["DatasetHelper", "connect_network_with_dataset", "data_sink"]


def check_dataset(dataset: Any, name: str, where: str) -> None:
    """Check that an argument is a dataset, or what gives rows as one does.

    Raises:
        TypeError: if it isn't.
    """
    if not hasattr(dataset, "create_tuple_iterator") or not hasattr(dataset, "get_dataset_size"):
        raise TypeError(f"For '{where}', '{name}' must be a Dataset, but got {describe(dataset)} "
                        f"of type {type(dataset).__name__}.")


def check_training_dataset(dataset: Any, where: str) -> None:
    """As `check_dataset`, of an argument 'train_dataset', which must have rows.

    Raises:
        TypeError: if it is no dataset.
        ValueError: if it is empty.
    """
    check_dataset(dataset, "train_dataset", where)
    if dataset.get_dataset_size() == 0:
        raise ValueError("There is no valid data in dataset, please check dataset file "
                         "firstly.")


def check_run(where: str, epoch: Any, dataset: Any, sink: Any, sink_size: Any, initial_epoch: Any,
              model: int) -> None:
    """Check what a Model is asked to train with, and that no other one has trained with it.

    Args:
        model: the Model's number, which the dataset keeps.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        RuntimeError: if another Model has trained with the dataset.
    """
    check.check_bool(sink, "dataset_sink_mode", where)
    check.check_is_int(sink_size, "sink_size", where)
    check.check_positive_int(epoch, "epoch", where)
    check.check_non_negative_int(initial_epoch, "initial_epoch", where)
    if initial_epoch >= epoch:
        raise ValueError(f"For '{where}', 'epoch' must be above 'initial_epoch', but got "
                         f"{epoch} and {initial_epoch}.")
    if sink_size < -1 or sink_size == 0:
        raise ValueError(f"For '{where}', 'sink_size' must be -1 or above 0, "
                         f"but got {sink_size}.")
    check_training_dataset(dataset, where)
    if dataset.__dict__.setdefault("_trained_by", model) != model:
        raise RuntimeError("The dataset object had been used in other model by "
                           "model.train(...), please create a new dataset.")


class Endless:
    """The rows of epoch after epoch, without end.

    Attributes:
        rows: the dataset's iterator.

    Raises:
        ValueError: if an epoch has no rows.
    """

    def __init__(self, dataset: Any):
        self.rows = dataset.create_tuple_iterator(num_epochs=-1)
        self._reading = iter(self.rows)

    def __next__(self) -> Any:
        for _ in range(2):
            for row in self._reading:
                return row
            self._reading = iter(self.rows)
        raise ValueError("There is no valid data in dataset, please check dataset file firstly.")


def release(rows: Any) -> None:
    """End an iterator's threads and processes, if it has any."""
    end = getattr(getattr(rows, "rows", rows), "release", None)
    if end is not None:
        end()


def row_of(data: Any) -> tuple[Any, ...]:
    """What a network is called with for a row."""
    return (data,) if isinstance(data, Tensor) else tuple(data)


class DatasetHelper:
    """The rows of a dataset, an epoch or `sink_size` of them each time it is read.

    Args:
        dataset: the dataset.
        dataset_sink_mode: whether `sink_size` counts; reading goes on where it stopped then.
        sink_size: how many rows to give each time; -1 for those of an epoch.
        epoch_num: how many epochs will be read.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> data = ms.dataset.NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> helper = ms.train.DatasetHelper(data, sink_size=2)
        >>> [int(row[0]) for row in helper], [int(row[0]) for row in helper]
        ([1, 2], [3, 1])
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1,
                 epoch_num: int = 1):
        check.check_bool(dataset_sink_mode, "dataset_sink_mode", "DatasetHelper")
        check.check_is_int(sink_size, "sink_size", "DatasetHelper")
        if sink_size < -1 or sink_size == 0:
            raise ValueError(f"For 'DatasetHelper', 'sink_size' must be -1 or above 0, "
                             f"but got {sink_size}.")
        check_dataset(dataset, "dataset", "DatasetHelper")
        self.dataset, self.dataset_sink_mode = dataset, dataset_sink_mode
        self._size = dataset.get_dataset_size() if sink_size == -1 else sink_size
        if dataset_sink_mode:
            self._rows: Any = Endless(dataset)
        else:
            self._rows = dataset.create_tuple_iterator(num_epochs=epoch_num)

    def __iter__(self) -> Iterator[Any]:
        if not self.dataset_sink_mode:
            return iter(self._rows)
        return (next(self._rows) for _ in range(self._size))

    def sink_size(self) -> int:
        """How many rows are given each time."""
        return self._size if self.dataset_sink_mode else 1

    def types_shapes(self) -> tuple[list[Any], list[Any]]:
        """The data types and shapes of the columns; of texts and dicts, NumPy's types."""
        types = [t if t.kind in "USO" else pytype_to_dtype(t) for t in self.dataset.output_types()]
        return types, self.dataset.output_shapes()

    def continue_send(self) -> None:
        """Accepted as MindSpore does; rows are made when they are read."""

    def stop_send(self) -> None:
        """Stop reading."""
        self.release()

    def release(self) -> None:
        """Stop reading, and let the dataset's workers go."""
        release(self._rows)
        self._rows = iter(())


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """The network to call with each row of `dataset_helper`, which is `network` itself here.

    Args:
        network: the network.
        dataset_helper: a helper in sink mode.

    Raises:
        RuntimeError: if the helper is not in sink mode.
        ValueError: if its dataset is connected to another network.

    Examples:
        >>> import lamella as ms
        >>> helper = ms.train.DatasetHelper(ms.dataset.NumpySlicesDataset([1, 2]), sink_size=2)
        >>> net = ms.nn.ReLU()
        >>> ms.train.connect_network_with_dataset(net, helper) is net
        True
    """
    of_type(dataset_helper, DatasetHelper, "dataset_helper", "connect_network_with_dataset")
    if not dataset_helper.dataset_sink_mode:
        raise RuntimeError("For 'connect_network_with_dataset', 'dataset_helper' must be in "
                           "dataset sink mode: DatasetHelper(dataset, dataset_sink_mode=True).")
    known = dataset_helper.dataset.__dict__.setdefault("_connected_network", id(network))
    if known != id(network):
        raise ValueError("For 'connect_network_with_dataset', the dataset has been connected to "
                         "another network.")
    return network


def data_sink(fn: Callable[..., Any], dataset: Any, sink_size: int = 1,
              jit_config: JitConfig | None = None,
              input_signature: Any = None) -> Callable[[], Any]:
    """A function that runs `fn` on the next `sink_size` rows of a dataset.

    It gives the last result.

    After the last row it goes on with the first of the next epoch.

    Args:
        fn: a function of the columns.
        dataset: the dataset.
        sink_size: how many rows a call takes.
        jit_config: compile `fn` with these settings.
        input_signature: Tensors that declare the shapes of the columns for that; -1 or None for
            what varies.

    Raises:
        TypeError, ValueError: if `sink_size` is no int above 0.

    Examples:
        >>> import lamella as ms
        >>> data = ms.dataset.NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> double = ms.train.data_sink(lambda x: x * 2, data, sink_size=2)
        >>> print(double(), double())
        4 2
    """
    check.check_value_type("sink_size", sink_size, int, "data_sink")
    if sink_size <= 0:
        raise ValueError(f"For 'data_sink', 'sink_size' must be above 0, but got {sink_size}.")
    run = fn if jit_config is None else jit(fn, jit_config=jit_config,
                                            input_signature=input_signature)
    check_dataset(dataset, "dataset", "data_sink")
    rows = Endless(dataset)

    @functools.wraps(fn)
    def sink_process(*args: Any, **kwargs: Any) -> Any:
        result = None
        for _ in range(sink_size):
            result = run(*row_of(next(rows)))
        return result

    return sink_process
