"""The memory that a compiled function keeps."""

import gc
import weakref

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
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
