"""TFRecord files: their checksums, and what is said of damaged ones."""

import struct

import pytest

from lamella.dataset.sources import tfrecord


@pytest.mark.parametrize("data, want", [
    (b"", 0), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E),
    (b"123456789", 0xE3069283)])
def test_checksums_are_castagnolis(data, want):
    """The values of RFC 3720, B.4."""
    assert tfrecord._crc32c(data) == want


def masked(data):
    crc = tfrecord._crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def written(*bodies):
    return b"".join(struct.pack("<Q", len(body)) + masked(struct.pack("<Q", len(body))) + body
                    + masked(body) for body in bodies)


def test_damage_is_named_with_its_place(tmp_path):
    path, whole = tmp_path / "a.tfrecord", written(b"one", b"", b"three")
    path.write_bytes(whole)
    assert list(tfrecord.records(str(path))) == [b"one", b"", b"three"]
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        if end in (19, 35):
            assert len(list(tfrecord.records(str(path)))) == (1 if end == 19 else 2)
            continue
        at = 0 if end < 19 else 19 if end < 35 else 35
        with pytest.raises(RuntimeError, match=rf"(at byte|the record at byte) {at}\."):
            list(tfrecord.records(str(path)))
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
        with pytest.raises(RuntimeError, match="is damaged"):
            list(tfrecord.records(str(path)))
