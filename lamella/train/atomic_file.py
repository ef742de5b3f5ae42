"""Writing a file so that a crash leaves the old one whole."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator

__all__ = ["replacing"]

_numbers = itertools.count()


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """The name of a new file beside `path`, that takes its place when the block ends well.

    When the block raises, the new file is removed and `path` is as it was.

    Args:
        path: the file to replace or create. A symbolic link is followed.

    Examples:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "a.txt")
        ...     with replacing(path) as new, open(new, "w") as file:
        ...         _ = file.write("text")
        ...     print(os.listdir(folder))
        ['a.txt']
    """
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name[:80]}.{os.getpid()}-{next(_numbers)}.tmp")
    try:
        yield new
        with open(new, "rb") as file:
            os.fsync(file.fileno())  # the data is on the disk before the name points to it
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(new)
        raise
