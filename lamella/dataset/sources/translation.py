"""Translation: talks in two languages."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import one_of
from ..errors import in_pipeline
from ..samplers import Shuffle
from .corpora import Corpus
from .text_files import lines

_SETS = ["dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"]


class _Talks(Corpus):
    """The base of both years: plain text for training, XML for validation and test."""

    _given = ("text", "translation")
    _year = ""

    def _prepare(self, pair: Any, pairs: list[tuple[str, str]], folder: str, valid: str,
                 test: str) -> None:
        found = one_of(tuple(pair or ("de", "en")), pairs, "language_pair", type(self).__name__)
        self.language_pair, both = list(found), "-".join(found)
        start = os.path.join(folder.format(*found), f"IWSLT{self._year}.TED.")
        self._files = {
            "train": os.path.join(folder.format(*found), f"train.tags.{both}.{found[0]}"),
            "valid": f"{start}{valid}.{both}.{found[0]}.xml",
            "test": f"{start}{test}.{both}.{found[0]}.xml"}

    def _read(self, path: str) -> Iterator[Any]:
        first, second = self.language_pair
        ending = ".xml" if path.endswith(".xml") else ""
        other = f"{path.removesuffix(f'{first}{ending}')}{second}{ending}"
        sentences = _segments if ending else _tagged
        try:
            for row in zip(sentences(path), sentences(other), strict=True):
                yield tuple(map(np.asarray, row))
        except ElementTree.ParseError as error:
            raise in_pipeline(f"{type(self).__name__}: {path} or {other} is no XML: "
                              f"{error}") from error


def _tagged(path: str) -> Iterator[str]:
    """The lines of a file without those of metadata."""
    return (line.strip() for line in lines(path) if not line.startswith("<"))


def _segments(path: str) -> Iterator[str]:
    """The sentences of a file in XML."""
    return ((segment.text or "").strip() for segment in ElementTree.parse(path).iter("seg"))


class IWSLT2016Dataset(_Talks):
    """Talks in two languages (Cettolo et al. 2012): `text`, `translation`.

    Args:
        dataset_dir: the folder with ``texts``, in which what is read was unpacked.
        usage: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``; default: the last.
        language_pair: English and Arabic, Czech, French or German (``"en"``, ``"ar"``, ``"cs"``,
            ``"fr"``, ``"de"``), or the other way; default: ``("de", "en")``.
        valid_set: which talks to validate with: ``"dev2010"`` or ``"tst2010"`` to ``"tst2014"``;
            default: ``"tst2013"``.
        test_set: which talks to test with; default: ``"tst2014"``.
        num_samples, shuffle, num_shards, shard_id, num_parallel_workers, cache: as for
            `TextFileDataset`.
    """

    _year = "16"

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Any = None,
                 valid_set: str | None = None, test_set: str | None = None,
                 num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None):
        name = "IWSLT2016Dataset"
        self.valid_set = one_of(valid_set or "tst2013", _SETS, "valid_set", name)
        self.test_set = one_of(test_set or "tst2014", _SETS, "test_set", name)
        pairs = [(a, b) for other in ("fr", "de", "cs", "ar")
                 for a, b in (("en", other), (other, "en"))]
        self._prepare(language_pair, pairs, os.path.join("texts", "{0}", "{1}", "{0}-{1}"),
                      self.valid_set, self.test_set)
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle,
                         num_shards, shard_id, cache)


class IWSLT2017Dataset(_Talks):
    """Talks in two languages (Cettolo et al. 2017): `text`, `translation`.

    Args:
        dataset_dir: the folder with ``texts``, in which what is read was unpacked.
        usage: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``; default: the last.
        language_pair: two of ``"en"``, ``"nl"``, ``"de"``, ``"it"`` and ``"ro"``; default:
            ``("de", "en")``.
        num_samples and the rest: as for `IWSLT2016Dataset`.
    """

    _year = "17"

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Any = None,
                 num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None):
        languages = ("en", "nl", "de", "it", "ro")
        pairs = [(a, b) for a in languages for b in languages if a != b]
        folder = os.path.join("texts", "DeEnItNlRo", "DeEnItNlRo", "DeEnItNlRo-DeEnItNlRo")
        self._prepare(language_pair, pairs, folder, "dev2010", "tst2010")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle,
                         num_shards, shard_id, cache)


__all__ = ["IWSLT2016Dataset", "IWSLT2017Dataset"]
