"""Folders of audio files: waveforms as float32 (channels, frames), read by soundfile."""

from __future__ import annotations

import csv
import glob
import os
from typing import Any

import numpy as np

from ..checks import one_of
from ..errors import in_pipeline, needs
from .files import FilesDataset, folder
from .genres import files_of

_LOUDEST = 32767  # what 1.0 is in a file of 16 bits; soundfile itself divides by 32768


def waveform(path: str) -> tuple[np.ndarray, int]:
    """The waveform (channels, frames) of a file, and its sample rate.

    Raises:
        RuntimeError: if it can't be read.
    """
    soundfile = needs("audio", "soundfile")
    try:
        short = soundfile.info(path).subtype == "PCM_16"
        data, rate = soundfile.read(path, dtype="int16" if short else "float32", always_2d=True)
    except (OSError, RuntimeError) as error:
        raise in_pipeline(f"The file {path} can't be read as sound: {error}") from error
    if short:
        data = data.astype(np.float32) / np.float32(_LOUDEST)
    return np.ascontiguousarray(data.T), rate


class SoundsDataset(FilesDataset):
    """The base of audio data sets."""

    _argument = "usage"  # the name of the argument that says which part to read
    _usages: tuple[str, ...] = ("all",)  # the last is the default

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        name = type(self).__name__
        self.dataset_dir = folder(name, dataset_dir)
        self.usage = one_of(usage or self._usages[-1], self._usages, self._argument, name)


class GTZANDataset(SoundsDataset):
    """Music of ten genres (Tzanetakis 2001): `waveform`, `sample_rate` uint32, `label`.

    Args:
        dataset_dir: the folder with a folder for each genre.
        usage: ``"all"``; or ``"train"``, ``"valid"``, ``"test"``, by a list of names of files.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "label")
    _usages = ("train", "valid", "test", "all")

    def _list(self) -> list[Any]:
        found = []
        for path in sorted(glob.glob(os.path.join(self.dataset_dir, "*", "*.wav"))):
            found.append((path, os.path.basename(os.path.dirname(path))))
        if self.usage == "all":
            return found
        wanted = files_of(self.usage)
        return [item for item in found
                if os.path.splitext(os.path.basename(item[0]))[0] in wanted]

    def _read(self, item: Any) -> Any:
        data, rate = waveform(item[0])
        return data, np.uint32(rate), item[1]


class YesNoDataset(SoundsDataset):
    """Eight times yes or no in Hebrew: `waveform`, `sample_rate` int32, `label` int32.

    Args:
        dataset_dir: the folder with files such as ``0_0_1_1_0_1_1_0.wav``.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "label")

    def __init__(self, dataset_dir: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)

    def _list(self) -> list[str]:
        return sorted(glob.glob(os.path.join(self.dataset_dir, "*.wav")))

    def _read(self, item: str) -> Any:
        data, rate = waveform(item)
        labels = os.path.splitext(os.path.basename(item))[0].split("_")
        return data, np.int32(rate), np.array([int(v) for v in labels], np.int32)


class LJSpeechDataset(YesNoDataset):
    """Sentences read aloud (Ito and Johnson 2017).

    Columns are `waveform`, `sample_rate` int32, `transcription`, `normalized_transcription`.

    Args:
        dataset_dir: the folder with ``metadata.csv`` and ``wavs``.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "transcription", "normalized_transcription")

    def _list(self) -> list[Any]:
        path = os.path.join(self.dataset_dir, "metadata.csv")
        with open(path, encoding="utf-8", newline="") as opened:
            return [row for row in csv.reader(opened, delimiter="|", quoting=csv.QUOTE_NONE) if row]

    def _paths(self, item: Any) -> tuple[str]:
        return (os.path.join(self.dataset_dir, "wavs", f"{item[0]}.wav"),)

    def _read(self, item: Any) -> Any:
        data, rate = waveform(*self._paths(item))
        return data, np.int32(rate), item[1], item[2]


class SpeechCommandsDataset(SoundsDataset):
    """Spoken words (Warden 2018).

    Columns are `waveform`, `sample_rate` int32, `label`, `speaker_id`, `utterance_number` int32.

    Args:
        dataset_dir: the folder with a folder for each word.
        usage: ``"train"``, ``"test"``, ``"valid"`` or ``"all"``, by its lists of files.
        num_samples and the rest: as for `MnistDataset`.
    """

    _given = ("waveform", "sample_rate", "label", "speaker_id", "utterance_number")
    _usages = ("train", "test", "valid", "all")

    def _list(self) -> list[str]:
        found = [os.path.relpath(path, self.dataset_dir) for path in sorted(glob.glob(
            os.path.join(self.dataset_dir, "*", "*_nohash_*.wav")))]
        lists = {}
        for name in ("testing", "validation"):
            path = os.path.join(self.dataset_dir, f"{name}_list.txt")
            lists[name] = set()
            if os.path.exists(path):
                with open(path, encoding="utf-8") as opened:
                    lists[name] = {line.strip() for line in opened}
        if self.usage == "train":
            return [f for f in found if f not in lists["testing"] | lists["validation"]]
        if self.usage == "all":
            return found
        wanted = lists["testing" if self.usage == "test" else "validation"]
        return [f for f in found if f in wanted]

    def _paths(self, item: str) -> tuple[str]:
        return (os.path.join(self.dataset_dir, item),)

    def _read(self, item: str) -> Any:
        data, rate = waveform(*self._paths(item))
        speaker, number = os.path.splitext(os.path.basename(item))[0].split("_nohash_")
        return data, np.int32(rate), os.path.dirname(item), speaker, np.int32(number)
