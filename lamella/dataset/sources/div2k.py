"""Super-resolution: images in two resolutions."""

from __future__ import annotations

import os
from typing import Any

from ..checks import one_of
from ..errors import in_pipeline
from .files import FilesDataset, folder, picture

_DOWNGRADES = ("bicubic", "unknown", "mild", "difficult", "wild")


class DIV2KDataset(FilesDataset):
    """Photographs in two resolutions (Agustsson and Timofte 2017): `hr_image`, `lr_image`.

    Args:
        dataset_dir: the folder with ``DIV2K_train_HR``, ``DIV2K_train_LR_bicubic`` and so on.
        usage: ``"train"``, ``"valid"`` or ``"all"``.
        downgrade: how images were made smaller: ``"bicubic"``, ``"unknown"``, ``"mild"``,
            ``"difficult"`` or ``"wild"``.
        scale: by how much: 2, 3 or 4; with ``"bicubic"`` also 8, with the last three only 4.
        num_samples and the rest: as for `ImageFolderDataset`.

    Raises:
        ValueError: for other arguments, or a folder that isn't there.
    """

    _given = ("hr_image", "lr_image")

    def __init__(self, dataset_dir: str, usage: str = "train", downgrade: str = "bicubic",
                 scale: int = 2, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("DIV2KDataset", dataset_dir)
        self.usage = one_of(usage, ["train", "valid", "all"], "usage", "DIV2KDataset")
        self.downgrade = one_of(downgrade, _DOWNGRADES, "downgrade", "DIV2KDataset")
        scales = {"bicubic": [2, 3, 4, 8], "unknown": [2, 3, 4]}.get(downgrade, [4])
        self.scale = one_of(scale, scales, f"scale' with the downgrade '{downgrade}",
                            "DIV2KDataset")
        self.decode = bool(decode)

    def _list(self) -> list[tuple[str, str]]:
        found = []
        for part in ("train", "valid") if self.usage == "all" else (self.usage,):
            sharp = os.path.join(self.dataset_dir, f"DIV2K_{part}_HR")
            small, ending = self._small(part)
            if not os.path.isdir(sharp):
                raise in_pipeline(f"DIV2KDataset: there is no folder {sharp}.")
            for name in sorted(os.listdir(sharp)):
                stem, extension = os.path.splitext(name)
                found.append((os.path.join(sharp, name),
                              os.path.join(small, f"{stem}{ending}{extension}")))
        return found

    def _small(self, part: str) -> tuple[str, str]:
        """The folder of the low-resolution images, and what follows the number in their names."""
        start = os.path.join(self.dataset_dir, f"DIV2K_{part}_LR_")
        if self.scale == 8:
            return f"{start}x8", "x8"
        if self.downgrade in ("bicubic", "unknown"):
            return os.path.join(start + self.downgrade, f"X{self.scale}"), f"x{self.scale}"
        return start + self.downgrade, f"x4{self.downgrade[0]}"

    def _paths(self, item: tuple[str, str]) -> tuple[str, str]:
        return item

    def _read(self, item: tuple[str, str]) -> Any:
        return picture(item[0], self.decode), picture(item[1], self.decode)


__all__ = ["DIV2KDataset"]
