"""Arrow, Parquet, WebDataset archives, Hugging Face's and PyTorch's datasets, from real files."""

from __future__ import annotations

import gc
import io
import pickle
import tarfile
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import lamella.dataset as ds
from lamella.dataset.sources import arrow_columns, piecewise


def numbers(data, column=0):
    return [row[column].tolist() for row in
            data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def table(rows=30):
    values = np.arange(rows)
    return pa.table({
        "i": values, "f": values / 4, "b": values % 3 == 0,
        "s": [f"row {i}" * (i % 3) for i in values],
        "v": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(rows * 2.0)), 2),
        "d": pa.array([f"k{i % 2}" for i in values]).dictionary_encode(),
        "t": pa.array(values * 10, pa.timestamp("ms")),
        "r": [list(range(i % 4)) for i in values],
        "y": [bytes([i, 0]) for i in values],
        "m": [{"a": int(i)} for i in values]})


@pytest.fixture
def parquet(tmp_path):
    path = str(tmp_path / "rows.parquet")
    pq.write_table(table(), path, row_group_size=7)
    return path


def same(row, i):
    assert row["i"] == i and row["f"] == i / 4 and row["b"] == (i % 3 == 0)
    assert str(row["s"]) == f"row {i}" * (i % 3) and str(row["d"]) == f"k{i % 2}"
    assert row["v"].tolist() == [2 * i, 2 * i + 1] and row["t"] == 10 * i
    assert row["r"].tolist() == list(range(i % 4)) and row["y"].tolist() == [i, 0]
    assert row["m"] == {"a": i}


@pytest.mark.parametrize("kind", ["table", "batch", "file", "stream", "parquet"])
def test_every_kind_of_column(kind, tmp_path, parquet):
    whole, path = table(), str(tmp_path / "rows.arrow")
    if kind in ("file", "stream"):
        writer = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with pa.OSFile(path, "wb") as file, writer(file, whole.schema) as out:
            out.write_table(whole, max_chunksize=8)
    data = ds.ParquetDataset(parquet, shuffle=False) if kind == "parquet" else ds.ArrowDataset(
        {"table": whole, "batch": whole.combine_chunks().to_batches()[0]}.get(kind, path),
        shuffle=False)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(rows) == data.get_dataset_size() == 30
    for i, row in enumerate(rows):
        same(row, i)


def test_batches_are_gathered_over_pieces_as_rows_are_read(parquet):
    columns = ["i", "s", "v", "d"]
    data = ds.ParquetDataset(parquet, columns, shuffle=False)
    by_rows = ds.ParquetDataset(parquet, [*columns, "r"], shuffle=False).project(columns)
    assert data._table().stacks and not by_rows.children[0]._table().stacks
    for one, other in zip(data.batch(10).create_tuple_iterator(output_numpy=True),
                          by_rows.batch(10).create_tuple_iterator(output_numpy=True), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_numbers_of_a_table_are_not_copied():
    values = np.arange(1000.0)
    data = ds.ArrowDataset(pa.table({"x": pa.array(values)}), shuffle=False)
    column = data._table()._columns(0)[0].array
    assert np.shares_memory(column, values) and not column.flags.writeable
    (row,) = next(iter(data.batch(4)))
    row.add_(1)  # what it gives belongs to the program
    assert values[0] == 0


def test_an_epoch_reads_each_row_group_once(tmp_path, monkeypatch):
    path = str(tmp_path / "many.parquet")
    pq.write_table(pa.table({"x": np.arange(1000)}), path, row_group_size=10)
    monkeypatch.setattr(piecewise, "WINDOW", 50)
    data = ds.ParquetDataset(path)
    read, original = [], data._read
    monkeypatch.setattr(data, "_read", lambda piece: read.append(piece) or original(piece))
    iterator = data.batch(8).create_tuple_iterator(num_epochs=2, output_numpy=True)
    epochs = [np.concatenate([row[0] for row in iterator]).tolist() for _ in range(2)]
    assert sorted(read) == sorted(list(range(100)) * 2)
    assert epochs[0] != epochs[1] and all(sorted(e) == list(range(1000)) for e in epochs)
    assert sum(a + 1 == b for a, b in zip(epochs[0], epochs[0][1:], strict=False)) < 100


@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_are_of_one_length_and_give_every_row(parquet, shuffle):
    parts = [numbers(ds.ParquetDataset(parquet, ["i"], shuffle=shuffle, num_shards=4, shard_id=i))
             for i in range(4)]
    assert [len(part) for part in parts] == [8] * 4
    assert {i for part in parts for i in part} == set(range(30))


def test_samplers_samples_and_operations(parquet):
    def data(**kwargs):
        return ds.ParquetDataset(parquet, ["i"], **kwargs)

    assert numbers(data(sampler=[29, 0, 8])) == [29, 0, 8]
    assert numbers(data(shuffle=False, num_samples=4)) == [0, 1, 2, 3]
    assert len(numbers(data(num_samples=4))) == data(num_samples=4).get_dataset_size() == 4
    assert numbers(data(shuffle=False).skip(7).take(2).repeat(2)) == [7, 8, 7, 8]
    first, rest = data(shuffle=False).split([10, 20], randomize=False)
    assert numbers(first) + numbers(rest) == list(range(30))
    sampled = data(shuffle=False)
    sampled.use_sampler(ds.SubsetSampler([3, 4]))
    assert numbers(sampled) == [3, 4]


@pytest.mark.parametrize("make", [
    lambda path: ds.ParquetDataset(path, ["i"]), lambda path: ds.ArrowDataset(table(), ["i"])])
def test_it_resumes_in_mid_epoch(parquet, make):
    iterator = make(parquet).batch(4).create_tuple_iterator(num_epochs=3, output_numpy=True)
    begun = iter(iterator)
    for _ in range(3):
        next(begun)
    state = iterator.state_dict()
    rest = [row[0].tolist() for row in begun]
    again = make(parquet).batch(4).create_tuple_iterator(num_epochs=3, output_numpy=True)
    again.load_state_dict(state)
    assert [row[0].tolist() for row in again] == rest


def test_addresses_are_opened_by_fsspec(parquet, tmp_path):
    import fsspec

    with open(parquet, "rb") as file, fsspec.open("memory://rows.parquet", "wb") as there:
        there.write(file.read())
    archive(tmp_path / "a.tar", 3)
    with open(tmp_path / "a.tar", "rb") as file, fsspec.open("memory://a.tar", "wb") as there:
        there.write(file.read())
    assert numbers(ds.ParquetDataset("memory://rows.parquet", ["i"], shuffle=False)) == list(
        range(30))
    assert numbers(ds.WebDataset("memory://a.tar", ["cls"], shuffle=False)) == [0, 1, 2]


def test_wrong_columns_files_and_missing_values_are_errors(parquet, tmp_path):
    with pytest.raises(ValueError, match="'columns_list' must name columns among .*'i'.*'nope'"):
        ds.ParquetDataset(parquet, ["nope"])
    with pytest.raises(ValueError, match="did not match any files"):
        ds.ParquetDataset(str(tmp_path / "none*.parquet"))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(RuntimeError, match="broken.parquet can't be read"):
        ds.ParquetDataset(str(broken))
    with pytest.raises(RuntimeError, match="broken.parquet is no Arrow file"):
        ds.ArrowDataset(str(broken))
    other = str(tmp_path / "other.parquet")
    pq.write_table(pa.table({"z": [1]}), other)
    with pytest.raises(RuntimeError, match="but the first file has"):
        ds.ParquetDataset([parquet, other])
    holes = pa.table({"n": [1, None], "f": [1.0, None], "s": ["a", None]})
    for name in ("n", "s"):
        with pytest.raises(RuntimeError, match=f"column '{name}' has values that are missing"):
            list(ds.ArrowDataset(holes, [name]))
    assert np.isnan(numbers(ds.ArrowDataset(holes, ["f"], shuffle=False))[1])


def archive(path, count, start=0, **kinds):
    with tarfile.open(path, "w") as out:
        for i in range(start, start + count):
            image = io.BytesIO()
            np.save(image, np.full((2, 2), i, np.float32))
            members = {"npy": image.getvalue(), "cls": str(i).encode(),
                       "txt": f"text {i}".encode(), "meta.json": b'{"n": %d}' % i,
                       "bin": bytes([i % 256])}
            for extension, data in members.items():
                info = tarfile.TarInfo(f"train/{i:05d}.{extension}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


@pytest.fixture
def archives(tmp_path):
    for k in range(4):
        archive(tmp_path / f"{k}.tar", 5, 5 * k)
    return str(tmp_path / "*.tar")


def test_samples_of_archives(archives):
    data = ds.WebDataset(archives, shuffle=False)
    assert data.get_col_names() == ["bin", "cls", "meta.json", "npy", "txt"]
    for i, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        assert row["bin"].tolist() == [i] and row["cls"] == i and row["meta.json"] == {"n": i}
        assert row["npy"].tolist() == [[i, i]] * 2 and str(row["txt"]) == f"text {i}"
    raw = ds.WebDataset(archives, ["__key__", "cls"], decode=False, shuffle=False)
    key, label = next(iter(raw.create_tuple_iterator(output_numpy=True)))
    assert str(key) == "train/00000" and label.tolist() == [ord("0")]


def test_archives_are_shuffled_sharded_and_read_by_threads_and_processes(archives):
    parts = [numbers(ds.WebDataset(archives, ["cls"], num_shards=2, shard_id=i)) for i in (0, 1)]
    assert sorted(parts[0] + parts[1]) == list(range(20))
    for processes in (False, True):
        data = ds.WebDataset(archives, ["cls"], shuffle=False).map(
            lambda x: x * 2, "cls", num_parallel_workers=2, python_multiprocessing=processes)
        assert numbers(data) == list(range(0, 40, 2))


def test_archives_resume(archives):
    iterator = ds.WebDataset(archives, ["cls"]).create_tuple_iterator(output_numpy=True)
    begun = iter(iterator)
    for _ in range(7):
        next(begun)
    state, rest = iterator.state_dict(), [int(row[0]) for row in begun]
    again = ds.WebDataset(archives, ["cls"]).create_tuple_iterator(output_numpy=True)
    again.load_state_dict(state)
    assert [int(row[0]) for row in again] == rest


def test_wrong_archives_are_errors(archives, tmp_path):
    with pytest.raises(RuntimeError, match="'train/00000' .* has no member 'jpg'; it has"):
        next(iter(ds.WebDataset(archives, ["jpg"], shuffle=False)))
    packed = tmp_path / "packed.tar"
    with tarfile.open(packed, "w:gz") as out:
        out.addfile(tarfile.TarInfo("a.txt"))
    with pytest.raises(RuntimeError, match="packed.tar can't be read as a tar archive"):
        list(ds.WebDataset(str(packed), ["txt"]))
    short = tmp_path / "short.tar"
    short.write_bytes((tmp_path / "0.tar").read_bytes()[:700])
    with pytest.raises(RuntimeError, match="short.tar"):
        list(ds.WebDataset(str(short), ["npy"]))
    bad = tmp_path / "bad.tar"
    with tarfile.open(bad, "w") as out:
        info = tarfile.TarInfo("x.npy")
        info.size = 3
        out.addfile(info, io.BytesIO(b"abc"))
    with pytest.raises(RuntimeError, match="x.npy of .*bad.tar can't be decoded"):
        list(ds.WebDataset(str(bad), ["npy"]))


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets", reason="Hugging Face's package isn't there")
    source = datasets.Dataset.from_dict({"x": list(range(9)), "t": [f"t{i}" for i in range(9)],
                                         "l": [[i] * (i % 3) for i in range(9)]})
    data = ds.HuggingFaceDataset(source, ["x", "t"], shuffle=False)
    assert data._table().stacks
    assert numbers(data.batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    chosen = source.filter(lambda row: row["x"] % 2 == 1).shuffle(seed=3)
    assert numbers(ds.HuggingFaceDataset(chosen, ["x"], shuffle=False)) == list(chosen["x"])
    assert numbers(ds.HuggingFaceDataset(source, ["l", "x"], shuffle=False))[4] == [4]
    tripled = source.with_transform(lambda rows: {"x": [3 * x for x in rows["x"]]})
    assert numbers(ds.HuggingFaceDataset(tripled, ["x"], shuffle=False))[:3] == [0, 3, 6]
    streamed = source.to_iterable_dataset().filter(lambda row: row["x"] > 5)
    assert numbers(ds.HuggingFaceDataset(streamed, ["x"])) == [6, 7, 8]
    assert sorted(numbers(ds.HuggingFaceDataset(source, ["x"], num_parallel_workers=2))) == list(
        range(9))
    with pytest.raises(TypeError, match=r"one Dataset, but got a DatasetDict of \['train'\]"):
        ds.HuggingFaceDataset(datasets.DatasetDict(train=source))
    with pytest.raises(ValueError, match="'columns_list' must name columns among .*'nope'"):
        ds.HuggingFaceDataset(source, ["nope"])
    with pytest.raises(TypeError, match="must be a Dataset or IterableDataset .* but got list"):
        ds.HuggingFaceDataset([1])


def test_datasets_of_pytorch():
    tensors = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    data = ds.GeneratorDataset(tensors, ["x", "y"], shuffle=False)
    assert numbers(data) == [[0, 1], [2, 3], [4, 5]] and numbers(data, 1) == [0, 1, 2]

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([(torch.ones(2), 1), (torch.zeros(2), 0)])

    assert numbers(ds.GeneratorDataset(Stream(), ["x", "y"]), 1) == [1, 0]


def test_sources_travel_to_other_processes(parquet, archives):
    for data in (ds.ParquetDataset(parquet, ["i"], shuffle=False),
                 ds.WebDataset(archives, ["cls"], shuffle=False)):
        before = numbers(data)
        assert numbers(pickle.loads(pickle.dumps(data))) == before


def test_archives_are_closed_with_what_reads_them(parquet, archives):
    """Also where objects refer to each other, of which the collector finalizes any first."""
    for _ in range(3):
        test_sources_travel_to_other_processes(parquet, archives)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gc.collect()
    assert not [warning for warning in said if warning.category is ResourceWarning]


def test_lists_of_one_length_in_each_other():
    values = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    kind = pa.list_(pa.list_(pa.int16(), 4), 3)
    found = arrow_columns.numbers("x", pa.array(values.tolist(), kind))
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, values)
