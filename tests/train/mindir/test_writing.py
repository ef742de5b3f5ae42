"""MindIR files that are written here, and what MindSpore 2.10 gave for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.train.mindir import writing
from lamella.train.mindir.messages import MODEL
from lamella.train.mindir.values import Weights, value
from lamella.train.wire_format import parse

from .networks import EXAMPLES, MLP, LeNet

WRITTEN = Path(__file__).parent / "written"


def flat(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [each for part in found for each in flat(part)]
    return [found.asnumpy()]


def check(found: Any, wanted: list[Any]) -> None:
    found = flat(found)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Gives the file of an example by its name; it is written when it is asked for first."""
    folder = tmp_path_factory.mktemp("written")

    def path(name):
        file = folder / f"{name}.mindir"
        if not file.exists():
            example = EXAMPLES[name]
            ms.export(example.network(), *example.forms(), file_name=str(file),
                      file_format="MINDIR")
        return str(file)

    return path


@pytest.mark.parametrize("name", EXAMPLES)
def test_mindspore_gave_the_same(name, written):
    """The network, its file written now, and the file that MindSpore ran agree with MindSpore."""
    example = EXAMPLES[name]
    with np.load(WRITTEN / f"{name}.npz") as kept:
        wanted = [kept[key] for key in sorted(kept) if key[0] == "y"]
        for given, there in zip(example.inputs, [kept[key] for key in sorted(kept)
                                                 if key[0] == "x"], strict=True):
            np.testing.assert_array_equal(given, there)
    inputs = [Tensor(each) for each in example.inputs]
    check(nn.GraphCell(ms.load(written(name)))(*inputs), wanted)
    check(nn.GraphCell(ms.load(str(WRITTEN / f"{name}.mindir")))(*inputs), wanted)
    check(example.network()(*inputs), wanted)


@pytest.mark.parametrize("name", ["lenet", "resnet_open", "reader_open"])
def test_sizes_that_vary(name, written):
    example = EXAMPLES[name]
    net, run = example.network(), nn.GraphCell(ms.load(written(name)))
    for count in (1, 5):
        x = Tensor(np.repeat(example.inputs[0][:1], count, 0) + 0.1)
        check(run(x), flat(net(x)))


def test_words_of_any_number(written):
    example = EXAMPLES["bert_open"]
    net, run = example.network(), nn.GraphCell(ms.load(written("bert_open")))
    words, mask = (Tensor(each[:1, :3]) for each in example.inputs)
    check(run(words, mask), flat(net(words, mask)))


class Places(nn.Cell):
    """Reads places of a dimension of any length, from either end."""

    def construct(self, x):
        """The last, the one before it, the first, and parts at the ends."""
        return x[:, -1], x[..., -2, 1:], x[:, 0] + x[:, 1], x[:, -2:], x[:, 1:-1], x[-1, :, -1]


def test_places_of_a_dimension_of_any_length(tmp_path):
    path = str(tmp_path / "places.mindir")
    ms.export(Places(), Tensor(shape=[None, None, 3], dtype=ms.float32), file_name=path,
              file_format="MINDIR")
    run = nn.GraphCell(ms.load(path))
    for rows, length in ((1, 2), (4, 5)):
        x = Tensor(np.arange(rows * length * 3, dtype=np.float32).reshape(rows, length, 3))
        check(run(x), flat(Places()(x)))


def test_parameters_change_in_each_call(written):
    example = EXAMPLES["counter"]
    x, net = Tensor(example.inputs[0]), example.network()
    run = nn.GraphCell(ms.load(written("counter")))
    for _ in range(3):
        check(run(x), flat(net(x)))
    for name, parameter in net.parameters_dict().items():
        check(run.parameters_dict()[name], flat(parameter))


def test_large_weights_lie_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "APART", 1000)
    net, x = EXAMPLES["lenet"].network(), Tensor(EXAMPLES["lenet"].inputs[0])
    ms.export(net, x, file_name=str(tmp_path / "net"), file_format="MINDIR")
    assert sorted(os.listdir(tmp_path)) == ["net_graph.mindir", "net_variables"]
    assert sorted(os.listdir(tmp_path / "net_variables")) == ["data_0", "data_1", "data_2"]
    check(nn.GraphCell(ms.load(str(tmp_path / "net_graph.mindir")))(x), flat(net(x)))


class Spectrum(nn.Cell):
    """Has an operation that MindIR has no form of."""

    def construct(self, x):
        """The spectrum's size."""
        y = x + 1
        return ops.abs(ops.rfft(y))


def test_what_has_no_form_is_named_with_its_line(tmp_path):
    line = Spectrum.construct.__code__.co_firstlineno + 3
    with pytest.raises(RuntimeError, match=rf"'_fft_r2c' \(.*test_writing.py:{line}\)"):
        ms.export(Spectrum(), ops.ones(8), file_name=str(tmp_path / "a"), file_format="MINDIR")
    assert os.listdir(tmp_path) == []


class Random(nn.Cell):
    """Draws numbers."""

    def construct(self, x):
        """The input with noise."""
        return x + ops.standard_normal(x.shape)


def test_random_numbers_have_no_form(tmp_path):
    with pytest.raises(RuntimeError, match=r"MindIR has no form of the operator"):
        ms.export(Random(), ops.ones(8), file_name=str(tmp_path / "a"), file_format="MINDIR")


class Named(nn.Cell):
    """Gives a dict."""

    def construct(self, x):
        """The input by a name."""
        return {"x": x + 1}


def test_a_dict_as_a_result_has_no_place(tmp_path):
    with pytest.raises(RuntimeError, match="no place for a dict"):
        ms.export(Named(), ops.ones(8), file_name=str(tmp_path / "a"), file_format="MINDIR")


def test_an_old_file_stays_where_writing_fails(tmp_path):
    path = tmp_path / "a.mindir"
    ms.export(MLP(), ops.ones((1, 4)), file_name=str(path), file_format="MINDIR")
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="no form"):
        ms.export(Random(), ops.ones(8), file_name=str(path), file_format="MINDIR")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.mindir"]


def test_a_file_that_was_read_is_written_again(tmp_path):
    first, second = str(tmp_path / "a.mindir"), str(tmp_path / "b.mindir")
    net, x = LeNet().set_train(False), Tensor(EXAMPLES["lenet"].inputs[0])
    ms.export(net, x, file_name=first, file_format="MINDIR")
    ms.export(nn.GraphCell(ms.load(first)), x, file_name=second, file_format="MINDIR")
    check(nn.GraphCell(ms.load(second))(x), flat(net(x)))


def listed(held: Any) -> Any:
    return list(held) if isinstance(held, tuple) else held


def attributes(path: str) -> dict[str, dict[str, Any]]:
    """Of each kind of Primitive in a file the attributes of the first."""
    with open(path, "rb") as file:
        model: Any = parse(file.read(), MODEL)
    primitives = {f"REF::{each.name}": each for each in model.primitives}
    found: dict[str, dict[str, Any]] = {}
    for node in model.graph.node:
        primitive = primitives.get(node.op_type)
        if primitive is not None:
            found.setdefault(primitive.op_type, {
                each.name: listed(value(each, Weights("."))) for each in primitive.attribute})
    return found


def test_attributes_are_those_that_mindspore_writes(tmp_path):
    """For the network of a file of its own, which is read and written again."""
    recorded = Path(__file__).parent / "recorded"
    theirs = str(recorded / "convolutions.mindir")
    with np.load(recorded / "convolutions.npz") as kept:
        x = Tensor(next(kept[key] for key in sorted(kept) if key[0] == "x"))
    ours = str(tmp_path / "again.mindir")
    ms.export(nn.GraphCell(ms.load(theirs)), x, file_name=ours, file_format="MINDIR")
    wanted, found = attributes(theirs), attributes(ours)
    for kind in ("Conv2D", "MaxPool"):
        its = {name: held for name, held in found[kind].items()
               if name not in ("pad_mode", "offset_x")}  # here 'pad' with zeros means 'valid'
        assert len(its) > 4 and its == {name: wanted[kind][name] for name in its}
