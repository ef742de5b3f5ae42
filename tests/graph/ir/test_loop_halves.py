"""What the backward pass of a loop takes of each step, and how it lies in memory."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.ir.loop import loop_of
from lamella.graph.ir.loop_halves import NoHalves, _dense
from lamella.graph.ir.metadata import TensorMetadata
from lamella.graph.runtime.compiled import Compiled

X = Tensor(np.random.default_rng(1).uniform(0.5, 1, (2, 3, 4)).astype(np.float32))


@pytest.mark.parametrize("shape, stride, laid, order", [
    ((2, 3), (3, 1), (2, 3), None), ((), (), (), None), ((2, 3), (1, 2), (3, 2), [1, 0]),
    ((2, 3, 4), (1, 8, 2), (3, 4, 2), [1, 2, 0]), ((2, 3, 4), (4, 8, 1), (3, 2, 4), [1, 0, 2]),
    ((2, 1, 3), (3, 3, 1), (2, 1, 3), None), ((3, 1), (1, 1), (3, 1), None),
    ((1, 1, 2), (2, 2, 1), (1, 1, 2), None), ((0, 3), (3, 1), (0, 3), None)])
def test_a_stack_of_values_repeats_their_order_in_memory(shape, stride, laid, order):
    for dtype in (torch.float32, torch.int64):
        empty, found = _dense(TensorMetadata(shape, stride, dtype, torch.device("cpu")))
        assert (tuple(empty.shape), found, empty.dtype) == ((0, *laid), order, dtype)


@pytest.mark.parametrize("shape, stride", [
    ((2, 3), (6, 2)), ((2, 3), (0, 1)), ((2, 3), (4, 1)), ((3,), (2,)), ((2, 2), (1, 1))])
def test_values_with_gaps_or_of_shared_elements_make_no_stack(shape, stride):
    with pytest.raises(NoHalves):
        _dense(TensorMetadata(shape, stride, torch.float32, torch.device("cpu")))


def test_what_is_no_tensor_makes_no_stack():
    with pytest.raises(NoHalves):
        _dense(None)


def turned(c, e):
    """Of a value whose dimensions lie in memory in another order."""
    y = ops.exp(c.transpose(1, 2, 0))
    return y.transpose(2, 0, 1) * 0.3 + e, ops.sin(y).sum()


def halved(c, e):
    """Of parts with gaps in memory."""
    a, b = ops.split(ops.sin(c), 2, 2)
    return ops.concat((a * b, b * a * a), 2) + e, (a * b).sum()


def of_elements(c, e):
    return ops.sin(c) * ops.exp(e.transpose(2, 0, 1)).transpose(1, 2, 0) * 0.3, (c * e * e).sum()


def of_whole_numbers(c, e):
    place = (e * 3).astype(ms.int32)
    return ops.where(place > 1, c * 0.9, ops.sin(c) * e), place.sum() * c.sum()


def unused(c, e):
    """The first derivative takes neither its value nor what is drawn of it."""
    return c * 0.5 + ops.ones_like(c), ops.sin(e)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("step, is_loop", [
    (turned, True), (halved, None), (of_elements, True), (of_whole_numbers, True), (unused, True)],
    ids=lambda part: getattr(part, "__name__", ""))
@pytest.mark.parametrize("by", [(0,), (1,), (0, 1)])
def test_gradients_through_what_is_kept(step, is_loop, reverse, by):
    def loss(c, xs):
        c, sums = ms.scan(step, c, xs, reverse=reverse)
        return (c * c).sum() + (sums * sums * 0.1).sum()

    gradient = ms.grad(loss, by)
    xs = ops.stack([X * 0.1 * i for i in range(1, 10)])
    compiled, wanted = Compiled(gradient), gradient(X, xs)
    for _ in range(2):
        found = compiled(X, xs)
        for a, b in zip(_listed(found), _listed(wanted), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    (made,) = compiled.graphs(X, xs)
    loops = [n for graph in made.execution.graphs() for n in graph.graph.nodes if loop_of(n)]
    assert is_loop is None or len(loops) == 2


def _listed(value):
    return value if isinstance(value, tuple) else [value]
