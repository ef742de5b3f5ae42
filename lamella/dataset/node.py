"""`Dataset`: the base of sources and operations, with the methods that all of them have."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .arguments import checked_call
from .checks import boolean, of_type
from .described import Described
from .errors import in_pipeline
from .iterators import DictIterator, TupleIterator
from .order import Row, Table, flat
from .rows import dtype_of, shape_of
from .serializing import serialize
from .state import Resumed, Run, kept_random_state

# which datasets were made of one: not among its attributes, which travel to other processes
_parents: weakref.WeakKeyDictionary[Dataset, list[weakref.ref[Dataset]]] = (
    weakref.WeakKeyDictionary())


class Dataset(Described, Resumed):
    """The base of all datasets: an iterable of rows, and operations that make another one of it.

    Operations leave the Dataset as it is. A subclass gives either a table and the numbers of rows
    to read of it (`_table`, `_numbers`), or rows (`_rows`).
    """

    fresh = False  # whether the arrays of a row belong to nobody else
    offload: bool | None = False  # whether a `map` asks for it; None: by `config`
    _hands_on = False  # whether its values are those that it got, or stacks of them
    cache = None  # there is no cache server
    saved_output_shapes: list[list[int | None]] | None = None  # what was asked for last
    saved_output_types: list[np.dtype] | None = None

    def __init__(self, children: Any = None, num_parallel_workers: int | None = None,
                 cache: Any = None):
        self.children: list[Dataset] = ([] if children is None else
                                        list(children) if isinstance(children, (list, tuple))
                                        else [children])
        for child in filter(lambda child: isinstance(child, Dataset), self.children):
            _parents.setdefault(child, []).append(weakref.ref(self))
        self.num_parallel_workers = num_parallel_workers
        self._columns: list[str] | None = None
        self._counted: int | None = None
        self._init_step: int | None = None
        if cache is not None:
            kind = "<class 'mindspore.dataset.engine.cache_client.DatasetCache'>"
            raise TypeError(f"Argument cache with value {cache} is not of type [{kind}], but got "
                            f"{type(cache)}. For '{type(self).__name__}', 'cache' is not "
                            "supported: there is no cache server. Data in memory is read by "
                            "NumpySlicesDataset.")

    @property
    def parent(self) -> list[weakref.ref[Dataset]]:
        """Weak references to the datasets that were made of this one."""
        return _parents.get(self, [])

    @property
    def dataset_size(self) -> int | None:
        """The number of rows of one epoch; None until `get_dataset_size` is called.

        A number that is assigned is what `get_dataset_size` gives.
        """
        return self._counted

    @dataset_size.setter
    def dataset_size(self, size: int | None) -> None:
        self._counted = size

    # -- what operations build on ----------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self._columns is None:
            self._columns = self._named()
        return self._columns

    def _named(self) -> list[str]:
        return self.children[0].columns

    def tree(self) -> list[Dataset]:
        """This dataset and all that it is made of, the last operation first."""
        return [self, *itertools.chain.from_iterable(child.tree() for child in self.children)]

    def _table(self) -> Table | None:
        """The table this dataset's rows are in, if it only moves rows."""
        return None

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        """The numbers of one epoch's rows, from `skip` on; only where there is a table."""
        raise NotImplementedError

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        """The rows of one epoch, from `skip` on."""
        table = self._table()
        if table is None:
            raise NotImplementedError(f"'{type(self).__name__}' must define '_rows'.")
        return map(table.row, flat(self._numbers(run, skip)))

    def _advance(self, run: Run) -> None:
        """Leave out an epoch."""
        for child in self.children:
            child._advance(run)

    def _count(self) -> int:
        """The number of rows of one epoch."""
        return sum(1 for _ in self._rows(Run(self)))

    # -- operations ------------------------------------------------------------------------------
    # Imported where used: each gives a Dataset, of a class that is derived from this one.

    @checked_call("Dataset.map")
    def map(self, operations: Any, input_columns: Any = None, output_columns: Any = None,
            num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Apply operations, one after the other, to columns of each row.

        Args:
            operations: a function, a transform, or a list of them; the first takes an array for
                each of `input_columns`, each next one what the one before gave.
            input_columns: names of columns; default: the first.
            output_columns: the names of what comes out; default: `input_columns`. As many as go in:
                they take the places of those; else they come first, the other columns after.
            num_parallel_workers: how many workers; default: `config`'s. Row i belongs to worker
                i mod that, which has random numbers of its own.
            **kwargs: `python_multiprocessing` (default False): functions run in processes;
                `offload`: iterators run the last operations on batches, on the program's device;
                `callbacks`: a DSCallback or a list; `column_order`: as `project` takes it;
                `max_rowsize`, `cache`: of no effect.

        Examples:
            >>> import lamella.dataset as ds
            >>> [int(x) for (x,) in ds.NumpySlicesDataset([1, 2], shuffle=False).map(lambda x: -x)]
            [-1, -2]
        """
        from .mapping import mapped
        return mapped(self, operations, input_columns, output_columns, num_parallel_workers,
                      **kwargs)

    @checked_call("Dataset.batch")
    def batch(self, batch_size: Any, drop_remainder: bool = False,
              num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Stack rows.

        Args:
            batch_size: how many; or a function of a BatchInfo that says so for each batch.
            drop_remainder: whether to leave out a last batch with fewer.
            num_parallel_workers: how many processes run `per_batch_map`, where asked for.
            **kwargs: `per_batch_map`: a function of the columns' lists of values and a BatchInfo,
                which gives a tuple of lists; `input_columns`, `output_columns`: what it takes and
                gives; `python_multiprocessing`, `max_rowsize`; `column_order`, `pad_info`: older.
        """
        from .batching import stacked_rows
        return stacked_rows(self, batch_size, drop_remainder, num_parallel_workers, **kwargs)

    @checked_call("Dataset.padded_batch")
    def padded_batch(self, batch_size: Any, drop_remainder: bool = False,
                     num_parallel_workers: int | None = None, pad_info: Any = None) -> Dataset:
        """Pad rows to one shape, and stack them.

        Args:
            batch_size, drop_remainder, num_parallel_workers: as for `batch`.
            pad_info: a dict from a column to (shape, value): None in a shape is the batch's largest
                size; default: all columns, with 0.
        """
        from .batching import PaddedBatchDataset
        return PaddedBatchDataset(self, batch_size, drop_remainder, num_parallel_workers, pad_info)

    @checked_call("Dataset.bucket_batch_by_length")
    def bucket_batch_by_length(self, column_names: Any, bucket_boundaries: list[int],
                               bucket_batch_sizes: list[int],
                               element_length_function: Callable[..., int] | None = None,
                               pad_info: Any = None, pad_to_bucket_boundary: bool = False,
                               drop_remainder: bool = False) -> Dataset:
        """Batch rows of similar length together.

        Args:
            column_names: the columns that the length is found from.
            bucket_boundaries: the upper ends, not included, of the buckets but the last.
            bucket_batch_sizes: the size of the batches of each bucket, one more than boundaries.
            element_length_function: gives a row's length; default: the first dimension's size.
            pad_info: how to pad, as for `padded_batch`; default: all columns, with 0.
            pad_to_bucket_boundary: whether None in a shape is the bucket's boundary - 1.
            drop_remainder: whether to leave out the last, smaller batches.
        """
        from .batching import BucketBatchByLengthDataset
        return BucketBatchByLengthDataset(self, column_names, bucket_boundaries, bucket_batch_sizes,
                                          element_length_function, pad_info, pad_to_bucket_boundary,
                                          drop_remainder)

    @checked_call("Dataset.shuffle")
    def shuffle(self, buffer_size: int) -> Dataset:
        """Draw each row at random from the next `buffer_size`."""
        from .moving import ShuffleDataset
        return ShuffleDataset(self, buffer_size)

    @checked_call("Dataset.repeat")
    def repeat(self, count: int | None = None) -> Dataset:
        """The rows `count` times over; without end where None or -1."""
        from .moving import RepeatDataset
        return RepeatDataset(self, count)

    @checked_call("Dataset.take")
    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows; all where -1."""
        from .moving import TakeDataset
        return self if count == -1 else TakeDataset(self, count)

    @checked_call("Dataset.skip")
    def skip(self, count: int) -> Dataset:
        """All but the first `count` rows."""
        from .moving import SkipDataset
        return SkipDataset(self, count)

    @checked_call("Dataset.split")
    def split(self, sizes: list[int] | list[float], randomize: bool = True) -> Any:
        """Divide the rows.

        Args:
            sizes: how many rows each part has, or what share of all, which sum up to all of them.
            randomize: whether to shuffle before, the same for every epoch.

        Returns:
            A tuple of datasets.
        """
        from .splitting import split
        return split(self, sizes, randomize)

    def zip(self, datasets: Any) -> Dataset:
        """Rows side by side with those of other datasets, up to the shortest."""
        from .moving import ZipDataset, others_of
        return ZipDataset((self, *others_of("zip", datasets, tuple)))

    def concat(self, datasets: Any) -> Dataset:
        """These rows, then those of other datasets with the same columns."""
        from .moving import ConcatDataset, others_of
        return ConcatDataset([self, *others_of("concat", datasets, list)])

    def __add__(self, datasets: Any) -> Dataset:
        return self.concat(datasets)

    @checked_call("Dataset.rename")
    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for columns."""
        from .moving import RenameDataset
        return RenameDataset(self, input_columns, output_columns)

    @checked_call("Dataset.project")
    def project(self, columns: Any) -> Dataset:
        """Only these columns, in this order."""
        from .moving import ProjectDataset
        return ProjectDataset(self, columns)

    @checked_call("Dataset.filter")
    def filter(self, predicate: Callable[..., Any], input_columns: Any = None,
               num_parallel_workers: int | None = None) -> Dataset:
        """The rows for which `predicate`, given `input_columns` (default: all), is true."""
        from .mapping import FilterDataset
        return FilterDataset(self, predicate, input_columns, num_parallel_workers)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What `apply_func` makes of this dataset."""
        if not callable(apply_func):
            raise TypeError(f"apply_func must be a function. For 'apply', 'apply_func' must be "
                            f"one, but got {type(apply_func).__name__}.")
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"For 'apply', 'apply_func' must return a Dataset, but it returned "
                            f"{type(made).__name__}.")
        return made

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of the datasets that `func` makes of each row, one after the other."""
        from .moving import ConcatDataset
        if not callable(func):
            raise TypeError(f"func must be a function. For 'flat_map', 'func' must be one, but got "
                            f"{type(func).__name__}.")
        parts = []
        for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True):
            part = func(*row)
            if not isinstance(part, Dataset):
                raise TypeError("flat_map must return a Dataset object. For 'flat_map', 'func' "
                                f"returned {type(part).__name__}.")
            parts.append(part)
        if not parts:
            raise ValueError("For 'flat_map', the dataset has no rows.")
        return parts[0] if len(parts) == 1 else ConcatDataset(parts)

    @checked_call("Dataset.sync_wait")
    def sync_wait(self, condition_name: str, num_batch: int = 1,
                  callback: Callable[..., Any] | None = None) -> Dataset:
        """Let `num_batch` rows pass, then wait for `sync_update` of the same condition."""
        from .waiting import SyncWaitDataset
        return SyncWaitDataset(self, condition_name, num_batch, callback)

    @checked_call("Dataset.device_que")
    def device_que(self, send_epoch_end: bool = True, create_data_info_queue: bool = False,
                   queue_name: str = "") -> Dataset:
        """A dataset whose rows are sent to a queue; here the queue is this process's own."""
        from .waiting import TransferDataset
        return TransferDataset(self, send_epoch_end, create_data_info_queue, queue_name)

    @checked_call("Dataset.save")
    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write the rows of one epoch to one mindrecord file, or to several with numbers."""
        from .saving import save  # with mindrecord, which few programs need
        save(self, file_name, num_files, file_type)

    # -- reading ---------------------------------------------------------------------------------

    @checked_call("Dataset.create_tuple_iterator")
    def create_tuple_iterator(self, columns: Any = None, num_epochs: int = -1,
                              output_numpy: bool = False, do_copy: bool = False) -> TupleIterator:
        """An iterator over rows as lists.

        Args:
            columns: which columns; default: all.
            num_epochs: how many epochs will be read; -1: any number.
            output_numpy: give NumPy arrays instead of Tensors.
            do_copy: accepted as MindSpore does; Tensors own their memory.
        """
        chosen = self if columns is None else self.project(columns)
        return TupleIterator(chosen, num_epochs, output_numpy)

    @checked_call("Dataset.create_dict_iterator")
    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False,
                             do_copy: bool = False) -> DictIterator:
        """As `create_tuple_iterator`, with rows as dicts by column name."""
        return DictIterator(self, num_epochs, output_numpy)

    def __iter__(self) -> Iterator[list[Any]]:
        return self.create_tuple_iterator(num_epochs=1)

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @checked_call("Dataset.output_shapes")
    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shape of each column.

        Args:
            estimate: read all rows, and give None for sizes that vary; else the first row's.
        """
        boolean("output_shapes", "estimate", estimate)
        run = Run(self)
        try:
            found: list[list[int | None]] = []
            for row in self._rows(run):
                shapes: list[list[int | None]] = [shape_of(value) for value in row]
                if not estimate:
                    self.saved_output_shapes = shapes
                    return shapes
                found = found or shapes
                for known, shape in zip(found, shapes, strict=True):
                    if len(known) != len(shape):
                        raise in_pipeline(
                            f"Inconsistent shapes, expect same shape for each data row, last "
                            f"shape: {known}, current shape: {shape}.")
                    known[:] = [a if a == b else None for a, b in zip(known, shape, strict=True)]
            return found
        finally:
            run.close()

    def output_types(self) -> list[np.dtype]:
        """The NumPy data type of each column, from the first row; strings have no length."""
        with contextlib.closing(Run(self)) as run:
            row = next(iter(self._rows(run)), ())
        self.saved_output_types = [dtype_of(value) for value in row]
        return self.saved_output_types

    def get_dataset_size(self) -> int:
        """The number of rows of one epoch."""
        if self._counted is None:
            with kept_random_state():  # rows may be run to count them
                self._counted = self._count()
        return self._counted

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_batch_size(self) -> int:
        """How many rows of the source a row holds."""
        return self.children[0].get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """How often the rows are repeated; of several datasets, the last one says it."""
        return self.children[-1].get_repeat_count() if self.children else 1

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class by name, where the source knows classes."""
        return self.children[0].get_class_indexing() if self.children else {}

    def num_classes(self) -> int | None:
        """The number of classes, where the source knows it."""
        return self.children[0].num_classes() if self.children else None

    def reset(self) -> None:
        """Start again with the next epoch; iterators do so by themselves."""

    def is_shuffled(self) -> bool:
        """Whether the order of rows is random."""
        return any(child.is_shuffled() for child in self.children)

    def is_sharded(self) -> bool:
        """Whether only a part of the source is read."""
        return any(child.is_sharded() for child in self.children)

    def set_init_step(self, init_step: int) -> None:
        """Set the step that training starts from."""
        self._init_step = init_step

    def get_init_step(self) -> int:
        """The step that training starts from."""
        if self._init_step is not None:
            return self._init_step
        return self.children[0].get_init_step() if len(self.children) == 1 else 0

    def get_sync_notifiers(self) -> dict[str, Any]:
        """The functions that `sync_update` calls, by condition."""
        return self.children[0].get_sync_notifiers() if self.children else {}

    def is_sync(self) -> bool:
        """Whether a `sync_wait` is among the operations."""
        return any(child.is_sync() for child in self.children)

    def disable_sync(self) -> None:
        """Let all rows pass from now on."""
        for child in self.children:
            child.disable_sync()

    def sync_update(self, condition_name: str, num_batch: int | None = None,
                    data: Any = None) -> None:
        """Let the next rows pass that wait for a condition.

        Args:
            condition_name: which.
            num_batch: how many rows; default: what `sync_wait` says.
            data: for the callback of `sync_wait`.
        """
        notifiers = self.get_sync_notifiers()
        if condition_name not in notifiers:
            self.disable_sync()
            raise RuntimeError(f"For 'sync_update', there is no condition {condition_name!r}; "
                               f"there are {sorted(notifiers)}.")
        if num_batch is not None and (isinstance(num_batch, bool) or not isinstance(num_batch, int)
                                      or num_batch <= 0):
            self.disable_sync()
            raise RuntimeError(f"For 'sync_update', 'num_batch' must be a positive int, but got "
                               f"{num_batch!r}.")
        notifiers[condition_name](num_batch, data)

    def to_json(self, filename: str = "") -> dict[str, Any]:
        """The pipeline as a dict, written to a JSON file where `filename` says one."""
        return serialize(self, filename)

    def _listed(self, where: str, columns: Any) -> list[str]:
        found = names(where, columns)
        for name in found:
            if name not in self.columns:
                raise in_pipeline(f"Invalid column, '{name}' of 'input_columns' doesn't exist in "
                                  f"the dataset columns. For '{where}', there is no column "
                                  f"{name!r}; the columns are {self.columns}.")
        return found


def names(where: str, columns: Any, argument: str = "input_columns") -> list[str]:
    """Names of columns as a list.

    Raises:
        TypeError: if they are none.
        ValueError: if one comes twice or is empty.
    """
    found = [columns] if isinstance(columns, str) else columns
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{of_type(argument, columns, list, str)} For '{where}', names of columns "
                        f"must be a str or a list of str, but got {columns!r}.")
    if not found:
        raise ValueError(f"{argument} should not be empty. For '{where}', '{argument}' must not be "
                         f"empty.")
    for place, name in enumerate(found):
        if not isinstance(name, str) and name:
            raise TypeError(f"{of_type(f'{argument}[{place}]', name, str)} For '{where}', names of "
                            f"columns must be a str or a list of str, but got {columns!r}.")
        if not name:
            raise ValueError(f"{argument} should not be an empty str. {argument}[{place}] should "
                             f"not be empty. For '{where}', a name of a column must not be empty.")
    if len(set(found)) != len(found):
        raise ValueError(f"Every column name should not be same with others in column_names. For "
                         f"'{where}', names of columns must differ, but got {list(found)}.")
    return list(found)
