"""MNIST and the data sets in its format."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import Any

import numpy as np

from ...core.reading import read_up_to
from ..checks import one_of
from ..errors import in_pipeline
from ..source_arguments import select_sampler
from .files import folder
from .slices import ArraysDataset

_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str, rank: int) -> np.ndarray:
    """The array of a file in the IDX format, also compressed by gzip.

    Raises:
        RuntimeError: if the file isn't there, or is damaged.
    """
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        path += ".gz"
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as opened:
            head = opened.read(4)
            zero, kind, found = struct.unpack(">HBB", head)
            if zero or kind not in _TYPES or found != rank:
                raise ValueError(f"its first bytes are {head!r}")
            shape = struct.unpack(f">{found}I", opened.read(4 * found))
            size = math.prod(shape) * np.dtype(_TYPES[kind]).itemsize
            if not path.endswith(".gz") and size != os.path.getsize(path) - 4 - 4 * found:
                raise ValueError(f"it has no {size} bytes, which the shape {shape} takes")
            # what is compressed is unpacked as far as the shape says
            data = read_up_to(opened, size)
        return np.frombuffer(data, _TYPES[kind]).reshape(shape)
    except (OSError, struct.error, ValueError, EOFError, zlib.error) as error:
        raise in_pipeline(f"The file {path} can't be read as IDX: {error}") from error


class _IdxDataset(ArraysDataset):
    """The base of data sets in MNIST's format."""

    _class_column = "label"
    _names = {"train": "train", "test": "t10k"}

    def __init__(self, dataset_dir: str, usage: str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        name = type(self).__name__
        self.dataset_dir = folder(name, dataset_dir)
        self.usage = one_of(usage or "all", ["train", "test", "all"], "usage", name)
        super().__init__(["image", "label"], select_sampler(
            name, num_samples, sampler, shuffle, num_shards, shard_id), num_parallel_workers, cache)

    def _usages_read(self) -> list[str]:
        """The usages that are read, in this order."""
        return ["test", "train"] if self.usage == "all" else [self.usage]

    def _parts(self) -> list[tuple[str, str]]:
        return [(f"{self._names[u]}-images-idx3-ubyte", f"{self._names[u]}-labels-idx1-ubyte")
                for u in self._usages_read()]

    def _arrays(self) -> list[np.ndarray]:
        images, labels = [], []
        parts = [p for p in self._parts() if self.usage != "all" or any(
            os.path.exists(os.path.join(self.dataset_dir, p[0] + end)) for end in ("", ".gz"))]
        for image, label in parts or self._parts():
            paths = [os.path.join(self.dataset_dir, name) for name in (image, label)]
            images.append(read_idx(paths[0], 3))
            labels.append(read_idx(paths[1], 1))
            self._origins.append((paths, len(labels[-1])))
            if len(images[-1]) != len(labels[-1]):
                raise in_pipeline(f"{self.dataset_dir} has {len(images[-1])} images, but "
                                  f"{len(labels[-1])} labels.")
        return [np.concatenate(images)[..., None], np.concatenate(labels).astype(np.uint32)]

    def num_classes(self) -> int | None:
        """The number of classes."""
        return 10


class MnistDataset(_IdxDataset):
    """Handwritten digits (LeCun et al. 1998): `image` (28, 28, 1) uint8, `label` uint32.

    Args:
        dataset_dir: the folder with the four files, compressed by gzip or not.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as for
            `GeneratorDataset`.
        cache: not supported.
    """


class FashionMnistDataset(_IdxDataset):
    """Clothes in MNIST's format (Xiao et al. 2017); arguments as for `MnistDataset`."""


class KMnistDataset(_IdxDataset):
    """Japanese characters in MNIST's format (Clanuwat et al. 2018); as `MnistDataset`."""


class EMnistDataset(_IdxDataset):
    """Letters and digits in MNIST's format (Cohen et al. 2017).

    Args:
        dataset_dir: the folder with the files.
        name: the split: ``"byclass"``, ``"bymerge"``, ``"balanced"``, ``"letters"``, ``"digits"``
            or ``"mnist"``.
        usage and the rest: as for `MnistDataset`.
    """

    def __init__(self, dataset_dir: str, name: str, usage: str | None = None, *args: Any,
                 **kwargs: Any):
        self.name = one_of(
            name, ["byclass", "bymerge", "balanced", "letters", "digits", "mnist"], "name",
            "EMnistDataset")
        super().__init__(dataset_dir, usage, *args, **kwargs)

    def _parts(self) -> list[tuple[str, str]]:
        return [(f"emnist-{self.name}-{u}-images-idx3-ubyte",
                 f"emnist-{self.name}-{u}-labels-idx1-ubyte") for u in self._usages_read()]

    def num_classes(self) -> int | None:
        """The number of classes."""
        return {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26}.get(self.name, 10)


class QMnistDataset(_IdxDataset):
    """MNIST rebuilt, with all its test images (Yadav and Bottou 2019).

    Args:
        dataset_dir: the folder with the files.
        usage: ``"train"``, ``"test"``, ``"test10k"``, ``"test50k"``, ``"nist"`` or ``"all"``.
        compat: whether labels are numbers as MNIST's; else rows of eight.
        num_samples and the rest: as for `MnistDataset`.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, compat: bool = True,
                 *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, None, *args, **kwargs)
        self.usage = one_of(
            usage or "all", ["train", "test", "test10k", "test50k", "nist", "all"], "usage",
            "QMnistDataset")
        self.compat = compat

    def _arrays(self) -> list[np.ndarray]:
        images, labels = [], []
        for part in ("train", "test", "nist") if self.usage == "all" else (self.usage,):
            prefix = {"train": "qmnist-train", "nist": "xnist"}.get(part, "qmnist-test")
            start = os.path.join(self.dataset_dir, prefix)
            rows = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}.get(
                part, slice(None))
            paths = [start + "-images-idx3-ubyte", start + "-labels-idx2-int"]
            images.append(read_idx(paths[0], 3)[rows])
            labels.append(read_idx(paths[1], 2)[rows])
            self._origins.append((paths, len(labels[-1])))
        label = np.concatenate(labels).astype(np.uint32)
        return [np.concatenate(images)[..., None], label[:, 0] if self.compat else label]
