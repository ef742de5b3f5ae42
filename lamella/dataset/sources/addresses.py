"""Files that may lie elsewhere: addresses such as ``s3://bucket/name``, opened by fsspec."""

from __future__ import annotations

import os
from typing import Any

from ..errors import needs
from .files import found_files


def paths_of(name: str, files: Any) -> list[str]:
    """Sorted paths that match paths or patterns; addresses with ``://`` stay as they are.

    Raises:
        TypeError, ValueError: if there are none.
    """
    listed = list(files) if isinstance(files, (list, tuple)) else [files]
    listed = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in listed]
    remote = [path for path in listed if is_remote(path)]
    local = [path for path in listed if not is_remote(path)]
    return sorted(remote) + (found_files(name, local) if local or not remote else [])


def is_remote(path: Any) -> bool:
    """Whether a path is an address."""
    return isinstance(path, str) and "://" in path


def opened(path: str, options: dict[str, Any]) -> Any:
    """A path, or the open file that fsspec gives for an address."""
    if not is_remote(path):
        return path
    fsspec: Any = needs("arrow", "fsspec")
    return fsspec.open(path, "rb", **options).open()
