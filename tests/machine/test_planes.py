"""Max pools of large planes: parity with PyTorch's kernel, gradients of both orders, vmap, jvp."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import nn, ops
from lamella.machine import planes

SHAPE = 4, 16, 48, 48
WINDOWS = [(2, None, 0, 1, False), (3, 2, 1, 1, False), ((3, 2), (2, 3), (1, 0), 1, True),
           (3, 1, 1, 2, False)]


@pytest.fixture(autouse=True)
def vectors(monkeypatch):
    """The processor has them, whichever it is."""
    monkeypatch.setattr(planes, "VECTORS", True)


def given(seed=0, shape=SHAPE):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).round(decimals=1)
    x[0, 3, 5, 7], x[1, 2, 0, 0] = torch.nan, torch.inf
    return x


@pytest.mark.parametrize("window", WINDOWS)
def test_values_indices_and_gradients_are_those_of_pytorch(window):
    assert planes.suits(SHAPE, torch.float32, torch.device("cpu"))
    x, y = (given().requires_grad_() for _ in range(2))
    wanted, found = F.max_pool2d(x, *window, True), planes.max_pool2d(y, *window, True)
    assert type(found[0].grad_fn).__name__ == "_MaxPoolBackward"
    for a, b in zip(wanted, found, strict=True):
        assert torch.equal(a.nan_to_num(99), b.nan_to_num(99)) and a.stride() == b.stride()
    weights = torch.randn(wanted[0].shape)
    for out in (wanted, found):
        (out[0].nan_to_num() * weights).sum().backward()
    assert torch.equal(x.grad, y.grad) and y.grad.is_contiguous()


def test_second_derivatives():
    x, y = (given().nan_to_num().requires_grad_() for _ in range(2))
    seconds = []
    for pool, into in ((F.max_pool2d, x), (planes.max_pool2d, y)):
        first, = torch.autograd.grad(pool(into, 2).clamp(-9, 9).pow(3).sum(), into,
                                     create_graph=True)
        seconds.append(torch.autograd.grad(first.square().sum(), into)[0])
    assert torch.equal(*seconds)


def test_small_planes_few_channels_and_other_layouts_are_left_to_pytorch():
    small, few = given(shape=(2, 16, 8, 8)), given(shape=(8, 8, 48, 48))
    last = given().contiguous(memory_format=torch.channels_last)
    for x in (small, few, last):
        out = planes.max_pool2d(x.requires_grad_(), 2)
        assert type(out.grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"


def test_processors_without_vectors_keep_pytorch_s_kernel(monkeypatch):
    monkeypatch.setattr(planes, "VECTORS", False)
    out = planes.max_pool2d(given().requires_grad_(), 2)
    assert type(out.grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"


def test_transformations():
    x = ms.Tensor(given().nan_to_num(posinf=3.0).numpy())
    pool = nn.MaxPool2d(2, 2)
    plain = F.max_pool2d(torch.from_numpy(x.asnumpy()), 2).numpy()
    np.testing.assert_array_equal(pool(x).asnumpy(), plain)
    value, tangent = ms.jvp(pool, x, ops.ones_like(x))
    np.testing.assert_array_equal(value.asnumpy(), plain)
    np.testing.assert_array_equal(tangent.asnumpy(), np.ones_like(plain))
    mapped = ms.vmap(pool)(ops.stack([x, 2 * x]))
    np.testing.assert_array_equal(mapped.asnumpy(), np.stack([plain, 2 * plain]))


CPU, META = torch.device("cpu"), torch.device("meta")


@pytest.mark.parametrize("shape, dtype, device, suits", [
    ((1, 16, 64, 128), torch.float32, CPU, True), ((1, 16, 64, 127), torch.float32, CPU, False),
    ((1, 15, 128, 128), torch.float32, CPU, False), ((16, 64, 128), torch.float32, CPU, False),
    ((1, 16, 64, 128), torch.float16, CPU, True), ((1, 16, 64, 128), torch.int32, CPU, False),
    ((1, 16, 64, 128), torch.float32, META, False),
    ((1, 1, 16, 64, 128), torch.float32, CPU, False)])
def test_which_planes_suit(monkeypatch, shape, dtype, device, suits):
    assert planes.suits(shape, dtype, device) is suits
    monkeypatch.setattr(planes, "VECTORS", False)
    assert not planes.suits(shape, dtype, device)


def test_a_pool_gives_indices_only_where_they_are_asked_for():
    x = given()
    values, indices = planes.max_pool2d(x, (2, 4), return_indices=True)
    for found in (planes.max_pool2d(x, [2, 4]), planes.max_pool2d(x, (2, 4), (2, 4))):
        assert type(found) is torch.Tensor
        assert torch.equal(found.nan_to_num(99), values.nan_to_num(99))
    assert indices.dtype is torch.int64 and not indices.requires_grad
