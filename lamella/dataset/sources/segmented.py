"""Segmentation: photographs with masks or outlines of objects."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from ..errors import in_pipeline, taken_apart
from .files import picture
from .images import FolderDataset
from .photographs import matrices
from .text_files import lines


class CityscapesDataset(FolderDataset):
    """Street scenes of 50 cities (Cordts et al. 2016): `image`, `task`.

    Args:
        dataset_dir: the folder with ``leftImg8bit`` and ``gtFine`` or ``gtCoarse``.
        usage: ``"train"``, ``"test"``, ``"val"`` or ``"all"``; of the coarse ones ``"train"``,
            ``"train_extra"``, ``"val"`` or ``"all"``.
        quality_mode: ``"fine"`` or ``"coarse"``.
        task: what the second column is: ``"instance"``, ``"semantic"`` or ``"color"``, an image,
            or ``"polygon"``, JSON.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    _given = ("image", "task")

    def __init__(self, dataset_dir: str, usage: str = "train", quality_mode: str = "fine",
                 task: str = "instance", *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        name = "CityscapesDataset"
        self.quality_mode = one_of(quality_mode, ["fine", "coarse"], "quality_mode", name)
        parts = ["train", "test" if quality_mode == "fine" else "train_extra", "val"]
        self.usage = one_of(usage, [*parts, "all"], "usage", name)
        self.parts = parts if usage == "all" else [usage]
        self.task = one_of(task, ["instance", "semantic", "polygon", "color"], "task", name)

    def _list(self) -> list[tuple[str, str]]:
        kind = "gtFine" if self.quality_mode == "fine" else "gtCoarse"
        ending = {"instance": "instanceIds.png", "semantic": "labelIds.png", "color": "color.png",
                  "polygon": "polygons.json"}[self.task]
        found = []
        for part in self.parts:
            self._inside = ("leftImg8bit", part)
            for city in self._classes():
                for name in sorted(os.listdir(os.path.join(self._root(), city))):
                    stem = name.rpartition("_leftImg8bit")[0]
                    found.append((os.path.join(self._root(), city, name), os.path.join(
                        self.dataset_dir, kind, part, city, f"{stem}_{kind}_{ending}")))
        return found

    def _paths(self, item: tuple[str, str]) -> tuple[str, str]:
        return item

    def _read(self, item: tuple[str, str]) -> Any:
        image = picture(item[0], self.decode)
        if self.task != "polygon":
            return image, picture(item[1], self.decode)
        with taken_apart("CityscapesDataset", item[1]), open(item[1], encoding="utf-8") as opened:
            polygons = json.load(opened)
        return image, json.dumps(polygons, sort_keys=True, separators=(",", ":"))


class SBDataset(FolderDataset):
    """Outlines of the objects in photographs (Hariharan et al. 2011): `image`, `task` uint8.

    Args:
        dataset_dir: the folder with ``img``, ``cls`` and the lists of names.
        task: ``"Boundaries"``, for each of 20 classes an image; or ``"Segmentation"``, one image
            with the number of each pixel's class.
        usage: ``"train"``, ``"val"``, ``"train_noval"`` or ``"all"``, the first two.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    _given = ("image", "task")

    def __init__(self, dataset_dir: str, task: str = "Boundaries", usage: str = "all", *args: Any,
                 **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.task = one_of(task, ["Boundaries", "Segmentation"], "task", "SBDataset")
        self.usage = one_of(usage, ["train", "val", "train_noval", "all"], "usage", "SBDataset")

    def _list(self) -> list[str]:
        parts = ["train", "val"] if self.usage == "all" else [self.usage]
        return [name.strip() for part in parts
                for name in lines(existing_file(os.path.join(self.dataset_dir, f"{part}.txt")))]

    def _paths(self, item: str) -> tuple[str, str]:
        return (os.path.join(self.dataset_dir, "img", f"{item}.jpg"),
                os.path.join(self.dataset_dir, "cls", f"{item}.mat"))

    def _read(self, item: str) -> Any:
        photograph, path = self._paths(item)
        image = picture(photograph, self.decode)
        try:
            found = matrices(path)["GTcls"][self.task].item()
        except (KeyError, ValueError) as error:
            raise in_pipeline(f"SBDataset: {path} has no 'GTcls' with {self.task!r}.") from error
        if self.task == "Boundaries":
            found = np.stack([boundary.toarray() for boundary in found])
        return image, np.asarray(found, np.uint8)


__all__ = ["CityscapesDataset", "SBDataset"]
