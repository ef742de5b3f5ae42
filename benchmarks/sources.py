"""Rows a second from Parquet files, archives, PyTorch's datasets: ``python -m benchmarks.sources``.

Each reads all rows once per turn, in batches of 64, shuffled, in one process and one thread of the
program's; they take turns, and the median is printed. What reads with workers isn't compared.
"""

from __future__ import annotations

import argparse
import io
import pathlib
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils import data as torch_data

import lamella.dataset as ds

WIDTH, BATCH = 64, 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for title, readers in contests(pathlib.Path(folder), args.rows).items():
            print(title)
            for name, seconds in timed(readers, args.rounds).items():
                print(f"  {name:38} {args.rows / seconds:12,.0f} rows/s")


def timed(readers: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median time of each reader, which take turns; the first turn doesn't count."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(rounds + 1):
        for name, reader in readers.items():
            begun = time.perf_counter()
            total = sum(float(batch[-1].sum()) for batch in reader())
            assert total == readers_total[0], (name, total)
            if turn:
                times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(found) for name, found in times.items()}


readers_total = [0.0]


def contests(folder: pathlib.Path, rows: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """The readers of each kind of data, each giving batches of (x, label)."""
    random = np.random.default_rng(0)
    x, label = random.normal(size=(rows, WIDTH)).astype(np.float32), np.arange(rows) % 10
    readers_total[0] = float(label.sum())
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), WIDTH),
                      "label": label})
    path = str(folder / "rows.parquet")
    pq.write_table(table, path, row_group_size=5_000)
    archives = [write_archive(folder / f"{k}.tar", x[k::4], label[k::4], k) for k in range(4)]
    tensors = torch_data.TensorDataset(torch.from_numpy(x), torch.from_numpy(label))

    def loader(source: Any, shuffle: bool | None = True) -> Any:
        return torch_data.DataLoader(source, BATCH, shuffle=shuffle)

    found = {
        f"Parquet, {rows:,} rows of {WIDTH} numbers": {
            "Lamella ParquetDataset": lambda: ds.ParquetDataset(path).batch(BATCH),
            **hugging_face(path, folder, loader)},
        "Archives (WebDataset), two members a row": {
            "Lamella WebDataset": lambda: ds.WebDataset(
                archives, ["npy", "cls"], shuffle=True).batch(BATCH),
            "PyTorch DataLoader, tarfile (in order)": lambda: loader(Archives(archives), None)},
        "A PyTorch Dataset in memory": {
            "Lamella GeneratorDataset": lambda: ds.GeneratorDataset(
                tensors, ["x", "label"]).batch(BATCH),
            "PyTorch DataLoader": lambda: loader(tensors)}}
    return found


def hugging_face(path: str, folder: pathlib.Path, loader: Any) -> dict[str, Callable[[], Any]]:
    """Readers of Hugging Face's package, where it is installed."""
    try:
        import datasets
    except ImportError:
        return {}
    source: Any = datasets.Dataset.from_parquet(path, cache_dir=str(folder / "cache"))
    formatted = source.with_format("torch")
    return {
        "Lamella HuggingFaceDataset": lambda: ds.HuggingFaceDataset(source).batch(BATCH),
        "Hugging Face, PyTorch DataLoader": lambda: ((b["x"], b["label"]) for b in loader(
            formatted)),
        "Hugging Face, shuffled, iter(64)": lambda: (
            (b["x"], b["label"]) for b in formatted.shuffle().iter(BATCH))}


class Archives(torch_data.IterableDataset):
    """The rows of archives, in order."""

    def __init__(self, paths: list[str]):
        self.paths = paths

    def __iter__(self) -> Iterator[Any]:
        for path in self.paths:
            with tarfile.open(path) as archive:
                row: dict[str, bytes] = {}
                for member in archive:
                    row[member.name.partition(".")[2]] = archive.extractfile(member).read()  # type: ignore[union-attr]
                    if len(row) == 2:
                        yield np.load(io.BytesIO(row["npy"])), int(row["cls"])
                        row = {}


def write_archive(path: pathlib.Path, x: np.ndarray, label: np.ndarray, part: int) -> str:
    """An archive of rows."""
    with tarfile.open(path, "w") as archive:
        for i, (row, number) in enumerate(zip(x, label, strict=True)):
            data = io.BytesIO()
            np.save(data, row)
            for extension, value in (("npy", data.getvalue()), ("cls", str(number).encode())):
                info = tarfile.TarInfo(f"{part}-{i:06d}.{extension}")
                info.size = len(value)
                archive.addfile(info, io.BytesIO(value))
    return str(path)


if __name__ == "__main__":
    main()
