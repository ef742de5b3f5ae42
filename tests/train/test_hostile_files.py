"""Files of weights, networks and runs that were made to do harm."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint  # noqa: F401  (here, not in each forked process)

import lamella as ms
from lamella import nn
from lamella.train.exporting import export, load
from lamella.train.resume import load_run, save_run
from lamella.train.sharded import load_sharded, save_sharded
from lamella.train.strategy_files import build_searched_strategy
from lamella.train.torch_weights import load_torch_weights
from tests.hostile import RAN, is_clear, read

RECORDED = Path(__file__).parent / "mindir/recorded"


class Runs:
    """Pickled, it is a call of a function."""

    def __init__(self, *call: Any):
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def test_a_reader_that_runs_code_is_noticed():
    harm = pickle.dumps(Runs(os.system, "true"))
    found = read(lambda: pickle.loads(harm))
    assert (found.status, found.text) == (RAN, "os.system")


def test_a_reader_that_takes_too_much_is_noticed():
    found = read(lambda: bytearray(1 << 31))
    assert not is_clear(found, "") and found.error == "MemoryError"


# -- .ckpt ---------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content % (1 << 64))
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(name: bytes = b"w", kind: bytes = b"Float32", content: bytes = bytes(24),
          dims: tuple[int, ...] = (2, 3)) -> bytes:
    tensor = b"".join(field(1, size) for size in dims) + field(2, kind) + field(3, content)
    return field(1, field(1, name) + field(2, tensor))


CKPT: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "zeros": lambda: bytes(1 << 20),
    "an endless number": lambda: b"\xff" * (1 << 20),
    "a name longer than memory": lambda: b"\x0a" + varint((1 << 62) - 1) + b"w",
    "a negative size": lambda: entry(dims=(-2, -3)),
    "sizes beyond all memory": lambda: entry(dims=(1 << 62, 1 << 62), content=b""),
    "no elements of sizes beyond all memory": lambda: entry(dims=(0, 1 << 62), content=b""),
    "a million dimensions": lambda: entry(dims=(1,) * 1_000_000, content=bytes(4)),
    "an unknown type": lambda: entry(kind=b"__import__('os').system('true')"),
    "a name that is no text": lambda: entry(name=b"\xff\xfe\x00"),
    "a name with ends of lines": lambda: entry(name=b"w\x00\n\x1b[2J"),
    "a text of half a character": lambda: entry(kind=b"str", content=b"\x41", dims=(0,)),
    "a text that is no text": lambda: entry(kind=b"str", content=b"\xff" * 8, dims=(0,)),
    "groups that open and never close": lambda: b"\x0b" * 200_000,
    "entries inside of entries": lambda: nested(2000),
    "100,000 entries of nothing": lambda: field(1, b"") * 100_000,
    "a pickle that runs": lambda: pickle.dumps(Runs(os.system, "true")),
    "a file of PyTorch that runs": lambda: saved({"w": Runs(os.system, "true")}),
}


def nested(depth: int) -> bytes:
    content = entry()
    for _ in range(depth):
        content = field(1, content)
    return content


def saved(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def check(path: Path, reader: Callable[[], Any]) -> None:
    found = read(reader)
    assert is_clear(found, str(path)), found


@pytest.mark.parametrize("name", CKPT)
def test_checkpoints(name, tmp_path):
    path = tmp_path / "a.ckpt"
    path.write_bytes(CKPT[name]())
    check(path, lambda: ms.load_checkpoint(str(path)))


# -- .safetensors --------------------------------------------------------------------------------


def safetensors(header: Any, content: bytes = bytes(24), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + content


def part(kind: Any = "F32", shape: Any = (2, 3), places: Any = (0, 24)) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": places}


SAFETENSORS: dict[str, Callable[[], bytes]] = {
    "a header beyond the file": lambda: safetensors({}, length=(1 << 63) - 1),
    "nested 100,000 deep": lambda: safetensors(b"[" * 100_000),
    "two tensors at one place": lambda: safetensors({"a": part(), "b": part()}),
    "places in reverse": lambda: safetensors({"a": part(places=(24, 0))}),
    "places beyond the file": lambda: safetensors({"a": part(shape=(1 << 40,),
                                                             places=(0, 1 << 42))}),
    "sizes that overflow": lambda: safetensors({"a": part(shape=(1 << 33, 1 << 33))}),
    "negative sizes": lambda: safetensors({"a": part(shape=(-2, -3))}),
    "an unknown type": lambda: safetensors({"a": part("P")}),
    "one name twice": lambda: safetensors(
        b'{"a": %s, "a": %s}' % ((json.dumps(part()).encode(),) * 2)),
    "metadata that are no texts": lambda: safetensors({"__metadata__": {"a": [1]}, "a": part()}),
    "a list": lambda: safetensors([1, 2]),
    "no text": lambda: safetensors(b"\xff\xfe"),
}


@pytest.mark.parametrize("name", SAFETENSORS)
def test_safetensors(name, tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(SAFETENSORS[name]())
    check(path, lambda: ms.load_checkpoint(str(path), format="safetensors"))


# -- weights of PyTorch --------------------------------------------------------------------------


@functools.cache
def bomb() -> bytes:
    """A file of PyTorch whose storage is half a gigabyte of zeros in two megabytes."""
    plain = io.BytesIO(saved({"w": torch.zeros(4)}))
    out = io.BytesIO()
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED,
                                                                   compresslevel=1) as new:
        for name in old.namelist():
            with new.open(name, "w") as member:
                if name.endswith("/data/0"):
                    for _ in range(1 << 9):
                        member.write(bytes(1 << 20))
                else:
                    member.write(old.read(name))
    return out.getvalue()


PTH: dict[str, Callable[[], bytes]] = {
    "a pickle that runs": lambda: saved({"weight": Runs(os.system, "true")}),
    "an old pickle that runs": lambda: saved({"weight": Runs(eval, "1")},
                                             _use_new_zipfile_serialization=False),
    "a bare pickle that runs": lambda: pickle.dumps({"weight": Runs(os.system, "true")}),
    "a bomb": bomb,
    "an archive of nothing": lambda: b"PK\x05\x06" + bytes(18),
    "names that are numbers": lambda: saved({1: torch.ones(2)}),
}


@pytest.mark.parametrize("name", PTH)
def test_weights_of_pytorch(name, tmp_path):
    path = tmp_path / "a.pth"
    path.write_bytes(PTH[name]())
    check(path, lambda: load_torch_weights(nn.Dense(2, 2), str(path)))


@pytest.mark.parametrize("content", [
    '{"weight_map": {"w": "../outside.safetensors"}}', '{"weight_map": {"w": "/etc/passwd"}}',
    '{"weight_map": {"w": 7}}', '{"weight_map": ["w"]}', '{"weight_map": {"w": ""}}',
    "[" * 100_000])
def test_indices_of_weights(content, tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "outside.safetensors").write_bytes(safetensors({"secret": part()}))
    path = folder / "model.safetensors.index.json"
    path.write_text(content)
    found = read(lambda: load_torch_weights(nn.Dense(2, 2), str(path)))
    assert found.status == 1 and is_clear(found, str(folder)) and "secret" not in found.text, found


# -- networks ------------------------------------------------------------------------------------


def changed(old: bytes, new: bytes) -> bytes:
    whole = (RECORDED / "branches.mindir").read_bytes()
    assert old in whole
    return whole.replace(old, new)


MINDIR: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "an endless number": lambda: b"\xff" * (1 << 20),
    "a message that holds itself": lambda: nested(5000),
    "a pickle that runs": lambda: pickle.dumps(Runs(os.system, "true")),
    "an archive": lambda: saved({"w": Runs(os.system, "true")}),
    "200,000 fields": lambda: field(1, b"") * 200_000,
}


@pytest.mark.parametrize("name", MINDIR)
def test_networks_of_mindspore(name, tmp_path):
    path = tmp_path / "a.mindir"
    path.write_bytes(MINDIR[name]())
    check(path, lambda: load(str(path)))


@pytest.mark.parametrize("number", range(8))
def test_networks_whose_bytes_are_of_another(number, tmp_path):
    one, other = (RECORDED / "branches.mindir").read_bytes(), sorted(RECORDED.glob("*.mindir"))
    theirs = other[number % len(other)].read_bytes()
    path, at = tmp_path / "a.mindir", len(one) * (number + 1) // 10
    path.write_bytes(one[:at] + theirs[at:])
    check(path, lambda: load(str(path)))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    export(nn.Dense(3, 2), ms.ops.ones((1, 3)), file_name=str(folder / "a"), file_format="LAMELLA")
    save_run(str(folder / "run.ckpt"), nn.Dense(3, 2), number=3)
    save_sharded(str(folder / "sharded"), nn.Dense(3, 2), number=3)
    return folder


def test_networks_of_ours_in_an_archive_of_bombs(own, tmp_path):
    path = tmp_path / "a.lamella"
    path.write_bytes(bomb())
    check(path, lambda: load(str(path)))


# -- runs ----------------------------------------------------------------------------------------

STATES = {
    "nested": "[" * 100_000, "no JSON": "{", "a list": "[]", "a class": '{"!": "os.system"}',
    "an array larger than memory": '{"number": {"array": ["float64", [1099511627776], ""]}}',
    "objects": '{"number": {"type": "object", "data": "gASVGgAAAA=="}}',
    "numbers of 10,000 digits": '{"number": ' + "9" * 10_000 + "}",
    "no number": '{"number": NaN, "rows": Infinity}',
}


@pytest.mark.parametrize("name", STATES)
def test_runs(name, own, tmp_path):
    path = tmp_path / "run.ckpt"
    values = ms.load_checkpoint(str(own / "run.ckpt"))
    key = next(k for k, v in values.items() if isinstance(v, str))
    values[key] = STATES[name]
    ms.save_checkpoint([{"name": k, "data": v} for k, v in values.items()], str(path))
    check(path, lambda: load_run(str(path), nn.Dense(3, 2)))


@pytest.mark.parametrize("file, content", [
    ("current", b"../../../etc"), ("current", b"1" * 10_000), ("current", b"-1"),
    ("1/.metadata", pickle.dumps(Runs(eval, "1"))), ("1/.metadata", b"\x80\x04" + b"(" * 100_000),
    ("1/.metadata", pickle.dumps([bytes])), ("1/process_0.json", b"[" * 100_000),
    ("1/process_0.json", b'{"state": NaN}'), ("1/__0_0.distcp", saved({"w": Runs(eval, "1")})),
    ("1/__0_0.distcp", b"")])
def test_sharded_folders(file, content, own, tmp_path):
    folder = tmp_path / "sharded"
    for path in (own / "sharded").rglob("*"):
        if path.is_file():
            new = folder / path.relative_to(own / "sharded")
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(path.read_bytes())
    assert (folder / file).exists()
    (folder / file).write_bytes(content)
    found = read(lambda: load_sharded(str(folder), nn.Dense(3, 2)))
    assert found.status == 1 and is_clear(found, str(folder)), found


# -- other files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix, content", [
    ("json", b"[" * 100_000), ("json", b'{"parallel_strategy_item": 7}'), ("json", b"\xff"),
    ("ckpt", b"\xff" * (1 << 20)), ("ckpt", b"\x0b" * 100_000),
    ("ckpt", pickle.dumps(Runs(eval, "1")))])
def test_strategies(suffix, content, tmp_path):
    path = tmp_path / f"strategy.{suffix}"
    path.write_bytes(content)
    check(path, lambda: build_searched_strategy(str(path)))


@pytest.mark.parametrize("content", [
    pickle.dumps(Runs(os.system, "true")),
    b"\x93NUMPY\x01\x00" + struct.pack("<H", 60) + b"{'descr': '|O', 'fortran_order': False, "
    b"'shape': (1,)}       \n" + pickle.dumps(Runs(os.system, "true"))])
def test_components_of_gradients(content, tmp_path):
    path = tmp_path / "pca.npy"
    path.write_bytes(content)
    found = read(lambda: np.load(str(path)))  # as `boost` reads it
    assert found.status == 1, found
