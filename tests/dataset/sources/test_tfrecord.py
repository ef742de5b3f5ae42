"""TFRecord files that are compressed, or say more than they hold."""

import gzip
import struct
import zlib

import pytest

import lamella as ms
from lamella import dataset as ds
from lamella.dataset.sources import tfrecord


def test_compressed_files_are_unpacked_as_far_as_they_say(tmp_path):
    """A record that says it is larger than any, and what is damaged, are errors."""
    length = struct.pack("<Q", 1 << 40)
    whole = length + struct.pack("<I", tfrecord._masked(length)) + bytes(1 << 20)
    for kind, packed in (("GZIP", gzip.compress(whole)), ("ZLIB", zlib.compress(whole)),
                         (None, whole), ("GZIP", gzip.compress(whole)[:500]),
                         ("GZIP", gzip.compress(whole)[:12] + b"\xff" * 99),
                         ("ZLIB", zlib.compress(whole)[:9] + b"\xff" * 99), ("ZLIB", b"x" * 40)):
        path = tmp_path / "a.tfrecord"
        path.write_bytes(packed)
        with pytest.raises(RuntimeError, match="a.tfrecord is damaged"):
            list(tfrecord.records(str(path), kind))
    good = length[:0] + struct.pack("<Q", 3)
    good += struct.pack("<I", tfrecord._masked(good)) + b"abc" + struct.pack(
        "<I", tfrecord._masked(b"abc"))
    path.write_bytes(zlib.compress(good * 5000))
    assert list(tfrecord.records(str(path), "ZLIB")) == [b"abc"] * 5000


def test_words_take_the_schemas_shape(tmp_path):
    path = tmp_path / "a.tfrecord"
    words = b"".join(b"\x0a\x01" + letter for letter in (b"a", b"b", b"c", b"d"))

    def field(number: int, data: bytes) -> bytes:  # of a message of protobuf
        return bytes([number << 3 | 2, len(data)]) + data

    example = field(1, field(1, field(1, b"words") + field(2, field(1, words))))
    length = struct.pack("<Q", len(example))
    path.write_bytes(b"".join(part + struct.pack("<I", tfrecord._masked(part))
                              for part in (length, example)))
    schema = ds.Schema()
    schema.add_column("words", ms.string, [-1, 2])
    row, = ds.TFRecordDataset(str(path), schema).create_tuple_iterator(output_numpy=True)
    assert row[0].tolist() == [["a", "b"], ["c", "d"]]


def test_fields_of_each_kind():
    message = b"\x0a\x02hi" + b"\x10\x96\x01" + b"\x1d\x01\x02\x03\x04" + b"\x22\x00"
    assert list(tfrecord._fields(message)) == [
        (1, b"hi"), (2, 150), (3, b"\x01\x02\x03\x04"), (4, b"")]
    with pytest.raises(ValueError, match="longer than its message"):
        list(tfrecord._fields(b"\x0a\x03hi"))
    with pytest.raises(ValueError, match="has the wire type 3"):
        list(tfrecord._fields(b"\x0b"))
