"""TFRecord files: their checksums, and what is said of damaged ones."""

import gzip
import struct
import zlib

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import lamella.dataset as ds
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


def google_example():
    """The class of `tf.train.Example` in Google's library."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="x", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for field, number, kind, repeats in fields:
            about = made.field.add(name=field, number=number, label=3 if repeats else 1)
            if isinstance(kind, str):
                about.type, about.type_name = 11, f".x.{kind}"
            else:
                about.type = kind
        return made

    message("Bytes", ("value", 1, 12, True))
    message("Floats", ("value", 1, 2, True))
    message("Ints", ("value", 1, 3, True))
    feature = message("Feature", ("bytes_list", 1, "Bytes", False),
                      ("float_list", 2, "Floats", False), ("int64_list", 3, "Ints", False))
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message("Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=11, type_name=".x.Feature")
    features.field.add(name="feature", number=1, label=3, type=11,
                       type_name=".x.Features.FeatureEntry")
    message("Example", ("features", 1, "Features", False))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("x.Example"))


Example = google_example()
INTS = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -2**63]


def example(**columns):
    made = Example()
    for name, values in columns.items():
        kind = "bytes" if isinstance(values[0], bytes) else (
            "float" if isinstance(values[0], float) else "int64")
        getattr(made.features.feature[name], f"{kind}_list").value.extend(values)
    return made.SerializeToString()


def test_examples_as_google_writes_them():
    found = tfrecord.example(example(i=INTS, f=[0.5, -2.25, 1e30], b=[b"a", b"", b"ccc"], one=[7]))
    assert found["i"].tolist() == INTS and found["i"].dtype == np.int64
    assert found["f"].tolist() == np.float32([0.5, -2.25, 1e30]).tolist()
    assert found["f"].dtype == np.float32 and found["b"] == [b"a", b"", b"ccc"]
    assert found["one"].tolist() == [7] and tfrecord.example(Example().SerializeToString()) == {}
    made = Example()
    made.features.feature["none"].int64_list.SetInParent()
    assert tfrecord.example(made.SerializeToString())["none"].tolist() == []


@pytest.mark.parametrize("data, words", [
    (b"\x0a\x05\x0a", "longer than its message"), (b"\x09", "wire type 1"),
    (b"\x0b", "wire type 3"),
    (b"\x0a\x80", "index out of range"), (b"\x0a\x02\x0a\x00", "1")])
def test_records_that_are_no_examples(tmp_path, data, words):
    (tmp_path / "a.tfrecord").write_bytes(written(data))
    with pytest.raises(RuntimeError, match=f"a record that is no Example: .*{words}"):
        list(tfrecord.examples(str(tmp_path / "a.tfrecord")))


def dicts(data):
    return [{k: (v.dtype.str[1:], v.tolist()) for k, v in row.items()}
            for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def schema(**columns):
    made = ds.Schema()
    for name, (kind, *shape) in columns.items():
        made.add_column(name, kind, *shape)
    return made


@pytest.mark.parametrize("about, wanted", [
    (None, {"b": ("u1", list(b"ab c  ")), "f": ("f4", [0.5, 1.5, 2.5, 3.5]), "i": ("i8", [1, 2])}),
    ({"i": ("int8", [2, 1])}, {"i": ("i1", [[1], [2]])}),
    ({"f": ("float64", [2, -1])}, {"f": ("f8", [[0.5, 1.5], [2.5, 3.5]])}),
    ({"i": ("int64", [])}, {"i": ("i8", 1)}), ({"i": ("int32",)}, {"i": ("i4", [1, 2])}),
    ({"b": ("string",)}, {"b": ("U4", "ab c")}),
    ({"b": ("string", [2])}, {"b": ("U4", ["ab c", ""])}),
    ({"b": ("uint8", [2, 3])}, {"b": ("u1", [list(b"ab "), list(b"c  ")])})])
def test_columns_have_the_types_and_shapes_of_a_schema(tmp_path, about, wanted):
    words = [b"ab c", b""] if about and about.get("b", ("",))[0] == "string" else [b"ab ", b"c"]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(written(example(i=[1, 2], f=[0.5, 1.5, 2.5, 3.5], b=words)))
    data = ds.TFRecordDataset(str(path), None if about is None else schema(**about), shuffle=False)
    assert dicts(data) == [wanted]


def test_chosen_columns_and_rows(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(written(*(example(i=[n], j=[-n]) for n in range(4))))
    data = ds.TFRecordDataset(str(path), columns_list=["j", "i"], shuffle=False)
    assert data.get_col_names() == ["j", "i"] and len(data) == 4
    about = schema(i=("int64", []))
    for rows, samples, wanted in ((0, None, 4), (3, None, 3), (3, 2, 2), (9, None, 4)):
        about.num_rows = rows
        data = ds.TFRecordDataset(str(path), about, num_samples=samples, shuffle=False)
        assert len(data) == len(dicts(data)) == wanted
    for options, error, text in (
            ({"columns_list": ["k"]}, RuntimeError, "there is no column 'k'; there are"),
            ({"schema": schema(k=("int8",))}, RuntimeError, "a row has no column 'k'; it has"),
            ({"schema": 3}, TypeError, "'schema' must be a Schema or a path"),
            ({"compression_type": "ZIP"}, ValueError, "compression_type")):
        with pytest.raises(error, match=text):
            dicts(ds.TFRecordDataset(str(path), shuffle=False, **options))


@pytest.mark.parametrize("kind, compress", [("GZIP", gzip.compress), ("ZLIB", zlib.compress),
                                            ("", bytes)])
def test_compressed_files(tmp_path, kind, compress):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(compress(written(*(example(i=[n] * 9000) for n in range(9)))))
    data = ds.TFRecordDataset(str(path), compression_type=kind, shuffle=False)
    assert [row["i"][1][0] for row in dicts(data)] == list(range(9))
