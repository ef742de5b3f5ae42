"""Encrypted blocks: there and back, what is changed, and their form."""

from __future__ import annotations

import struct

import pytest

from lamella.core import cipher

pytest.importorskip("cryptography", reason="encryption is optional")
KEY = "0123456789abcdef"


@pytest.mark.parametrize("key", [KEY, KEY + "01234567", KEY * 2])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 20])
def test_there_and_back(size, key, monkeypatch):
    monkeypatch.setattr(cipher, "_PART", 8)  # bytes in a block
    data = bytes(range(size))
    sealed = cipher.encrypted(data, key)
    assert cipher.decrypted(sealed, key) == data
    blocks = -(-size // 8)
    assert len(sealed) == size + blocks * (4 + 16 + 4 + 4 + 16 + 4)
    assert sealed != cipher.encrypted(data, key) or not size  # nonces are drawn
    if size:
        with pytest.raises(ValueError, match="the key is wrong"):
            cipher.decrypted(sealed, key[::-1])


def test_the_form_of_a_block():
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    sealed = cipher.encrypted(b"some text", KEY)
    mark, tag, length, nonce_size, nonce, count = struct.unpack("<4s16sii16si", sealed[:48])
    assert (mark, nonce_size, count) == (b"\xd8^:\x7f", 16, 9)
    assert length == len(sealed) - 24  # what follows the length itself
    assert AESGCM(KEY.encode()).decrypt(nonce[:12], sealed[48:] + tag, None) == b"some text"


def test_blocks_that_are_damaged():
    sealed = cipher.encrypted(b"some text", KEY)
    for place in range(len(sealed)):
        if 20 <= place < 24 or 40 <= place < 44:
            continue  # the length of the block, and the part of the nonce that isn't used
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(ValueError, match="no block|key is wrong|ends inside"):
            cipher.decrypted(bytes(changed), KEY)
    for end in (1, 47, 48, len(sealed) - 1):
        with pytest.raises(ValueError, match="no block|ends inside"):
            cipher.decrypted(sealed[:end], KEY)
    negative = sealed[:44] + struct.pack("<i", -1) + sealed[48:]
    with pytest.raises(ValueError, match="no block"):
        cipher.decrypted(negative, KEY)
