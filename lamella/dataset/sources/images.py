"""Folders of images."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from ..errors import in_pipeline, taken_apart
from ..samplers import PKSampler
from ..vision.conversion import decoded
from .files import FilesDataset, folder, picture

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def images_in(path: str, extensions: Any = None) -> list[str]:
    """The image files below a folder, sorted."""
    allowed = tuple(e.lower() for e in extensions or EXTENSIONS)
    found = []
    for parent, folders, files in os.walk(path):
        folders.sort()
        found += [os.path.join(parent, f) for f in sorted(files) if f.lower().endswith(allowed)]
    return found


class ImageFolderDataset(FilesDataset):
    """Images in a folder for each class: `image`, `label` int32.

    Args:
        dataset_dir: the folder with a folder for each class.
        num_samples, num_parallel_workers, shuffle, sampler: as for `GeneratorDataset`.
        extensions: the endings of the files to read; default: those of images.
        class_indexing: the number of each folder; default: from 0, in the order of names.
        decode: give images; else the files' bytes.
        num_shards, shard_id: as for `GeneratorDataset`.
        cache: not supported.
        decrypt: a function of a path that gives the bytes of the image's file.
    """

    _given = ("image", "label")
    _class_column = 1

    def __init__(self, dataset_dir: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, extensions: list[str] | None = None,
                 class_indexing: dict[str, int] | None = None, decode: bool = False,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
                 decrypt: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        name = type(self).__name__
        if decrypt is not None and not callable(decrypt):
            raise TypeError(f"For '{name}', 'decrypt' must be a function, but got {decrypt!r}.")
        self.decrypt = decrypt
        self.dataset_dir = folder(name, dataset_dir)
        self.extensions, self.decode = extensions, decode
        self.class_indexing = class_indexing

    def _list(self) -> list[tuple[str, int]]:
        classes = self.get_class_indexing()
        return [(path, label) for name, label in sorted(classes.items())
                for path in images_in(os.path.join(self.dataset_dir, name), self.extensions)]

    def _read(self, item: tuple[str, int]) -> Any:
        if self.decrypt is not None:
            plain: Any = self.decrypt(item[0])
            data = np.frombuffer(plain, np.uint8)
            if self.decode:
                data = decoded(data)
            return data, np.int32(item[1])
        return picture(item[0], self.decode), np.int32(item[1])

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class by the name of its folder."""
        if self.class_indexing is None:
            names = sorted(entry.name for entry in os.scandir(self.dataset_dir) if entry.is_dir())
            self.class_indexing = {name: i for i, name in enumerate(names)}
        return self.class_indexing

    def num_classes(self) -> int | None:
        """The number of classes."""
        return len(self.get_class_indexing())


class FolderDataset(FilesDataset):
    """The base of data sets with a class for each folder below `_inside`."""

    _given = ("image", "label")
    _class_column = 1
    _inside: tuple[str, ...] = ()

    def __init__(self, dataset_dir: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder(type(self).__name__, dataset_dir)
        self.decode = bool(decode)

    def _root(self) -> str:
        return os.path.join(self.dataset_dir, *self._inside)

    def _classes(self) -> list[str]:
        root = self._root()
        if not os.path.isdir(root):
            raise in_pipeline(f"{type(self).__name__}: there is no folder {root}.")
        return sorted(entry.name for entry in os.scandir(root) if entry.is_dir())

    def _list(self) -> list[tuple[str, int]]:
        return [(path, label) for label, name in enumerate(self._classes())
                for path in images_in(os.path.join(self._root(), name))]

    def _read(self, item: tuple[str, int]) -> Any:
        return picture(item[0], self.decode), np.uint32(item[1])


class Caltech256Dataset(FolderDataset):
    """Photographs of 257 classes (Griffin et al. 2007): `image`, `label` int32."""

    def _read(self, item: tuple[str, int]) -> Any:
        return picture(item[0], self.decode), np.int32(item[1])

    def num_classes(self) -> int | None:
        """The number of classes."""
        return len(self._classes())


class OmniglotDataset(FolderDataset):
    """Characters of many alphabets (Lake et al. 2015): `image`, `label` int32.

    Args:
        dataset_dir: the folder with ``images_background`` and ``images_evaluation``.
        background: which of the two; default: the first.
        num_samples and the rest: as for `ImageFolderDataset`.
    """

    def __init__(self, dataset_dir: str, background: bool | None = None, *args: Any,
                 **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.background = background is not False
        self._inside = ("images_background" if self.background else "images_evaluation",)

    def _list(self) -> list[tuple[str, int]]:
        return [(path, label) for label, name in enumerate(self._characters())
                for path in images_in(name)]

    def _characters(self) -> list[str]:
        return [os.path.join(self._root(), alphabet, name) for alphabet in self._classes()
                for name in sorted(os.listdir(os.path.join(self._root(), alphabet)))]

    def num_classes(self) -> int | None:
        """The number of characters."""
        return len(self._characters())

    def _read(self, item: tuple[str, int]) -> Any:
        return picture(item[0], self.decode), np.int32(item[1])


class RenderedSST2Dataset(FolderDataset):
    """Sentences as images, negative or positive (Radford et al. 2021): `image`, `label` uint32.

    Args:
        dataset_dir: the folder with ``train``, ``test`` and ``valid``.
        usage: one of them, ``"val"`` for the last, or ``"all"``.
        num_samples and the rest: as for `ImageFolderDataset`.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.usage = one_of(usage or "all", ["train", "test", "val", "all"], "usage",
                            "RenderedSST2Dataset")

    def _list(self) -> list[tuple[str, int]]:
        parts = {"all": ["test", "train", "valid"], "val": ["valid"]}.get(
            self.usage, [self.usage])
        return [(path, label) for part in parts for label, name in enumerate(
            ("negative", "positive")) for path in images_in(
                os.path.join(self.dataset_dir, part, name))]

    def num_classes(self) -> int | None:
        """The number of classes."""
        return 2


class SUN397Dataset(FolderDataset):
    """Photographs of 397 places (Xiao et al. 2010): `image`, `label` uint32."""

    def _classes(self) -> list[str]:
        with open(os.path.join(self.dataset_dir, "ClassName.txt"), encoding="utf-8") as opened:
            return [line.strip().lstrip("/") for line in opened if line.strip()]


class Food101Dataset(FolderDataset):
    """Photographs of 101 dishes (Bossard et al. 2014): `image`, `label`, the dish's name.

    Args:
        dataset_dir: the folder with ``images`` and ``meta``.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `ImageFolderDataset`.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.usage = one_of(usage or "all", ["train", "test", "all"], "usage", "Food101Dataset")

    def _list(self) -> list[Any]:
        found = []
        for part in ("train", "test") if self.usage == "all" else (self.usage,):
            path = os.path.join(self.dataset_dir, "meta", f"{part}.txt")
            with open(path, encoding="utf-8") as opened:
                found += [line.strip() for line in opened if line.strip()]
        return [(os.path.join(self.dataset_dir, "images", f"{name}.jpg"), name.split("/")[0])
                for name in found]

    def _read(self, item: Any) -> Any:
        return picture(item[0], self.decode), item[1]


class CelebADataset(FilesDataset):
    """Faces of celebrities (Liu et al. 2015): `image`, `attr` uint32 (40).

    Args:
        dataset_dir: the folder with the images and ``list_attr_celeba.txt``.
        num_parallel_workers, shuffle: as for `GeneratorDataset`.
        usage: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``, by ``list_eval_partition.txt``.
        sampler: as for `GeneratorDataset`.
        decode: give images; else the files' bytes.
        extensions: the endings of the files to read.
        num_samples, num_shards, shard_id: as for `GeneratorDataset`.
        cache, decrypt: not supported.
    """

    _given = ("image", "attr")

    def __init__(self, dataset_dir: str, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, usage: str = "all", sampler: Any = None,
                 decode: bool = False, extensions: list[str] | None = None,
                 num_samples: int | None = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None, decrypt: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("CelebADataset", dataset_dir)
        if isinstance(sampler, PKSampler):
            raise ValueError("CelebADataset doesn't support PKSampler.")
        self.usage = one_of(usage, ["all", "train", "valid", "test"], "usage", "CelebADataset")
        self.decode = decode

    def _list(self) -> list[Any]:
        path = os.path.join(self.dataset_dir, "list_attr_celeba.txt")
        with open(path, encoding="utf-8") as opened:
            lines = opened.read().split("\n")[2:]
        wanted: set[str] | None = None
        if self.usage != "all":
            which = {"train": "0", "valid": "1", "test": "2"}[self.usage]
            part = os.path.join(self.dataset_dir, "list_eval_partition.txt")
            with open(part, encoding="utf-8") as opened:
                wanted = {words[0] for words in map(str.split, opened) if words[1:] == [which]}
        found = []
        inner = os.path.join(self.dataset_dir, "Img", "img_celeba")
        root = inner if os.path.isdir(inner) else self.dataset_dir
        for line in lines:
            words = line.split()
            if words and (wanted is None or words[0] in wanted):
                values = np.array([int(w) > 0 for w in words[1:]], np.uint32)
                found.append((os.path.join(root, words[0]), values))
        return found

    def _read(self, item: Any) -> Any:
        return picture(item[0], self.decode), item[1]


class ManifestDataset(FilesDataset):
    """Images named by a manifest, a JSON object on each line: `image`, `label` int32.

    An image with several annotations has an array of labels.

    Args:
        dataset_file: the file.
        usage: ``"train"``, ``"eval"`` or ``"inference"``.
        num_samples, num_parallel_workers, shuffle, sampler: as for `GeneratorDataset`.
        class_indexing: the number of each class; default: from 0, in the order of names.
        decode: give images; else the files' bytes.
        num_shards, shard_id, cache: as for `ImageFolderDataset`.
    """

    _given = ("image", "label")
    _class_column = 1

    def __init__(self, dataset_file: str, usage: str = "train", num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, class_indexing: dict[str, int] | None = None,
                 decode: bool = False, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_file = existing_file(dataset_file)
        self.usage = one_of(usage, ["train", "eval", "inference"], "usage", "ManifestDataset")
        self.class_indexing, self.decode = class_indexing, decode

    def _list(self) -> list[Any]:
        with taken_apart("ManifestDataset", self.dataset_file):
            with open(self.dataset_file, encoding="utf-8") as opened:
                entries = [json.loads(line) for line in opened if line.strip()]
            found = [(entry["source"], [one["name"] for one in entry.get("annotation", [])])
                     for entry in entries if str(entry.get("usage")).lower() == self.usage]
        if self.class_indexing is None:
            classes = sorted({name for _, names in found for name in names})
            self.class_indexing = {name: number for number, name in enumerate(classes)}
        labels = [(path, [self.class_indexing[name] for name in names
                          if name in self.class_indexing]) for path, names in found]
        return [(path, numbers[0] if len(numbers) == 1 else numbers)
                for path, numbers in labels if numbers or self.usage == "inference"]

    def _read(self, item: Any) -> Any:
        return picture(item[0], self.decode), np.array(item[1], np.int32)

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class."""
        self._table()
        return dict(self.class_indexing or {})

    def num_classes(self) -> int | None:
        """The number of classes."""
        return len(self.get_class_indexing())
