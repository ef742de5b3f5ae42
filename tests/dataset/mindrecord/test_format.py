"""How integers lie in a mindrecord file."""

import struct

import msgpack
import numpy as np
import pytest

from lamella.dataset.mindrecord.format import (
    packed_integers,
    packed_row,
    unpacked_integers,
    unpacked_row,
)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_take_as_few_bytes_as_each_needs(kind):
    widths = {1: [0, -1, 127, -128], 2: [128, -129, 2**15 - 1, -2**15],
              4: [2**15, -2**15 - 1, 2**31 - 1, -2**31]}
    if kind == "int64":
        widths[8] = [2**31, -2**31 - 1, 2**63 - 1, -2**63]
    values = np.array([v for some in widths.values() for v in some], kind)
    np.random.default_rng(0).shuffle(values)
    packed = packed_integers(values)
    assert len(packed) == 4 + len(widths) + 4 * sum(widths)  # a count, two bits a number, numbers
    found = unpacked_integers(packed, kind)
    assert found.dtype == kind and np.array_equal(found, values)
    assert not unpacked_integers(packed_integers(values[:0]), kind).size


def test_widths_come_before_the_numbers():
    """Two bits each, the first ones the highest: 1, 2, 4 and 8 bytes are 0, 1, 2 and 3."""
    found = packed_integers(np.array([1, 300, 70000, 1 << 40, -2]))
    assert found == bytes([0, 0, 0, 5, 0b00011011, 0, 1, 44, 1, 112, 17, 1, 0, *[0] * 5, 1, 0, 0,
                           254])


@pytest.mark.parametrize("count, size, fits", [(5, 5, True), (5, 4, False), (8, 8, True),
                                               (9, 9, True), (9, 8, False), (1 << 31, 9, False)])
def test_there_are_as_many_bytes_as_numbers_at_least(count, size, fits):
    data = count.to_bytes(4, "big") + bytes(-(-min(count, 9) // 4)) + bytes(size)
    if fits:
        assert unpacked_integers(data, "int32").tolist() == [0] * count
    else:
        with pytest.raises(ValueError, match=f"{count} numbers can't be in {len(data)} bytes"):
            unpacked_integers(data, "int32")


SCHEMA = {"b": {"type": "float64"}, "a": {"type": "int64"}, "c": {"type": "string"},
          "d": {"type": "bytes"}, "e": {"type": "float32", "shape": [2]},
          "f": {"type": "int32", "shape": [-1]}}
ROW = {"a": 7, "b": 0.1, "c": "é" * 20, "d": b"xyz", "e": [1, 2], "f": [3, 4, -5]}
PARTS = {"d": b"xyz", "e": struct.pack("<ff", 1, 2), "f": bytes([0, 0, 0, 3, 0, 3, 4, 251])}


def with_length(kind, part):
    return struct.pack(kind, len(part)) + part


@pytest.mark.parametrize("names", ["", "a", "ba", "abc", "d", "e", "f", "cd", "def", "abcdef"])
@pytest.mark.parametrize("share", [0.1, 1.5])
def test_the_bytes_of_a_row(names, share):
    """Scalars are a map of msgpack, with floats of four bytes where that is exact; arrays and
    bytes follow one another, with lengths if there are several."""
    schema, row = {name: SCHEMA[name] for name in names}, {**ROW, "b": share}
    blobs = [name for name in "def" if name in names]
    raw, blob = packed_row(row, schema, blobs)
    scalars = {name: row[name] for name in sorted(names) if name in "abc"} or {"id": 0}
    wanted = bytes([0x80 + len(scalars)])
    for name, value in scalars.items():
        wanted += msgpack.packb(name) + (b"\xca" + struct.pack(">f", 1.5) if value == 1.5
                                         else msgpack.packb(value))
    assert raw == with_length("<Q", wanted)
    parts = [PARTS[name] for name in blobs]
    assert blob == with_length("<Q", b"".join(with_length(">Q", part) for part in parts)
                               if len(parts) > 1 else parts[0] if parts else bytes(4))
    found = unpacked_row(raw[8:], blob[8:], schema, blobs)
    assert list(found) == [*(name for name in sorted(names) if name in "abc"), *blobs]
    for name, value in found.items():
        np.testing.assert_array_equal(value, row[name])
