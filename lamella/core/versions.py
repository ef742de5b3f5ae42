"""Lamella's own version, and that of MindSpore whose surface it follows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

__version__ = "0.2.0"
MINDSPORE_VERSION = "2.10.0"


class _Version(str):
    """A version whose order is that of its numbers, since programs compare it as text.

    As text, "2.10.0" comes before "2.2", so such programs would take what they wrote for versions
    before 2.2.

    Examples:
        >>> from lamella.core.versions import asked_version
        >>> asked_version() >= "2.2", "2.9" < asked_version() < "2.11", "2.10.0" >= "2.2"
        (True, True, False)
    """

    def _compared(self, other: Any) -> int | None:
        """Below 0, 0 or above, as this is before, at or after `other`; None if that is none."""
        if not isinstance(other, str) or not re.match(r"\d", other):
            return None
        mine, its = ([int(part) for part in re.findall(r"\d+", text)[:3]] for text in (self, other))
        its += [0] * (len(mine) - len(its))
        return (mine > its) - (mine < its)

    def __lt__(self, other: Any) -> Any:
        order = self._compared(other)
        return super().__lt__(other) if order is None else order < 0

    def __le__(self, other: Any) -> Any:
        order = self._compared(other)
        return super().__le__(other) if order is None else order <= 0

    def __gt__(self, other: Any) -> Any:
        order = self._compared(other)
        return super().__gt__(other) if order is None else order > 0

    def __ge__(self, other: Any) -> Any:
        order = self._compared(other)
        return super().__ge__(other) if order is None else order >= 0


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
        return _Version(MINDSPORE_VERSION)
    found = re.fullmatch(r"2\.(\d|10)(?:\.(\d+))?", asked)
    if found is None:
        raise ValueError(f"LAMELLA_MINDSPORE must be a version of MindSpore from 2.0 to 2.10, such "
                         f"as '2.3', but is {asked!r}.")
    return _Version(f"2.{found[1]}.{found[2] or 0}")


def older_than(version: str) -> bool:
    """Whether programs see a MindSpore older than `version`, such as ``'2.3'``.

    Examples:
        >>> from lamella.core.versions import older_than
        >>> older_than("2.3")
        False
    """
    return asked_version() < version


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
