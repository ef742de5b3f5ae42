"""Lamella's own version, and that of MindSpore whose surface it follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__version__ = "0.2.0"
MINDSPORE_VERSION = "2.10.0"


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
