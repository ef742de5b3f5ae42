"""Photographs of faces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from ..errors import in_pipeline
from .files import picture
from .images import FolderDataset
from .text_files import lines


class LFWDataset(FolderDataset):
    """Faces with the names of people (Huang et al. 2007).

    Columns are `image`, `label` uint32, the number of the person; for pairs `image1`, `image2`,
    `label` uint32, 1 where both show one person.

    Args:
        dataset_dir: the folder with ``lfw_funneled`` and the others, and the lists.
        task: ``"people"`` or ``"pairs"``; default: the first.
        usage: ``"10fold"``, ``"train"``, ``"test"`` or ``"all"``, both of these; default: the last.
        image_set: ``"original"``, ``"funneled"`` or ``"deepfunneled"``; default: the second.
        num_samples and the rest: as for `Caltech256Dataset`.

    Raises:
        ValueError: for other arguments, or a folder or file that isn't there.
    """

    def __init__(self, dataset_dir: str, task: str | None = None, usage: str | None = None,
                 image_set: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        name = "LFWDataset"
        self.task = one_of(task or "people", ["people", "pairs"], "task", name)
        self.usage = one_of(usage or "all", ["10fold", "train", "test", "all"], "usage", name)
        self.image_set = one_of(image_set or "funneled", ["original", "funneled", "deepfunneled"],
                                "image_set", name)
        if self.task == "pairs":
            self._columns = ["image1", "image2", "label"]

    def _list(self) -> list[Any]:
        names = [line.split("\t")[0] for line in self._lines("lfw-names.txt")]
        self._labels = {name: number for number, name in enumerate(names)}
        endings = {"10fold": [""], "train": ["DevTrain"], "test": ["DevTest"]}.get(
            self.usage, ["DevTrain", "DevTest"])
        found: list[Any] = []
        for ending in endings:
            rows = (line.split("\t") for line in self._lines(f"{self.task}{ending}.txt"))
            for row in rows:
                if self.task == "people" and len(row) == 2:
                    found += [(row[0], str(k + 1)) for k in range(int(row[1]))]
                elif self.task == "pairs" and len(row) == 3:
                    found.append((row[0], row[1], row[0], row[2]))
                elif self.task == "pairs" and len(row) == 4:
                    found.append(tuple(row))
        return found

    def _lines(self, name: str) -> Iterator[str]:
        return lines(existing_file(os.path.join(self.dataset_dir, name)))

    def _face(self, name: str, number: str) -> str:
        folder = {"original": "lfw", "funneled": "lfw_funneled"}.get(
            self.image_set, "lfw-deepfunneled")
        return os.path.join(self.dataset_dir, folder, name, f"{name}_{int(number):04}.jpg")

    def _paths(self, item: Any) -> list[str]:
        return [self._face(*item[:2]), *([self._face(*item[2:])] if len(item) == 4 else [])]

    def _read(self, item: Any) -> Any:
        images = [picture(path, self.decode) for path in self._paths(item)]
        label = self._labels[item[0]] if self.task == "people" else item[0] == item[2]
        return (*images, np.uint32(label))


class WIDERFaceDataset(FolderDataset):
    """Face detection: photographs with boxes around faces (Yang et al. 2016).

    Columns: `image`; then int32, a row for each face, `bbox` (N, 4), `blur`, `expression`,
    `illumination`, `occlusion`, `pose`, `invalid`. ``usage="test"`` has only the first.

    Args:
        dataset_dir: the folder with ``WIDER_train``, ``WIDER_val``, ``WIDER_test`` and
            ``wider_face_split``.
        usage: ``"train"``, ``"test"``, ``"valid"`` or ``"all"``, the first and the third.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.usage = one_of(usage or "all", ["train", "test", "valid", "all"], "usage",
                            "WIDERFaceDataset")
        self._columns = ["image"] if self.usage == "test" else [
            "image", "bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid"]

    def _list(self) -> list[Any]:
        split = os.path.join(self.dataset_dir, "wider_face_split")
        if self.usage == "test":
            names = lines(existing_file(os.path.join(split, "wider_face_test_filelist.txt")))
            return [(self._path("test", name), None) for name in names]
        parts = {"train": ["train"], "valid": ["val"]}.get(self.usage, ["train", "val"])
        return [item for part in parts for item in self._marked(
            part, existing_file(os.path.join(split, f"wider_face_{part}_bbx_gt.txt")))]

    def _path(self, part: str, name: str) -> str:
        return os.path.join(self.dataset_dir, f"WIDER_{part}", "images", name.strip())

    def _marked(self, part: str, listing: str) -> Iterator[Any]:
        rows = lines(listing)
        for name in rows:
            try:
                # an image without faces has one line of zeros
                faces = [next(rows).split() for _ in range(max(1, int(next(rows))))]
                marks = np.array(faces, np.int32)
            except (StopIteration, ValueError):
                raise in_pipeline(f"WIDERFaceDataset: {listing} has no numbers of the faces in "
                                  f"{name!r}.") from None
            yield self._path(part, name), marks

    def _read(self, item: Any) -> Any:
        image, marks = picture(item[0], self.decode), item[1]
        if marks is None:
            return image
        blur, expression, illumination, invalid, occlusion, pose = marks[:, 4:10].T
        return image, marks[:, :4], blur, expression, illumination, occlusion, pose, invalid


__all__ = ["LFWDataset", "WIDERFaceDataset"]
