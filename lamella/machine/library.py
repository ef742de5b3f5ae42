"""Compiled libraries in the cache: written with a digest, and checked against it when loaded.

Loading a damaged library would end the process, so its content is checked first.
"""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import struct


def keep(library: pathlib.Path, folder: pathlib.Path, name: str = "model.so") -> None:
    """Copy a library to a folder; its digest, written last, marks the folder as complete.

    Raises:
        OSError: if the copy differs from the library.
    """
    found = digest(library)
    if library != folder / name:
        shutil.copyfile(library, folder / name)
    if digest(folder / name) != found:
        raise OSError("the copy is not what was copied")
    (folder / "digest").write_text(found, encoding="ascii")


def checked(folder: pathlib.Path, name: str = "model.so") -> pathlib.Path:
    """The library that `keep` has put into a folder.

    Raises:
        ValueError: if it is damaged.
        OSError: if it can't be read.
    """
    library = folder / name
    if (folder / "digest").read_text(encoding="ascii") != digest(library):
        raise ValueError("its digest is another")
    if not is_whole(library):
        raise ValueError("its end is missing")
    return library


def contents(folder: pathlib.Path, *names: str) -> list[bytes]:
    """The contents of files, as they were when their common digest was written.

    Raises:
        ValueError: if any is damaged.
        OSError: if one can't be read.
    """
    found = [(folder / name).read_bytes() for name in names]
    if (folder / "digest").read_text(encoding="ascii") != (
            hashlib.sha256(b"".join(found)).hexdigest()):
        raise ValueError("their digest is another")
    return found


def digest(file: pathlib.Path) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def is_whole(library: pathlib.Path) -> bool:
    """Whether a library is as long as its header says (ELF only; other formats aren't checked)."""
    with open(library, "rb") as file:
        head = file.read(64)
    if len(head) < 64:
        return False
    if not head.startswith(b"\x7fELF\x02\x01"):
        return True
    table, = struct.unpack_from("<Q", head, 40)
    size, count = struct.unpack_from("<HH", head, 58)
    return library.stat().st_size >= table + size * count
