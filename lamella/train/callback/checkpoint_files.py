"""The checkpoint files of a run: which there are, and which have to go."""

from __future__ import annotations

import contextlib
import os
import time

from ...core import log

__all__ = ["CheckpointManager", "age", "free_prefix"]

_ENDINGS = (".ckpt", ".safetensors")
_BREAKPOINT = tuple(f"_breakpoint{ending}" for ending in _ENDINGS)


class CheckpointManager:
    """The checkpoint files with a prefix in a folder.

    Args:
        format: their ending.
    """

    def __init__(self, format: str = "ckpt"):
        self._ckpoint_filelist: list[str] = []
        self._format = format

    @property
    def ckpoint_filelist(self) -> list[str]:
        """Their paths."""
        return self._ckpoint_filelist

    @property
    def ckpoint_num(self) -> int:
        """How many there are."""
        return len(self._ckpoint_filelist)

    def update_ckpoint_filelist(self, directory: str, prefix: str) -> None:
        """Look for the files of this prefix, those such as ``PREFIX-2_100.ckpt``."""
        ending = f".{self._format}"
        self._ckpoint_filelist = [
            os.path.join(directory, name) for name in os.listdir(directory)
            if name.startswith(f"{prefix}-") and name.endswith(ending)
            and not any(c.isalpha() for c in name[len(prefix):-len(ending)])]

    def remove_ckpoint_file(self, file_name: str) -> None:
        """Remove a file; one that can't be is warned of."""
        try:
            with contextlib.suppress(FileNotFoundError):  # another process has removed it
                os.remove(file_name)
            self._ckpoint_filelist.remove(file_name)
        except (OSError, ValueError) as error:
            log.warning(f"The old checkpoint '{file_name}' can't be removed: {error}")

    def remove_oldest_ckpoint_file(self) -> None:
        """Remove the file that was written first."""
        self.remove_ckpoint_file(min(self._ckpoint_filelist, key=age))

    def keep_one_ckpoint_per_minutes(self, minutes: int, cur_time: float) -> None:
        """Of the files written in the last `minutes` keep only the oldest."""
        recent = sorted((f for f in self._ckpoint_filelist
                         if cur_time - age(f) / 1e9 < 60 * minutes), key=age)
        for path in recent[1:]:
            self.remove_ckpoint_file(path)


def age(path: str) -> float:
    """When a file was written, in nanoseconds; now, if another process has removed it."""
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return time.time_ns()


def free_prefix(directory: str, prefix: str, after_error: bool = False) -> str:
    """`prefix`, or ``prefix_1``, ``prefix_2``, ... where an earlier run has used it in `directory`.

    Args:
        directory: the folder.
        prefix: what checkpoints' names begin with.
        after_error: whether to look at the files that were saved when a run failed.
    """
    number = 0
    for name in os.listdir(directory):
        failed = name.endswith(_BREAKPOINT)
        ours = failed if after_error else not failed and name.endswith(_ENDINGS)
        rest = name[len(prefix):]
        if not ours or not name.startswith(prefix) or rest[:1].isalpha():
            continue
        before, dash, _ = rest.partition("-")
        if dash and not before:
            number = max(number, 1)
        elif dash and before[1:].isdigit():
            number = max(number, int(before[1:]) + 1)
    return f"{prefix}_{number}" if number else prefix
