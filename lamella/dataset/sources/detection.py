"""Images with annotated objects: VOC and COCO."""

from __future__ import annotations

import json
import os
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..checks import existing_file, string
from ..errors import in_pipeline, taken_apart
from ..samplers import PKSampler
from .files import FilesDataset, file_bytes, folder, picture


class VOCDataset(FilesDataset):
    """PASCAL VOC (Everingham et al. 2010).

    Args:
        dataset_dir: the folder with ``JPEGImages``, ``Annotations``, ``ImageSets``.
        task: ``"Segmentation"`` (columns `image`, `target`) or ``"Detection"`` (`image`, `bbox`
            float32, `label` uint32, `difficult` uint32, `truncate` uint32).
        usage: the list of images: ``"train"``, ``"val"``, ``"trainval"``, ``"test"``.
        class_indexing: the number of each class, for detection; default: from 0, in
            the order of names.
        num_samples, num_parallel_workers, shuffle: as for `GeneratorDataset`.
        decode: give images; else the files' bytes.
        sampler, num_shards, shard_id: as for `GeneratorDataset`.
        cache, decrypt: not supported.
        extra_metadata: one more column, `_meta-filename`.
    """

    def __init__(self, dataset_dir: str, task: str = "Segmentation", usage: str = "train",
                 class_indexing: dict[str, int] | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None, extra_metadata: bool = False,
                 decrypt: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("VOCDataset", dataset_dir)
        if isinstance(task, str) and task not in ("Segmentation", "Detection"):
            raise ValueError(f"Invalid task : {task}. For 'VOCDataset', 'task' must be "
                             f"'Segmentation' or 'Detection'.")
        self.task = string("VOCDataset", "task", task)
        self.usage, self.decode, self.extra_metadata = usage, decode, extra_metadata
        if task == "Segmentation" and class_indexing is not None:
            raise ValueError("class_indexing is not supported in Segmentation task. For "
                             "'VOCDataset', it is for the task 'Detection'.")
        self.class_indexing = class_indexing
        columns = ["image", "target"] if task == "Segmentation" else [
            "image", "bbox", "label", "difficult", "truncate"]
        self._columns = [*columns, *(["_meta-filename"] if extra_metadata else [])]
        part = "Segmentation" if task == "Segmentation" else "Main"
        self._names = existing_file(os.path.join(dataset_dir, "ImageSets", part, f"{usage}.txt"))

    def _list(self) -> list[str]:
        with open(self._names, encoding="utf-8") as opened:
            names = [line.split()[0] for line in opened if line.strip()]
        if self.task == "Detection" and self.class_indexing is None:
            found = {item[0] for name in names for item in self._objects(name)}
            self.class_indexing = {kind: number for number, kind in enumerate(sorted(found))}
        if self.task == "Detection":
            names = [n for n in names if any(
                o[0] in (self.class_indexing or {}) for o in self._objects(n))]
        return names

    def _objects(self, name: str) -> list[tuple[str, list[float], int, int]]:
        path = os.path.join(self.dataset_dir, "Annotations", f"{name}.xml")
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise in_pipeline(f"The file {path} can't be read: {error}") from error
        found = []
        for item in root.iter("object"):
            box = item.find("bndbox")
            if box is None:
                raise in_pipeline(f"The file {path} has an object without a box.")
            corner = [float(box.findtext(n, "-1")) for n in ("xmin", "ymin", "xmax", "ymax")]
            if min(corner) < 0:
                raise in_pipeline(f"The file {path} has an invalid box: {corner}.")
            box_values = [corner[0], corner[1], corner[2] - corner[0], corner[3] - corner[1]]
            found.append((item.findtext("name", ""), box_values,
                          int(item.findtext("difficult", "0")),
                          int(item.findtext("truncated", "0"))))
        return found

    def _paths(self, item: str) -> tuple[str, str]:
        marks = ("SegmentationClass", f"{item}.png") if self.task == "Segmentation" else (
            "Annotations", f"{item}.xml")
        return (os.path.join(self.dataset_dir, "JPEGImages", f"{item}.jpg"),
                os.path.join(self.dataset_dir, *marks))

    def _read(self, item: str) -> Any:
        path, marks = self._paths(item)
        image = picture(path, self.decode)
        more = (item,) if self.extra_metadata else ()
        if self.task == "Segmentation":
            return (image, picture(marks, self.decode), *more)
        classes = self.class_indexing or {}
        known = [o for o in self._objects(item) if o[0] in classes]
        return (image, np.array([o[1] for o in known], np.float32),
                np.array([[classes[o[0]]] for o in known], np.uint32),
                np.array([[o[2]] for o in known], np.uint32),
                np.array([[o[3]] for o in known], np.uint32), *more)

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class."""
        if self.task != "Detection":
            raise NotImplementedError("Only 'Detection' support get_class_indexing.")
        self._table()
        return dict(self.class_indexing or {})


class CocoDataset(FilesDataset):
    """MS COCO (Lin et al. 2014).

    Args:
        dataset_dir: the folder with the images.
        annotation_file: the JSON file with what is marked.
        task: ``"Detection"`` (columns `image`, `bbox` float32, `category_id` uint32, `iscrowd`
            uint32), ``"Stuff"`` (`segmentation` float32, `iscrowd`), ``"Keypoint"``
            (`keypoints` float32, `num_keypoints` uint32), ``"Panoptic"`` (`bbox`, `category_id`,
            `iscrowd`, `area` uint32) or ``"Captioning"`` (`captions`).
        num_samples, num_parallel_workers, shuffle, decode, sampler, num_shards, shard_id, cache,
            extra_metadata, decrypt: as for `VOCDataset`.
    """

    _COLUMNS = {"Detection": ["bbox", "category_id", "iscrowd"],
                "Stuff": ["segmentation", "iscrowd"], "Keypoint": ["keypoints", "num_keypoints"],
                "Panoptic": ["bbox", "category_id", "iscrowd", "area"], "Captioning": ["captions"]}

    def __init__(self, dataset_dir: str, annotation_file: str, task: str = "Detection",
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
                 extra_metadata: bool = False, decrypt: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("CocoDataset", dataset_dir)
        self.annotation_file = existing_file(annotation_file)
        if isinstance(task, str) and task not in self._COLUMNS:
            raise ValueError(f"Invalid task type: {task}. For 'CocoDataset', 'task' must be one "
                             f"of {list(self._COLUMNS)}.")
        self.task = string("CocoDataset", "task", task)
        if isinstance(sampler, PKSampler):
            raise ValueError("CocoDataset doesn't support PKSampler.")
        self.decode, self.extra_metadata = decode, extra_metadata
        self._columns = ["image", *self._COLUMNS[task], *(
            ["_meta-filename"] if extra_metadata else [])]
        self._classes: dict[str, Any] = {}

    def _list(self) -> list[Any]:
        try:
            with open(self.annotation_file, encoding="utf-8") as opened:
                found = json.load(opened)
        except (OSError, ValueError, RecursionError) as error:
            raise in_pipeline(f"Invalid annotation file, Coco Dataset annotation file:"
                              f"{self.annotation_file} load failed, error description: "
                              f"{error}") from error
        with taken_apart("CocoDataset", self.annotation_file):
            return self._marked(found)

    def _marked(self, found: Any) -> list[Any]:
        """The pictures that have marks, with these, of what the file says."""
        names = {self._of(image, "id"): self._of(image, "file_name")
                 for image in self._of(found, "images")}
        marked: dict[Any, list[dict[str, Any]]] = {i: [] for i in names}
        panoptic = self.task == "Panoptic"
        for annotation in self._of(found, "annotations"):
            image = self._of(annotation, "image_id")
            if image in marked or not panoptic:
                marked[image] += self._of(annotation, "segments_info") if panoptic else [
                    annotation]
        if self.task in ("Detection", "Panoptic"):
            for category in self._of(found, "categories"):
                self._classes[self._of(category, "name")] = [self._of(category, "id"), *(
                    [self._of(category, "isthing")] if panoptic else [])]
        self._check_marks([mark for marks in marked.values() for mark in marks])
        return [(names[i], marked[i]) for i in names if marked[i]]

    def _of(self, node: Any, name: str) -> Any:
        """What a part of the file has at a name.

        Raises:
            RuntimeError: if it has nothing there.
        """
        if not isinstance(node, dict) or name not in node:
            raise in_pipeline(f"Invalid annotation, the attribute of '{name}' is missing in "
                              f"annotation file: {self.annotation_file}.")
        return node[name]

    def _check_marks(self, marks: list[dict[str, Any]]) -> None:
        known = {numbers[0] for numbers in self._classes.values()}
        needed = {"captions": "caption", "segmentation": "segmentation", "bbox": "bbox",
                  "keypoints": "keypoints", "num_keypoints": "num_keypoints"}
        for mark in marks:
            for column in self._COLUMNS[self.task]:
                if column in needed:
                    self._of(mark, needed[column])
            if known and mark.get("category_id") not in known:
                raise in_pipeline(
                    f"Invalid annotation, the attribute of 'category_id': "
                    f"{mark.get('category_id')} is missing in the node of 'categories' from "
                    f"annotation file: {self.annotation_file}")

    def _paths(self, item: Any) -> tuple[str, str]:
        return os.path.join(self.dataset_dir, item[0]), self.annotation_file

    def _read(self, item: Any) -> Any:
        name, marked = item
        path = self._paths(item)[0]
        image = picture(path, True) if self.decode else file_bytes(path)
        values = tuple(self._column(column, marked) for column in self._COLUMNS[self.task])
        stem = os.path.splitext(os.path.basename(name))[0]
        return (image, *values, *((stem,) if self.extra_metadata else ()))

    def _column(self, column: str, marked: list[dict[str, Any]]) -> np.ndarray:
        if column == "captions":
            return np.array([[m["caption"]] for m in marked])
        if column in ("bbox", "keypoints"):
            return np.array([m[column] for m in marked], np.float32)
        if column == "segmentation":
            # a row for each polygon, of which an object may have several, or for an object's mask
            parts = [part for m in marked for part in (
                m[column] if isinstance(m[column], list) else [m[column]["counts"]])]
            out = np.full((len(parts), max(map(len, parts))), -1, np.float32)
            for row, values in zip(out, parts, strict=True):
                row[:len(values)] = values
            return out
        return np.array([[m.get(column, 0)] for m in marked], np.uint32)

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each category, in a list; for panoptic also whether it is a "thing".

        Raises:
            NotImplementedError: for other tasks than detection and panoptic segmentation.
        """
        if self.task not in ("Detection", "Panoptic"):
            raise NotImplementedError("Only 'Detection' and 'Panoptic' support get_class_indexing.")
        self._table()
        return dict(self._classes)
