"""CIFAR-10 and CIFAR-100, the binary version; STL-10, SVHN, and others held in memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import config
from ..checks import one_of
from ..errors import in_pipeline, needs
from ..order import Table
from ..schema import Schema
from ..source_arguments import select_sampler
from .corpora import Corpus
from .files import folder
from .slices import ArraysDataset
from .text_files import lines


def read_cifar(path: str, usage: str, labels: int) -> tuple[
        np.ndarray, np.ndarray, list[tuple[Sequence[str], int]]]:
    """The images (N, 32, 32, 3) and labels (N, `labels`) of the binary version.

    With them come the files and how many rows each has.

    Raises:
        RuntimeError: if the files aren't there, or are damaged.
    """
    patterns = {(1, "train"): "data_batch_*.bin", (1, "test"): "test_batch.bin",
                (2, "train"): "train.bin", (2, "test"): "test.bin"}
    names = sorted(n for u in (("train", "test") if usage == "all" else (usage,))
                   for n in glob.glob(os.path.join(path, patterns[labels, u])))
    if not names:
        raise in_pipeline(f"There are no files of CIFAR's binary version in {path} for {usage!r}.")
    rows = []
    for name in names:
        data = np.fromfile(name, np.uint8)
        if not data.size or data.size % (3072 + labels):
            raise in_pipeline(f"The file {name} is damaged: it has {data.size} bytes.")
        rows.append(data.reshape(-1, 3072 + labels))
    table = np.concatenate(rows)
    images = table[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    parts: list[tuple[Sequence[str], int]] = [
        ([name], len(read)) for name, read in zip(names, rows, strict=True)]
    return np.ascontiguousarray(images), table[:, :labels].astype(np.uint32), parts


class _MemoryDataset(ArraysDataset):
    """The base of data sets that are read into memory."""

    _given: tuple[str, ...] = ("image", "label")
    _class_column = "label"
    _usages: tuple[str, ...] = ("train", "test", "all")

    def __init__(self, dataset_dir: str, usage: str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        name = type(self).__name__
        self.dataset_dir = folder(name, dataset_dir)
        self.usage = one_of(usage or self._usages[-1], self._usages, "usage", name)
        super().__init__(list(self._given), select_sampler(
            name, num_samples, sampler, shuffle, num_shards, shard_id), num_parallel_workers, cache)


class Cifar10Dataset(_MemoryDataset):
    """Small photographs of ten classes: `image` (32, 32, 3) uint8, `label` uint32.

    Args:
        dataset_dir: the folder with the files of the binary version.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `MnistDataset`.
    """

    def _arrays(self) -> list[np.ndarray]:
        images, labels, self._origins = read_cifar(self.dataset_dir, self.usage, 1)
        return [images, labels[:, 0]]

    def num_classes(self) -> int | None:
        """The number of classes."""
        return 10


class Cifar100Dataset(_MemoryDataset):
    """As `Cifar10Dataset`, of a hundred classes: `coarse_label` and `fine_label`."""

    _given = ("image", "coarse_label", "fine_label")
    _class_column = "fine_label"

    def _arrays(self) -> list[np.ndarray]:
        images, labels, self._origins = read_cifar(self.dataset_dir, self.usage, 2)
        return [images, labels[:, 0], labels[:, 1]]

    def num_classes(self) -> int | None:
        """The number of classes."""
        return 100


class STL10Dataset(_MemoryDataset):
    """Photographs of ten classes (Coates et al. 2011): `image` (96, 96, 3), `label` int32."""

    _usages = ("train", "test", "unlabeled", "train+unlabeled", "all")

    def _arrays(self) -> list[np.ndarray]:
        parts = {"all": ["test", "train", "unlabeled"],
                 "train+unlabeled": ["train", "unlabeled"]}.get(self.usage, [self.usage])
        images, labels = [], []
        for part in parts:
            data = np.fromfile(os.path.join(self.dataset_dir, f"{part}_X.bin"), np.uint8)
            images.append(data.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1))
            labels.append(np.full(len(images[-1]), -1) if part == "unlabeled" else np.fromfile(
                os.path.join(self.dataset_dir, f"{part}_y.bin"), np.uint8).astype(np.int32) - 1)
            path = os.path.join(self.dataset_dir, f"{part}_X.bin")
            self._origins.append(([path], len(labels[-1])))
        return [np.concatenate(images), np.concatenate(labels).astype(np.int32)]


class SVHNDataset(_MemoryDataset):
    """House numbers (Netzer et al. 2011): `image` (32, 32, 3) uint8, `label` uint32."""

    _usages = ("train", "test", "extra", "all")

    def _arrays(self) -> list[np.ndarray]:
        scipy_io = needs("audio", "scipy.io", "scipy")
        images, labels = [], []
        for part in ("train", "test", "extra") if self.usage == "all" else (self.usage,):
            path = os.path.join(self.dataset_dir, f"{part}_32x32.mat")
            found = scipy_io.loadmat(path)
            self._origins.append(([path], found["X"].shape[3]))
            images.append(found["X"].transpose(3, 0, 1, 2))
            labels.append(found["y"].reshape(-1) % 10)
        return [np.concatenate(images), np.concatenate(labels).astype(np.uint32)]


class SemeionDataset(_MemoryDataset):
    """Digits of 16 x 16 pixels (Buscema): `image` (16, 16) uint8 of 0 and 1, `label` uint32."""

    def __init__(self, dataset_dir: str, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, None, *args, **kwargs)

    def _arrays(self) -> list[np.ndarray]:
        path = os.path.join(self.dataset_dir, "semeion.data")
        table = np.loadtxt(path, np.float64, ndmin=2)
        self._origins = [([path], len(table))]
        images = table[:, :256].reshape(-1, 16, 16).astype(np.uint8)
        return [images, table[:, 256:].argmax(1).astype(np.uint32)]


class USPSDataset(Corpus):
    """Digits of envelopes (Hull 1994): `image` (16, 16, 1) uint8, `label` uint32.

    Args:
        dataset_dir: the folder with the files of the LIBSVM collection, ``usps`` and ``usps.t``.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _given = ("image", "label")
    _files = {"train": "usps", "test": "usps.t"}
    _arrays = True

    def _read(self, path: str) -> Iterator[Any]:
        for line in lines(path):
            words = line.split()
            pixels = np.array([float(word.split(":")[1]) for word in words[1:]])
            yield (((pixels.reshape(16, 16, 1) + 1) / 2 * 255).astype(np.uint8),
                   np.asarray(int(words[0]) - 1, np.uint32))


class RandomDataset(ArraysDataset):
    """Random rows of a schema.

    Args:
        total_rows: how many; default: a random number.
        schema: a Schema or the path of its JSON file; default: random columns.
        columns_list: the names of columns, with types and shapes at random.
        num_samples and the rest: as for `MnistDataset`.
    """

    def __init__(self, total_rows: int | None = None, schema: Any = None,
                 columns_list: list[str] | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None,
                 shuffle: bool | None = None, num_shards: int | None = None,
                 shard_id: int | None = None):
        if total_rows is not None and (isinstance(total_rows, bool) or not isinstance(
                total_rows, int) or total_rows < 1):
            raise ValueError(f"For 'RandomDataset', 'total_rows' must be a positive int, but got "
                             f"{total_rows!r}.")
        rng = np.random.default_rng(config.pipeline_seed())
        rows = total_rows or max(int(rng.integers(1, 100)), num_samples or 0)
        if schema is None:
            schema = Schema()
            for name in columns_list or ["c0"]:
                schema.add_column(name, str(rng.choice(["int32", "float32", "uint8"])),
                                  [int(rng.integers(1, 5))])
        elif isinstance(schema, str):
            schema = Schema(schema)
        columns = [c for c in schema.columns if columns_list is None or c["name"] in columns_list]
        self._data = []
        for column in columns:
            shape = [rows, *(max(1, s) for s in column.get("shape", []))]
            kind = column["type"]
            if kind == "string":
                self._data.append(np.array([f"row {i}" for i in range(rows)]))
            elif kind.startswith("float"):
                self._data.append(rng.random(shape).astype(kind))
            else:
                limits = np.iinfo(kind) if kind != "bool" else None
                self._data.append(rng.integers(0, limits.max if limits else 2, shape).astype(kind))
        super().__init__([c["name"] for c in columns], select_sampler(
            "RandomDataset", num_samples, None, bool(shuffle), num_shards, shard_id),
            num_parallel_workers, cache)

    def _arrays(self) -> list[np.ndarray]:
        return self._data


class FakeImageDataset(ArraysDataset):
    """Random images: `image` uint8, `label` uint32.

    Args:
        num_images: how many.
        image_size: their (height, width, channels).
        num_classes: how many labels there are.
        base_seed: what they are drawn from.
        num_samples and the rest: as for `MnistDataset`.
    """

    _class_column = "label"

    def __init__(self, num_images: int = 1000, image_size: Any = (224, 224, 3),
                 num_classes: int = 10, base_seed: int = 0, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        for name, value in (("num_images", num_images), ("num_classes", num_classes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"For 'FakeImageDataset', '{name}' must be a positive int, but "
                                 f"got {value!r}.")
        self.num_images, self.image_size = num_images, tuple(image_size)
        self.classes, self.base_seed = num_classes, base_seed
        super().__init__(["image", "label"], select_sampler(
            "FakeImageDataset", num_samples, sampler, shuffle, num_shards, shard_id),
            num_parallel_workers, cache)

    def _table(self) -> Any:
        if self._held is None:
            labels = np.random.default_rng(self.base_seed).integers(
                0, self.classes, self.num_images).astype(np.uint32)

            def row(place: int) -> tuple[np.ndarray, ...]:
                rng = np.random.default_rng((self.base_seed, place))
                return (rng.integers(0, 256, self.image_size, np.uint8), np.asarray(labels[place]))

            made = Table(row, self.num_images)
            self._held = made  # type: ignore[assignment]
        return self._held
