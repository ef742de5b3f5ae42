"""``python -m tests.fuzz.faults``: kills, damaged files, threads, forks, signals, full disks.

Each line says how often something was tried, and how often what has to hold did.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.dataset.mindrecord import FileWriter
from lamella.dataset.sources import tfrecord
from lamella.train.exporting import export, load
from lamella.train.resume import load_run, save_run
from lamella.train.sharded import load_sharded, save_sharded

RECORDED = Path(__file__).parents[1] / "train/mindir/recorded"

Outcome = tuple[int, int]  # how often it was tried, and how often it held
FORMATS = ("ckpt", "safetensors")


def child(body: Callable[[], None]) -> int:
    """Run `body` in a forked process; its number. It ends with 0 unless `body` raises."""
    number = os.fork()
    if number == 0:
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return number


def ended(number: int, seconds: float = 120.0, again: float = 0.0) -> int | None:
    """The status of a process; None if it had to be killed after so long.

    `again`: how often it gets another SIGINT, in seconds; Python loses one that comes while it
    runs a weak reference's callback.
    """
    end, last = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            return status
        if again and time.monotonic() > last + again:
            os.kill(number, signal.SIGINT)
            last = time.monotonic()
        time.sleep(0.01)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return None


def rows(value: float, size: int = 1_000_000) -> list[dict[str, Any]]:
    return [{"name": "w", "data": ops.full((size,), value, dtype=ms.float32)},
            {"name": "v", "data": ops.full((7, 3), value, dtype=ms.float32)}]


def kills(count: int, draw: random.Random, folder: Path) -> Outcome:
    """``kill -9`` while checkpoints are saved: the file is the old or the new one, whole."""
    held = 0
    for number in range(count):
        format = FORMATS[number % 2]
        path = folder / f"killed.{format}"
        if number < 2:
            ms.save_checkpoint(rows(0.0), str(path), format=format)

        def save(path: Path = path, format: str = format) -> None:
            for value in range(1, 1000):
                ms.save_checkpoint(rows(float(value)), str(path), format=format)

        process = child(save)
        time.sleep(draw.uniform(0.001, 0.1))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        found = ms.load_checkpoint(str(path), format=format)
        values = {float(number) for p in found.values() for number in np.unique(p.asnumpy())}
        held += len(values) == 1 and found["w"].shape == (1_000_000,)
    for format in FORMATS:
        ms.save_checkpoint(rows(0.0, 10), str(folder / f"killed.{format}"), format=format)
    left = [p.name for p in folder.iterdir() if p.name not in {f"killed.{f}" for f in FORMATS}]
    if left and count:
        print(f"what killed saves left is still there: {left[:5]}")
        held -= 1
    return count, held


def _damaged_net() -> Any:
    return nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dense(4, 5))


def _written(folder: Path, format: str) -> tuple[Path, bytes]:
    path = folder / f"damaged.{format}"
    ms.save_checkpoint(_damaged_net(), str(path), format=format)
    return path, path.read_bytes()


def truncations(count: int, draw: random.Random, folder: Path) -> Outcome:
    """Files cut short anywhere: an error that says so.

    A .ckpt is a series of Parameters without a number of them: where it is cut between two, the
    rest loads, and `load_param_into_net` says what is missing.
    """
    held = 0
    for format in FORMATS:
        path, whole = _written(folder, format)
        names = set(ms.load_checkpoint(str(path), format=format))
        for _ in range(count // 2):
            path.write_bytes(whole[:draw.randrange(len(whole))])
            try:
                found = ms.load_checkpoint(str(path), format=format)
            except ValueError as error:
                held += str(path) in str(error)
            else:
                missing, _ = ms.load_param_into_net(_damaged_net(), found)
                held += format == "ckpt" and set(missing) == names - set(found) != set()
    return count // 2 * 2, held


def flips(count: int, draw: random.Random, folder: Path) -> Outcome:
    """Files with bytes flipped, inserted, overwritten, doubled: they load, or ValueError."""
    held = 0
    for format in FORMATS:
        path, whole = _written(folder, format)
        for _ in range(count // 2):
            data, at = bytearray(whole), draw.randrange(len(whole))
            how = draw.randrange(4)
            if how == 0:
                data[at] ^= 1 << draw.randrange(8)
            elif how == 1:
                data[at:at] = draw.randbytes(draw.randrange(1, 9))
            elif how == 2:
                data[at:at + 8] = draw.choice([b"\xff" * 8, bytes(8), draw.randbytes(8)])
            else:
                data[at:at] = data[at:at + draw.randrange(64)]
            path.write_bytes(data)
            try:
                ms.load_checkpoint(str(path), format=format)
                held += 1
            except ValueError as error:
                held += str(path) in str(error)
    return count // 2 * 2, held


def _example(folder: Path) -> Any:
    """A TFRecord and the files of other sources, each small."""
    import lamella.dataset as ds
    draw = np.random.RandomState(0)
    writer = FileWriter(str(folder / "a.mindrecord"))
    writer.add_schema({"id": {"type": "int32"}, "v": {"type": "int32", "shape": [-1]},
                       "b": {"type": "bytes"}})
    writer.add_index(["id"])
    writer.set_header_size(16384)
    writer.set_page_size(32768)
    writer.write_raw_data([{"id": i, "v": draw.randint(-9, 70000, 5).astype(np.int32),
                            "b": draw.bytes(9)} for i in range(6)])
    writer.commit()
    (folder / "mnist").mkdir()
    (folder / "mnist/train-images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 2051, 3, 4, 4) + draw.bytes(48))
    (folder / "mnist/train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, 3) + bytes(3))
    record = b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x05\x0a\x03\x01\x02\x03"
    length = struct.pack("<Q", len(record))
    whole = b"".join((length, struct.pack("<I", tfrecord._masked(length)), record,
                      struct.pack("<I", tfrecord._masked(record))))
    (folder / "a.tfrecord").write_bytes(whole * 3)
    (folder / "z.tfrecord").write_bytes(gzip.compress(whole * 3))
    ds.MnistDataset(str(folder / "mnist")).batch(2).to_json(str(folder / "pipeline.json"))
    net = _damaged_net().set_train(False)
    export(nn.Dense(3, 2), ops.ones((1, 3)), file_name=str(folder / "a"), file_format="LAMELLA")
    shutil.copy(RECORDED / "branches.mindir", folder / "b.mindir")
    save_run(str(folder / "run.ckpt"), net, number=3)
    save_sharded(str(folder / "sharded"), net, number=3)
    return net


def _rows_of(data: Any) -> None:
    for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        pass


def formats(count: int, draw: random.Random, folder: Path) -> Outcome:
    """Each file format, changed `count` times: it is read, or an error names what is wrong."""
    import lamella.dataset as ds
    net = _example(folder)

    def read(name: str) -> Callable[[], Any]:
        return lambda: _rows_of(getattr(ds, name)(str(folder / files[name])))

    files = {"TFRecordDataset": "a.tfrecord"}
    record, mnist = str(folder / "a.mindrecord"), str(folder / "mnist")
    readers: dict[str, Callable[[], Any]] = {
        "a.lamella": lambda: load(str(folder / "a.lamella")),
        "b.mindir": lambda: load(str(folder / "b.mindir")),
        "run.ckpt": lambda: load_run(str(folder / "run.ckpt"), net),
        "sharded/current": lambda: load_sharded(str(folder / "sharded"), net),
        "sharded/1/process_0.json": lambda: load_sharded(str(folder / "sharded"), net),
        "sharded/1/.metadata": lambda: load_sharded(str(folder / "sharded"), net),
        "sharded/1/__0_0.distcp": lambda: load_sharded(str(folder / "sharded"), net),
        "a.mindrecord": lambda: _rows_of(ds.MindDataset(record)),
        "a.mindrecord.db": lambda: _rows_of(ds.MindDataset(record)),
        "mnist/train-images-idx3-ubyte": lambda: _rows_of(ds.MnistDataset(mnist)),
        "a.tfrecord": read("TFRecordDataset"),
        "z.tfrecord": lambda: _rows_of(ds.TFRecordDataset(
            str(folder / "z.tfrecord"), compression_type="GZIP")),
        "pipeline.json": lambda: ds.deserialize(json_filepath=str(folder / "pipeline.json")),
    }
    held = 0
    for name, reader in readers.items():
        path = folder / name
        whole = path.read_bytes()
        reader()
        for number in range(count):
            path.write_bytes(_changed(whole, draw, number))
            try:
                reader()
                held += 1
            except Exception as error:  # noqa: BLE001
                clear = str(folder) in str(error) or "For '" in str(error) or (
                    "does not exist" in str(error))
                held += clear
                if not clear:
                    print(f"{name}: {type(error).__name__}: {str(error)[:150]}")
        path.write_bytes(whole)
    return count * len(readers), held


def _changed(whole: bytes, draw: random.Random, number: int) -> bytes:
    """A file's bytes, cut short, or with some flipped, inserted, overwritten or doubled."""
    data, at = bytearray(whole), draw.randrange(len(whole))
    how = number % 5
    if how == 0:
        data[at] ^= 1 << draw.randrange(8)
    elif how == 1:
        data[at:at] = draw.randbytes(draw.randrange(1, 9))
    elif how == 2:
        data[at:at + 8] = draw.choice([b"\xff" * 8, bytes(8), draw.randbytes(8)])
    elif how == 3:
        data[at:at] = data[at:at + draw.randrange(64)]
    else:
        del data[at:]
    return bytes(data)


def _network() -> tuple[Any, Callable[[Tensor], Any]]:
    net = nn.SequentialCell(nn.Dense(8, 16), nn.Tanh(), nn.Dense(16, 1))
    return net, ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())


def _numbers(found: Any) -> list[np.ndarray]:
    value, gradients = found
    return [value.asnumpy(), *(g.asnumpy() for g in gradients)]


def threads(count: int, draw: random.Random, folder: Path) -> Outcome:
    """Eight threads share a network, eager and compiled: gradients are those of one thread."""
    _, gradient = _network()
    compiled = ms.jit(gradient)
    inputs = [Tensor(np.random.RandomState(i).randn(4, 8).astype(np.float32)) for i in range(8)]
    wanted = [_numbers(gradient(x)) for x in inputs]
    held = [0] * 8

    def work(number: int) -> None:
        for turn in range(count // 8):
            found = _numbers((gradient, compiled)[turn % 2](inputs[number]))
            held[number] += all(np.allclose(a, b, rtol=1e-5, atol=1e-6)
                                for a, b in zip(found, wanted[number], strict=True))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return count // 8 * 8, sum(held)


def forks(count: int, draw: random.Random, folder: Path) -> Outcome:
    """Forks while other threads run compiled functions: the child computes."""
    _, gradient = _network()
    x, over = ops.ones((4, 8)), threading.Event()
    wanted = _numbers(gradient(x))

    def busy() -> None:
        compiled = ms.jit(gradient)
        while not over.is_set():
            compiled(x)

    workers = [threading.Thread(target=busy) for _ in range(3)]
    for worker in workers:
        worker.start()

    def compute() -> None:
        found = _numbers(ms.jit(gradient)(x))
        assert all(np.allclose(a, b) for a, b in zip(found, wanted, strict=True))

    held = 0
    for _ in range(count):
        time.sleep(draw.uniform(0, 0.02))
        held += ended(child(compute)) == 0
    over.set()
    for worker in workers:
        worker.join()
    return count, held


def signals(count: int, draw: random.Random, folder: Path) -> Outcome:
    """SIGINT anywhere in training: KeyboardInterrupt, and what comes after it is right."""
    _, gradient = _network()
    x = ops.ones((4, 8))
    wanted = _numbers(gradient(x))
    compiled = ms.jit(gradient)

    def train() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            while True:
                gradient(x)
                compiled(x)
                ms.jit(lambda x: gradient(x)[0] * 2)(x)
        except KeyboardInterrupt:
            pass
        for function in (gradient, compiled):
            found = _numbers(function(x))
            assert all(np.allclose(a, b) for a, b in zip(found, wanted, strict=True))

    held = 0
    for _ in range(count):
        process = child(train)
        time.sleep(draw.uniform(0.05, 0.3))
        os.kill(process, signal.SIGINT)
        held += ended(process, again=10.0) == 0
    return count, held


def disks(count: int, draw: random.Random, folder: Path) -> Outcome:
    """A disk that fills up anywhere in a save: OSError that names the file, which stays as it was.

    A limit on the size of files stands for it.
    """
    held = 0
    for number in range(count):
        format = FORMATS[number % 2]
        path = folder / f"full.{format}"
        ms.save_checkpoint(rows(1.0, 10), str(path), format=format)
        room = draw.randrange(1, 390_000)

        def save(path: Path = path, format: str = format, room: int = room) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                ms.save_checkpoint(rows(2.0, 100_000), str(path), format=format)
            except OSError as error:
                assert str(path) in str(error)
            else:
                raise AssertionError("it was saved")

        found = ended(child(save)) == 0
        held += found and float(ms.load_checkpoint(str(path), format=format)["w"].sum()) == 10.0
    return count, held


TRIALS = {"kills": (kills, 120), "truncations": (truncations, 260), "flips": (flips, 13_000),
          "formats": (formats, 300),
          "threads": (threads, 4_256), "forks": (forks, 100), "signals": (signals, 100),
          "disks": (disks, 100)}


def main() -> int:
    """0 if everything held."""
    parser = argparse.ArgumentParser("python -m tests.fuzz.faults", description=__doc__)
    for name, (_, times) in TRIALS.items():
        parser.add_argument(f"--{name}", type=int, default=times, help="how often")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    warnings.simplefilter("ignore")
    failed = 0
    for name, (trial, _) in TRIALS.items():
        with tempfile.TemporaryDirectory() as folder:
            tried, held = trial(given[name], random.Random(given["seed"]), Path(folder))
        print(f"{name:12} {held} of {tried} held", flush=True)
        failed += tried - held
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
