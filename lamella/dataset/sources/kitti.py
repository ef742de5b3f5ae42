"""KITTI: street scenes with annotated objects."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from ..checks import one_of
from ..errors import in_pipeline
from .files import FilesDataset, folder, picture
from .images import EXTENSIONS
from .text_files import lines

_KINDS = ("Car", "Cyclist", "DontCare", "Misc", "Pedestrian", "Person_sitting", "Tram", "Truck",
          "Van")
_COLUMNS = ("label", "truncated", "occluded", "alpha", "bbox", "dimensions", "location",
            "rotation_y")


class KITTIDataset(FilesDataset):
    """Street scenes with annotated objects (Geiger et al. 2012).

    Columns: `image`; then, a row for each object, `label` uint32 (N, 1), the number of its kind
    among those that there are, in the order of names, `truncated` (N, 1),
    `occluded` uint32 (N, 1), `alpha` (N, 1), `bbox` (N, 4), `dimensions` (N, 3), `location`
    (N, 3) and `rotation_y` (N, 1), float32 where no type is given.
    ``usage="test"`` has only the first.

    Args:
        dataset_dir: the folder with ``data_object_image_2`` and ``data_object_label_2``.
        usage: ``"train"`` or ``"test"``; default: the first.
        num_samples and the rest: as for `ImageFolderDataset`.

    Raises:
        ValueError: for another usage, or a folder that isn't there.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("KITTIDataset", dataset_dir)
        self.usage = one_of(usage or "train", ["train", "test"], "usage", "KITTIDataset")
        self.decode = bool(decode)
        self._columns = ["image", *(_COLUMNS if self.usage == "train" else ())]

    def _list(self) -> list[str]:
        root = os.path.join(self.dataset_dir, "data_object_image_2", f"{self.usage}ing", "image_2")
        if not os.path.isdir(root):
            raise in_pipeline(f"KITTIDataset: there is no folder {root}.")
        return [os.path.join(root, name) for name in sorted(os.listdir(root))
                if name.lower().endswith(EXTENSIONS)]

    @functools.cache  # noqa: B019  (a data set is few objects)
    def _numbers_of_kinds(self) -> dict[str, int]:
        """The number of each kind of object that there is, in the order of names."""
        found = {line.split(" ", 1)[0] for item in self._list()
                 for line in lines(self._paths(item)[1])}
        return {kind: number for number, kind in enumerate(sorted(found))}

    def _paths(self, item: str) -> list[str]:
        stem = os.path.splitext(os.path.basename(item))[0]
        return [item, *([] if self.usage == "test" else [os.path.join(
            self.dataset_dir, "data_object_label_2", "training", "label_2", f"{stem}.txt")])]

    def _read(self, item: str) -> Any:
        image = picture(item, self.decode)
        if self.usage == "test":
            return image
        path = self._paths(item)[1]
        with open(path, encoding="utf-8") as opened:
            rows = [line.split() for line in opened if line.strip()]
        for words in rows:
            if len(words) != 15 or words[0] not in _KINDS:
                raise in_pipeline(f"KITTIDataset: {path} has a line that isn't a kind of object "
                                  f"and 14 numbers: {' '.join(words)!r}.")
        kinds = self._numbers_of_kinds()
        labels = np.array([[kinds[words[0]]] for words in rows], np.uint32).reshape(-1, 1)
        values = np.array([words[1:] for words in rows], np.float64).reshape(-1, 14)
        occluded = values[:, 1:2].astype(np.int64).astype(np.uint32)  # -1, unknown, is 2**32 - 1
        reals = values.astype(np.float32)
        return (image, labels, reals[:, 0:1], occluded, reals[:, 2:3], reals[:, 3:7],
                reals[:, 7:10], reals[:, 10:13], reals[:, 13:])


__all__ = ["KITTIDataset"]
