"""Images with captions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..checks import existing_file
from ..errors import in_pipeline
from .files import FilesDataset, folder, picture


class FlickrDataset(FilesDataset):
    """Photographs with several captions each: `image`, `annotation`, the captions.

    Flickr8k (Hodosh et al. 2013) and Flickr30k (Young et al. 2014).

    Args:
        dataset_dir: the folder of the images.
        annotation_file: the captions: on each line an image's name, ``#`` and a number, a tab, and
            a caption.
        num_samples and the rest: as for `ImageFolderDataset`.

    Raises:
        ValueError: if the folder or the file isn't there.
    """

    _given = ("image", "annotation")

    def __init__(self, dataset_dir: str, annotation_file: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("FlickrDataset", dataset_dir)
        self.annotation_file = existing_file(annotation_file)
        self.decode = bool(decode)

    def _list(self) -> list[Any]:
        captions: dict[str, list[str]] = {}
        for line in _lines(self.annotation_file):
            if not line:
                continue
            name, tab, caption = line.partition("\t")
            name, mark, number = name.rpartition("#")
            if not (tab and mark and number.isdigit()):
                raise in_pipeline(f"FlickrDataset: {self.annotation_file} has a line that isn't "
                                  f"'name#number<tab>caption': {line!r}.")
            captions.setdefault(os.path.join(self.dataset_dir, name), []).append(caption)
        return sorted(captions.items())

    def _read(self, item: Any) -> Any:
        return picture(item[0], self.decode), np.array(item[1])


class SBUDataset(FilesDataset):
    """Photographs with one caption each (Ordonez et al. 2011): `image`, `caption`.

    Args:
        dataset_dir: the folder with ``SBU_captioned_photo_dataset_urls.txt``,
            ``SBU_captioned_photo_dataset_captions.txt`` and ``sbu_images``. The image of an address
            ``http://static.flickr.com/a/b.jpg`` is ``m_a_b.jpg``; addresses without are left out.
        num_samples and the rest: as for `ImageFolderDataset`.

    Raises:
        ValueError: if the folder or one of the files isn't there.
    """

    _given = ("image", "caption")

    def __init__(self, dataset_dir: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("SBUDataset", dataset_dir)
        start = os.path.join(dataset_dir, "SBU_captioned_photo_dataset_")
        self._urls = existing_file(f"{start}urls.txt")
        self._captions = existing_file(f"{start}captions.txt")
        self.decode = bool(decode)

    def _list(self) -> list[Any]:
        urls, captions = _lines(self._urls), _lines(self._captions)
        if len(urls) != len(captions):
            raise in_pipeline(f"SBUDataset: {len(urls)} addresses, but {len(captions)} captions.")
        root = os.path.join(self.dataset_dir, "sbu_images")
        start = "http://static.flickr.co"  # the "m" of ".com" is a file name's first letter
        paths = (os.path.join(root, url[len(start):].replace("/", "_")) for url in urls)
        return [(path, caption.rstrip()) for path, caption in zip(paths, captions, strict=True)
                if os.path.isfile(path)]

    def _read(self, item: Any) -> Any:
        return picture(item[0], self.decode), item[1]


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as opened:
        return opened.read().splitlines()


__all__ = ["FlickrDataset", "SBUDataset"]
