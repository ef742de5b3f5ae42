"""The .ckpt wire format: files of MindSpore 2.10, the protobuf library, and broken files."""

import pathlib
import random
import re
import shutil
import tracemalloc

import numpy as np
import pytest
import torch
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import lamella as ms
from lamella.train import checkpoint_format, serialization
from lamella.train.checkpoint_format import CheckpointFileError, read_ckpt, write_ckpt
from lamella.train.safetensors_format import read_safetensors, write_safetensors

DATA = pathlib.Path(__file__).parent.parent / "data"
TYPES = {"bool_": torch.bool, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32,
         "int64": torch.int64, "uint8": torch.uint8, "uint16": torch.uint16,
         "uint32": torch.uint32, "uint64": torch.uint64, "float16": torch.float16,
         "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
TABLE = [[0, 1, 2], [3, 4, 100]]


def protobuf_checkpoint():
    """The message class, from descriptors built here."""
    file = descriptor_pb2.FileDescriptorProto(name="checkpoint_test.proto", syntax="proto2")
    kind = descriptor_pb2.FieldDescriptorProto

    def message(name, *fields):
        added = file.message_type.add(name=name)
        for number, (label, type_, field, type_name) in enumerate(fields, 1):
            added.field.add(name=field, number=number, label=label, type=type_,
                            type_name=type_name)

    message("TensorProto", (kind.LABEL_REPEATED, kind.TYPE_INT64, "dims", None),
            (kind.LABEL_REQUIRED, kind.TYPE_STRING, "tensor_type", None),
            (kind.LABEL_REQUIRED, kind.TYPE_BYTES, "tensor_content", None))
    message("Value", (kind.LABEL_REQUIRED, kind.TYPE_STRING, "tag", None),
            (kind.LABEL_OPTIONAL, kind.TYPE_MESSAGE, "tensor", ".TensorProto"))
    message("Checkpoint", (kind.LABEL_REPEATED, kind.TYPE_MESSAGE, "value", ".Value"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Checkpoint"))


Checkpoint = protobuf_checkpoint()


def parsed(path):
    message = Checkpoint()
    message.ParseFromString(path.read_bytes())
    return message


def broken(dims=(2,), kind="Float32", content=b"\0" * 8, tag="w"):
    message = Checkpoint()
    value = message.value.add(tag=tag)
    value.tensor.dims.extend(dims)
    value.tensor.tensor_type, value.tensor.tensor_content = kind, content
    return message.SerializeToString()


# -- MindSpore's files ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix, read", [("ckpt", read_ckpt), ("safetensors", read_safetensors)])
def test_every_data_type_of_mindspore(suffix, read):
    values = read(str(DATA / f"dtypes.{suffix}"))
    assert set(values) == {f"{n}.{k}" for n in TYPES for k in "sv"} | {"ramp"}
    for name, raw_type in TYPES.items():
        expected = torch.tensor(np.array(TABLE), dtype=torch.float64).to(raw_type)
        assert values[f"{name}.v"].dtype is raw_type
        assert values[f"{name}.v"].tolist() == expected.tolist()
        assert values[f"{name}.s"].shape == () and values[f"{name}.s"].item() == 1
    assert values["ramp"].tolist() == np.linspace(-2, 2, 9).reshape(3, 1, 3).tolist()


def test_append_dict_of_mindspore():
    values = read_ckpt(str(DATA / "append.ckpt"))
    assert list(values) == ["w", "epoch_num", "lr", "flag", "note", "empty", "big", "t", "p", "neg"]
    plain = {k: v if isinstance(v, str) else v.tolist() for k, v in values.items()}
    assert plain == {"w": [1.0, 2.0], "epoch_num": 5, "lr": 0.25, "flag": True, "note": "héllo",
                     "empty": "", "big": 2**40, "t": [1, 2], "p": [3.0], "neg": -1}
    assert values["epoch_num"].dtype is torch.int64 and values["lr"].dtype is torch.float32


@pytest.mark.parametrize("name, crc", [("dtypes", False), ("append", False), ("crc", True),
                                       ("train", False), ("net", False)])
def test_rewritten_ckpt_is_the_same_to_the_byte(tmp_path, name, crc):
    source = DATA / f"{name}.ckpt"
    write_ckpt(str(tmp_path / "a.ckpt"), read_ckpt(str(source), crc=crc), crc=crc)
    assert (tmp_path / "a.ckpt").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name, crc", [("dtypes", False), ("crc", True)])
def test_rewritten_safetensors_has_the_same_content(tmp_path, name, crc):
    source = str(DATA / f"{name}.safetensors")
    values = read_safetensors(source, crc=crc)
    write_safetensors(str(tmp_path / "a.safetensors"), values, crc=crc)
    again = read_safetensors(str(tmp_path / "a.safetensors"), crc=crc)
    assert all(torch.equal(again[k], v) for k, v in values.items())
    if crc:  # the checksum that MindSpore computed is the one computed here
        mark = re.compile(rb'"crc_num":"(\d+)"')
        ours = (tmp_path / "a.safetensors").read_bytes()
        theirs = pathlib.Path(source).read_bytes()
        assert mark.search(ours).group(1) == mark.search(theirs).group(1)


# -- against protobuf ----------------------------------------------------------------------------


def test_what_is_written_is_what_protobuf_reads(tmp_path):
    path = tmp_path / "a.ckpt"
    write_ckpt(str(path), {"w": torch.arange(6.).reshape(2, 3), "s": torch.tensor(-2), "n": "ö𝄞"})
    w, s, n = parsed(path).value
    assert (w.tag, list(w.tensor.dims), w.tensor.tensor_type) == ("w", [2, 3], "Float32")
    assert np.frombuffer(w.tensor.tensor_content, "<f4").tolist() == list(range(6))
    assert (list(s.tensor.dims), s.tensor.tensor_type) == ([], "Int64")
    assert (list(n.tensor.dims), n.tensor.tensor_type) == ([0], "str")
    assert n.tensor.tensor_content == "ö𝄞".encode("utf-32-le")


def test_what_protobuf_writes_is_read(tmp_path):
    message = Checkpoint()
    for i in range(200):
        value = message.value.add(tag=f"p{i}")
        value.tensor.dims.extend([i % 3, 2])
        value.tensor.tensor_type = "Int16"
        value.tensor.tensor_content = np.arange(i % 3 * 2, dtype="<i2").tobytes()
    (tmp_path / "a.ckpt").write_bytes(message.SerializeToString())
    values = read_ckpt(str(tmp_path / "a.ckpt"))
    assert len(values) == 200
    assert values["p5"].tolist() == [[0, 1], [2, 3]] and values["p3"].shape == (0, 2)


@pytest.mark.parametrize("size", [1, 7, 8, 40, 41])
def test_large_tensors_are_split_and_joined(tmp_path, monkeypatch, size):
    monkeypatch.setattr(checkpoint_format, "_SLICE", size)
    values = {"a": torch.arange(10.).reshape(5, 2), "b": torch.ones(3), "t": "text"}
    path = tmp_path / "a.ckpt"
    write_ckpt(str(path), values, crc=True)
    assert max(len(v.tensor.tensor_content) for v in
               Checkpoint.FromString(path.read_bytes()[:-17]).value) <= size
    again = read_ckpt(str(path), crc=True)
    assert torch.equal(again["a"], values["a"]) and torch.equal(again["b"], values["b"])
    assert again["t"] == "text"


def test_unusual_but_valid_encodings(tmp_path):
    packed = b"\x0a\x02\x02\x01"  # dims [2, 1] in one field
    tensor = packed + b"\x12\x05Int16" + b"\x1a\x04\x01\x00\x02\x00"
    tensor += b"\x78\x05"  # an unknown field
    value = b"\x12" + bytes([len(tensor)]) + tensor + b"\x0a\x01w"  # the name comes last
    (tmp_path / "a.ckpt").write_bytes(b"\x0a" + bytes([len(value)]) + value + b"\x3d\0\0\0\0")
    assert read_ckpt(str(tmp_path / "a.ckpt"))["w"].tolist() == [[1], [2]]


@pytest.mark.parametrize("unknown", [
    b"\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x79" + b"\x0a" * 8,
    b"\x7a\x03\x0a\x0a\x0a", b"\x7d" + b"\x0a" * 4])
def test_fields_that_there_are_not_are_skipped(tmp_path, unknown):
    """A number, 8 bytes, some bytes, 4 bytes: before and behind each field of each message."""
    def wrapped(*fields):
        inner = unknown + unknown.join(fields) + unknown
        return bytes([0x0a if len(fields) < 3 else 0x12, len(inner)]) + inner

    tensor = wrapped(b"\x08\x02", b"\x12\x04Int8", b"\x1a\x02\x01\xff")
    value = wrapped(b"\x0a\x01w", tensor)
    (tmp_path / "a.ckpt").write_bytes(unknown + value + unknown + value.replace(b"w", b"v"))
    found = read_ckpt(str(tmp_path / "a.ckpt"))
    assert {name: raw.tolist() for name, raw in found.items()} == {"w": [1, -1], "v": [1, -1]}


@pytest.mark.parametrize("inside, outside, words", [
    ({"dims": (1,) * 31 + (2,)}, {"dims": (1,) * 32 + (2,)}, "more than 32 dimensions"),
    ({"tag": "n" * 65536}, {"tag": "n" * 65537}, "a name takes 65537 bytes"),
    ({"kind": "str", "content": b"\x41\0\0\0"}, {"kind": "s" * 65537}, "takes 65537 bytes")])
def test_limits_of_an_entry(tmp_path, inside, outside, words):
    path = tmp_path / "a.ckpt"
    path.write_bytes(broken(**inside))
    assert len(read_ckpt(str(path))) == 1
    path.write_bytes(broken(**outside))
    with pytest.raises(CheckpointFileError, match=words):
        read_ckpt(str(path))


@pytest.mark.parametrize("data, words", [
    (b"\x02\x00", "at byte 0"), (broken() + b"\x00\x01", "no field of a checkpoint .at byte 28"),
    (broken() + b"PK\x03\x04" + b"\0" * 40, "no field|a field"),
    (broken() + b"\x0a\x02\x12\x00", "has no name"), (b"\x0a\x03\x0a\x01w", "has no tensor"),
    (b"\x0a\x09\x0a\x01w\x12\x04\x1a\x02\0\0", "entry 'w' has no type"),
    (b"\x0a\x0b\x0a\x01w\x12\x06\x12\x04Int8", "entry 'w' has no content"),
    (b"text\twith\r\nlines", "text file"), (b"text\x7f", "no field|a field"), (b"~~~", "text file"),
    (b"\x80\x02\x95" + b"\0" * 40, "pickle"), (b"\x80\x03\x95" + b"\0" * 40, "pickle"),
    (b"\x80\x05\x95" + b"\0" * 40, "pickle")])
def test_where_a_file_is_broken(tmp_path, data, words):
    path = tmp_path / "bad.ckpt"
    path.write_bytes(data)
    with pytest.raises(CheckpointFileError, match=words) as caught:
        read_ckpt(str(path))
    assert "zip" not in str(caught.value)  # what comes later says nothing about the kind of file


def test_a_checksum_of_nothing(tmp_path):
    path = tmp_path / "a.ckpt"
    write_ckpt(str(path), {}, crc=True)
    assert path.read_bytes() == b"crc_num" + bytes(10)
    assert read_ckpt(str(path), crc=True) == read_ckpt(str(path)) == {}
    path.write_bytes(b"crc_num" + bytes(9))
    with pytest.raises(CheckpointFileError):
        read_ckpt(str(path))


def test_numbers_of_earlier_versions_have_dims_zero(tmp_path):
    message = Checkpoint()
    value = message.value.add(tag="step")
    value.tensor.dims.append(0)
    value.tensor.tensor_type, value.tensor.tensor_content = "Int32", b"\x07\0\0\0"
    (tmp_path / "a.ckpt").write_bytes(message.SerializeToString())
    assert read_ckpt(str(tmp_path / "a.ckpt"))["step"].shape == ()


@pytest.mark.parametrize("raw", [
    torch.zeros(0), torch.zeros(3, 0, 2), torch.tensor([1 + 2j]),
    torch.tensor(1j).to(torch.complex128), torch.ones(2).to(torch.float8_e5m2),
    torch.ones(4, 3).T, torch.arange(9)[::2],
    torch.tensor(2.0).expand(3, 2)])
def test_round_trip(tmp_path, raw):
    write_ckpt(str(tmp_path / "a.ckpt"), {"w": raw})
    again = read_ckpt(str(tmp_path / "a.ckpt"))["w"]
    assert again.dtype is raw.dtype and again.shape == raw.shape
    assert torch.equal(again.view(torch.uint8) if raw.itemsize == 1 else again,
                       raw.view(torch.uint8) if raw.itemsize == 1 else raw)


def test_bytes_of_booleans_other_than_0_and_1_are_true(tmp_path):
    message = Checkpoint()
    value = message.value.add(tag="m")
    value.tensor.dims.append(3)
    value.tensor.tensor_type, value.tensor.tensor_content = "Bool", b"\x00\x01\xff"
    (tmp_path / "a.ckpt").write_bytes(message.SerializeToString())
    mask = read_ckpt(str(tmp_path / "a.ckpt"))["m"]
    assert mask.tolist() == [False, True, True] and mask.view(torch.uint8).max() == 1


# -- files that are broken or something else -----------------------------------------------------


@pytest.mark.parametrize("data, match", [
    (b"", "is empty"),
    (broken(dims=(3,)), r"entry 'w' at byte \d+ has 8 bytes, but Float32 of shape \(3,\) takes 12"),
    (broken(dims=(-1, -2)), r"impossible shape \(-1, -2\)"),
    (broken(dims=(2**62, 2**62)), "has 8 bytes, but"),
    (broken(dims=(0, 2**62, 2**62), content=b""), "impossible shape"),
    (broken(dims=(1,) * 40, content=b"\0" * 4), "more than 32 dimensions"),
    (broken(kind="Float31"), "unknown type 'Float31'"),
    (broken(kind="str", content=b"\xff" * 4), "text of entry 'w'"),
    (broken(kind="str", content=b"\0" * 3), "text of entry 'w'"),
    (broken()[:-3], r"a field of \d+ bytes begins, of which only \d+ are there.*at byte 0"),
    (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "cut off"),
    (b"\x0a" + b"\xff" * 12, "a number is broken"),
    (b"\x0a\x03\x0a\x01w", "entry 'w' has no tensor"),
    (b"\x0a\x02\x12\x00", "has no type|has no name"),
    (b"\x0a\x05\x0a\x01\xff\x12\x00", "no UTF-8"),
    (b"\x0b\x0c", "no field of a checkpoint"),
    (b"\x0a\x06\x0a\x01m\x1a\x01\x00", "map parameter"),
    (b"PK\x03\x04" + b"\0" * 40, "zip archive"),
    (b"\x80\x04\x95" + b"\0" * 40, "pickle"),
    (b"\x89HDF\r\n\x1a\n" + b"\0" * 20, "HDF5"),
    (b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'", "NumPy"),
    (b"\xd8^:\x7f" + b"\0" * 60, "encrypted"),
    (b"hello, this is no checkpoint", "text file"),
    (broken() + broken(dims=(1, 2)), "parts of entry 'w' differ"),
])
def test_broken_files_are_explained(tmp_path, data, match):
    path = tmp_path / "bad.ckpt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        read_ckpt(str(path))
    assert str(path) in str(caught.value)


def test_safetensors_taken_for_ckpt(tmp_path):
    path = tmp_path / "a.ckpt"
    shutil.copy(DATA / "crc.safetensors", path)
    with pytest.raises(ValueError, match="safetensors"):
        read_ckpt(str(path))


def test_checksum(tmp_path):
    data = bytearray((DATA / "crc.ckpt").read_bytes())
    data[30] ^= 1
    (tmp_path / "a.ckpt").write_bytes(data)
    with pytest.raises(CheckpointFileError, match="checksum differs"):
        read_ckpt(str(tmp_path / "a.ckpt"), crc=True)
    good = read_safetensors(str(DATA / "crc.safetensors"))
    write_safetensors(str(tmp_path / "a.safetensors"), good, crc=True)
    data = bytearray((tmp_path / "a.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "a.safetensors").write_bytes(data)
    with pytest.raises(CheckpointFileError, match="checksum differs"):
        read_safetensors(str(tmp_path / "a.safetensors"), crc=True)


@pytest.mark.parametrize("suffix, read", [("ckpt", read_ckpt), ("safetensors", read_safetensors)])
@pytest.mark.parametrize("source", ["append.ckpt", "train.ckpt", "crc.ckpt", "dtypes.safetensors"])
def test_damaged_files_load_or_raise_value_error(tmp_path, suffix, read, source):
    """Flip, insert, overwrite and cut bytes: nothing but ValueError, in little memory."""
    original = (DATA / source).read_bytes()
    path = tmp_path / f"f.{suffix}"
    random.seed(5)
    loaded = refused = 0
    tracemalloc.start()
    try:
        for _ in range(300):
            data = bytearray(original)
            for _ in range(random.choice((1, 1, 3))):
                at = random.randrange(len(data))
                match random.randrange(4):
                    case 0:
                        data[at] = random.randrange(256)
                    case 1:
                        del data[at:]
                    case 2:
                        data[at:at] = random.randbytes(3)
                    case 3:
                        data[at:at + 9] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
                if not data:
                    break
            path.write_bytes(data)
            try:
                read(str(path))
                loaded += 1
            except ValueError as error:
                assert str(path) in str(error)
                refused += 1
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert refused > 100


def test_memory_of_a_large_file_is_that_of_its_tensors(tmp_path):
    raw = torch.arange(4 << 20, dtype=torch.float32)  # 16 MiB
    path = str(tmp_path / "a.ckpt")
    tracemalloc.start()
    try:
        write_ckpt(path, {"w": raw})
        assert torch.equal(read_ckpt(path)["w"], raw)
        # PyTorch's own memory is not counted: no copy may go through Python
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)], ids=str)
def test_a_tensor_without_elements(format, shape, tmp_path):
    file = str(tmp_path / f"empty.{format}")
    ms.save_checkpoint({"w": ms.Parameter(ms.Tensor(np.zeros(shape, "float32")))}, file,
                       format=format)
    loaded = ms.load_checkpoint(file, format=format)["w"]
    assert loaded.shape == shape and loaded.dtype == ms.float32


def test_many_parts_of_one_entry_take_linear_time(tmp_path):
    """Counted in parts that are copied, not in seconds."""
    def value(count):
        dims = b"\x08" + bytes([0x80 | count & 127, 0x80 | count >> 7 & 127, count >> 14])
        tensor = dims + b"\x12\x04Int8" + b"\x1a\x01\x07"
        body = b"\x0a\x01w" + b"\x12" + bytes([len(tensor)]) + tensor
        return b"\x0a" + bytes([len(body)]) + body

    count = 100_000
    path = tmp_path / "a.ckpt"
    path.write_bytes(value(count) * count)
    found = read_ckpt(str(path))
    assert found["w"].shape == (count,) and bool((found["w"] == 7).all())


def test_entries_as_they_are_written_make_the_same_tensors(tmp_path):
    path = str(tmp_path / "w.ckpt")
    values = {kind.printed: ms.Tensor([[1, 0, 1]], kind) for kind in ms.dtype.all_types}
    ms.save_checkpoint([{"name": name, "data": value} for name, value in values.items()], path,
                       append_dict={"note": "text"})
    kept = serialization._parse_ckpt_proto(path, None, None, None).value
    assert [entry.tag for entry in kept] == [*values, "note"]
    for entry in kept[:-1]:
        kind = entry.tensor.tensor_type
        assert serialization.tensor_to_ms_type[kind] == values[entry.tag].dtype
        if kind == "BFloat16":  # which NumPy has not
            assert entry.tensor.tensor_content == b"\x80\x3f\0\0\x80\x3f"
            continue
        array = np.frombuffer(entry.tensor.tensor_content, serialization.tensor_to_np_type[kind])
        assert array.reshape(entry.tensor.dims).tolist() == values[entry.tag].asnumpy().tolist()
    text = kept[-1].tensor
    assert text.tensor_type == "str" and text.tensor_content.decode("utf-32-le") == "text"
    with pytest.raises(ValueError, match="'dec_key' must be None"):
        serialization._parse_ckpt_proto(path, b"0123456789abcdef", "AES-GCM")
