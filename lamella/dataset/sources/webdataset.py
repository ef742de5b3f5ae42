"""WebDataset archives as a source: tar files whose members of one name are the columns of a row."""

from __future__ import annotations

import io
import json
import math
import os
import tarfile
import threading
import tokenize
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.reading import UNEXPECTED
from ..errors import DataError, in_pipeline
from ..order import Row, Table
from ..rows import as_row
from ..vision.conversion import decoded
from .addresses import is_remote, opened, paths_of
from .piecewise import PiecewiseDataset

KEY = "__key__"


class _Member(NamedTuple):
    """Where a file lies in an archive."""

    start: int
    size: int


class WebDataset(PiecewiseDataset):
    """The samples of WebDataset archives: ``000.jpg`` and ``000.cls`` of a tar file are a row.

    The headers of the archives are read once, when rows are first asked for; then rows can be read
    from any place, so that `sampler`, `split` and resuming work, and reading in threads (a `map`
    with `num_parallel_workers`). With `shuffle`, archives come in a random order, and rows are
    shuffled within windows of archives (at least two, and 65,536 rows). Shards get parts of that
    order, each of the same length.

    Args:
        dataset_files: paths or patterns of tar files, not compressed; also addresses such as
            ``s3://bucket/000.tar``, which the package fsspec opens.
        columns_list: which columns, by the members' extensions, such as ``["jpg", "cls"]``, or
            ``"__key__"`` for their name; default: those of the first sample, sorted.
        decode: whether to decode by extension: images to arrays of uint8, ``npy`` to arrays,
            ``cls``, ``index`` and ``id`` to integers, ``txt`` and ``text`` to strings, ``json`` to
            dicts or arrays. What else there is, or all without `decode`, is bytes as uint8.
        num_samples, shuffle, sampler, num_shards, shard_id: as for `GeneratorDataset`.
        num_parallel_workers: of no effect.
        storage_options: for fsspec, such as keys.

    Raises:
        ValueError: if there is no such file.
        RuntimeError: if a file is no tar archive, is compressed, or a row lacks a column.

    Examples:
        >>> import io, pathlib, tarfile, tempfile
        >>> import lamella.dataset as ds
        >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "000.tar")
        >>> with tarfile.open(path, "w") as archive:
        ...     for name, data in (("a.txt", b"first"), ("a.cls", b"3"), ("b.txt", b"next"),
        ...                        ("b.cls", b"5")):
        ...         info = tarfile.TarInfo(name)
        ...         info.size = len(data)
        ...         archive.addfile(info, io.BytesIO(data))
        >>> for text, label in ds.WebDataset(path, ["txt", "cls"], shuffle=False):
        ...     print(text, label)
        first 3
        next 5
    """

    def __init__(self, dataset_files: Any, columns_list: list[str] | None = None,
                 decode: bool = True, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 storage_options: dict[str, Any] | None = None):
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        self.files = paths_of("WebDataset", dataset_files)
        self.columns_list, self.decode = columns_list, decode
        self.storage_options = dict(storage_options or {})
        self._samples: list[list[tuple[str, dict[str, _Member]]]] | None = None
        self._readers = _Readers(self.storage_options)

    def _index(self) -> list[list[tuple[str, dict[str, _Member]]]]:
        if self._samples is None:
            self._samples = [list(samples(path, self.storage_options)) for path in self.files]
        return self._samples

    def _sizes(self) -> Sequence[int]:
        return [len(found) for found in self._index()]

    def _named(self) -> list[str]:
        if self.columns_list is not None:
            return list(self.columns_list)
        first = next((found[0] for found in self._index() if found), None)
        if first is None:
            raise in_pipeline(f"WebDataset: the files {self.files} hold no samples: members with "
                              f"an extension.")
        return sorted(first[1])

    def _make_table(self) -> Table:
        ends = np.cumsum(self._sizes())

        def place_of(number: int) -> tuple[int, int]:
            piece = int(ends.searchsorted(number, "right"))
            return piece, int(number - ends[piece] + self._sizes()[piece])

        table = Table(lambda number: self._read(*place_of(number)), int(ends[-1]),
                      lambda number: (self.files[place_of(number)[0]],))
        table.parallel = True
        return table

    def _read(self, piece: int, place: int) -> Row:
        key, members = self._index()[piece][place]
        return as_row(tuple([self._value(self.files[piece], key, members, name)
                             for name in self.columns]))

    def _value(self, path: str, key: str, members: dict[str, _Member], name: str) -> Any:
        if name == KEY:
            return np.array(key)
        if name not in members:
            raise in_pipeline(f"WebDataset: the sample {key!r} of {path} has no member {name!r}; "
                              f"it has {sorted(members)}.")
        data = self._readers.read(path, members[name])
        decoder = _DECODERS.get(name.rpartition(".")[2].lower()) if self.decode else None
        try:
            return np.frombuffer(data, np.uint8) if decoder is None else decoder(data)
        except DataError as error:
            raise in_pipeline(f"WebDataset: the member {key}.{name} of {path} can't be decoded: "
                              f"{error}") from error
        except (EOFError, tokenize.TokenError, *UNEXPECTED) as error:
            raise in_pipeline(f"WebDataset: the member {key}.{name} of {path} can't be decoded: "
                              f"{type(error).__name__}: {error}") from error


def samples(path: str, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, _Member]]]:
    """The samples of an archive: names, and where the members of each extension lie.

    Raises:
        RuntimeError: if it is no tar archive, or is compressed.
    """
    source = opened(path, options)
    try:
        with (open(source, "rb") if isinstance(source, str) else source) as file:
            yield from _grouped(tarfile.open(fileobj=file, mode="r:"))
    except (tarfile.TarError, OSError) as error:
        raise in_pipeline(f"WebDataset: the file {path} can't be read as a tar archive (compressed "
                          f"ones must be unpacked first, as rows are read in any order): "
                          f"{error}") from error


def _grouped(archive: tarfile.TarFile) -> Iterator[tuple[str, dict[str, _Member]]]:
    """Members that follow one another and have one name up to its first dot."""
    current, members = "", {}
    for info in archive:
        folder, name = os.path.split(info.name)
        stem, dot, extension = name.partition(".")
        if not info.isreg() or not stem or not dot:
            continue
        if info.issparse():
            raise tarfile.ReadError(f"the member {info.name} is stored as a sparse file")
        key = f"{folder}/{stem}" if folder else stem
        if key != current and members:
            yield current, members
            members = {}
        current = key
        members[extension] = _Member(info.offset_data, info.size)
        archive.members.clear()  # type: ignore[attr-defined]  # the index is kept here
    if members:
        yield current, members


class _Readers:
    """Open archives, for threads to read from at once."""

    def __init__(self, options: dict[str, Any]):
        self.options = options
        self._begin()

    def _begin(self) -> None:
        self._files: dict[tuple[int, str], Any] = {}
        self._lock = threading.Lock()
        # no `__del__`: where objects refer to each other, files may be finalized before
        weakref.finalize(self, _close, self._files).atexit = False

    def read(self, path: str, member: _Member) -> bytes:
        """The bytes of a member.

        Raises:
            RuntimeError: if the archive ends before.
        """
        file = self._file(path)
        if is_remote(path):
            with self._lock:
                file.seek(member.start)
                data = file.read(member.size)
        else:
            data = os.pread(file.fileno(), member.size, member.start)
        if len(data) != member.size:
            raise in_pipeline(f"WebDataset: the file {path} ends within a member.")
        return data

    def _file(self, path: str) -> Any:
        key = os.getpid(), path  # places within a file are shared with processes that are forked
        with self._lock:
            if key not in self._files:
                source = opened(path, self.options)
                self._files[key] = open(source, "rb") if isinstance(source, str) else source
            return self._files[key]

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.options = state["options"]
        self._begin()


def _close(files: dict[tuple[int, str], Any]) -> None:
    for file in files.values():
        file.close()


def _picture(data: bytes) -> np.ndarray:
    return decoded(np.frombuffer(data, np.uint8))


def _json(data: bytes) -> Any:
    found = json.loads(data)
    return found if isinstance(found, dict) else np.asarray(found)


def _array(data: bytes) -> np.ndarray:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
        np.lib.format.read_array_header_2_0)
    shape, _, kind = header(file)
    if any(size < 0 for size in shape) or math.prod(shape) * kind.itemsize > len(data):
        raise ValueError(f"an array of {kind} and the shape {shape} isn't there")
    return np.load(io.BytesIO(data), allow_pickle=False)


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("jpg", "jpeg", "png", "bmp", "webp", "ppm", "pgm", "tif", "tiff"), _picture),
    **dict.fromkeys(("cls", "cls2", "index", "id"), lambda data: np.array(int(data), np.int64)),
    **dict.fromkeys(("txt", "text"), lambda data: np.array(data.decode())),
    "json": _json,
    "npy": _array,
}
