"""`PhotoTourDataset`: pairs of image patches, some of which show the same point of a scene."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from .files import FilesDataset, folder, picture
from .text_files import lines

_NAMES = ("notredame", "yosemite", "liberty", "notredame_harris", "yosemite_harris",
          "liberty_harris")
_SIZE, _BESIDE = 64, 16  # pixels of a patch's side; patches beside one another in an image


class PhotoTourDataset(FilesDataset):
    """Patches of 64 x 64 (Winder and Brown 2007): `image` (64, 64, 1).

    With the usage "test" columns are `image1`, `image2` and `matches` uint32, 1 where both show one
    point.

    Args:
        dataset_dir: the folder with a folder for each name.
        name: ``"notredame"``, ``"yosemite"``, ``"liberty"``, or one of these with ``"_harris"``.
        usage: ``"train"`` or ``"test"``; default: the first.
        num_samples and the rest: as for `MnistDataset`.
    """

    def __init__(self, dataset_dir: str, name: str, usage: str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.name = one_of(name, _NAMES, "name", "PhotoTourDataset")
        self.usage = one_of(usage or "train", ["train", "test"], "usage", "PhotoTourDataset")
        self.folder = os.path.join(folder("PhotoTourDataset", dataset_dir), name)
        self._columns = ["image"] if self.usage == "train" else ["image1", "image2", "matches"]
        self._sheet = functools.lru_cache(8)(self._sheet_read)

    def _list(self) -> list[Any]:
        if self.usage == "train":
            listing = existing_file(os.path.join(self.folder, "info.txt"))
            return list(range(sum(1 for _ in lines(listing))))
        rows = (line.split() for line in lines(
            existing_file(os.path.join(self.folder, "m50_100000_100000_0.txt"))))
        return [(int(row[0]), int(row[3]), row[1] == row[4]) for row in rows]

    def _sheet_read(self, number: int) -> np.ndarray:
        image = picture(self._path(number), True)
        return image[..., :1]  # gray

    def _path(self, sheet: int) -> str:
        return os.path.join(self.folder, f"patches{sheet:04}.bmp")

    def _paths(self, item: Any) -> list[str]:
        patches = [item] if self.usage == "train" else item[:2]
        return [self._path(patch // _BESIDE**2) for patch in patches]

    def _patch(self, number: int) -> np.ndarray:
        sheet, place = divmod(number, _BESIDE**2)
        row, column = divmod(place, _BESIDE)
        return self._sheet(sheet)[_SIZE * row:_SIZE * (row + 1),
                                  _SIZE * column:_SIZE * (column + 1)].copy()

    def _read(self, item: Any) -> Any:
        if self.usage == "train":
            return self._patch(item)
        return self._patch(item[0]), self._patch(item[1]), np.uint32(item[2])


__all__ = ["PhotoTourDataset"]
