"""Writing a file so that a crash leaves the old one whole."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator

__all__ = ["folder_for", "put", "replacing"]

_numbers = itertools.count()
_OWNER = re.compile(r"\.(?P<host>[^.]*)\.(?P<pid>\d+)-\d+\.tmp(?P<folder>d?)$")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """The name of a new file beside `path`, that takes its place when the block ends well.

    When the block raises, the new file is removed and `path` is as it was. New files of the same
    target that processes of this machine left behind when they were killed are removed, too. Every
    file that Lamella replaces goes through here, so this decides what becomes of a target:

    - a file is replaced, and its mode stays;
    - where it is a symbolic link, what the link points to is replaced, and the link stays;
    - a device of characters (``/dev/null``) or a pipe is written to, and stays;
    - a disk or a socket is refused.

    Args:
        path: the file to replace or create.

    Raises:
        OSError: which names `path`, if it can't be written.

    Examples:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "a.txt")
        ...     with replacing(path) as new, open(new, "w") as file:
        ...         _ = file.write("text")
        ...     print(os.listdir(folder))
        ['a.txt']
    """
    given, path = path, os.path.realpath(path)
    if _is_special(path):
        if stat.S_ISBLK(mode := os.stat(path).st_mode) or stat.S_ISSOCK(mode):
            raise OSError(errno.EINVAL, f"'{given}' is a "
                          f"{'disk' if stat.S_ISBLK(mode) else 'socket'}, no file")
        try:
            yield path
        except OSError as error:
            if error.filename is None and error.errno is not None:
                raise OSError(error.errno, f"'{given}' can't be written: "
                                           f"{error.strerror}.") from error
            raise
        return
    folder, name = os.path.split(path)
    start = os.path.join(folder, f".{name[:80]}.")
    _remove_abandoned(start)
    new = f"{start}{_host()}.{os.getpid()}-{next(_numbers)}.tmp"
    try:
        yield new
        with contextlib.suppress(FileNotFoundError):
            os.chmod(new, stat.S_IMODE(os.stat(path).st_mode))
        with open(new, "rb") as file:
            os.fsync(file.fileno())  # the data is on the disk before the name points to it
        os.replace(new, path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # of a disk that is read-only, also where no file is
            os.remove(new)
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            raise OSError(error.errno, f"The file '{path}' can't be written, and is as it was: "
                                       f"{error.strerror}.") from error
        if isinstance(error, OSError) and str(error.filename).startswith(new):
            # which says nothing to the user
            raise OSError(error.errno, error.strerror, given) from error
        raise


@contextlib.contextmanager
def folder_for(new: str) -> Iterator[str]:
    """A folder for as long as the block runs, for a library that writes several files to make one.

    Args:
        new: what `replacing` gave. What a killed process leaves there is removed as that is. Of a
            device, the folder is the system's for temporary files.
    """
    if _is_special(new):
        folder = tempfile.mkdtemp()
    else:
        os.mkdir(folder := f"{new}d")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(made: str, new: str) -> None:
    """Let a file that a library has made be what `replacing` gave, which may be a device."""
    if _is_special(new):
        with open(made, "rb") as source, open(new, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    else:
        os.replace(made, new)


def _is_special(path: str) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _host() -> str:
    """This machine's name: folders may be shared, numbers of processes are not."""
    return re.sub(r"[^\w-]", "-", platform.node())[:40]


def _remove_abandoned(start: str) -> None:
    """Remove new files of processes of this machine that are no longer there."""
    for left in glob.glob(f"{glob.escape(start)}*.tmp*"):
        owner = _OWNER.fullmatch(left[len(start) - 1:])
        if owner and owner["host"] == _host() and not _is_running(int(owner["pid"])):
            with contextlib.suppress(OSError):
                (shutil.rmtree if owner["folder"] else os.remove)(left)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
