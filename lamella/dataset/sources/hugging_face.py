"""Datasets of Hugging Face's package `datasets` as a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .arrow_columns import column, stacks
from .generator import GeneratorDataset
from .piecewise import PiecesTable


class HuggingFaceDataset(GeneratorDataset):
    """The rows of a dataset of Hugging Face's package `datasets`, by the names of their columns.

    Where all columns hold numbers or strings, batches are gathered from its Arrow table; images and
    others are decoded by the dataset. One that is streamed is read in its order.

    Args:
        source: a `datasets.Dataset` or `datasets.IterableDataset`.
        columns_list: which columns; default: all.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
            python_multiprocessing: as for `GeneratorDataset`.

    Raises:
        TypeError: if `source` is neither.
        ValueError: if there is no such column.

    Examples:
        >>> import datasets
        >>> import lamella.dataset as ds
        >>> source = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]})
        >>> for text, label in ds.HuggingFaceDataset(source, shuffle=False).batch(2):
        ...     print(text, label)
        ['a' 'b'] [0 1]
    """

    def __init__(self, source: Any, columns_list: list[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, python_multiprocessing: bool = True):
        columns = _columns(source, columns_list)
        rows = _Indexed(source, columns) if hasattr(source, "__len__") else _Streamed(
            source, columns)
        super().__init__(rows, columns, num_samples=num_samples, shuffle=shuffle, sampler=sampler,
                         num_parallel_workers=num_parallel_workers, num_shards=num_shards,
                         shard_id=shard_id, python_multiprocessing=python_multiprocessing)
        if self.indexed:
            self._rows_table = _arrow_table(source, columns) or self._rows_table


def _columns(source: Any, wanted: list[str] | None) -> list[str]:
    if isinstance(source, dict):
        raise TypeError(f"For 'HuggingFaceDataset', 'source' must be one Dataset, but got a "
                        f"{type(source).__name__} of {sorted(source)}; choose one, such as "
                        f"source[{next(iter(source), 'train')!r}].")
    if not hasattr(source, "column_names") or not hasattr(source, "features"):
        raise TypeError(f"For 'HuggingFaceDataset', 'source' must be a Dataset or IterableDataset "
                        f"of the package 'datasets', but got {type(source).__name__}.")
    known = source.column_names or list(next(iter(source), {}))
    for name in wanted or ():
        if name not in known:
            raise ValueError(f"For 'HuggingFaceDataset', 'columns_list' must name columns among "
                             f"{known}, but got {name!r}.")
    return list(wanted or known)


class _Indexed:
    """Rows by number, as tuples."""

    def __init__(self, source: Any, columns: list[str]):
        self.source, self.columns = source, columns

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, place: int) -> tuple[Any, ...]:
        row = self.source[int(place)]
        return tuple([row[name] for name in self.columns])


class _Streamed:
    """Rows in their order, as tuples."""

    def __init__(self, source: Any, columns: list[str]):
        self.source, self.columns = source, columns

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for row in self.source:
            yield tuple([row[name] for name in self.columns])


def _arrow_table(source: Any, columns: list[str]) -> PiecesTable | None:
    """The rows in Arrow's memory; None where the dataset decodes, formats or transforms them."""
    if source.format["type"] is not None:
        return None
    batches = source.with_format("arrow")[:].select(columns).to_batches()
    if not batches or not all(stacks(kind) for kind in batches[0].schema.types):
        return None
    return PiecesTable(
        lambda piece: [column(name, values) for name, values in
                       zip(columns, batches[piece].columns, strict=True)],
        [batch.num_rows for batch in batches], None, True)
