"""Runs a command that ends when the process that started it ends, even if that is killed.

Called as ``python -I -S bound.py PARENT COMMAND...``; the command takes this process's place. On
Linux the system kills it when PARENT is gone; elsewhere nothing does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PDEATHSIG = 1  # of prctl(2), which is Linux's


def main(parent: int, command: list[str]) -> None:
    """Become `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it had ended before
            sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"'{command[0]}' can't be run: {error.strerror}.")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
