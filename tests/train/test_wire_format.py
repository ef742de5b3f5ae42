"""Messages of protocol buffers, against Google's own library where that reads or writes them."""

import struct

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lamella.train.wire_format import Message, bytes_field, parse, varint_field, write

INNER = {1: ("number", "int", False), 2: ("names", "str", True)}
FIELDS = {1: ("count", "int", False), 2: ("share", "float", False), 3: ("mass", "double", False),
          4: ("raw", "bytes", False), 5: ("text", "str", False), 6: ("inner", INNER, False),
          7: ("counts", "int", True), 8: ("shares", "float", True), 9: ("masses", "double", True),
          10: ("inners", INNER, True), 1000: ("far", "int", False)}
KINDS = {"int": 3, "float": 2, "double": 1, "bytes": 12, "str": 9}


def googles(packed):
    """The class of these messages in Google's library."""
    file = descriptor_pb2.FileDescriptorProto(name=f"t{packed}.proto", package=f"t{packed}",
                                              syntax="proto2")
    for name, fields in (("Inner", INNER), ("Outer", FIELDS)):
        message = file.message_type.add(name=name)
        for number, (field, kind, repeats) in fields.items():
            made = message.field.add(name=field, number=number, label=3 if repeats else 1)
            if isinstance(kind, dict):
                made.type, made.type_name = 11, f".t{packed}.Inner"
            else:
                made.type = KINDS[kind]
                made.options.packed = packed and repeats and kind not in ("bytes", "str")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"t{packed}.Outer"))


INTS = [0, 1, 127, 128, 129, 255, 256, 16383, 16384, 2**31, 2**63 - 1, -1, -128, -2**63]


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "packed"])
def outer(request):
    return googles(request.param)


def test_what_google_writes_is_read(outer):
    theirs = outer(count=-5, share=0.25, mass=1e300, raw=b"\xff\x00", text="größer", counts=INTS,
                   shares=[0.5, -2.0, 8.0], masses=[0.1, -1e-300], far=7)
    theirs.inner.number = 300
    theirs.inner.names.extend(["", "b"])
    theirs.inners.add(number=1)
    theirs.inners.add(names=["c"])
    ours = parse(theirs.SerializeToString(), FIELDS)
    for name in ("count", "share", "mass", "text", "counts", "shares", "masses", "far"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert bytes(ours.raw) == b"\xff\x00"
    assert (ours.inner.number, ours.inner.names) == (300, ["", "b"])
    assert [(i.number, i.names) for i in ours.inners] == [(1, []), (0, ["c"])]


def test_what_we_write_google_reads(outer):
    message = Message(count=-7, share=-0.5, mass=2.5, raw=b"ab", text="né", counts=INTS,
                      shares=[1.5, 2.5], masses=[3.0], inner=Message(number=128, names=["x" * 200]),
                      inners=[Message(number=2), Message(names=["y"])], far=1)
    theirs = outer.FromString(write(message, FIELDS))
    for name in ("count", "share", "mass", "raw", "text", "counts", "shares", "masses", "far"):
        assert getattr(theirs, name) == getattr(message, name), name
    assert theirs.inner.number == 128 and list(theirs.inner.names) == ["x" * 200]
    assert [(i.number, list(i.names)) for i in theirs.inners] == [(2, []), (0, ["y"])]
    assert not write(Message(), FIELDS)


def test_what_is_not_there_is_empty():
    empty = parse(b"", FIELDS)
    assert vars(empty) == {"count": 0, "share": 0.0, "mass": 0.0, "raw": b"", "text": "",
                           "inner": None, "counts": [], "shares": [], "masses": [], "inners": [],
                           "far": 0}
    assert repr(parse(b"", INNER)) == "Message(number=0, names=[])"


def test_the_last_of_a_single_field_counts_and_unknown_ones_are_left_out():
    data = (varint_field(1, 3) + varint_field(99, 5) + varint_field(1, 4) + bytes_field(98, b"abc")
            + b"\x95\x06abcd" + b"\x91\x06abcdefgh" + varint_field(1, 9))
    assert parse(data, FIELDS).count == 9
    assert parse(memoryview(data), FIELDS).count == 9
    assert parse(bytes_field(1, b"\x05\x06"), FIELDS).count == 6  # packed
    assert parse(bytes_field(1, b""), FIELDS).count == 0


@pytest.mark.parametrize("data, words", [
    (b"\x08", "a number is cut off"), (b"\x08\x80", "a number is cut off"),
    (b"\x08" + b"\x80" * 10 + b"\x01", "a number is cut off"),  # more than 64 bits
    (b"\x22\x03ab", "a field is cut off"), (b"\x22" + b"\xff" * 9 + b"\x01", "a field is cut off"),
    (b"\x15abc", "a field is cut off"), (b"\x19abcdefg", "a field is cut off"),
    (b"\x0b\x01", "a field of wire type 3"), (b"\x0c\x01", "a field of wire type 4"),
    (b"\x0e\x01", "a field of wire type 6"), (b"\x0f\x01", "a field of wire type 7"),
    (b"\x20\x01", "field raw is a number"), (b"\x28\x01", "field text is a number"),
    (b"\x30\x01", "field inner is a number"), (b"\x25abcd", "field raw is a number"),
    (b"\x0dabcd", "field count is no whole number"), (b"\x09abcdefgh", "count is no whole number"),
    (b"\x10\x01", "field share is no float"), (b"\x11abcdefgh", "field share is no float"),
    (b"\x12\x05abcde", "field share is no float"), (b"\x1dabcd", "field mass is no double"),
    (b"\x1a\x04abcd", "field mass is no double"), (b"\x2a\x01\xff", "can't decode")])
def test_what_is_no_message(data, words):
    with pytest.raises(ValueError, match=words):
        parse(data, FIELDS)


@pytest.mark.parametrize("number", INTS)
def test_numbers_of_64_bits(number):
    data = varint_field(1, number)
    assert parse(data, FIELDS).count == number
    assert len(data) == 1 + max(1, -(-(number % 2**64).bit_length() // 7))


def test_fields_that_end_with_the_data():
    assert parse(b"\x22\x00", FIELDS).raw == b""
    assert bytes(parse(b"\x22\x02ab", FIELDS).raw) == b"ab"
    assert parse(b"\x15" + struct.pack("<f", 1.5), FIELDS).share == 1.5
    assert parse(b"\x19" + struct.pack("<d", 2.5), FIELDS).mass == 2.5


@pytest.mark.parametrize("depth, fits", [(64, True), (65, False)])
def test_messages_inside_of_messages(depth, fits):
    fields = {1: ("deeper", {}, False)}
    fields[1] = ("deeper", fields, False)
    data = b""
    for _ in range(depth):
        data = bytes_field(1, data)
    if fits:
        found, count = parse(data, fields), 0
        while found.deeper is not None:
            found, count = found.deeper, count + 1
        assert count == depth
    else:
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            parse(data, fields)
