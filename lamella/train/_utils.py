"""What programs import from ``mindspore.train._utils``."""

from __future__ import annotations

import os

from ..core.checks import check_value_type

__all__ = ["check_value_type"]


def _make_directory(path: str, arg_name: str = "path") -> str:
    """Make a folder, with those above it, unless it is there.

    Args:
        path: the folder; may start with ``~``.
        arg_name: the caller's name for `path`, for messages.

    Returns:
        The folder's real path.

    Raises:
        TypeError: if `path` is no text, or empty.
        NotADirectoryError: if there is a file of that name.
    """
    if not isinstance(path, str) or not path.strip():
        raise TypeError(f"The '{arg_name}' must be the path of a folder, but got {path!r}.")
    real = os.path.realpath(os.path.expanduser(path))
    if os.path.exists(real) and not os.path.isdir(real):
        raise NotADirectoryError(f"The '{arg_name}' must be a folder, but {real!r} is a file.")
    os.makedirs(real, exist_ok=True)
    return real
