"""Iterators over a pipeline: rows as lists or dicts, epoch after epoch, from any place on."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..core import context
from ..core.forking import ReentrantLock
from ..core.state import state
from . import config
from .ahead import Ahead
from .autotune import Tuner
from .checks import of_type
from .offload import without_offloaded
from .order import Row
from .profiling import MANAGER
from .rows import as_given, as_tensor
from .state import Run

if TYPE_CHECKING:
    from .node import Dataset


# references to the iterators that there are, in the order that they were made
ITERATORS_LIST: list[weakref.ref[_Iterator]] = []


def _cleanup() -> None:
    """End all iterators, with their threads and processes."""
    for reference in list(ITERATORS_LIST):
        iterator = reference()
        if iterator is not None:
            iterator.release()
    ITERATORS_LIST.clear()


def _forget(reference: weakref.ref[_Iterator]) -> None:
    if reference in ITERATORS_LIST:
        ITERATORS_LIST.remove(reference)


class _Iterator:
    """An iterator that gives one epoch after another; each ends with StopIteration.

    Args:
        dataset: the pipeline.
        num_epochs: how many epochs there are; -1: any number.
        output_numpy: give NumPy arrays instead of Tensors.
    """

    def __init__(self, dataset: Dataset, num_epochs: int = -1, output_numpy: bool = False):
        if isinstance(num_epochs, bool) or not isinstance(num_epochs, int):
            raise TypeError(f"{of_type('num_epochs', num_epochs, int)} 'num_epochs' must be an "
                            f"int, but got {num_epochs!r}.")
        if num_epochs != -1 and num_epochs < 1:
            raise ValueError(f"num_epochs can not be less than -1 or 0. 'num_epochs' must be -1 or "
                             f"positive, but got {num_epochs}.")
        if not isinstance(output_numpy, bool):
            raise TypeError(f"{of_type('output_numpy', output_numpy, bool)} 'output_numpy' must be "
                            f"a bool, but got {output_numpy!r}.")
        dataset, self.offload_model = without_offloaded(dataset)
        self.dataset, self.num_epochs, self.output_numpy = dataset, num_epochs, output_numpy
        self._run = Run(dataset)
        self._rows: Iterator[Row] | None = None
        self._ahead: Ahead | None = None  # where rows are sent to a device
        self._taking = ReentrantLock()  # threads may take rows of one iterator in turns
        self._given = 0
        self._again = 0  # rows that are made again and dropped, see `Run.restore`
        self._stopped = False
        self._fresh = dataset.fresh
        self._profiled = MANAGER.follow(dataset, num_epochs)
        self._tuner = self._made_tuner()
        self._names = [name for name in dataset.columns if not name.startswith("_meta-")]
        self._shown = None if len(self._names) == len(dataset.columns) else [
            dataset.columns.index(name) for name in self._names]
        self._closing = weakref.finalize(self, Run.close, self._run)
        ITERATORS_LIST.append(weakref.ref(self, _forget))
        if dataset.get_init_step():
            self._reset(dataset.get_init_step(), dataset.get_dataset_size())

    def _made_tuner(self) -> Tuner | None:
        return Tuner(self.dataset, self._run, self.num_epochs) if (
            config.get_enable_autotune()) else None

    def _reset(self, step: int, dataset_size: int) -> None:
        """Go on after so many steps of training, each a row; an epoch has `dataset_size` of them.

        Raises:
            RuntimeError: if there are fewer steps.
        """
        if step < 0:
            raise RuntimeError(f"Cannot reset the pipeline, reset step must be >= 0. Got {step}.")
        if dataset_size < 1 or 0 < self.num_epochs * dataset_size <= step:
            raise RuntimeError(f"Cannot reset the pipeline, reset step must be less than "
                               f"dataset_size * num_epochs. Got {step}, {dataset_size} and "
                               f"{self.num_epochs}.")
        self._closing.detach()
        self._run.close()
        self._run, self._rows, self._stopped = Run(self.dataset, self._run.seed), None, False
        self._closing = weakref.finalize(self, Run.close, self._run)
        self._tuner = self._made_tuner()
        for _ in range(step // dataset_size):
            self.dataset._advance(self._run)
            self._run.epoch += 1
            self._run.begin()
        self._given = step % dataset_size

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if state.trace is not None:
            state.trace.refuse("reads a row of a dataset")
        with self._taking:
            return self._next()

    def _next(self) -> Any:
        if self._rows is None:
            self._start()
        try:
            values = (self._values(next(self._rows))  # type: ignore[arg-type]
                      if self._ahead is None else next(self._ahead))
        except StopIteration:
            self._rows = None
            self._given = 0
            self._run.epoch += 1
            self._run.begin()
            if self._run.epoch == self.num_epochs:
                self._run.close()
            raise
        except BaseException:
            self._rows = None
            self._stopped = True
            self._run.close()
            raise
        self._given += 1
        return self._formed(values)

    def _start(self) -> None:
        if self._stopped:
            raise StopIteration
        if self._run.epoch == self.num_epochs:
            raise RuntimeError(f"User tries to fetch data beyond the specified number of epochs. "
                               f"The iterator was made for {self.num_epochs} epochs, which it has "
                               f"given. Make it with a larger 'num_epochs', or -1.")
        rows = iter(self.dataset._rows(self._run, 0 if self._again else self._given))
        if self._again:
            for _ in itertools.islice(rows, self._again):
                pass
            self._run.caught_up()
            self._again = 0
        if self._profiled is not None:
            rows = self._profiled(rows)
        if self._tuner is not None:
            rows = self._tuner.rows(rows)
        self._rows = rows
        self._ahead = Ahead(rows, self._values, self._run.state,
                            self._given) if self._reads_ahead() else None

    def _reads_ahead(self) -> bool:
        """Whether rows are sent to a device before they are asked for.

        Not where functions of the user's run in this process, or operations that were taken off the
        pipeline: they may draw random numbers, as may the program between two rows.
        """
        return (not self.output_numpy and self.offload_model is None
                and context.current_device().type != "cpu"
                and not any(node._runs_python() for node in self.dataset.tree()))

    def _values(self, row: Row) -> list[Any]:
        if self._shown is not None:  # columns of metadata are given once they are renamed
            row = tuple([row[place] for place in self._shown])
        if self.output_numpy:
            values = [v if v.__class__ is not dict and (self._fresh or v.base is None)
                      else as_given(v, True) for v in row]
        else:
            fresh = self._fresh
            values = [as_tensor(value, fresh) for value in row]
        return values if self.offload_model is None else self.offload_model(*values)

    def _formed(self, values: list[Any]) -> Any:
        raise NotImplementedError

    def get_next(self) -> Any:
        """The next row, as `next` gives it."""
        return next(self)

    def stop(self) -> None:
        """End it, with its threads and processes."""
        self._stopped = True
        self._run.close()  # first: rows that nobody asks for need not be finished
        self._rows = None

    def release(self) -> None:
        """End it, with its threads and processes."""
        self.stop()

    def state_dict(self) -> dict[str, Any]:
        """Where it is: what `load_state_dict` needs to go on with the same rows, bit for bit.

        Only what a user's own functions keep between calls isn't in it.

        Examples:
            >>> import lamella.dataset as ds
            >>> data = ds.NumpySlicesDataset(list(range(6)), shuffle=False).batch(2)
            >>> rows = data.create_tuple_iterator()
            >>> print(next(rows)[0])
            [0 1]
            >>> later = data.create_tuple_iterator()
            >>> later.load_state_dict(rows.state_dict())
            >>> print(next(later)[0])
            [2 3]
        """
        if self._ahead is not None and self._ahead.state is not None and self._rows is not None:
            return {**self._ahead.state, "python": self._run.state(0)["python"]}
        return self._run.state(self._given)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that an iterator over the same pipeline gave.

        Raises:
            RuntimeError: if rows were read already.
        """
        if self._rows is not None or self._run.epoch:
            raise RuntimeError("For 'load_state_dict', the iterator must be a new one.")
        self._again = self._run.restore(state)
        self._given = state["given"]


class TupleIterator(_Iterator):
    """Rows as lists, a value a column."""

    def _formed(self, values: list[Any]) -> list[Any]:
        return values


class DictIterator(_Iterator):
    """Rows as dicts, a value by each column's name."""

    def _formed(self, values: list[Any]) -> dict[str, Any]:
        return dict(zip(self._names, values, strict=True))
