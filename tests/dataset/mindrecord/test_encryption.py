"""Encrypted mindrecord files: written, read, and refused with the wrong key."""

import os
import struct

import numpy as np
import pytest

import lamella.dataset as ds
from lamella import mindrecord as mr
from lamella.core import cipher
from lamella.dataset.mindrecord import encryption

pytest.importorskip("cryptography", reason="an optional package")
KEY = "0123456789012345"
# what MindSpore 2.10 made of b"hello world"
BLOCK = bytes.fromhex(
    "d85e3a7f3ff5a4902ac056e032f937b6bfb9aab723000000100000001b22d6d994f5eb0c888ebb9f"
    "c61c20f90b0000007d643cfa4db77effc9ad95")


@pytest.fixture(autouse=True)
def _settings():
    mr.set_enc_key(KEY)
    yield
    mr.set_enc_key(None)
    mr.set_enc_mode()
    mr.set_dec_mode(None)


def written(path, rows=3, shards=1):
    writer = mr.FileWriter(str(path), shards)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"id": {"type": "int32"}, "v": {"type": "int32", "shape": [-1]}})
    writer.write_raw_data([{"id": i, "v": np.arange(i, dtype=np.int32)} for i in range(rows)])
    writer.commit()
    return str(path)


def numbers(path):
    return [row["id"] for row in mr.FileReader(path).get_next()]


def test_a_block_of_mindspore_is_decrypted():
    assert cipher.decrypted(BLOCK, KEY) == b"hello world"
    assert len(cipher.encrypted(b"hello world", KEY)) == len(BLOCK)


@pytest.mark.parametrize("place", [0, 4, 24, 30, 45, 50])
def test_a_block_that_was_changed_is_refused(place):
    changed = bytearray(BLOCK)
    changed[place] ^= 1
    for wrong in (bytes(changed), BLOCK[:place + 1]):
        with pytest.raises(ValueError):
            cipher.decrypted(wrong, KEY)


def test_several_blocks(monkeypatch):
    monkeypatch.setattr(cipher, "_PART", 100)
    data = os.urandom(250)
    assert cipher.decrypted(cipher.encrypted(data, KEY), KEY) == data


@pytest.mark.parametrize("length", [16, 24, 32])
def test_files_are_written_and_read(tmp_path, length):
    mr.set_enc_key("k" * length)
    path = written(tmp_path / "a.mindrecord")
    data = (tmp_path / "a.mindrecord").read_bytes()
    block = struct.unpack(">i", data[:4])[0]
    assert data[4 + block:] == bytes(4) + b"AES-GCM" + b"ENCRYPT" and b"schema" not in data
    assert (tmp_path / "a.mindrecord.db").read_bytes().endswith(b"AES-GCMENCRYPT")
    assert numbers(path) == [0, 1, 2]
    rows = ds.MindDataset([path], shuffle=False).create_dict_iterator(1, output_numpy=True)
    assert [row["v"].tolist() for row in rows] == [[], [0], [0, 1]]
    writer = mr.FileWriter.open_for_append(path)
    writer.write_raw_data([{"id": 7, "v": np.zeros(1, np.int32)}])
    writer.commit()
    assert numbers(path) == [0, 1, 2, 7] and len(os.listdir(tmp_path)) == 2


def test_decrypted_copies_are_removed(tmp_path):
    path = written(tmp_path / "a.mindrecord")
    before = set(os.listdir(encryption._own_folder()))
    reader = mr.FileReader(path)
    assert len(set(os.listdir(encryption._own_folder())) - before) == 2
    del reader
    assert set(os.listdir(encryption._own_folder())) == before


def test_only_the_owner_may_read_what_was_encrypted(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"hello world")
    assert encryption.encrypt(str(path), KEY, "AES-GCM") is True
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["a"]
    with open(encryption.decrypt(str(path), KEY, "AES-GCM"), "rb") as copy:
        assert copy.read() == b"hello world"
    sizes = []
    with pytest.raises(RuntimeError, match="Failed to decrypt"):
        encryption.decrypt(str(path), KEY, lambda *given: sizes.append(given[1]))
    encryption.encrypt(str(path), KEY, lambda source, size, target, key: target.write(b"abc"))
    encryption.decrypt(str(path), KEY, lambda *given: sizes.append(given[1]))
    assert sizes == [3 + 4 + 7]  # without the mark


@pytest.mark.parametrize("more, words", [
    (0, "Failed to decrypt"), (1, "Invalid encrypted block length"), (-15, "Failed to decrypt")])
def test_a_block_ends_with_the_file_at_the_latest(tmp_path, more, words):
    path = tmp_path / "a"
    path.write_bytes(struct.pack(">i", 30 + 14 + more) + bytes(30) + b"AES-GCMENCRYPT")
    with pytest.raises(RuntimeError, match=words):
        encryption.decrypt(str(path), KEY, "AES-GCM")


def test_only_copies_are_forgotten(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"hello world")
    encryption.encrypt(str(path), KEY, "AES-GCM")
    copy = encryption.plain(str(path))
    encryption.forget(copy, copy)
    encryption.forget("another", str(path))
    assert path.exists() and os.path.exists(copy)
    encryption.forget(str(path), copy)
    assert path.exists() and not os.path.exists(copy)
    encryption.forget(str(path), copy)


def test_a_mark_alone_says_that_a_file_is_encrypted(tmp_path):
    path = tmp_path / "a"
    for content, key, words in ((b"ENCRYPT", None, "file is encrypted"),
                                (b"", KEY, "is not encrypted"), (b"NCRYPT", KEY, "is not encry"),
                                (b"ENCRYPT", KEY, "Failed to decrypt data")):
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=words):
            encryption.decrypt(str(path), key, "AES-GCM")
    path.write_bytes(b"NCRYPT")
    assert encryption.decrypt(str(path), None, "AES-GCM") == str(path)


def test_functions_of_the_programs(tmp_path):
    def turned(source, size, target, key):
        target.write(bytes(byte ^ ord(key[0]) for byte in source.read(size)))

    mr.set_enc_mode(turned)
    mr.set_dec_mode(lambda source, size, target, key: turned(source, size - 11, target, key))
    path = written(tmp_path / "a.mindrecord")
    assert (tmp_path / "a.mindrecord").read_bytes().endswith(bytes(4) + b"UDF-ENCENCRYPT")
    assert numbers(path) == [0, 1, 2]
    mr.set_dec_mode(None)
    with pytest.raises(RuntimeError, match="must also define custom decryption"):
        mr.FileReader(path)
    mr.set_enc_mode("AES-GCM")
    with pytest.raises(RuntimeError, match="Failed to decrypt data"):
        mr.FileReader(path)


def test_keys_that_do_not_fit(tmp_path):
    path = written(tmp_path / "a.mindrecord")
    mr.set_enc_key("x" * 16)
    with pytest.raises(RuntimeError, match="Failed to decrypt data"):
        mr.FileReader(path)
    mr.set_enc_key(None)
    with pytest.raises(RuntimeError, match="The mindrecord file is encrypted"):
        ds.MindDataset(path)
    path = written(tmp_path / "b.mindrecord")
    mr.set_enc_key(KEY)
    with pytest.raises(RuntimeError, match="The mindrecord file is not encrypted"):
        mr.FileReader(path)


def test_a_damaged_file_is_an_error(tmp_path):
    path = written(tmp_path / "a.mindrecord")
    data = (tmp_path / "a.mindrecord").read_bytes()
    for damaged in (b"\x7f" + data[1:], b"\xff" + data[1:], data[:50] + data[-14:]):
        (tmp_path / "a.mindrecord").write_bytes(damaged)
        with pytest.raises(RuntimeError):
            mr.FileReader(path)


@pytest.mark.parametrize("call, message", [
    (lambda: mr.set_enc_key(5), "enc_key is not str"),
    (lambda: mr.set_enc_key("short"), "length of input enc_key is not 16, 24, 32"),
    (lambda: mr.set_enc_mode(5), "enc_mode is not str"),
    (lambda: mr.set_dec_mode("AES-CBC"), "dec_mode is invalid"),
])
def test_settings_that_can_not_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_several_files_of_a_writer_are_not_encrypted(tmp_path):
    with pytest.raises(RuntimeError, match="automatic sharding function is unavailable"):
        written(tmp_path / "a.mindrecord", shards=2)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system doesn't list open files")
def test_a_decrypted_copy_leaves_no_file_open(tmp_path):
    path = written(tmp_path / "a.mindrecord")
    before = len(os.listdir("/dev/fd"))
    copies = [encryption.plain(path) for _ in range(5)]
    assert len(os.listdir("/dev/fd")) == before
    for copy in copies:
        encryption.forget(path, copy)
