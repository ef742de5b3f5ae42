"""The memory that a compiled function keeps."""

import gc
import json
import time
import weakref

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.graph.aoti import native as aoti
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.runtime.density import dense_share
from lamella.graph.xla import client
from lamella.graph.xla import native as xla
from lamella.machine import background
from lamella.machine.memory import allocator


@pytest.fixture
def no_collector():
    """Without the garbage collector: memory is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("form", [tuple, list, lambda parts: {"parts": list(parts)}],
                         ids=["tuple", "list", "dict"])
def test_results_are_freed_with_their_last_reference(form, no_collector):
    @ms.jit(jit_level="O1")
    def function(x):
        return form([x * 2, x + 1])

    x = ops.ones((3,))
    for _ in range(4):
        given = function(x)
    parts = list(given["parts"] if isinstance(given, dict) else given)
    alive = [weakref.ref(part._raw) for part in parts]
    del given, parts
    assert [part() for part in alive] == [None, None]


def test_gradients_are_freed_with_their_last_reference(no_collector):
    net = nn.Dense(3, 2)
    step = ms.jit(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()),
                  jit_level="O1")
    x = ops.ones((4, 3))
    for _ in range(4):
        loss, gradients = step(x)
    alive = [weakref.ref(part._raw) for part in (loss, *gradients)]
    del loss, gradients
    assert [part() for part in alive] == [None, None, None]


@pytest.mark.parametrize("function", [
    lambda x: ms.jvp(ops.sin, x, ops.ones_like(x))[1],
    lambda x: ops.inverse(x.astype(ms.float16)),
], ids=["jvp", "half"])
def test_the_memory_of_an_eager_call_is_freed_after_it(function, no_collector):
    shape = (17, 17)  # nothing else has it
    x = ms.Tensor(np.eye(17, dtype=np.float32))
    function(x)
    before = how_many(shape)
    function(x)
    assert how_many(shape) == before


def how_many(shape):
    """How many tensors of a shape there are."""
    return sum(type(x) is torch.Tensor and x.shape == shape for x in gc.get_objects())


@pytest.fixture
def own_allocator():
    if allocator.module is None:
        pytest.skip("the allocator in C++ isn't there")


def test_a_block_fits_the_hole_of_one_of_its_size(own_allocator):
    size = (1 << 20) + 4093  # nothing else has it
    blocks = [torch.empty(size, dtype=torch.uint8) for _ in range(16)]
    holes = {b.data_ptr() for b in blocks[1::2]}
    del blocks[1::2]
    again = [torch.empty(size, dtype=torch.uint8) for _ in holes]
    assert {b.data_ptr() for b in again} == holes


def test_blocks_are_aligned_and_too_large_ones_are_an_error(own_allocator):
    for size in (0, 1, 63, 64, 1000, 1 << 20):
        block = torch.empty(size, dtype=torch.uint8)
        assert block.data_ptr() % 64 == 0 and (block.data_ptr() != 0) == (size != 0)
        assert int(block.fill_(7).sum(dtype=torch.int64)) == 7 * size
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.empty(2**62, dtype=torch.uint8)
    grown = torch.ones(3)
    grown.resize_(1000)
    assert grown[:3].tolist() == [1.0, 1.0, 1.0]


def nodes():
    """How many nodes of graphs there are, but for the roots of those that are gone."""
    return sum(type(x) is torch.fx.Node and x.op != "root" for x in gc.get_objects())


def checked(x, i):
    """One kernel of it may fail, so that compilers get another graph."""
    return ops.tanh(x * 2 + 1).index_select(0, i) * ops.exp(x).sum()


@pytest.mark.parametrize("fn, copies", [(checked, True), (
    lambda x, i: ops.tanh(x * 2 + 1) * ops.exp(x).sum() + i.sum(), False)],
    ids=["copied", "as it is"])
def test_graphs_for_compilers_are_freed_once_they_are_texts(fn, copies, no_collector, monkeypatch,
                                                            tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    compiled, given = Compiled(fn, level="O1"), (ops.ones((5,)), Tensor([1, 2]))
    for _ in range(3):
        compiled(*given)
    (graph,) = compiled.graphs(*given)
    plan = graph.execution.plan
    (stage,) = plan.stages
    inputs = [*(x._raw for x in given), *graph.inputs.constants, *plan.constants]
    values = [inputs[i] for i in stage.takes]
    gc.collect()  # what recording has left
    before = nodes()
    found = aoti.Native(stage.part, values)
    assert found.key is not None and found._has_flag is copies and nodes() == before
    assert found._text().count("aten.tanh.default") == 1 and nodes() == before
    assert dense_share(stage.part, values) == 0.0 and nodes() == before
    if client.available():
        code, made = xla.Native(stage.part, found.name, stage.replay), []
        monkeypatch.setattr(code, "_make", lambda texts, prompt: made.extend(texts))
        assert code.is_possible and (nodes() > before) is copies
        code.request(values)
        assert code.is_possible and nodes() == before
        background.submit(lambda: made.append(None), quick=True)
        while None not in made:
            time.sleep(0.01)
        assert [step["op"] for step in json.loads(made[0])["steps"]].count("tanh.default") == 1
