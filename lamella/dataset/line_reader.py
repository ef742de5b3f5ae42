"""Single lines of a file by their number, without reading the file again."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

from ..core.forking import Lock
from ..core.require import of_type

__all__ = ["LineReader"]

_opening = Lock()


class LineReader:
    """Gives any line of a text file; where lines begin is looked up once.

    Args:
        filename: the file.

    Raises:
        TypeError: if `filename` is no str.
        RuntimeError: if there is no such file, or it is no regular file.

    Examples:
        >>> import tempfile, lamella.dataset as ds
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("one" + chr(10) + "two" + chr(10))
        ...     file.flush()
        ...     reader = ds.LineReader(file.name)
        ...     reader.readline(2), len(reader), list(reader)
        ('two', 2, ['one', 'two'])
    """

    def __init__(self, filename: str):
        of_type(filename, str, "filename", "LineReader")
        self.filename = os.path.realpath(filename)
        if not os.path.exists(self.filename):
            raise RuntimeError(f"The input file [{filename}] does not exist.")
        if not os.path.isfile(self.filename):
            raise RuntimeError(f"The input file [{filename}] is not a regular file.")
        self.offsets = [0]
        with open(self.filename, "rb") as file:
            for line in file:
                self.offsets.append(self.offsets[-1] + len(line))
        self._end = self.offsets.pop()
        self._file: io.FileIO | None = None

    def __getitem__(self, line: int) -> str:
        return self.readline(line)

    def __iter__(self) -> Iterator[str]:
        return map(self.readline, range(1, len(self) + 1))

    def __len__(self) -> int:
        return len(self.offsets)

    def len(self) -> int:
        """How many lines there are."""
        return len(self.offsets)

    def readline(self, line: int) -> str:
        """A line without its end.

        Args:
            line: its number, from 1.

        Raises:
            TypeError: if `line` is no int.
            ValueError: if there is no such line.
        """
        of_type(line, int, "line", "readline")
        if not 1 <= line <= self.len():
            raise ValueError(f"Input line is not within the required interval of [1, "
                             f"{self.len()}].")
        start = self.offsets[line - 1]
        end = self.offsets[line] if line < self.len() else self._end
        # without a position in the file, which threads and forked processes would share
        text = os.pread(self._opened().fileno(), end - start, start).decode("utf-8")
        return io.StringIO(text, newline=None).readline().removesuffix("\n")

    def _opened(self) -> io.FileIO:
        with _opening:
            if self._file is None:
                self._file = open(self.filename, "rb", buffering=0)  # noqa: SIM115  (see `close`)
            return self._file

    def close(self) -> None:
        """Close the file; reading opens it again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None}  # each process reads by a file of its own

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            self.close()
