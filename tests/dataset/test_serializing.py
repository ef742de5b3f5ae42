"""Pipelines as JSON: made again, MindSpore's too; files that try to run code."""

from __future__ import annotations

import inspect
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import audio, makeable, text, transforms, vision
from lamella.dataset.transforms.operation import TensorOperation

NAMES: dict[str, Any] = {"ms": ms, "ds": ds, "np": np, "T": transforms, "V": vision, "X": text}
# MindSpore 2.10's `ds.serialize` of each expression
RECORDED = json.loads(Path(__file__).with_name("mindspore_pipelines.json").read_text())


def chained() -> ds.BuiltinSampler:
    sampler = ds.SequentialSampler(0, 3)
    sampler.add_child(ds.DistributedSampler(2, 0, False))
    return sampler


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = np.random.RandomState(0)
    (tmp_path / "mn").mkdir()
    Path("mn/train-images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 2051, 6, 28, 28) + draw.bytes(6 * 784))
    Path("mn/train-labels-idx1-ubyte").write_bytes(
        struct.pack(">II", 2049, 6) + bytes([3, 3, 1, 1, 5, 5]))
    (tmp_path / "cif").mkdir()
    Path("cif/test_batch.bin").write_bytes(draw.bytes(3073 * 3))
    Path("t.txt").write_text("a b\nc d\ne\n")
    Path("t.csv").write_text("1,2\n3,4\n")
    Path("s.json").write_text(json.dumps({"columns": {"a": {
        "type": "int64", "rank": 1, "shape": [3]}}}))
    Path("y.tfrecord").write_bytes(bytes.fromhex(  # one example: a = [1, 2, 3]
        "100000000000000095fbfe180a0e0a0c0a016112071a050a030102038db9ec0a"))


def made_by(expression: str) -> ds.Dataset:
    schema = ds.Schema()
    schema.add_column("a", ms.int64, [3])
    return eval(expression, {**NAMES, "sch": schema, "chained": chained})


def rows(data: ds.Dataset) -> list[Any]:
    ds.config.set_seed(11)
    np.random.seed(3)
    ms.set_seed(3)
    return [[value.tolist() for value in row]
            for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@pytest.fixture(autouse=True)
def one_worker() -> Any:
    before = ds.config.get_num_parallel_workers(), ds.config.get_seed()
    ds.config.set_num_parallel_workers(2)
    ds.config.set_seed(5489)
    yield
    ds.config.set_num_parallel_workers(before[0])
    ds.config.set_seed(before[1])


@pytest.mark.parametrize("expression", RECORDED, ids=range(len(RECORDED)))
def test_pipelines_that_mindspore_wrote_are_made_again(expression: str) -> None:
    wanted = rows(made_by(expression))
    assert rows(ds.deserialize(RECORDED[expression])) == wanted and wanted


@pytest.mark.parametrize("expression", [
    *RECORDED, 'ds.TextFileDataset("t.txt", shuffle=False)',
    'ds.TFRecordDataset("y.tfrecord", sch)',
    'ds.MnistDataset("mn", shuffle=False).map([V.Resize(9), V.ToPIL(), V.AdjustBrightness(2.0), '
    'V.ToTensor(np.float32), V.Normalize([0.5], [np.float64(0.2)], False)], "image")',
    'ds.MnistDataset("mn", shuffle=False).map([V.Rescale(np.float64(0.5), 0.0)], "image")',
    'ds.TextFileDataset("t.txt").map([X.WhitespaceTokenizer(), X.Lookup(X.Vocab.from_list('
    '["a", "b", "c", "d", "e"]))], "text")',
    'ds.MnistDataset("mn").padded_batch(2, pad_info={"image": ([28, 30, 1], 0)})',
    'ds.MnistDataset("mn").bucket_batch_by_length(["image"], [2, 40], [1, 1, 1])'])
def test_own_pipelines_are_made_again(expression: str, tmp_path: Path) -> None:
    data = made_by(expression)
    written = ds.serialize(data, "pipeline.json")
    again = ds.deserialize(json_filepath="pipeline.json")
    assert rows(again) == rows(data)
    assert ds.serialize(again) == written == json.loads(Path("pipeline.json").read_text())
    assert ds.compare(again, data)


def test_a_distributed_order_is_that_of_the_other_parts() -> None:
    ds.config.set_seed(77)
    written = ds.serialize(ds.MnistDataset("mn", num_shards=2, shard_id=1))
    ds.config.set_seed(78)
    again: Any = ds.deserialize(written)
    assert again.sampler.seed == 77


def test_a_sampler_that_was_set_later_is_written() -> None:
    data = ds.MnistDataset("mn", num_samples=4, shuffle=False)
    data.use_sampler(ds.SubsetSampler([5, 2]))
    assert rows(ds.deserialize(ds.serialize(data))) == rows(data)


def test_functions_and_data_in_memory_are_named() -> None:
    for data in (ds.NumpySlicesDataset([1]), ds.GeneratorDataset([1], "x"),
                 ds.MnistDataset("mn").map(lambda x: x, "image")):
        with pytest.raises(ValueError, match="can't be made again"):
            ds.deserialize(ds.serialize(data))


def with_argument(value: Any) -> dict[str, Any]:
    written = ds.serialize(ds.MnistDataset("mn").map([vision.Resize(3)], "image"))
    written["arguments"]["operations"][0]["arguments"]["size"] = value
    return written


@pytest.mark.parametrize("array", [np.array(["a", "bcd"]), np.int16([1, -2]), np.float64([1.5]),
                                   np.array([True, False]), np.uint8([3])],
                         ids=lambda array: str(array.dtype))
def test_arrays_keep_their_type(array: np.ndarray) -> None:
    data = ds.MnistDataset("mn").map(transforms.Concatenate(0, array), "image")
    written = json.dumps(ds.serialize(data))
    for text_of in (written, written.replace("<U3", "<U1")):  # as wide as its words
        found = ds.deserialize(json.loads(text_of)).operations[0].prepend
        assert found.dtype == array.dtype and found.tolist() == array.tolist()


CODE = "x=open('ran', 'w')"
ATTACKS: list[Any] = [
    {"operation": ["graph.tracing.symbolic", "_function"],
     "arguments": {"parameters": CODE, "expression": "1", "name": "f"}},
    {"operation": ["dataset.../graph.tracing.symbolic", "_function"], "arguments": {}},
    {"operation": ["machine.background", "run"], "arguments": {}},
    {"operation": ["transforms", "Plugin"], "arguments": {"lib_path": "a.so", "func_name": "f"}},
    {"operation": ["text", "PythonTokenizer"], "arguments": {"tokenizer": "eval"}},
    {"operation": ["vision", "write_file"], "arguments": {"filename": "ran", "data": [1]}},
    {"operation": ["vision", "__dict__"], "arguments": {}},
    {"operation": ["vision", ["Resize"]], "arguments": {}},
    {"operation": ["os", "system"], "arguments": {"command": "touch ran"}},
    {"enum": ["graph.surface.config", "os", "system"]},
    {"enum": ["vision", "Inter", "__class__"]},
    {"enum": ["vision", "Inter", "mro"]},
    {"sampler": "deserialize", "arguments": {"json_filepath": "x"}},
    {"sampler": "IterSampler", "arguments": {"sampler": [1]}},
    {"type": "__loader__"}, {"numpy": "load"}, {"numpy": "object"}, {"python": "os.system"},
    {"array": ["x"], "dtype": "|O"}, {"array": [[1], [1, 2]], "dtype": "<i4"},
    {"array": ["a"], "dtype": "V9"}, {"tuple": 3}, {"dict": [1]}, {"schema": {}}, {},
    {"something": 1}, {"vocabulary": [1]}, [[["x"]]],
]


@pytest.mark.parametrize("value", ATTACKS, ids=range(len(ATTACKS)))
def test_nothing_else_is_made_from_a_file(value: Any, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        ds.deserialize(with_argument(value))
    assert "'" in str(caught.value)
    assert not Path("ran").exists()


@pytest.mark.parametrize("kind", ["deserialize", "__loader__", "GeneratorDataset", "OBSMindDataset",
                                  "config", "Filter", "importlib", 3, None, "DatasetCache",
                                  "SourceDataset", "NumpySlicesDataset"])
def test_kinds_are_those_of_the_table(kind: Any) -> None:
    for children in ([], [ds.serialize(ds.MnistDataset("mn"))]):
        with pytest.raises(ValueError, match="deserialize"):
            ds.deserialize({"op_type": kind, "arguments": {}, "children": children})
        with pytest.raises(ValueError, match="deserialize"):
            ds.deserialize({"op_type": kind, "children": children})


@pytest.mark.parametrize("operation", [
    {"tensor_op_name": "system", "python_module": "os", "tensor_op_params": {"command": "x"}},
    {"tensor_op_name": "<lambda>", "python_module": "mindspore.dataset.transforms."
     "py_transforms_util"},
    {"tensor_op_name": "__class__", "tensor_op_params": None},
    {"tensor_op_name": "NormalizeUTF8", "tensor_op_params": None},
    {"tensor_op_name": "Resize", "tensor_op_params": {"size": [1], "interpolation": 77}},
    {"tensor_op_name": "Resize", "tensor_op_params": {"size": [1], "more": 77}},
    {"tensor_op_name": "TypeCast", "tensor_op_params": {"data_type": "object"}},
    {"tensor_op_name": ["Resize"]}, {}, 3])
def test_mindspores_form_makes_no_more(operation: Any) -> None:
    written = json.loads(json.dumps(RECORDED[next(e for e in RECORDED if "Rescale" in e)]))
    node = written
    while node["op_type"] != "Map":
        node = node["children"][0]
    node["operations"] = [operation]
    with pytest.raises((ValueError, TypeError)):
        ds.deserialize(written)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"[" * 100_000,
                                     b'{"op_type":1}', b'{"op_type":"Batch","children":' * 20_000])
def test_files_that_are_no_pipelines(content: bytes) -> None:
    Path("bad.json").write_bytes(content)
    with pytest.raises(ValueError, match="deserialize"):
        ds.deserialize(json_filepath="bad.json")


def test_deep_pipelines() -> None:
    written = ds.serialize(ds.MnistDataset("mn"))
    for _ in range(100_000):
        written = {"op_type": "Repeat", "arguments": {}, "children": [written]}
    with pytest.raises(ValueError, match="deeply"):
        ds.deserialize(written)


def test_the_tables_name_what_there_is() -> None:
    """A class that is new stands in a table, or here because it must not be made from a file."""
    left_out = {"Plugin", "PythonTokenizer", "PyTensorOperation", "CompoundOperation",
                "TensorOperation"}
    for room, module in (("transforms", transforms), ("vision", vision), ("text", text),
                         ("audio", audio)):
        there = {name for name, kind in vars(module).items() if inspect.isclass(kind)
                 and issubclass(kind, TensorOperation) and not name.startswith("_")}
        assert there - left_out == makeable.OPERATIONS[room]
    sources = {name for name in dir(ds) if inspect.isclass(getattr(ds, name))
               and issubclass(getattr(ds, name), ds.SourceDataset)}
    assert sources - {"GeneratorDataset", "MappableDataset", "NumpySlicesDataset", "PaddedDataset",
                      "OBSMindDataset", "SourceDataset", "HuggingFaceDataset", "ArrowDataset",
                      "ParquetDataset", "WebDataset"} == makeable.SOURCES  # fsspec opens anything
    for name in makeable.SAMPLERS:
        assert issubclass(makeable.public(name), ds.BuiltinSampler)
