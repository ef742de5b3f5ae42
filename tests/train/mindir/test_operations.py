"""Every operation that MindIR nodes are written for, written and read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.train.mindir.builder import Builder
from lamella.train.mindir.lowering.table import TABLE
from lamella.train.mindir.writing import write_mindir

from .operations import FAMILIES, Network, tensors

CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}


def noted(kept: dict[str, Any]) -> Any:
    """`Builder.node`, which keeps what it says that each node gives."""
    add = Builder.node

    def node(*args: Any, **options: Any) -> Any:
        value = add(*args, **options)
        if isinstance(value.raw, torch.Tensor):
            kept[value.name] = value.raw.dtype, tuple(value.raw.shape)
        return value

    return node


def note_results(graph: Any, kept: dict[str, Any]) -> None:
    """Let a graph that was read keep what its nodes give."""
    def noting(node: Any) -> Any:
        def run(*inputs: Any) -> Any:
            found = node.function(*inputs)
            if isinstance(found, ms.Tensor):
                kept[node.output] = found._raw.dtype, tuple(found.shape)
            return found
        return node._replace(function=run)

    graph.nodes = [noting(node) for node in graph.nodes]


@pytest.mark.parametrize("family", FAMILIES)
def test_operations_are_written_and_read(family, tmp_path, monkeypatch):
    """All of a family in one file: writing one takes a second whatever is in it.

    What the writer takes for the type and the sizes of a node's result is what it is.
    """
    names, cases = list(FAMILIES[family]), list(FAMILIES[family].values())
    net: Any = Network(cases)
    inputs = [each for case in cases for each in tensors(case)]
    path = str(tmp_path / "a.mindir")
    said: dict[str, Any] = {}
    given: dict[str, Any] = {}
    monkeypatch.setattr(Builder, "node", noted(said))
    ms.export(net, *inputs, file_name=path, file_format="MINDIR")
    loaded: Any = ms.load(path)
    note_results(loaded.program.main, given)
    found = iter(ms.nn.GraphCell(loaded)(*inputs))
    for name, case in zip(names, cases, strict=True):
        for theirs in Network([case])(*tensors(case)):
            ours = next(found)
            assert ours.dtype == theirs.dtype, name
            np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-5,
                                       err_msg=name)
    assert next(found, None) is None
    assert len(said) > len(cases) / 2
    for name in said:
        kind, sizes = said[name]
        is_place = kind is torch.int32 and "TupleGetItem" in name  # here they may be int64
        assert given[name] == (given[name][0] if is_place else kind, sizes), name


def test_every_operation_of_the_table_has_a_case():
    assert set(TABLE) <= set(CASES)


class Rows(torch.nn.Module):
    """Means of windows of rows."""

    def forward(self, x: Any) -> Any:
        mean = torch.ops.aten.avg_pool1d
        return (mean(x, [2]), mean(x, [3], [2]), mean(x, [3], [2], [1]),
                mean(x, [3], [1], [1], False, False), mean(x, [4], [3], [1], True))


class Undecomposed:
    """A recorded network whose operations stay whole, as in older versions of PyTorch."""

    def __init__(self, program: Any):
        self.program = program

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def run_decompositions(self) -> Any:
        return self.program


def test_windows_of_rows_that_stay_whole(tmp_path):
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((2, 3, 9)).astype(np.float32))
    program = torch.export.export(Rows(), (x,))
    assert [node.target.name() for node in program.graph.nodes
            if node.op == "call_function"] == ["aten::avg_pool1d"] * 5
    path = str(tmp_path / "a.mindir")
    write_mindir(path, Undecomposed(program), (), ["x"])
    found = ms.nn.GraphCell(ms.load(path))(ms.Tensor(x.numpy()))
    for ours, theirs in zip(found, Rows()(x), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
