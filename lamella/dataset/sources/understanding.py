"""CLUE: language understanding tasks in Chinese."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import one_of
from ..samplers import Shuffle
from .files import LinesDataset
from .text_files import lines

_COLUMNS = {  # what the rows of a task have, besides a label or, in tests, their number
    "AFQMC": ("sentence1", "sentence2"),
    "TNEWS": ("keywords", "sentence"),
    "IFLYTEK": ("sentence",),
    "CMNLI": ("sentence1", "sentence2"),
    "WSC": ("idx", "span1_index", "span1_text", "span2_index", "span2_text", "text"),
    "CSL": ("abst", "id", "keyword"),
}
_LABELS = {"TNEWS": ("label", "label_desc"), "IFLYTEK": ("label", "label_des")}


class CLUEDataset(LinesDataset):
    """Tasks of CLUE (Xu et al. 2020): one JSON object on each line.

    Columns, in the order of their names, are the task's; numbers are uint32, all others strings.
    Tests have no label, and of most tasks an `id`.

    Args:
        dataset_files: paths or patterns.
        task: ``"AFQMC"``, ``"TNEWS"``, ``"IFLYTEK"``, ``"CMNLI"``, ``"WSC"`` or ``"CSL"``.
        usage: ``"train"``, ``"test"`` or ``"eval"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    def __init__(self, dataset_files: Any, task: str = "AFQMC", usage: str = "train",
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards,
                         shard_id, cache)
        self.task = one_of(task, list(_COLUMNS), "task", "CLUEDataset")
        self.usage = one_of(usage, ["train", "test", "eval"], "usage", "CLUEDataset")
        more = _LABELS.get(task, ("label",)) if usage != "test" else (
            () if task in ("WSC", "CSL") else ("id",))
        self._columns = sorted({*_COLUMNS[task], *more})

    def _read(self, path: str) -> Iterator[Any]:
        for line in lines(path):
            row = json.loads(line)
            row.update(row.pop("target", {}))  # of WSC
            yield tuple(self._value(row[column]) for column in self._columns or ())

    @staticmethod
    def _value(value: Any) -> Any:
        return np.uint32(value) if isinstance(value, int) else np.array(value)


__all__ = ["CLUEDataset"]
