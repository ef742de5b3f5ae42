"""Kept libraries: their digests, and ends by the headers of ELF."""

import hashlib
import struct

import pytest

from lamella.machine import library


def elf(table, size, count, length, kind=b"\x7fELF\x02\x01"):
    """A file of ELF's header (64 bits) and zeros: a table of `count` entries of `size` bytes."""
    head = bytearray(64)
    head[:len(kind)] = kind
    struct.pack_into("<Q", head, 40, table)
    struct.pack_into("<HH", head, 58, size, count)
    return bytes(head) + bytes(length - 64)


@pytest.mark.parametrize("content, is_whole", [
    (elf(100, 64, 3, 292), True), (elf(100, 64, 3, 291), False), (elf(100, 64, 3, 300), True),
    (elf(0, 0, 0, 64), True), (bytes(63), False), (bytes(64), True), (b"", False),
    (elf(1000, 64, 3, 80, b"\x7fELF\x01\x01"), True), (elf(1000, 64, 3, 80), False)])
def test_ends_of_libraries(content, is_whole, tmp_path):
    file = tmp_path / "model.so"
    file.write_bytes(content)
    assert library.is_whole(file) is is_whole
    (tmp_path / "digest").write_text(hashlib.sha256(content).hexdigest())
    if is_whole:
        assert library.checked(tmp_path) == file
    else:
        with pytest.raises(ValueError, match="its end is missing"):
            library.checked(tmp_path)


def test_contents_have_one_digest(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"23")
    (tmp_path / "digest").write_text(hashlib.sha256(b"123").hexdigest())
    assert library.contents(tmp_path, "a", "b") == [b"1", b"23"]
    with pytest.raises(ValueError, match="their digest is another"):
        library.contents(tmp_path, "b", "a")
    with pytest.raises(OSError):
        library.contents(tmp_path, "c")


def test_a_copy_that_differs_is_refused(tmp_path, monkeypatch):
    made, folder = tmp_path / "made.so", tmp_path / "folder"
    folder.mkdir()
    made.write_bytes(b"abc")
    library.keep(made, folder, "module.so")
    assert (folder / "module.so").read_bytes() == b"abc"
    library.keep(folder / "module.so", folder, "module.so")  # is there already
    (folder / "digest").unlink()
    monkeypatch.setattr(library.shutil, "copyfile", lambda a, b: b.write_bytes(b"ab"))
    with pytest.raises(OSError, match="not what was copied"):
        library.keep(made, folder)
    assert not (folder / "digest").exists()
