"""Encrypted mindrecord files, as MindSpore 2.10 writes and reads them.

An encrypted file is a sequence of blocks, each its length and an encrypted part of the file; a
length of 0 ends them. Then come the mode's name and a mark. The index beside a file is encrypted
like it. What is read is decrypted into a folder of this process's own first, since rows are read
in any order.
"""

from __future__ import annotations

import atexit
import os
import shutil
import struct
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO

from ...core import cipher
from ..errors import needs

_MARK = b"ENCRYPT"
_MODES = ("AES-GCM",)
_OWN = b"UDF-ENC"  # the mode of a function of the user's
_BLOCK = 1 << 26  # bytes of the file in a block
_INVALID = "Failed to decrypt data, please check if enc_key and enc_mode / dec_mode is valid."

_Mode = str | Callable[..., Any] | None
_settings: dict[str, Any] = {"key": None, "enc": "AES-GCM", "dec": None}
_folder: list[tuple[int, str]] = []  # the process and its folder of decrypted files


def set_enc_key(enc_key: str | None) -> None:
    """Set the key by which mindrecord files are encrypted from now on, and read.

    Args:
        enc_key: 16, 24 or 32 characters, or None: files are not encrypted.

    Raises:
        ValueError: if it is another length or type.

    Examples:
        >>> from lamella.mindrecord import set_enc_key
        >>> set_enc_key("0123456789012345")
        >>> set_enc_key(None)
    """
    if enc_key is not None and not isinstance(enc_key, str):
        raise ValueError(f"The input enc_key is not str. For 'set_enc_key', 'enc_key' must be a "
                         f"str or None, but got {type(enc_key).__name__}.")
    if enc_key is not None and len(enc_key) not in (16, 24, 32):
        raise ValueError(f"The length of input enc_key is not 16, 24, 32. For 'set_enc_key', "
                         f"'enc_key' has {len(enc_key)} characters.")
    _settings["key"] = enc_key


def set_enc_mode(enc_mode: Any = "AES-GCM") -> None:
    """Set how files are encrypted.

    Args:
        enc_mode: ``"AES-GCM"``, or a function of the opened file, its size, the file to write and
            the key.

    Raises:
        ValueError: if it is neither.
    """
    _settings["enc"] = _checked_mode("enc_mode", enc_mode)


def set_dec_mode(dec_mode: Any = "AES-GCM") -> None:
    """Set how files are decrypted.

    Args:
        dec_mode: ``"AES-GCM"``; a function of the opened file, its size without the mark, the file
            to write and the key; or None: as files are encrypted.

    Raises:
        ValueError: if it is none of these.
    """
    _settings["dec"] = None if dec_mode is None else _checked_mode("dec_mode", dec_mode)


def _checked_mode(name: str, mode: Any) -> _Mode:
    if callable(mode):
        return mode
    if not isinstance(mode, str):
        raise ValueError(f"The input {name} is not str. For 'set_{name}', '{name}' must be "
                         f"'AES-GCM' or a function, but got {mode!r}.")
    if mode not in _MODES:
        raise ValueError(f"The input {name} is invalid. For 'set_{name}', '{name}' must be "
                         f"'AES-GCM' or a function, but got {mode!r}.")
    return mode


def _mode_to_decrypt() -> _Mode:
    if _settings["dec"] is None and callable(_settings["enc"]):
        raise RuntimeError("You use custom encryption, so you must also define custom decryption, "
                           "by 'set_dec_mode'.")
    return _settings["dec"] or _settings["enc"]


def is_on() -> bool:
    """Whether files are encrypted. What that needs is imported, before anything is written."""
    if _settings["key"] is not None and not callable(_settings["enc"]):
        needs("records", "cryptography")
    return _settings["key"] is not None


def encrypt_by_settings(filename: str) -> None:
    """Encrypt a file as it was set, in its place."""
    encrypt(filename, _settings["key"], _settings["enc"])


def plain(filename: str) -> str:
    """The path where the contents of a file can be read: its own, or that of a decrypted copy."""
    return decrypt(filename, _settings["key"], _mode_to_decrypt())


def encrypt(filename: str, enc_key: str, enc_mode: Any) -> bool:
    """Encrypt a file, which takes the place of the original.

    Args:
        filename: its path.
        enc_key: the key.
        enc_mode: as for `set_enc_mode`.
    """
    _check_file(filename)
    made = f"{filename}.encrypt"
    try:
        with open(filename, "rb") as source, open(made, "wb") as target:
            if callable(enc_mode):
                enc_mode(source, os.path.getsize(filename), target, enc_key)
            else:
                while part := source.read(_BLOCK):
                    block = cipher.encrypted(part, enc_key)
                    target.write(struct.pack(">i", len(block)) + block)
            target.write(struct.pack(">i", 0) + _name_of(enc_mode) + _MARK)
        os.chmod(made, 0o600)
        os.replace(made, filename)
    except BaseException:
        if os.path.exists(made):
            os.remove(made)
        raise
    return True


def decrypt(filename: str, enc_key: str | None, dec_mode: Any) -> str:
    """The path of a decrypted copy of a file, which is removed when it isn't needed any more.

    Args:
        filename: its path.
        enc_key: the key; None: the file isn't encrypted, and its own path is given.
        dec_mode: as for `set_dec_mode`.

    Raises:
        RuntimeError: if it is encrypted and there is no key, or the other way round, or if it
            can't be decrypted.
    """
    _check_file(filename)
    with open(filename, "rb") as source:
        size = source.seek(0, os.SEEK_END)
        source.seek(max(0, size - 2 * len(_MARK)))
        end = source.read()
        if (end[-len(_MARK):] == _MARK) is not (enc_key is not None):
            raise RuntimeError(f"{_wrong_key(enc_key is not None)} The file is {filename}.")
        if enc_key is None:
            return filename
        if end[:len(_MARK)] != _name_of(dec_mode):
            raise RuntimeError(f"{_INVALID} The file is {filename}.")
        source.seek(0)
        descriptor, path = tempfile.mkstemp(dir=_own_folder())
        try:
            with open(descriptor, "wb") as target:
                if callable(dec_mode):
                    dec_mode(source, size - len(_MARK), target, enc_key)
                else:
                    _decrypt_blocks(filename, source, target, enc_key)
        except BaseException:
            os.remove(path)
            raise
    return path


def _decrypt_blocks(name: str, source: BinaryIO, target: BinaryIO, key: str) -> None:
    size = os.fstat(source.fileno()).st_size
    while True:
        start = source.read(4)
        length = struct.unpack(">i", start)[0] if len(start) == 4 else -1
        if not 0 <= length <= size - source.tell():
            raise RuntimeError(f"Invalid encrypted block length {length} in file: {name} at "
                               f"offset: {source.tell()}.")
        if length == 0:
            return
        try:
            target.write(cipher.decrypted(source.read(length), key))
        except ValueError as error:
            raise RuntimeError(f"{_INVALID} The file is {name}: {error}") from error


def _wrong_key(has_key: bool) -> str:
    if has_key:
        return ("The mindrecord file is not encrypted. You can set "
                "'mindspore.mindrecord.config.set_enc_key(None)' to disable the decryption.")
    return ("The mindrecord file is encrypted. You need to configure "
            "'mindspore.mindrecord.config.set_enc_key(...)' and "
            "'mindspore.mindrecord.config.set_enc_mode(...)' for decryption.")


def _name_of(mode: Any) -> bytes:
    return _OWN if callable(mode) else str(mode).encode()


def _check_file(filename: str) -> None:
    if not os.path.exists(filename):
        raise RuntimeError(f"The input: {filename} is not exists.")
    if not os.path.isfile(filename):
        raise RuntimeError(f"The input: {filename} should be a regular file.")


def _own_folder() -> str:
    if not _folder or _folder[0][0] != os.getpid():  # in a process that was forked: its own
        _folder[:] = [(os.getpid(), tempfile.mkdtemp(prefix="lamella-mindrecord-"))]
    return _folder[0][1]


def forget(original: str, path: str) -> None:
    """Remove a decrypted copy, if this process made it."""
    if path != original and _folder and path.startswith(_folder[0][1]) and (
            _folder[0][0] == os.getpid()) and os.path.exists(path):
        os.remove(path)


@atexit.register
def _clean() -> None:
    if _folder and _folder[0][0] == os.getpid():
        shutil.rmtree(_folder[0][1], ignore_errors=True)
