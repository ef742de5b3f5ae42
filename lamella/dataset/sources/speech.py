"""Speech with transcripts: waveforms as float32 (channels, frames)."""

from __future__ import annotations

import glob
import os
import re
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from ..errors import in_pipeline
from .sounds import SoundsDataset, waveform
from .text_files import lines


class CMUArcticDataset(SoundsDataset):
    """Sentences read by one speaker (Kominek and Black 2003).

    Columns are `waveform`, `sample_rate` uint32, `transcript`, `utterance_id`.

    Args:
        dataset_dir: the folder with ``cmu_us_aew_arctic`` and so on.
        name: the speaker; default: ``"aew"``.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "transcript", "utterance_id")
    _argument = "name"
    _usages = ("aew", "ahw", "aup", "awb", "axb", "bdl", "clb", "eey", "fem", "gka", "jmk", "ksp",
               "ljm", "lnh", "rms", "rxr", "slp", "slt")

    def __init__(self, dataset_dir: str, name: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, name or "aew", *args, **kwargs)

    def _list(self) -> list[Any]:
        root = os.path.join(self.dataset_dir, f"cmu_us_{self.usage}_arctic")
        listing = existing_file(os.path.join(root, "etc", "txt.done.data"))
        found = []
        for line in lines(listing):
            match = re.fullmatch(r'\(\s*(\S+)\s+"(.*)"\s*\)\s*', line)
            if match is None:
                raise in_pipeline(f"CMUArcticDataset: {listing} has a line that isn't "
                                  f"'( name \"text\" )': {line!r}.")
            found.append((os.path.join(root, "wav", f"{match[1]}.wav"), match[2],
                          match[1].rpartition("_")[2]))
        return found

    def _read(self, item: Any) -> Any:
        data, rate = waveform(item[0])
        return data, np.uint32(rate), item[1], item[2]


class LibriTTSDataset(SoundsDataset):
    """Sentences read by many speakers (Zen et al. 2019).

    Columns are `waveform`, `sample_rate` uint32, `original_text`, `normalized_text`, `speaker_id`
    uint32, `chapter_id` uint32, `utterance_id`.

    Args:
        dataset_dir: the folder with ``dev-clean`` and so on.
        usage: one of these folders, or ``"all"``; default: the last.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "original_text", "normalized_text", "speaker_id",
              "chapter_id", "utterance_id")
    _usages = ("dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100",
               "train-clean-360", "train-other-500", "all")

    def _list(self) -> list[Any]:
        parts = self._usages[:-1] if self.usage == "all" else [self.usage]
        listings = [path for part in parts for path in sorted(glob.glob(
            os.path.join(self.dataset_dir, part, "*", "*", "*.trans.tsv")))]
        return [(os.path.dirname(path), *line.split("\t")) for path in listings
                for line in lines(path)]

    def _paths(self, item: Any) -> tuple[str]:
        return (os.path.join(item[0], f"{item[1]}.wav"),)

    def _read(self, item: Any) -> Any:
        _, name, original, normalized = item
        data, rate = waveform(*self._paths(item))
        speaker, chapter = name.split("_")[:2]
        return (data, np.uint32(rate), original, normalized, np.uint32(speaker),
                np.uint32(chapter), name)


class TedliumDataset(SoundsDataset):
    """Talks, sentence by sentence (Rousseau et al. 2012; Hernandez et al. 2018).

    Columns are `waveform`, `sample_rate` int32, `transcript`, `talk_id`, `speaker_id`,
    `identifier`.

    Args:
        dataset_dir: the folder with ``train``, ``test`` and ``dev``; of the third release ``data``.
        release: ``"release1"``, ``"release2"`` or ``"release3"``.
        usage: ``"train"``, ``"test"``, ``"dev"`` or ``"all"``; of the third release only the last.
        extensions: ``".sph"``, the ending of the sounds' files.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "transcript", "talk_id", "speaker_id", "identifier")
    _usages = ("train", "test", "dev", "all")

    def __init__(self, dataset_dir: str, release: str, usage: str | None = None,
                 extensions: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, usage, *args, **kwargs)
        name = "TedliumDataset"
        self.release = one_of(release, ["release1", "release2", "release3"], "release", name)
        if release == "release3":
            one_of(self.usage, ["all"], "usage' with 'release3", name)
        self.extensions = one_of(extensions or ".sph", [".sph"], "extensions", name)

    def _list(self) -> list[Any]:
        parts = ["data"] if self.release == "release3" else (
            self._usages[:-1] if self.usage == "all" else [self.usage])
        found = []
        for part in parts:
            root = os.path.join(self.dataset_dir, part)
            for path in sorted(glob.glob(os.path.join(root, "stm", "*.stm"))):
                found += [(os.path.join(root, "sph"), line) for line in lines(path)]
        return found

    def _paths(self, item: Any) -> tuple[str]:
        return (os.path.join(item[0], f"{item[1].partition(' ')[0]}{self.extensions}"),)

    def _read(self, item: Any) -> Any:
        talk, _, speaker, start, end, identifier, transcript = item[1].split(" ", 6)
        data, rate = waveform(*self._paths(item))
        part = data[:, int(float(start) * rate):int(float(end) * rate)]
        return part, np.int32(rate), transcript, talk, speaker, identifier


__all__ = ["CMUArcticDataset", "LibriTTSDataset", "TedliumDataset"]
