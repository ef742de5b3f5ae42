"""Lamella's own version, and that of MindSpore whose surface it follows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

__version__ = "0.2.0"
MINDSPORE_VERSION = "2.10.0"


def asked_version() -> str:
    """The version of MindSpore that programs see: ``LAMELLA_MINDSPORE``, or else 2.10's.

    Where a name had another meaning in that version, it has that.

    Raises:
        ValueError: if the variable holds no version from 2.0 to 2.10.

    Examples:
        >>> from lamella.core.versions import asked_version
        >>> asked_version()
        '2.10.0'
    """
    asked = os.environ.get("LAMELLA_MINDSPORE", "")
    if not asked:
        return MINDSPORE_VERSION
    found = re.fullmatch(r"2\.(\d|10)(?:\.(\d+))?", asked)
    if found is None:
        raise ValueError(f"LAMELLA_MINDSPORE must be a version of MindSpore from 2.0 to 2.10, such "
                         f"as '2.3', but is {asked!r}.")
    return f"2.{found[1]}.{found[2] or 0}"


def older_than(version: str) -> bool:
    """Whether programs see a MindSpore older than `version`, such as ``'2.3'``.

    Examples:
        >>> from lamella.core.versions import older_than
        >>> older_than("2.3")
        False
    """
    asked = (int(part) for part in asked_version().split("."))
    return tuple(asked) < tuple(int(part) for part in version.split("."))


def commit() -> str | None:
    """The commit that this copy of Lamella was made from.

    A wheel holds it as a file; in a copy of the repository git says it.

    Returns:
        its name in hexadecimal digits; None if it isn't known.
    """
    package = Path(sys.modules[__name__.partition(".")[0]].__file__ or "").resolve().parent
    kept = package / "data" / "commit.txt"
    if kept.exists():
        return kept.read_text(encoding="ascii").strip()
    if not (package.parent / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(package.parent), "rev-parse", "HEAD"],
                              capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def described() -> str:
    """The version with the first digits of the commit, such as ``0.2.0 (commit 1a2b3c4d5e)``."""
    found = commit()
    return __version__ if found is None else f"{__version__} (commit {found[:10]})"
