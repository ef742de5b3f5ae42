"""MindIR files that MindSpore 2.10 has written, and what its networks gave."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella.train.exporting import load
from lamella.train.mindir.messages import MODEL, PRIMITIVE
from lamella.train.mindir.operators import operator_of
from lamella.train.mindir.values import Weights
from lamella.train.wire_format import bytes_field, parse, varint_field

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.mindir"))


def inputs_and_answers(name: str) -> tuple[list[Any], list[Any]]:
    with np.load(RECORDED / f"{name}.npz") as kept:
        return ([ms.Tensor(kept[key]) for key in sorted(kept) if key[0] == "x"],
                [kept[key] for key in sorted(kept) if key[0] == "y"])


def network(name: str) -> Any:
    return ms.nn.GraphCell(load(str(RECORDED / f"{name}.mindir")))


def check(found: Any, wanted: list[Any]) -> None:
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.asnumpy().dtype == theirs.dtype
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "parameters"])
def test_networks_give_what_they_gave(name):
    inputs, answers = inputs_and_answers(name)
    check(network(name)(*inputs), answers)


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.long(
        "'loop' is run above, the others are compiled, and loops are in tests/graph/")
        if name == "loop" else ()) for name in NAMES if name != "parameters"])
def test_networks_compile(name):
    inputs, answers = inputs_and_answers(name)
    net = network(name)
    compiled = ms.jit(lambda *given: net(*given))
    for _ in range(3):  # the third is a replay
        check(compiled(*inputs), answers)


def test_a_network_changes_its_parameters_as_it_did():
    inputs, (out, before, after) = inputs_and_answers("parameters")
    net = network("parameters")
    for runs in (1, 2):  # the file was written after the run that was kept
        check(net(*inputs), [out, before + runs, after + runs])


def test_a_network_can_be_trained():
    (x, *_), _ = inputs_and_answers("convolutions")
    net = network("convolutions")
    labels = ms.Tensor([3, 1], ms.int32)
    weights = net.trainable_params()
    assert {p.name for p in weights} >= {"c1.weight", "d3.bias"}

    def loss_of(x):
        return ms.ops.cross_entropy(net(x), labels)

    optimizer = ms.nn.Adam(weights, 0.03)
    step = ms.value_and_grad(loss_of, None, weights)
    losses = []
    for _ in range(20):
        loss, gradients = step(x)
        optimizer(gradients)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0]


def test_a_loop_takes_no_more_of_the_stack():
    inputs, answers = inputs_and_answers("loop")
    assert int(inputs[1]) == 2000
    check(network("loop")(*inputs), answers)


def test_inputs_are_checked():
    net = network("convolutions")
    with pytest.raises(ValueError, match="input 0 must be a Tensor of float32 with shape"):
        net(ms.ops.ones((1, 1, 28, 28)))
    with pytest.raises(ValueError, match="input 0 must be a Tensor of float32"):
        net(3)
    with pytest.raises(ValueError, match="takes 1 inputs, but got 2"):
        net(ms.ops.ones((2, 1, 28, 28)), 1)


def test_a_file_cut_short_is_an_error(tmp_path):
    content = (RECORDED / "branches.mindir").read_bytes()
    draw = np.random.default_rng(5)
    for length in [1, 2, 9, *draw.integers(3, len(content), 40)]:
        path = tmp_path / "cut.mindir"
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="cut.mindir"):
            load(str(path))


def test_a_changed_file_is_read_or_an_error(tmp_path):
    content = bytearray((RECORDED / "operators.mindir").read_bytes())
    inputs, _ = inputs_and_answers("operators")
    draw = np.random.default_rng(6)
    path = tmp_path / "changed.mindir"
    refused = 0
    for _ in range(60):
        changed = content.copy()
        for at in draw.integers(0, len(changed), 3):
            changed[at] = draw.integers(0, 256)
        path.write_bytes(changed)
        try:
            net = ms.nn.GraphCell(load(str(path)))
            net(*inputs)
        except (ValueError, TypeError, RuntimeError, IndexError):
            refused += 1
    assert refused


def altered(tmp_path: Path, old: bytes, new: bytes) -> str:
    content = (RECORDED / "convolutions.mindir").read_bytes()
    assert len(old) == len(new) and old in content
    path = tmp_path / "altered.mindir"
    path.write_bytes(content.replace(old, new))
    return str(path)


def test_no_file_asks_for_operators_that_run_code(tmp_path):
    with pytest.raises(ValueError, match="'PyFunc', which no file may ask for"):
        load(altered(tmp_path, bytes_field(2, b"Conv2D"), bytes_field(2, b"PyFunc")))
    with pytest.raises(ValueError, match="'system', which Lamella does not have"):
        load(altered(tmp_path, bytes_field(2, b"Conv2D"), bytes_field(2, b"system")))


@pytest.mark.parametrize("name", ["DumpGradient", "BatchISendIRecv", "AllGatherV", "AllReduce",
                                  "ForiLoop", "WhileLoop", "Custom", "Morph", "HookBackward",
                                  "TensorDump", "ImageSummary", "Primitive", "PyExecute"])
def test_operators_that_act_beyond_their_inputs_are_refused(name):
    with pytest.raises(ValueError, match="which no file may ask for"):
        operator_of(parse(memoryview(bytes_field(2, name.encode())), PRIMITIVE), Weights("."))


def test_weights_lie_in_the_files_folder(tmp_path):
    shutil.copytree(RECORDED / "apart_variables", tmp_path / "in" / "apart_variables")
    shutil.copy(RECORDED / "apart_graph.mindir", tmp_path / "in" / "net.mindir")
    path = tmp_path / "in" / "net.mindir"
    load(str(path))
    (tmp_path / "secret").write_bytes(bytes(4096))
    content = path.read_bytes()
    place = b"apart_variables/data_0"
    outside = (b"../secret".ljust(len(place), b"\0"), b"../" + b"./" * 6 + b"/secret",
               b"/" * 6 + b"proc/self/environ"[:16])
    for other in outside:
        path.write_bytes(content.replace(place, other.ljust(len(place), b"/")[:len(place)]))
        with pytest.raises(ValueError, match="beside it|null|network"):
            load(str(path))
    path.write_bytes(content)
    (tmp_path / "in" / "apart_variables" / "data_0").write_bytes(bytes(80))
    with pytest.raises(ValueError, match="cut off"):
        load(str(path))


def test_a_tensor_asks_for_no_more_memory_than_the_file_has(tmp_path):
    sizes = b"".join(varint_field(1, 1 << 20) for _ in range(3))
    weight = sizes + varint_field(2, 1) + bytes_field(7, b"g:w")
    graph = bytes_field(2, b"g") + bytes_field(3, weight)
    path = tmp_path / "large.mindir"
    path.write_bytes(bytes_field(7, graph) + varint_field(10, 1))
    with pytest.raises(ValueError, match="has 0 bytes"):
        load(str(path))


def test_messages_end_somewhere():
    deep = b""
    for _ in range(100):
        deep = bytes_field(17, deep)
    node = bytes_field(5, deep)
    with pytest.raises(ValueError, match="nested"):
        parse(bytes_field(7, bytes_field(1, node)), MODEL)
