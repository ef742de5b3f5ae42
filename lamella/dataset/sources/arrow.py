"""Apache Arrow as a source: tables in memory, Arrow files in memory maps, Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import in_pipeline, needs
from ..order import Table
from .addresses import opened, paths_of
from .arrow_columns import column, stacks
from .files import found_files
from .piecewise import PiecesTable, PiecewiseDataset


class _ColumnsDataset(PiecewiseDataset):
    """The base of both: columns of a schema, chosen by name."""

    _schema: Any

    def _choose(self, columns_list: list[str] | None) -> None:
        known = self._schema.names
        unknown = [name for name in columns_list or () if name not in known]
        if unknown:
            raise ValueError(f"For '{type(self).__name__}', 'columns_list' must name columns among "
                             f"{known}, but got {unknown[0]!r}.")
        self._columns = list(columns_list or known)

    def _stacks(self) -> bool:
        return all(stacks(self._schema.field(name).type) for name in self.columns)


class ArrowDataset(_ColumnsDataset):
    """The rows of Arrow tables and files, whose memory columns of numbers share.

    Files (IPC, also called Feather 2, or streams) are mapped into memory: what isn't read takes
    none. Rows are shuffled within windows of batches, as `ParquetDataset` does within row groups.

    Args:
        source: a `pyarrow.Table`, or what has the method ``__arrow_c_stream__`` (tables of Polars,
            pandas, DuckDB); or paths or patterns of Arrow files.
        columns_list: which columns; default: all.
        num_samples, shuffle, sampler, num_shards, shard_id: as for `GeneratorDataset`.
        num_parallel_workers: of no effect: nothing is parsed.

    Raises:
        ImportError: without the package pyarrow (the extra ``arrow``).
        ValueError: if there is no such file or column.

    Examples:
        >>> import pyarrow as pa
        >>> import lamella.dataset as ds
        >>> table = pa.table({"x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]})
        >>> for x, name in ds.ArrowDataset(table, shuffle=False).batch(2):
        ...     print(x, name)
        [1. 2.] ['a' 'b']
        [3.] ['c']
    """

    in_memory = True

    def __init__(self, source: Any, columns_list: list[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        tables = _tables(source)
        self._schema = tables[0].schema
        self._choose(columns_list)
        self._batches = [batch for table in tables
                         for batch in table.select(self.columns).to_batches() if batch.num_rows]

    def _sizes(self) -> Sequence[int]:
        return [batch.num_rows for batch in self._batches]

    def _make_table(self) -> Table:
        return PiecesTable(self._read, self._sizes(), None, self._stacks())

    def _read(self, piece: int) -> Sequence[Any]:
        return [column(name, values) for name, values in
                zip(self.columns, self._batches[piece].columns, strict=True)]


def _tables(source: Any) -> list[Any]:
    """The Arrow tables of a source; files are mapped into memory."""
    pa: Any = needs("arrow", "pyarrow")
    if isinstance(source, pa.Table):
        return [source]
    if isinstance(source, pa.RecordBatch):
        return [pa.Table.from_batches([source])]
    if hasattr(source, "__arrow_c_stream__"):
        return [pa.table(source)]
    tables = [_mapped(path) for path in found_files("ArrowDataset", source)]
    for path, table in zip(found_files("ArrowDataset", source), tables, strict=True):
        if not table.schema.equals(tables[0].schema):
            raise in_pipeline(f"ArrowDataset: the file {path} has the columns "
                              f"{_described(table.schema)}, but the first file has "
                              f"{_described(tables[0].schema)}.")
    return tables


def _mapped(path: str) -> Any:
    import pyarrow as pa
    memory = pa.memory_map(path)
    try:
        try:
            return pa.ipc.open_file(memory).read_all()
        except pa.ArrowInvalid:
            memory.seek(0)
            return pa.ipc.open_stream(memory).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise in_pipeline(f"ArrowDataset: the file {path} is no Arrow file: {error}") from error


def _described(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


class ParquetDataset(_ColumnsDataset):
    """The rows of Parquet files; only the columns asked for are read, row group by row group.

    With `shuffle`, row groups come in a random order, and rows are shuffled within windows of row
    groups (at least two, and 65,536 rows), so that each group is read once in an epoch. Shards get
    parts of that order, each of the same length.

    Args:
        dataset_files: paths or patterns; also addresses such as ``s3://bucket/name.parquet``, which
            the package fsspec opens.
        columns_list: which columns; default: all.
        num_samples, shuffle, sampler, num_shards, shard_id: as for `GeneratorDataset`. A `sampler`
            reads rows in its own order, which may read a row group for each row.
        num_parallel_workers: of no effect: pyarrow decodes columns in threads.
        storage_options: for fsspec, such as keys.

    Raises:
        ImportError: without the package pyarrow (the extra ``arrow``).
        ValueError: if there is no such file or column.
        RuntimeError: if a file is damaged, or files have different columns.

    Examples:
        >>> import pathlib, tempfile
        >>> import pyarrow as pa
        >>> import pyarrow.parquet as pq
        >>> import lamella.dataset as ds
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.parquet"
        >>> pq.write_table(pa.table({"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]}), path)
        >>> [y.tolist() for (y,) in ds.ParquetDataset(str(path), ["y"], shuffle=False).batch(2)]
        [[0.5, 1.5], [2.5]]
    """

    def __init__(self, dataset_files: Any, columns_list: list[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, storage_options: dict[str, Any] | None = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        needs("arrow", "pyarrow")
        self.files = paths_of("ParquetDataset", dataset_files)
        self.storage_options = dict(storage_options or {})
        self._opened: dict[str, Any] = {}
        self._schema = self._open(self.files[0]).schema_arrow
        self._choose(columns_list)
        self._groups: list[tuple[str, int, int]] = [
            (path, number, self._open(path).metadata.row_group(number).num_rows)
            for path in self.files for number in range(self._open(path).num_row_groups)]
        self._groups = [group for group in self._groups if group[2]]

    def _open(self, path: str) -> Any:
        if path not in self._opened:
            self._opened[path] = self._checked(path)
        return self._opened[path]

    def _checked(self, path: str) -> Any:
        import pyarrow as pa
        from pyarrow import parquet
        try:
            found = parquet.ParquetFile(opened(path, self.storage_options))
        except (pa.ArrowInvalid, OSError) as error:
            raise in_pipeline(f"ParquetDataset: the file {path} can't be read: {error}") from error
        first = next(iter(self._opened.values()), found).schema_arrow
        if not found.schema_arrow.equals(first):
            raise in_pipeline(f"ParquetDataset: the file {path} has the columns "
                              f"{_described(found.schema_arrow)}, but the first file has "
                              f"{_described(first)}.")
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_opened": {}}

    def _sizes(self) -> Sequence[int]:
        return [rows for _, _, rows in self._groups]

    def _make_table(self) -> Table:
        return PiecesTable(self._read, self._sizes(), self._window(), self._stacks(),
                           lambda piece: (self._groups[piece][0],))

    def _read(self, piece: int) -> Sequence[Any]:
        import pyarrow as pa
        path, number, _ = self._groups[piece]
        try:
            found = self._open(path).read_row_group(number, columns=self.columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise in_pipeline(f"ParquetDataset: row group {number} of the file {path} can't be "
                              f"read: {error}") from error
        return [column(name, found.column(name)) for name in self.columns]
