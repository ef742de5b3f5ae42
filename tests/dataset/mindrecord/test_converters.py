"""Files of other formats as mindrecord files: what is read from both is the same."""

import struct

import numpy as np
from lamella.mindrecord import FileReader, TFRecordToMR

from lamella.dataset.sources import tfrecord


def test_features_of_a_tfrecord_keep_their_types(tmp_path):
    def field(number: int, data: bytes) -> bytes:  # of a message of protobuf
        return bytes([number << 3 | 2, len(data)]) + data

    def feature(name: str, kind: int, data: bytes) -> bytes:
        return field(1, field(1, name.encode()) + field(2, field(kind, field(1, data))))

    example = field(1, feature("word", 1, b"four") + feature("raw", 1, b"\xff\x00")
                    + feature("one", 3, b"\x07") + feature("several", 3, b"\x01\x02\x03"))
    length = struct.pack("<Q", len(example))
    source, target = tmp_path / "a.tfrecord", str(tmp_path / "a.mindrecord")
    source.write_bytes(b"".join(part + struct.pack("<I", tfrecord._masked(part))
                                for part in (length, example)))
    kinds = {"word": "string", "raw": "bytes", "one": "int64", "several": "int64"}
    assert TFRecordToMR(str(source), target, kinds, ["raw"]).run() == "SUCCESS"
    row, = FileReader(target).get_next()
    assert (row["word"], row["raw"], row["one"]) == ("four", b"\xff\x00", 7)
    assert row["several"].tolist() == [1, 2, 3] and row["several"].dtype == np.int64
