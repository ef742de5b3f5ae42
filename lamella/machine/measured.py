"""Measurements of this machine, kept in the process and on disk."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Container

from ..core.forking import Lock
from .cache import cache_folder, key_of

Key = tuple[str | int | bool, ...]


class Measured(dict[Key, str]):
    """For each key, such as a shape, the name of the fastest algorithm.

    Args:
        name: of the file, which holds for this CPU, PyTorch and number of threads.
        known: the names of the algorithms; other names on disk are ignored.
    """

    def __init__(self, name: str, known: Container[str]):
        super().__init__()
        self.name, self.algorithms = name, known
        self._file: pathlib.Path | None = None
        self._read = False
        self._file_lock = Lock()

    def find(self, key: Key, measure: Callable[[Key], str] | None = None) -> str | None:
        """The name for a key; if none is known, `measure` determines it.

        Returns:
            The name; None if none is known and there is no `measure`.
        """
        self.load()
        found = self.get(key)
        if found is None and measure is not None:
            found = self[key] = measure(key)
            with self._file_lock:
                self._save()
        return found

    def load(self) -> None:
        """Read the file of earlier processes, once; what can't be read is ignored."""
        if not self._read:
            with self._file_lock:  # what isn't read yet would be measured, and written over
                if not self._read:
                    self._read_file()
                    self._read = True

    def _read_file(self) -> None:
        folder = cache_folder()
        if folder is None:
            return
        self._file = folder / f"{self.name}-{key_of(self.name, 1)[:16]}.json"
        with contextlib.suppress(OSError, ValueError, TypeError):
            for *key, algorithm in json.loads(self._file.read_text(encoding="utf-8")):
                if algorithm in self.algorithms:
                    self[tuple(key)] = algorithm

    def _save(self) -> None:
        if self._file is None:
            return
        text = json.dumps([[*key, algorithm] for key, algorithm in list(self.items())])
        with contextlib.suppress(OSError):
            number, name = tempfile.mkstemp(dir=self._file.parent, prefix="draft-")
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, self._file)
