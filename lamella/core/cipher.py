"""Bytes encrypted by AES-GCM, in the blocks that MindSpore writes and reads."""

from __future__ import annotations

import os
import struct
from typing import Any

# A block: this mark, the tag that proves the key, the length of what follows, the length of the
# nonce, the nonce, the length of the text, the text. Of the nonce's 16 bytes 12 are used.
_MARK, _TAG, _NONCE, _USED = b"\xd8^:\x7f", 16, 16, 12
_HEAD = struct.Struct(f"<4s{_TAG}sii{_NONCE}si")
_PART = 1 << 26  # bytes of text in a block


def encrypted(data: bytes, key: str) -> bytes:
    """Bytes that `decrypted` makes `data` of.

    Args:
        data: any bytes.
        key: 16, 24 or 32 characters.

    Raises:
        ImportError: if the package 'cryptography' isn't there.

    Examples:
        >>> from lamella.core.cipher import decrypted, encrypted
        >>> decrypted(encrypted(b"text", "0123456789012345"), "0123456789012345")
        b'text'
    """
    out = bytearray()
    for start in range(0, len(data), _PART):
        nonce, part = os.urandom(_NONCE), data[start:start + _PART]
        sealed = _aes(key).encrypt(nonce[:_USED], part, None)
        length = _HEAD.size - 4 - _TAG - 4 + len(part)
        out += _HEAD.pack(_MARK, sealed[-_TAG:], length, _NONCE, nonce, len(part)) + sealed[:-_TAG]
    return bytes(out)


def decrypted(data: bytes, key: str) -> bytes:
    """The bytes that were encrypted.

    Raises:
        ValueError: if the key is another, or the bytes aren't those that `encrypted` gave.
        ImportError: if the package 'cryptography' isn't there.
    """
    out, place = bytearray(), 0
    while place < len(data):
        if len(data) - place < _HEAD.size:
            raise ValueError("it ends inside of a block")
        mark, tag, _, size, nonce, count = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        if mark != _MARK or size != _NONCE or not 0 <= count <= len(data) - place:
            raise ValueError("it is no block of encrypted bytes")
        out += _opened(_aes(key), nonce[:_USED], data[place:place + count] + tag)
        place += count
    return bytes(out)


def _opened(aes: Any, nonce: bytes, sealed: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag  # optional, like what made `aes`
    try:
        return aes.decrypt(nonce, sealed, None)
    except InvalidTag:
        raise ValueError("the key is wrong, or the bytes were changed") from None


def _aes(key: str) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # optional
    except ImportError as error:
        raise ImportError("Encryption needs the package 'cryptography'. Install it with 'pip "
                          "install lamella[records]', or 'pip install cryptography'.") from error
    return AESGCM(key.encode())
