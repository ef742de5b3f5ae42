"""Files of data sets that were made to do harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import sqlite3
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
import pytest
import sentencepiece  # noqa: F401  (here, not in each forked process)
import soundfile  # noqa: F401

import lamella.dataset as ds
from lamella.dataset import text, vision
from lamella.dataset.mindrecord import FileWriter
from lamella.dataset.sources import tfrecord
from tests.hostile import is_clear, read
from tests.train.test_hostile_files import Runs, field, varint

PIL.Image.init()


def rows(data: Any) -> list[Any]:
    found = []
    for number, row in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True)):
        found.append([value.shape for value in row])
        assert number < 1000
    return found


def check(path: Any, reader: Callable[[], Any]) -> None:
    found = read(reader)
    assert is_clear(found, str(path)), found


# -- TFRecord ------------------------------------------------------------------------------------


def record(body: bytes, length: int | None = None) -> bytes:
    head = struct.pack("<Q", len(body) if length is None else length)
    return b"".join((head, struct.pack("<I", tfrecord._masked(head)), body,
                     struct.pack("<I", tfrecord._masked(body))))


def example(*features: bytes) -> bytes:
    """A record with features; each is the content of an entry of the map."""
    return record(field(1, b"".join(field(1, one) for one in features)))


TFRECORD: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "a length beyond memory": lambda: record(b"", (1 << 63) - 1),
    "a negative length": lambda: record(b"", (1 << 64) - 1),
    "an endless number": lambda: record(b"\xff" * 100_000),
    "groups that never close": lambda: record(b"\x0b" * 100_000),
    "a feature without a kind": lambda: example(field(1, b"a")),
    "a feature without a name": lambda: example(field(2, field(3, field(1, b"\x01")))),
    "a name that is no text": lambda: example(field(1, b"\xff") + field(2, field(3, field(
        1, b"\x01")))),
    "half a float": lambda: example(field(1, b"a") + field(2, field(2, field(1, bytes(3))))),
    "a number that is cut off": lambda: example(field(1, b"a") + field(2, field(3, field(
        1, b"\xff")))),
    "100,000 empty examples": lambda: record(b"") * 900,
    "one feature 10,000 times": lambda: example(*[field(1, b"a") + field(2, field(3, field(
        1, b"\x01")))] * 10_000),
    "a pickle": lambda: record(pickle.dumps(Runs(os.system, "true"))),
}


@pytest.mark.parametrize("name", TFRECORD)
def test_tfrecords(name, tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(TFRECORD[name]())
    check(path, lambda: rows(ds.TFRecordDataset(str(path))))


@pytest.mark.parametrize("content", [
    lambda: gzip.compress(record(b"", 1 << 30)[:12] + bytes(1 << 26), 1), lambda: b"\x1f\x8b\x08",
    lambda: gzip.compress(record(b""))[:-4] + b"\xff" * 4])
def test_compressed_tfrecords(content, tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content())
    check(path, lambda: rows(ds.TFRecordDataset(str(path), compression_type="GZIP")))


# -- mindrecord ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mindrecord(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "a.mindrecord"
    writer = FileWriter(str(path))
    writer.add_schema({"id": {"type": "int32"}, "v": {"type": "int32", "shape": [-1]},
                       "b": {"type": "bytes"}})
    writer.set_header_size(16384)
    writer.set_page_size(32768)
    writer.write_raw_data([{"id": i, "v": np.arange(5, dtype=np.int32), "b": b"x" * 9}
                           for i in range(6)])
    writer.commit()
    return path


def with_header(whole: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    size = struct.unpack("<Q", whole[:8])[0]
    about = json.loads(whole[8:8 + size])
    found = change(about)
    text = found if isinstance(found, bytes) else json.dumps(about).encode()
    return (struct.pack("<Q", len(text)) + text).ljust(16384, b" ") + whole[16384:]


def put(*keys: Any) -> Callable[[dict[str, Any]], None]:
    """A change of a header: the last is put where the others lead to."""
    *where, last, value = keys

    def change(about: Any) -> None:
        for key in where:
            about = about[key]
        about[last] = value

    return change


HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nested 4,000 deep": lambda _: b"[" * 4000,
    "no text": lambda _: b"\xff" * 100,
    "a list": lambda _: b"[]",
    "no pages": put("page_size", 0),
    "a negative page": put("page_size", -(1 << 62)),
    "a page beyond the file": put("page_size", 1 << 62),
    "a page that is a text": put("page_size", "x"),
    "a type of objects": put("schema", 0, "schema", "v", "type", "O"),
    "a type that is code": put("schema", 0, "schema", "v", "type", "__import__('os')"),
    "a type of a gigabyte": put("schema", 0, "schema", "v", "type", "S1073741824"),
    "a shape beyond memory": put("schema", 0, "schema", "v", "shape", [1 << 40, 1 << 40]),
    "a shape that is a text": put("schema", 0, "schema", "v", "shape", "x"),
    "fields that aren't there": put("schema", 0, "blob_fields", ["x"] * 1000),
    "an index of a table": put("index_fields", [{"index_field": "x FROM t; DROP TABLE t"}]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_mindrecords(name, mindrecord, tmp_path):
    path = tmp_path / "a.mindrecord"
    path.write_bytes(with_header(mindrecord.read_bytes(), HEADERS[name]))
    (tmp_path / "a.mindrecord.db").write_bytes(Path(f"{mindrecord}.db").read_bytes())
    check(path, lambda: rows(ds.MindDataset(str(path), shuffle=False)))


@pytest.mark.parametrize("statement", [
    "UPDATE INDEXES SET PAGE_OFFSET_BLOB_END = 4611686018427387904",
    "UPDATE INDEXES SET PAGE_OFFSET_RAW = -1", "UPDATE INDEXES SET PAGE_ID_RAW = 'x'",
    "UPDATE INDEXES SET PAGE_OFFSET_RAW = 1.5", "UPDATE INDEXES SET ROW_ID = -ROW_ID",
    "CREATE TRIGGER t AFTER INSERT ON INDEXES BEGIN DELETE FROM INDEXES; END",
    "DROP TABLE INDEXES", "PRAGMA user_version = 7",
    "UPDATE INDEXES SET PAGE_OFFSET_RAW = zeroblob(10000000)"])
def test_indices_of_mindrecords(statement, mindrecord, tmp_path):
    path = tmp_path / "a.mindrecord"
    path.write_bytes(mindrecord.read_bytes())
    (tmp_path / "a.mindrecord.db").write_bytes(Path(f"{mindrecord}.db").read_bytes())
    with sqlite3.connect(f"{path}.db") as base:
        base.execute(statement)
    base.close()
    check(path, lambda: rows(ds.MindDataset(str(path), shuffle=False)))


# -- archives ------------------------------------------------------------------------------------


def tar(*members: tuple[str, bytes], **options: Any) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in options.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def npy(header: bytes, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header) + 1) + header + b"\n" + content


def sized(size: int) -> bytes:
    """An archive whose member says that it has so many bytes."""
    whole = bytearray(tar(("a.txt", b"x")))
    whole[124:136] = b"\x80" + size.to_bytes(11, "big")
    whole[148:156] = b" " * 8
    whole[148:156] = b"%06o\x00 " % sum(whole[:512])
    return bytes(whole)


TARS: dict[str, Callable[[], bytes]] = {
    "names outside": lambda: tar(("../../x.txt", b"x"), ("/etc/x.txt", b"x")),
    "a link to a file outside": lambda: tar(("a.txt", b""), type=tarfile.SYMTYPE,
                                            linkname="/etc/passwd"),
    "a hard link": lambda: tar(("a.txt", b""), type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    "a device": lambda: tar(("a.txt", b""), type=tarfile.CHRTYPE, devmajor=1, devminor=5),
    "a member beyond the file": lambda: sized(1 << 60),
    "20,000 empty members": lambda: tar(*[(f"{i}.txt", b"") for i in range(900)]),
    "a pickle": lambda: tar(("a.pkl", pickle.dumps(Runs(os.system, "true")))),
    "an array of objects": lambda: tar(("a.npy", npy(
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        pickle.dumps(Runs(os.system, "true"))))),
    "an array beyond memory": lambda: tar(("a.npy", npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}"))),
    "an array whose header is code": lambda: tar(("a.npy", npy(
        b"__import__('os').system('true')"))),
    "an array whose header is deep": lambda: tar(("a.npy", npy(b"(" * 9000))),
    "an array with a negative size": lambda: tar(("a.npy", npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"))),
    "JSON that is deep": lambda: tar(("a.json", b"[" * 100_000)),
    "a number of 10,000 digits": lambda: tar(("a.cls", b"9" * 10_000)),
    "no text": lambda: tar(("a.txt", b"\xff\xfe\x00")),
    "a bomb": lambda: gzip.compress(tar(("a.txt", bytes(1 << 28))), 1),
}


@pytest.mark.parametrize("name", TARS)
def test_archives(name, tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(TARS[name]())
    found = read(lambda: rows(ds.WebDataset(str(path), shuffle=False)))
    assert is_clear(found, str(path)) and "root:" not in found.text, found


# -- images --------------------------------------------------------------------------------------


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(
        ">I", zlib.crc32(kind + content))


def png(width: int, height: int, content: bytes, *more: bytes) -> bytes:
    about = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join((b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", about), *more,
                     chunk(b"IDAT", zlib.compress(content)), chunk(b"IEND", b"")))


def jpeg() -> bytes:
    return cv2.imencode(".jpg", np.arange(3072, dtype=np.uint8).reshape(32, 32, 3))[1].tobytes()


def large(whole: bytes) -> bytes:
    """A JPEG that says it has 65,500 rows and columns."""
    at = whole.index(b"\xff\xc0")
    return whole[:at + 5] + struct.pack(">HH", 65500, 65500) + whole[at + 9:]


IMAGES: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "zeros": lambda: bytes(1000),
    "a pickle": lambda: pickle.dumps(Runs(os.system, "true")),
    "a PNG of 10^10 pixels": lambda: png(100_000, 100_000, bytes(1000)),
    "a PNG without pixels": lambda: png(0, 0, b""),
    "a PNG of 2^31 columns": lambda: png((1 << 31) - 1, 1, bytes(100)),
    "a PNG with a text of a gigabyte": lambda: png(1, 1, bytes(4), chunk(
        b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 26), 1))),
    "a PNG that is cut off": lambda: png(8, 8, bytes(200))[:40],
    "a JPEG of 4 * 10^9 pixels": lambda: large(jpeg()),
    "a JPEG that is cut off": lambda: jpeg()[:200],
    "a BMP with a negative size": lambda: b"BM" + struct.pack(
        "<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, -5, 1 << 30, 1, 24, 0, 0, 0, 0, 0, 0),
    "a TIFF whose list of pages is a ring": lambda: b"II*\0" + struct.pack("<I", 8) + struct.pack(
        "<H", 1) + struct.pack("<HHII", 256, 4, 1, 8) + struct.pack("<I", 8),
    "a GIF of a million frames": lambda: b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0, 0, 0) + (
        b"\x2c" + bytes(8) + b"\x00\x02\x02\x4c\x01\x00") * 100_000,
    "an SVG with an entity": lambda: b"<?xml version='1.0'?><!DOCTYPE s [<!ENTITY x SYSTEM "
                                     b"'file:///etc/passwd'>]><svg>&x;</svg>",
}


@pytest.mark.parametrize("name", IMAGES)
def test_images(name, tmp_path):
    (tmp_path / "class").mkdir()
    path = tmp_path / "class" / "a.jpg"
    path.write_bytes(IMAGES[name]())
    readers = {
        str(tmp_path): lambda: rows(ds.ImageFolderDataset(str(tmp_path), decode=True)),
        str(path): lambda: vision.read_image(str(path)).shape,
        "Decode: ": lambda: vision.Decode(to_pil=True)(np.fromfile(path, np.uint8)).size}

    def unclear() -> list[Exception]:
        found = []
        for named, reader in readers.items():
            try:
                reader()
            except Exception as error:  # noqa: BLE001
                found += [] if named in str(error) else [error]
        return found

    assert read(unclear) == (0, "", "[]")


# -- sounds --------------------------------------------------------------------------------------


def wav(channels: int = 1, rate: int = 8000, bits: int = 16, size: int | None = None,
        content: bytes = bytes(16), kind: int = 1) -> bytes:
    about = struct.pack("<HHIIHH", kind, channels, rate, 0, 0, bits)
    size = len(content) if size is None else size
    return b"RIFF" + struct.pack("<I", 36 + len(content)) + b"WAVEfmt " + struct.pack(
        "<I", 16) + about + b"data" + struct.pack("<I", size) + content


SOUNDS: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "more than there is": lambda: wav(size=(1 << 32) - 1),
    "no channels": lambda: wav(channels=0),
    "65,535 channels": lambda: wav(channels=65535),
    "no rate": lambda: wav(rate=0),
    "no bits": lambda: wav(bits=0),
    "an unknown kind": lambda: wav(kind=0xBEEF),
    "no header": lambda: wav()[:20],
    "a pickle": lambda: pickle.dumps(Runs(os.system, "true")),
}


@pytest.mark.parametrize("name", SOUNDS)
def test_sounds(name, tmp_path):
    path = tmp_path / "0_0_0_0_1_1_1_1.wav"
    path.write_bytes(SOUNDS[name]())
    check(path, lambda: rows(ds.YesNoDataset(str(tmp_path))))


# -- words ---------------------------------------------------------------------------------------

WORDS: dict[str, tuple[Callable[[str], Any], bytes]] = {
    "a vocabulary that is no text": (text.Vocab.from_file, b"a\n\xff\xfe\n"),
    "a vocabulary of one word twice": (text.Vocab.from_file, b"a\na\n"),
    "a vocabulary with a word of a megabyte": (text.Vocab.from_file, b"a" * (1 << 20)),
    "vectors of several sizes": (text.Vectors.from_file, b"a 1 2\nb 1\n"),
    "vectors that are no numbers": (text.Vectors.from_file, b"a __import__('os') 2\n"),
    "vectors of a million billions": (text.Vectors.from_file, b"1000000000000000 1000000\na 1 2\n"),
    "vectors that are no text": (text.Vectors.from_file, b"\xff\xfe 1 2\n"),
    "vectors without numbers": (text.Vectors.from_file, b"a\nb\n"),
    "vectors of nothing": (text.Vectors.from_file, b""),
    "vectors of GloVe of a number": (text.GloVe.from_file, b"1e999 nan inf\n"),
    "a model of pieces of nothing": (lambda path: text.SentencePieceTokenizer(
        path, text.SPieceTokenizerOutType.STRING)(np.array("a")), b""),
    "a model of pieces of zeros": (lambda path: text.SentencePieceTokenizer(
        path, text.SPieceTokenizerOutType.STRING)(np.array("a")), bytes(1000)),
    "a model of pieces that runs": (lambda path: text.SentencePieceTokenizer(
        path, text.SPieceTokenizerOutType.STRING)(np.array("a")),
        pickle.dumps(Runs(os.system, "true"))),
    "a model of pieces of an endless number": (lambda path: text.SentencePieceTokenizer(
        path, text.SPieceTokenizerOutType.STRING)(np.array("a")), b"\xff" * 100_000),
    "a model of pieces without an unknown one": (lambda path: text.SentencePieceTokenizer(
        path, text.SPieceTokenizerOutType.STRING)(np.array("a")),
        field(1, field(1, b"a") + b"\x15" + struct.pack("<f", 1.0))),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name, tmp_path):
    reader, content = WORDS[name]
    path = tmp_path / "glove.6B.words.txt"
    path.write_bytes(content)
    check(path, lambda: reader(str(path)))


# -- text and tables -----------------------------------------------------------------------------

DEEP = b"[" * 100_000


def squad(path: Path) -> Any:
    return ds.SQuADDataset(str(path.parent), usage="train")


FILES: dict[str, tuple[str, Callable[[Path], Any], bytes]] = {
    "a pipeline of 10^400 rows": ("a.json", lambda path: ds.deserialize(json_filepath=str(path)),
                                  b'{"op_type": "Take", "count": 1e400, "children": []}'),
    "a pipeline with a number of 10,000 digits": (
        "a.json", lambda path: ds.deserialize(json_filepath=str(path)),
        b'{"op_type": "Take", "count": ' + b"9" * 10_000 + b', "children": []}'),
    "a pipeline that is no text": (
        "a.json", lambda path: ds.deserialize(json_filepath=str(path)), b"\xff"),
    "settings that are deep": ("a.json", lambda path: ds.config.load(str(path)), DEEP),
    "settings that are a list": ("a.json", lambda path: ds.config.load(str(path)), b"[1]"),
    "settings that aren't": ("a.json", lambda path: ds.config.load(str(path)),
                             b'{"numParallelWorkers": "__import__", "seed": [1]}'),
    "a schema that is deep": ("a.json", lambda path: ds.Schema(str(path)), DEEP),
    "a schema that is a list": ("a.json", lambda path: ds.Schema(str(path)), b"[1]"),
    "a schema of a type that isn't": ("a.json", lambda path: ds.Schema(str(path)),
                                      b'{"columns": {"a": {"type": "O", "shape": [1e400]}}}'),
    "questions that are deep": ("train-v1.json", squad, DEEP),
    "questions of another form": ("train-v1.json", squad, b'{"data": [{"paragraphs": 7}]}'),
    "questions that are no text": ("train-v1.json", squad, b"\xff"),
    "lines of JSON that are deep": ("a.json", lambda path: ds.CLUEDataset(
        str(path), task="AFQMC", usage="train"), DEEP),
    "lines of JSON of another form": ("a.json", lambda path: ds.CLUEDataset(
        str(path), task="AFQMC", usage="train"), b"7\n"),
    "a manifest that is deep": ("a.json", lambda path: ds.ManifestDataset(str(path)), DEEP),
    "a manifest of another form": ("a.json", lambda path: ds.ManifestDataset(str(path)),
                                   b'{"usage": "train", "annotation": 7}\n'),
    "a table with a field of a megabyte": ("a.csv", lambda path: ds.CSVDataset(
        str(path), column_names=["a", "b"]), b'1,"' + b"x" * (1 << 20)),
    "a table that is no text": ("a.csv", lambda path: ds.CSVDataset(
        str(path), column_names=["a", "b"]), b"\xff,\xfe\n"),
    "a table with zeros": ("a.csv", lambda path: ds.CSVDataset(
        str(path), column_names=["a", "b"]), b"\0,\0\n"),
    "text that is no text": ("a.txt", lambda path: ds.TextFileDataset(str(path)), b"\xff\xfe\n"),
    "a line of 50 MB": ("a.txt", lambda path: ds.TextFileDataset(str(path)), b"x" * 50_000_000),
    "annotations that are deep": ("a.json", lambda path: ds.CocoDataset(
        str(path.parent), str(path)), DEEP),
    "annotations in a ring": ("a.json", lambda path: ds.CocoDataset(str(path.parent), str(path)),
                              b'{"images": [{"id": [1], "file_name": 7}], "annotations": [7]}'),
    "pixels beyond memory": ("train-images-idx3-ubyte", lambda path: ds.MnistDataset(
        str(path.parent), usage="train"), struct.pack(">HBB3I", 0, 8, 3, *[(1 << 32) - 1] * 3)),
    "pixels in a bomb": ("train-images-idx3-ubyte.gz", lambda path: ds.MnistDataset(
        str(path.parent), usage="train"), gzip.compress(bytes(1 << 28), 1)),
    "pixels that aren't in what is packed": ("train-images-idx3-ubyte.gz", lambda path:
        ds.MnistDataset(str(path.parent), usage="train"), gzip.compress(
            struct.pack(">HBB3I", 0, 8, 3, *[1 << 12] * 3) + bytes(9))),
    "pixels of 255 dimensions": ("train-images-idx3-ubyte", lambda path: ds.MnistDataset(
        str(path.parent), usage="train"), struct.pack(">HBB", 0, 8, 255) + bytes(1020)),
    "half a picture": ("data_batch_1.bin", lambda path: ds.Cifar10Dataset(
        str(path.parent), usage="train"), bytes(5000)),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    file, reader, content = FILES[name]
    path = tmp_path / file
    path.write_bytes(content)

    def read_all() -> Any:
        found = reader(path)
        return rows(found) if isinstance(found, ds.Dataset) else found

    check(tmp_path, read_all)


def laughs(depth: int) -> bytes:
    """XML with entities of entities: 10^depth letters."""
    names = [f"<!ENTITY x{i} '{f'&x{i - 1};' * 10}'>" for i in range(1, depth)]
    return ("<!DOCTYPE a [<!ENTITY x0 'ha'>" + "".join(names) + f"]><a>&x{depth - 1};</a>").encode()


@pytest.mark.parametrize("content", [
    laughs(9), b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><annotation>&x;</annotation>",
    b"<a>" * 100_000, b"\xff", b""])
def test_annotations_in_xml(content, tmp_path):
    for folder in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ImageSets/Main/train.txt").write_text("a\n")
    (tmp_path / "JPEGImages/a.jpg").write_bytes(jpeg())
    (tmp_path / "Annotations/a.xml").write_bytes(content)
    found = read(lambda: rows(ds.VOCDataset(str(tmp_path), task="Detection", usage="train")))
    assert is_clear(found, str(tmp_path)) and "root:" not in found.text, found


def test_numbers_of_the_wire_format():
    assert varint(300) == b"\xac\x02"
