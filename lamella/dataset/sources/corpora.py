"""Text corpora: rows of their files as columns of strings."""

from __future__ import annotations

import csv
import glob
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import one_of
from ..samplers import Shuffle
from .files import FilesDataset, LinesDataset, folder
from .text_files import lines


class Corpus(LinesDataset):
    """The base of corpora: a folder with one or more files for each usage."""

    _files: dict[str, str] = {}  # usage -> pattern
    _default = "all"
    _by_name = True  # whether the files of all usages are read in the order of their names

    def __init__(self, dataset_dir: str, usage: str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        name = type(self).__name__
        self.dataset_dir = folder(name, dataset_dir)
        usages = [*self._files, *(["all"] if len(self._files) > 1 else [])]
        self.usage = one_of(usage or (
            self._default if self._default in usages else usages[-1]), usages, "usage", name)
        patterns = list(self._files.values()) if self.usage == "all" else [self._files[self.usage]]
        found = [f for p in patterns for f in sorted(glob.glob(os.path.join(dataset_dir, p)))]
        super().__init__(found or [os.path.join(dataset_dir, p) for p in patterns], num_samples,
                         num_parallel_workers, shuffle, num_shards, shard_id, cache)
        if not self._by_name:
            self.files = found


class _Table(Corpus):
    """The base of corpora in CSV files without a header."""

    def _read(self, path: str) -> Iterator[Any]:
        with open(path, encoding="utf-8", newline="") as opened:
            for row in csv.reader(opened):
                if row:
                    yield tuple(np.asarray(value) for value in row)


class AGNewsDataset(_Table):
    """News of four classes (Zhang et al. 2015): `index`, `title`, `description`.

    Args:
        dataset_dir: the folder with ``train.csv`` and ``test.csv``.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _given = ("index", "title", "description")
    _files = {"train": "train.csv", "test": "test.csv"}


class AmazonReviewDataset(AGNewsDataset):
    """Reviews (Zhang et al. 2015): `label`, `title`, `content`; as `AGNewsDataset`."""

    _given = ("label", "title", "content")


class DBpediaDataset(AGNewsDataset):
    """Topics of Wikipedia (Zhang et al. 2015): `class`, `title`, `content`; as `AGNewsDataset`."""

    _given = ("class", "title", "content")


class YahooAnswersDataset(AGNewsDataset):
    """Questions (Zhang et al. 2015): `class`, `title`, `content`, `answer`; as `AGNewsDataset`."""

    _given = ("class", "title", "content", "answer")


class YelpReviewDataset(AGNewsDataset):
    """Reviews (Zhang et al. 2015): `label`, `text`; as `AGNewsDataset`."""

    _given = ("label", "text")
    _by_name = False


class SogouNewsDataset(AGNewsDataset):
    """News (Zhang et al. 2015): `index`, `title`, `content`; as `AGNewsDataset`."""

    _given = ("index", "title", "content")
    _by_name = False


class _Lines(Corpus):
    """The base of corpora of lines."""

    _given = ("text",)

    def _read(self, path: str) -> Iterator[Any]:
        return (np.asarray(line) for line in lines(path))


class PennTreebankDataset(_Lines):
    """Sentences of the Wall Street Journal (Marcus et al. 1993): `text`.

    Args:
        dataset_dir: the folder with ``ptb.train.txt``, ``ptb.valid.txt`` and ``ptb.test.txt``.
        usage: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _files = {"train": "ptb.train.txt", "valid": "ptb.valid.txt", "test": "ptb.test.txt"}


class WikiTextDataset(_Lines):
    """Good articles of Wikipedia (Merity et al. 2016): `text`; as `PennTreebankDataset`."""

    _files = {"train": "wiki.train.tokens", "valid": "wiki.valid.tokens",
              "test": "wiki.test.tokens"}


class EnWik9Dataset(_Lines):
    """The first 10^9 bytes of Wikipedia as XML: `text`.

    Args:
        dataset_dir: the folder with ``enwik9``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _files = {"all": "enwik9"}

    def __init__(self, dataset_dir: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: Any = True,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, num_shards,
                         shard_id, cache)


class SST2Dataset(Corpus):
    """Sentences of film reviews (Socher et al. 2013): `sentence`, `label`, texts, if there is one.

    Args:
        dataset_dir: the folder with ``train.tsv``, ``dev.tsv`` and ``test.tsv``.
        usage: ``"train"``, ``"dev"`` or ``"test"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _files = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
    _default = "train"

    def _named(self) -> list[str]:
        return ["sentence"] if self.usage == "test" else ["sentence", "label"]

    def _read(self, path: str) -> Iterator[Any]:
        for number, line in enumerate(lines(path)):
            if number:
                first, second = line.split("\t")[:2]
                yield tuple(map(np.asarray, (second,) if self.usage == "test" else (
                    first, second)))


class _Words(Corpus):
    """The base of corpora with a tagged word on each line and empty lines between sentences."""

    _separator: str | None = None

    def _read(self, path: str) -> Iterator[Any]:
        rows: list[list[str]] = []
        with open(path, encoding="utf-8") as opened:
            for line in [*opened, ""]:
                words = line.strip().split(self._separator) if line.strip() else []
                if words:
                    rows.append(words)
                elif rows:
                    yield tuple(np.array(column) for column in zip(*rows, strict=True))
                    rows = []


class CoNLL2000Dataset(_Words):
    """Sentences with phrase chunks (Tjong Kim Sang 2000): `word`, `pos_tag`, `chunk_tag`.

    Args:
        dataset_dir: the folder with ``train.txt`` and ``test.txt``.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _given = ("word", "pos_tag", "chunk_tag")
    _files = {"train": "train.txt", "test": "test.txt"}

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, num_parallel_workers: int | None = None,
                 cache: Any = None):
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle,
                         num_shards, shard_id, cache)


class UDPOSDataset(CoNLL2000Dataset):
    """Sentences with parts of speech (Universal Dependencies): `word`, `universal`, `stanford`."""

    _given = ("word", "universal", "stanford")
    _separator = "\t"
    _files = {"train": "en-ud-tag.v2.train.txt", "valid": "en-ud-tag.v2.dev.txt",
              "test": "en-ud-tag.v2.test.txt"}


class SQuADDataset(Corpus):
    """Questions on texts (Rajpurkar et al. 2016): `context`, `question`, `text`, `answer_start`.

    Args:
        dataset_dir: the folder with ``train-v*.json`` and ``dev-v*.json``.
        usage: ``"train"``, ``"dev"`` or ``"all"``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _given = ("context", "question", "text", "answer_start")
    _files = {"train": "train-v*.json", "dev": "dev-v*.json"}

    def _read(self, path: str) -> Iterator[Any]:
        with open(path, encoding="utf-8") as opened:
            articles = json.load(opened)["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = question.get("answers") or []
                    yield (np.asarray(paragraph["context"]), np.asarray(question["question"]),
                           np.array([a["text"] for a in answers] or [""]),
                           np.array([a["answer_start"] for a in answers] or [-1], np.uint32
                                    if answers else np.int64).astype(np.uint32))


class Multi30kDataset(Corpus):
    """Descriptions of images in two languages (Elliott et al. 2016): `text`, `translation`.

    Args:
        dataset_dir: the folder with ``training``, ``validation``, ``mmt16_task1_test``.
        usage: ``"train"``, ``"test"``, ``"valid"`` or ``"all"``.
        language_pair: ``["en", "de"]`` or ``["de", "en"]``.
        num_samples and the rest: as for `TextFileDataset`.
    """

    _given = ("text", "translation")
    _files = {"train": "training/train.en", "valid": "validation/val.en",
              "test": "mmt16_task1_test/test.en"}

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Any = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        pair = list(language_pair or ["en", "de"])
        self.language_pair = one_of(pair, [["en", "de"], ["de", "en"]], "language_pair",
                                    "Multi30kDataset")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers,
                         Shuffle.GLOBAL if shuffle is None else shuffle, num_shards, shard_id,
                         cache)

    def _read(self, path: str) -> Iterator[Any]:
        stem = path[:-2]
        texts = [lines(stem + language) for language in self.language_pair]
        return (tuple(map(np.asarray, row)) for row in zip(*texts, strict=True))


class IMDBDataset(FilesDataset):
    """Film reviews, negative or positive (Maas et al. 2011): `text`, `label` int32.

    Args:
        dataset_dir: the folder with ``train`` and ``test``.
        usage: ``"train"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("text", "label")
    _class_column = 1

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_dir = folder("IMDBDataset", dataset_dir)
        self.usage = one_of(usage or "all", ["train", "test", "all"], "usage", "IMDBDataset")

    def _list(self) -> list[tuple[str, int]]:
        return [(path, label) for part in (("train", "test") if self.usage == "all"
                                           else (self.usage,))
                for label, name in ((1, "pos"), (0, "neg"))
                for path in sorted(glob.glob(os.path.join(self.dataset_dir, part, name, "*.txt")))]

    def _read(self, item: tuple[str, int]) -> Any:
        with open(item[0], encoding="utf-8") as opened:
            return np.asarray(opened.read().removesuffix("\n")), np.int32(item[1])

    def num_classes(self) -> int | None:
        """The number of classes."""
        return 2
