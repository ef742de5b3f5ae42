"""Rows from Python objects: sequences, iterables and generators."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...core.dtype import dtype_to_nptype
from .. import config
from ..checks import boolean, of_type, shards
from ..errors import DataError, in_pipeline, in_user_code
from ..node import names
from ..order import Row, Table, flat
from ..processes import Processes
from ..rows import source_row, stacked
from ..samplers import BuiltinSampler, PKSampler
from ..schema import Schema
from ..source import MappableDataset
from ..source_arguments import select_sampler
from ..state import Passes, Run
from .torch_rows import SourceTable, TensorsTable, tensors_of


class GeneratorDataset(MappableDataset):
    """Rows from a Python object.

    Args:
        source: an object with ``__getitem__`` and ``__len__``, an iterable, or a function that
            returns an iterator. Each row is a tuple of arrays or numbers, or a single one.
        column_names: the names of the columns.
        column_types: the data type of each column, which is checked.
        schema: a Schema, or the path of its JSON file, instead of `column_names`.
        num_samples: read at most this many rows.
        num_parallel_workers: how many processes read an indexed `source`.
        shuffle: whether to read in random order; by default yes, where `source` can be indexed.
        sampler: in which order to read; instead of `shuffle`.
        num_shards, shard_id: read one of `num_shards` parts.
        python_multiprocessing: whether several workers are processes.
        max_rowsize: of no effect; shared memory is as large as needed.
        batch_sampler: gives lists of row numbers, each of which becomes a batch.
        collate_fn: makes a batch of the columns' lists of values, with `batch_sampler`.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, or two exclude each other.

    Examples:
        >>> import lamella.dataset as ds
        >>> data = ds.GeneratorDataset([(1, 2.0), (3, 4.0)], ["a", "b"], shuffle=False)
        >>> for row in data.create_dict_iterator(num_epochs=1):
        ...     print(row["a"], row["b"])
        1 2.0
        3 4.0
    """

    in_memory = True

    def __init__(self, source: Any, column_names: Any = None, column_types: Any = None,
                 schema: Any = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = 1, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 python_multiprocessing: bool = True, max_rowsize: Any = None,
                 batch_sampler: Any = None, collate_fn: Callable[..., Any] | None = None):
        super().__init__(None, num_parallel_workers)
        name = type(self).__name__
        source = list(source) if isinstance(source, builtins.zip) else source
        if isinstance(source, Iterator) and type(source).__module__ in ("builtins", "itertools"):
            source = _Kept(source)  # a generator, `map` or the like, which can be read once
        self.indexed: bool = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not (self.indexed or callable(source) or isinstance(source, Iterable)
                or hasattr(source, "__next__") or hasattr(source, "__getitem__")):
            raise TypeError(f"Input `source` function of GeneratorDataset should be callable, "
                            f"iterable or random accessible, commonly it should implement one of "
                            f"the method like yield, __getitem__ or __next__(__iter__). For "
                            f"'{name}', 'source' must be an object with __getitem__ and __len__, "
                            f"an iterable or a function, but got {type(source).__name__}.")
        if not self.indexed and not callable(source) and not isinstance(source, Iterable) and (
                hasattr(source, "__getitem__")):
            raise RuntimeError(f"Attempt to construct a random access dataset, '__len__' method is "
                               f"required! For '{name}', got {type(source).__name__}.")
        self.source: Any = source
        self.workers = config.checked_workers(name, num_parallel_workers)
        self.num_samples = num_samples
        if schema is not None and not isinstance(schema, (str, Schema)):
            raise ValueError("schema should be a path to schema file or a schema object. For "
                             f"'{name}', it is {schema!r}.")
        self.schema = Schema(schema) if isinstance(schema, str) else schema
        if column_names is not None:
            self._columns = names(name, column_names, "column_names")
        elif self.schema is not None:
            self._columns = [column["name"] for column in self.schema.columns]
        else:
            raise ValueError(f"Neither columns_names nor schema are provided. For '{name}', "
                             f"'column_names' or 'schema' must be given.")
        if column_types is not None and not isinstance(column_types, list):
            raise TypeError(f"{of_type('column_types', column_types, list)} For '{name}', "
                            "'column_types' must be a list of data types.")
        self.types = column_types
        if self.types is not None and len(self.types) != len(self._columns):
            raise ValueError(f"For '{name}', 'column_types' must have as many as there are columns,"
                             f" {len(self._columns)}, but got {len(self.types)}.")
        boolean(name, "python_multiprocessing", python_multiprocessing)
        self.python_multiprocessing = python_multiprocessing
        shards(name, num_shards, shard_id)
        self._check_batches(batch_sampler, collate_fn, {
            "sampler": sampler, "shuffle": shuffle, "num_samples": num_samples,
            "num_shards": num_shards})
        self.sampler = self._sampler(name, num_samples, sampler, shuffle, num_shards, shard_id)
        self.batch_sampler, self.collate_fn = batch_sampler, collate_fn
        self._rows_table = self._table_of_rows() if self.indexed else None

    def _sampler(self, name: str, num_samples: Any, sampler: Any, shuffle: Any, num_shards: Any,
                 shard_id: Any) -> Any:
        if isinstance(sampler, PKSampler):
            raise ValueError("GeneratorDataset doesn't support PKSampler.")
        if sampler is not None and not isinstance(sampler, (BuiltinSampler, Iterable)) and not (
                hasattr(sampler, "__getitem__")):
            raise TypeError(f"sampler should be either iterable or from mindspore.dataset.samplers."
                            f" For '{name}', got {type(sampler).__name__}.")
        if shuffle is not None:
            boolean(name, "shuffle", shuffle)
        if not self.indexed:
            for argument, value in (("sampler", sampler), ("num_shards", num_shards),
                                    ("shuffle", shuffle or None)):
                if value is not None:
                    raise ValueError(f"{argument} is not supported if source does not have "
                                     f"attribute '__getitem__'. For '{name}', 'shuffle', 'sampler' "
                                     f"and 'num_shards' need a source with __getitem__ and "
                                     f"__len__.")
        return select_sampler(name, num_samples, sampler, shuffle, num_shards, shard_id, True)

    def _check_batches(self, batch_sampler: Any, collate_fn: Any, others: dict[str, Any]) -> None:
        name = type(self).__name__
        if batch_sampler is not None:
            for argument, value in others.items():
                if value is not None:
                    raise ValueError(
                        f"batch_sampler is mutually exclusive with num_samples, shuffle, "
                        f"num_shards, shard_id and sampler. For '{name}', got '{argument}' too.")
            if not isinstance(batch_sampler, (BuiltinSampler, Iterable)) and not (
                    hasattr(batch_sampler, "__getitem__")):
                raise TypeError(f"batch_sampler should have __getitem__ or __iter__ method. For "
                                f"'{name}', got {type(batch_sampler).__name__}.")
            if not self.indexed:
                raise ValueError(f"batch_sampler is not supported if source does not have attribute"
                                 f" '__getitem__'. For '{name}', it needs a source with "
                                 f"__getitem__ and __len__.")
        if collate_fn is not None:
            if batch_sampler is None:
                raise ValueError(f"collate_fn can be specified only when batch_sampler is set. For "
                                 f"'{name}', 'collate_fn' makes batches.")
            if not callable(collate_fn):
                raise TypeError(f"collate_fn should be callable. For '{name}', got "
                                f"{type(collate_fn).__name__}.")

    # -- rows ------------------------------------------------------------------------------------

    def _table_of_rows(self) -> Table:
        if self.types is not None:  # each row's are checked
            return Table(self._row, len(self.source))
        tensors = tensors_of(self.source)
        if tensors is not None and len(tensors) == len(self._columns or ()):
            return TensorsTable(tensors, self._row)
        return SourceTable(self.source, self._row, self._checked, len(self.columns))

    def _table(self) -> Table | None:
        if self._pooled() or self.batch_sampler is not None:
            return None
        return self._rows_table

    def _pooled(self) -> bool:
        return (self.indexed and self.workers > 1 and self.python_multiprocessing
                and not config.get_debug_mode() and self.batch_sampler is None)

    def _runs_python(self) -> bool:
        return not self._pooled()

    def _order(self, run: Run) -> Any:
        size = len(self.source)
        return run.keep(self, lambda: Passes(self.sampler.epochs(size, run.seed)))

    def _row(self, place: int) -> Row:
        try:
            return self._checked(self.source[place])
        except DataError:
            raise
        except Exception as error:
            raise in_user_code("GeneratorDataset", error) from error

    def _checked(self, raw: Any) -> Row:
        row = source_row(raw)
        if len(row) != len(self.columns):
            raise in_pipeline(f"Invalid Python function, the 'source' of 'GeneratorDataset' should "
                             f"return same number of NumPy arrays as specified in column_names, "
                             f"the size of column_names is:{len(self.columns)} and number of "
                             f"returned NumPy array is:{len(row)}")
        if self.types is not None:
            for name, value, kind in zip(self.columns, row, self.types, strict=True):
                wanted = np.dtype(dtype_to_nptype(kind)) if not isinstance(
                    kind, (np.dtype, type)) else np.dtype(kind)
                if isinstance(value, dict):
                    continue
                if value.dtype != wanted and value.dtype.kind not in "US":
                    raise TypeError(f"The column {name!r} must have the type {wanted}, as "
                                    f"'column_types' says, but got {value.dtype}.")
        return row

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self.batch_sampler is not None:
            return itertools.islice(self._batches(run), skip, None)
        if not self.indexed:
            return self._sequence(run, skip)
        return self._in_processes(run, skip) if self._pooled() else super()._rows(run, skip)

    def _sequence(self, run: Run, skip: int) -> Iterator[Row]:
        """The rows of an iterable from `skip` on; those before are asked for at once."""
        begun: Any = None

        def counted() -> Iterator[Row]:
            nonlocal begun
            begun = run.begin_pass(self)  # now, as what runs beside it may have drawn numbers
            for row in itertools.islice(self._iterated(), self.num_samples or None):
                begun.read += 1
                yield row

        rows = counted()
        for _ in itertools.islice(rows, skip):
            pass
        if skip:
            run.run_again(begun)
        return rows

    def _iterated(self) -> Iterator[Row]:
        try:
            source: Any = self.source
            made: Any = (source if isinstance(source, Iterable) or not callable(source)
                         else source())
            for raw in iter(made) if not hasattr(made, "__next__") else made:
                yield self._checked(raw)
        except DataError:
            raise
        except Exception as error:
            raise in_user_code("GeneratorDataset", error) from error

    def _in_processes(self, run: Run, skip: int) -> Iterator[Row]:
        pool: Any = run.keep(self, lambda: _Pool(self, run))
        return pool.rows(run, skip)

    def _advance(self, run: Run) -> None:
        if self._pooled():
            run.keep(self, lambda: _Pool(self, run)).passes.next()
        elif self.indexed and self.batch_sampler is None:
            self._order(run).next()
        else:
            run.pass_over(self)

    def _batches(self, run: Run) -> Iterator[Row]:
        given: Any = self.batch_sampler
        if hasattr(given, "dataset_size"):
            given.dataset_size = len(self.source)
        for places in iter(given):
            rows = [self._row(int(p)) for p in (
                places if isinstance(places, (list, tuple, np.ndarray)) else [places])]
            columns = [list(column) for column in zip(*rows, strict=True)]
            if self.collate_fn is None:
                yield tuple([stacked(i, column) for i, column in enumerate(columns)])
                continue
            try:
                out = self.collate_fn(*columns)
                out = out if isinstance(out, tuple) else (out,)
                yield tuple([np.stack([np.asarray(v) for v in column])
                             if isinstance(column, list) else np.asarray(column) for column in out])
            except Exception as error:
                raise in_user_code("GeneratorDataset: [collate_fn]", error) from error

    def _count(self) -> int:
        if self.batch_sampler is not None:
            if hasattr(self.batch_sampler, "__len__"):
                return len(self.batch_sampler)
            return sum(1 for _ in self.batch_sampler)
        if self.indexed:
            return self.sampler.count(len(self.source))
        if hasattr(self.source, "__len__"):
            size = len(self.source)
            return min(size, self.num_samples or size)
        return sum(1 for _ in self._rows(Run(self)))

    def __getitem__(self, index: int) -> Any:
        if not hasattr(self.source, "__getitem__"):
            raise RuntimeError("For 'GeneratorDataset', rows of this source have no numbers.")
        if not self.indexed:
            return self.source[index]
        order = next(self.sampler.epochs(len(self.source), config.pipeline_seed()))
        return self.source[int(order[index])]

    def split(self, sizes: Any, randomize: bool = True) -> Any:
        """Divide the rows; see `Dataset.split`."""
        return super().split(sizes, randomize)

    def is_shuffled(self) -> bool:
        """Whether the order of rows is random."""
        return self.indexed and self.sampler.is_shuffled()


class _Kept:
    """A generator's rows, kept so that they can be read again, also by several readers in turn."""

    def __init__(self, generator: Iterator[Any]):
        self.generator, self.rows = generator, []
        self.error: Exception | None = None  # which ended the generator

    def __iter__(self) -> Iterator[Any]:
        for place in itertools.count():
            if place == len(self.rows):
                try:
                    self._read()
                except StopIteration:
                    return
            yield self.rows[place]

    def _read(self) -> None:
        if self.error is not None:
            raise self.error
        try:
            self.rows.append(next(self.generator))
        except StopIteration:
            raise
        except Exception as error:
            self.error = error
            raise


class _Pool:
    """Processes that read an indexed source, and their progress."""

    def __init__(self, node: GeneratorDataset, run: Run):
        self.node = node
        self.passes = Passes(node.sampler.epochs(len(node.source), run.seed))
        self.processes: Any = None
        self.restored = run.mark(node)
        self.latest: Any = None
        self.states: Any = None

    def state(self) -> dict[str, Any]:
        """The state at the beginning of the epoch."""
        states = self.processes.states if self.processes else self.states
        return {"passes": self.passes.count, "python": states}

    def restore(self, state: dict[str, Any]) -> None:
        """Begin an epoch from a saved state."""
        self.passes.restore(state["passes"])
        self.states = state["python"]

    def mark(self) -> Any:
        """A position to continue from without reading the rows before it."""
        return self.latest

    def rows(self, run: Run, skip: int) -> Iterator[Row]:
        """The rows of an epoch, from `skip` on."""
        node, order = self.node, self.passes.next()
        mark, self.restored = self.restored, None
        start = 0
        if mark is not None and mark["passes"] == self.passes.count and mark["place"] <= skip:
            start, self.states = mark["place"], mark["python"]
        if self.processes is None:
            self.processes = Processes(lambda place, _: node._row(place), [], "GeneratorDataset",
                                       node.workers, run.seed, self.states)
            run.closers.append(self.processes.close)
        place = start
        for row, whole in self.processes.rows(flat([order[start:]]), start % node.workers):
            place += 1
            if whole:
                self.latest = {"passes": self.passes.count, "place": place,
                               "python": self.processes.states}
            if place > skip:
                yield row
