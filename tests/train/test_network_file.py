"""Files of `export` as `LAMELLA`: what they can hold, and what they can't do."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.train import network_file
from lamella.train.exporting import export, load
from lamella.train.safetensors_format import read_safetensors, write_safetensors


class Many(nn.Cell):
    """Constants, sizes that vary, structures, numbers, texts and types among arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(2), nn.Dropout(p=0.5)
        self.by = Tensor([1.0, 2.0])

    def construct(self, x: Tensor, k: int, y: Tensor, w: Tensor) -> Any:
        n = x.shape[0]
        first = self.drop(self.norm(x)) * k + self.by
        z = ops.gelu(y, approximate="tanh").reshape(n * 2, -1).astype(ms.float64)
        return first, {"a": x.sum(), "b": [ops.stop_gradient(z), 3, None]}, ops.fft2(w)


def exported(path: Path, net: nn.Cell, *inputs: Any) -> Path:
    export(net, *inputs, file_name=str(path), file_format="LAMELLA")
    return path


def numbers(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(numbers(v) for v in value)
    return value


def test_structures_constants_and_sizes(tmp_path: Path) -> None:
    net = Many().set_train(False)
    path = exported(tmp_path / "a.lamella", net, Tensor(shape=[None, 2], dtype=ms.float32), 2,
                    *(Tensor(shape=[None, size], dtype=ms.float32) for size in (4, 3)))
    run = nn.GraphCell(load(str(path)))
    for n in (1, 3, 4):
        draw = np.random.RandomState(n)
        x, y, w = (Tensor(draw.rand(n, size).astype(np.float32)) for size in (2, 4, 3))
        given = x, 2, y, w
        assert numbers(run(*given)) == numbers(net(*given))
    for bad in ((y, 2, y, w), (x, 2, y), (x, 2, (y, w)), (x.astype(ms.float64), 2, y, w), ()):
        with pytest.raises(ValueError, match="shapes and types that the network was exported for"):
            run(*bad)


class Layers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.vectors, self.norm = nn.Embedding(7, 8), nn.LayerNorm((8,))
        self.lstm = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.conv = nn.Conv1d(8, 3, 3)

    def construct(self, words: Tensor) -> Any:
        found = self.attention(self.lstm(self.norm(self.vectors(words)))[0])
        return self.conv(found.swapaxes(1, 2)), ops.topk(found.sum(-1), 2)


def test_larger_layers(tmp_path: Path) -> None:
    net, words = Layers().set_train(False), Tensor([[1, 2, 6], [0, 3, 3]], ms.int32)
    run = nn.GraphCell(load(str(exported(tmp_path / "a.lamella", net, words))))
    for got, want in zip(run(words)[1], net(words)[1], strict=True):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(words)[0].asnumpy(), net(words)[0].asnumpy(), rtol=1e-4,
                               atol=1e-6)


class Complex(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.by = Tensor(np.array([1 + 2j, 3 - 1j], np.complex128))

    def construct(self, x: Tensor) -> Tensor:
        return x * self.by


def test_complex_numbers(tmp_path: Path) -> None:
    run = nn.GraphCell(load(str(exported(tmp_path / "a.lamella", Complex(), ops.ones(2)))))
    assert numbers(run(ops.ones(2))) == [1 + 2j, 3 - 1j]


class Writes:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def test_an_archive_of_pytorchs_is_not_read(tmp_path: Path) -> None:
    program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),))
    path = tmp_path / "a.lamella"
    with open(path, "wb") as file:
        torch.export.save(program, file, extra_files={"lamella_parameters.json": "[]"})
    bad = tmp_path / "b.lamella"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith(".pt"):
                data = pickle.dumps(Writes(tmp_path / "ran"))
            new.writestr(info, data)
    for file in (path, bad):
        with pytest.raises(ValueError, match=f"'{file}' is an archive of PyTorch's"):
            load(str(file))
    assert not (tmp_path / "ran").exists()


def first(about: Any) -> Any:
    """The first operation of the network."""
    return next(line for line in about["graph"] if line[0] != "input")


CHANGES: list[Any] = [
    lambda a: first(a).__setitem__(0, "torch.os.system"),
    lambda a: first(a).__setitem__(0, "os.system"),
    lambda a: first(a).__setitem__(0, "operator.methodcaller"),
    lambda a: first(a).__setitem__(0, "aten.from_file.default"),
    lambda a: first(a).__setitem__(0, "aten.save.default"),
    lambda a: first(a).__setitem__(0, "aten._print.default"),
    lambda a: first(a).__setitem__(0, "aten._reshape_alias.default"),  # reads beyond its memory
    lambda a: first(a).__setitem__(0, "aten._sparse_csr_tensor_unsafe.default"),
    lambda a: first(a).__setitem__(0, "aten.to_sparse_csr.default"),
    lambda a: first(a).__setitem__(0, "aten.segment_reduce.default"),
    lambda a: first(a).__setitem__(0, "aten.set.source_Tensor"),
    lambda a: first(a).__setitem__(0, "aten.__class__.default"),
    lambda a: first(a).__setitem__(0, "prim.PythonOp.default"),
    lambda a: first(a).__setitem__(0, "aten.add"),
    lambda a: first(a).__setitem__(0, ["aten"]),
    lambda a: first(a)[1].__setitem__(0, {"node": 99}),
    lambda a: first(a)[1].__setitem__(0, {"node": -1}),
    lambda a: first(a)[1].__setitem__(0, {"format": "load"}),
    lambda a: first(a)[1].__setitem__(0, {"dtype": "__loader__"}),
    lambda a: first(a)[1].__setitem__(0, {"dtype": "quint8"}),
    lambda a: first(a)[1].__setitem__(0, {"layout": "os"}),
    lambda a: first(a)[1].__setitem__(0, {"layout": "sparse_csr"}),
    lambda a: first(a)[1].__setitem__(0, {"device": 3}),
    lambda a: first(a)[1].__setitem__(0, {"float": "x"}),
    lambda a: first(a)[1].__setitem__(0, {"node": 0, "float": 1}),
    lambda a: a["graph"].pop(),
    lambda a: a.update(graph=[["output", 3]]),
    lambda a: a.update(graph=[]),
    lambda a: a.update(graph=3),
    lambda a: a.update(graph=[["wrap_with_set_grad_enabled", True, [["os.system", [], {}]], []]]),
    lambda a: a.update(graph=[["input"], ["wrap_with_set_grad_enabled", True, [["output", []]],
                                          [{"node": 1}]], ["output", []]]),
    lambda a: a.update(graph=[["input"], ["output", [{"node": 1}]]]),
    lambda a: a["graph"].append(["input"]),
    lambda a: first(a).__setitem__(2, {"alpha": {"node": 99}}),
    lambda a: first(a).__setitem__(2, {"alpha": {"dtype": "load"}}),
    lambda a: first(a)[1].__setitem__(0, [[{"node": 99}]]),
    lambda a: first(a)[1].__setitem__(0, {"node": True}),
    lambda a: first(a)[1].__setitem__(0, {"node": 0.0}),
    lambda a: first(a)[1].__setitem__(0, {"other": "float32"}),
    lambda a: first(a)[1].__setitem__(0, {"format": "float32"}),
    lambda a: first(a)[1].__setitem__(0, {"layout": "float32"}),
    lambda a: first(a)[1].__setitem__(0, {"format": 3}),
    lambda a: first(a)[1].__setitem__(0, {"complex": ["0x1p+0"] * 3}),
    lambda a: a.update(inputs=[*a["inputs"], {"given": 9}]),
    lambda a: a.update(inputs=[{"other": 0}, *a["inputs"][1:]]),
    lambda a: a["outputs"].append("p9"),
    lambda a: a["forms"].append(None),
    lambda a: a.update(given={"tuple": [0, 7]}),
    lambda a: a["forms"][0].update(type="quint8"),
    lambda a: a["forms"][0].update(type=None),
    lambda a: a.update(version=2), lambda a: a.update(version=0),
    lambda a: a.update(parameters=[{"name": "w", "requires_grad": True}] * 50),
    lambda a: a.update(parameters=3),
    lambda a: a.update(inputs=[{"tensor": "q"}]),
    lambda a: a.update(outputs=["q"]),
    lambda a: a.update(result={"tuple": [99]}),
    lambda a: a.update(result={"os": [0]}),
    lambda a: a.update(forms=[]),
    lambda a: a.update(forms=[{"type": "os", "sizes": []}]),
    lambda a: a["forms"][0].update(sizes=[2.5]),
    lambda a: a["forms"][0].update(sizes=[True]),
    lambda a: a["forms"][0]["sizes"].__setitem__(0, {"node": 0}),
    lambda a: a.update(complex=["p0", "x"]),
    lambda a: a.clear(),
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_changed_networks_are_broken(change: Any, tmp_path: Path) -> None:
    path = exported(tmp_path / "a.lamella", nn.Dense(2, 1), ops.ones((1, 2)))
    values = read_safetensors(str(path))
    about = json.loads(str(values["network"]))
    change(about)
    write_safetensors(str(path), {**values, "network": json.dumps(about)})
    with pytest.raises(ValueError, match=f"'{path}' is broken"):
        load(str(path))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"version": 1}', "null"])
def test_other_texts_are_broken(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.lamella"
    write_safetensors(str(path), {"p0": torch.ones(1), "network": text})
    with pytest.raises(ValueError, match="is broken"):
        load(str(path))


def test_checkpoints_are_no_networks(tmp_path: Path) -> None:
    path = tmp_path / "a.lamella"
    write_safetensors(str(path), {"p0": torch.ones(1)})
    with pytest.raises(ValueError, match="holds tensors, but no network"):
        load(str(path))


STRUCTURES: list[tuple[Any, Any]] = [
    (0, 0), (None, None), ((0, 1), {"tuple": [0, 1]}), ([1, (0,)], {"list": [1, {"tuple": [0]}]}),
    ({"a": 1, 3: [0, None]}, {"dict": [["a", 1], [3, {"list": [0, None]}]]}), ((), {"tuple": []})]


@pytest.mark.parametrize(("value", "written"), STRUCTURES)
def test_structures_are_written_and_filled(value: Any, written: Any) -> None:
    assert network_file._structure(value) == written
    built = network_file._built(written, ["first", "second"])
    assert type(built) is (type(value) if value != 0 else str)
    flat = ["", ""]
    network_file._flatten(written, built, flat)
    count = str(written).count("0") + str(written).count("1")
    assert flat == ["first", "second"][:count] + [""] * (2 - count)


@pytest.mark.parametrize(("value", "words"), [
    ({1.5: 0}, "neither texts nor ints"), ({"a": 0, (1,): 1}, "neither texts nor ints"),
    ({True: 0}, "neither texts nor ints"), (True, "a structure of bool"),
    ([0, "x"], "a structure of str"), (torch.Size([1]), "a structure of Size")])
def test_structures_that_have_no_form(value: Any, words: str) -> None:
    with pytest.raises(network_file.Unwritable, match=words):
        network_file._structure(value)


@pytest.mark.parametrize(("written", "value", "words"), [
    ({"tuple": [0, 1]}, ["a"], "more or fewer"), ({"tuple": [0]}, ("a", "b"), "more or fewer"),
    ({"list": [0]}, "a", "more or fewer"), ({"dict": [["a", 0]]}, ["a"], "other keys"),
    ({"dict": [["a", 0], ["b", 1]]}, {"b": 1, "a": 0}, "other keys"),
    ({"dict": [["a", 0]]}, {"a": 0, "b": 1}, "other keys")])
def test_inputs_of_another_structure(written: Any, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        network_file._flatten(written, value, ["", ""])


ARGUMENTS: list[tuple[Any, Any]] = [
    (None, None), (True, True), (0, 0), (-3, -3), ("mean", "mean"), (0.1, {"float": (0.1).hex()}),
    (float("inf"), {"float": "inf"}), (-1.5 + 2j, {"complex": ["-0x1.8000000000000p+0",
                                                               "0x1.0000000000000p+1"]}),
    (torch.device("cpu"), {"device": "cpu"}), (torch.float16, {"dtype": "float16"}),
    (torch.bool, {"dtype": "bool"}), (torch.strided, {"layout": "strided"}),
    (torch.channels_last, {"format": "channels_last"}),
    (torch.contiguous_format, {"format": "contiguous_format"}),
    ([1, [2.0, None], []], [1, [{"float": "0x1.0000000000000p+1"}, None], []])]


@pytest.mark.parametrize(("value", "written"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_arguments_of_operations_are_written_and_read(value: Any, written: Any) -> None:
    assert network_file._written(value, {}) == written
    found = network_file._read(json.loads(json.dumps(written)), [])
    assert found == value and type(found) is type(value)
    network_file._check_arguments(written, 0)
    assert network_file._written((value, value), {}) == [written, written]


def test_arguments_that_come_from_operations() -> None:
    graph = torch.fx.Graph()
    first, second = graph.placeholder("x"), graph.placeholder("y")
    written = network_file._written([second, (first, 2)], {first: 0, second: 1})
    assert written == [{"node": 1}, [{"node": 0}, 2]]
    assert network_file._read(written, ["a", "b"]) == ["b", ["a", 2]]
    network_file._check_arguments(written, 2)
    with pytest.raises(ValueError, match="its operation 1 takes what isn't computed yet"):
        network_file._check_arguments(written, 1)


@pytest.mark.parametrize("value", [{}, b"a", np.float32(1), {1}, slice(1), object])
def test_arguments_that_have_no_form(value: Any) -> None:
    with pytest.raises(network_file.Unwritable, match="an argument of type"):
        network_file._written([value], {})


@pytest.mark.parametrize("name", [
    "aten.add.Tensor", "aten.relu.default", "aten._to_copy.default", "aten.__and__.Tensor",
    "aten.index.Tensor", "aten.sum.dim_IntList", "operator.add", "operator.getitem", "math.ceil",
    "torch.sym_max", "aten.index_put_.default", "aten._softmax.default"])
def test_operations_of_networks(name: str) -> None:
    found = network_file._function(name)
    assert callable(found) and network_file._name(found) == name


@pytest.mark.parametrize("name", [
    "operator.setitem", "operator.attrgetter", "math.sqrt", "math.factorial", "torch.sym_sum",
    "torch.add", "aten.add.Other", "aten.add.", "aten.relu", "aten", "", "aten..default",
    "prims.add.default", "Aten.relu.default", "aten.set_.source_Tensor", "aten.set_data.default",
    "aten.record_stream.default", "aten.from_file.default", "aten._index_put_impl_.default",
    "aten._cdist_backward.default", "aten.to_sparse.default", "aten.coalesce.default",
    "aten.to_sparse_bsr.default", "aten.ccol_indices_copy.default",
    "aten._coalesced_.default", None, 3, True])
def test_operations_that_no_network_has(name: Any) -> None:
    with pytest.raises(ValueError, match="which is no operation of a network"):
        network_file._function(name)


@pytest.mark.parametrize("target", [print, torch.nn.functional.relu, len])
def test_functions_that_have_no_name_in_files(target: Any) -> None:
    with pytest.raises(network_file.Unwritable, match="the operation"):
        network_file._name(target)


FORM = {"type": "float32", "sizes": ["n", 3, None]}


@pytest.mark.parametrize(("shapes", "fits"), [
    ([(2, 3, 4), (2, 3, 9)], True), ([(0, 3, 0), (0, 3, 1)], True),
    ([(2, 3, 4), (1, 3, 4)], False), ([(2, 2, 4), (2, 3, 4)], False),
    ([(2, 3, 4), (2, 4, 4)], False), ([(2, 3), (2, 3, 4)], False),
    ([(2, 3, 4), (2, 3, 4, 1)], False), ([(2, 3, 4)], False)])
def test_sizes_of_inputs(shapes: Any, fits: bool) -> None:
    """One name stands for one size, a number for itself, None for any."""
    program = network_file._Program.__new__(network_file._Program)
    program.forms = [FORM, None, FORM]
    tensors = [torch.ones(shape) for shape in shapes]
    flat = [tensors[0], "anything", *tensors[1:]]
    if fits:
        program._check(flat)
        for wrong in ([3, 3, tensors[1]], [tensors[0].double(), 3, tensors[1]]):
            with pytest.raises(ValueError, match="another type or number of dimensions"):
                program._check(wrong)
    else:
        with pytest.raises(ValueError, match="another|longer|shorter"):
            program._check(flat)


@pytest.mark.parametrize(("value", "form"), [
    (torch.ones(2, 3), {"type": "float32", "sizes": [2, 3]}), (3, None), (None, None), ("x", None),
    (torch.ones((), dtype=torch.bfloat16), {"type": "bfloat16", "sizes": []})])
def test_what_an_input_has_to_be(value: Any, form: Any) -> None:
    assert network_file._form(value) == form


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_a_part_with_gradients_or_without(enabled: bool, outside: bool) -> None:
    """Within a graph that records none, none are recorded."""
    inner = [["input"], ["aten.mul.Tensor", [{"node": 0}, {"float": (3.0).hex()}], {}],
             ["output", [{"node": 1}, {"node": 0}]]]
    steps = network_file._steps([
        ["input"], ["wrap_with_set_grad_enabled", enabled, inner, [{"node": 0}]],
        ["operator.getitem", [{"node": 1}, 0], {}],
        ["aten.add.Tensor", [{"node": 2}, {"node": 0}], {"alpha": 2}], ["output", [{"node": 3},
                                                                                   {"node": 2}]]])
    x = torch.ones(2, requires_grad=True)
    with torch.set_grad_enabled(outside):
        total, product = network_file._run(steps, [x])
    assert total.tolist() == [5.0, 5.0] and product.tolist() == [3.0, 3.0]
    assert product.requires_grad is (enabled and outside) and total.requires_grad is outside


class Counting(nn.Cell):
    """Counts its calls, and stops the gradient of a part."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = ms.Parameter(Tensor(0.0), name="calls", requires_grad=False)
        self.w = ms.Parameter(Tensor([2.0, 3.0]), name="w")

    def construct(self, x: Tensor, **more: Tensor) -> Tensor:
        self.calls += 1
        return x * self.w + self.calls


def test_what_a_network_assigns_stays_in_the_one_that_was_read(tmp_path: Path) -> None:
    net = Counting()
    path = str(exported(tmp_path / "a.lamella", net, Tensor([1.0, 1.0])))
    assert float(net.calls) == 0
    first, second = (nn.GraphCell(load(path)) for _ in range(2))
    assert [numbers(first(Tensor([1.0, 0.0]))) for _ in range(3)] == [[3, 1], [4, 2], [5, 3]]
    assert {p.name: float(p.sum()) for p in first.get_parameters()} == {"calls": 3.0, "w": 5.0}
    assert numbers(second(Tensor([1.0, 0.0]))) == [3, 1]
    assert [p.name for p in first.trainable_params()] == ["w"]
