"""Gradients of functions of three pieces, against the derivative of each piece."""

from __future__ import annotations

import math

import pytest
import torch

from lamella import ops
from lamella.machine import kinks
from lamella.tensors.tensor import wrap

NAMES = {"hardtanh": (-1.0, 1.0), "leaky_relu": (0.0,), "hardswish": (-3.0, 3.0),
         "relu6": (0.0, 6.0), "hardsigmoid": (-3.0, 3.0)}
TABLES = {
    "middle linear": kinks.Pieces(-3.0, 3.0, 0.0, -0.5, 1 / 3, 0.5, 1.5, 1.0, math.nan),
    "middle linear, other values at the bounds": kinks.Pieces(
        -1.0, 2.0, 4.0, 0.25, 2.0, 1.0, -0.5, 3.0, 7.0),
    "constant": kinks.Pieces(-1.0, 1.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0, 1.0),
    "constant, bounds with the outer pieces": kinks.Pieces(
        -3.0, 3.0, 0.0, 0.0, 0.0, 2.0, 5.0, 5.0, 0.0),
    "one bound": kinks.Pieces(0.0, 0.0, 0.25, 0.5, 0.0, 0.25, 0.5, 1.0, 0.25),
}


@pytest.fixture(autouse=True)
def kernel():
    if kinks.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def numbers(bounds):
    """Numbers of all sizes with the bounds, what is next to them, infinity and NaN among them."""
    torch.manual_seed(0)
    x = 3 * torch.randn(kinks.LARGE + 3)
    special = [float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1e-44, -1e-44]
    for bound in bounds:
        at = torch.tensor(bound)
        special += [bound, *torch.nextafter(at, torch.tensor([-9.0, 9.0])).tolist()]
    x[:len(special)] = torch.tensor(special)
    return x


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def gradient_of(name, x, gradient, **options):
    return torch.autograd.grad(getattr(ops, name)(wrap(x))._raw, x, gradient, **options)[0]


def derivative(y, x):
    """That of y, which is constant if it doesn't require a gradient."""
    return torch.autograd.grad(y, x)[0] if y.requires_grad else torch.zeros_like(x)


def off(*_):
    return None


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("taped", [False, True])
def test_gradients_are_those_of_pytorch_s_kernels(name, expanded, taped, monkeypatch):
    x = numbers(NAMES[name]).requires_grad_()
    gradient = torch.tensor(-1.5).expand(len(x)) if expanded else torch.linspace(-2, 2, len(x))
    if not taped:
        monkeypatch.setattr(kinks, "taped", off)
    calls = []
    real = kinks.backward
    monkeypatch.setattr(kinks, "backward", lambda *a: calls.append(1) or real(*a))
    fast = gradient_of(name, x, gradient)
    assert calls == [] if taped else [1]
    monkeypatch.setattr(kinks, "taped", off)
    monkeypatch.setattr(kinks, "suits", lambda *a: False)
    torch.testing.assert_close(fast, gradient_of(name, x, gradient), rtol=1e-6, atol=1e-6,
                               equal_nan=True)


def test_the_tape_s_node_is_in_c(name):
    x = torch.linspace(-4, 4, 50).requires_grad_()
    assert "Cpp" in type(getattr(ops, name)(wrap(x))._raw.grad_fn).__name__


def test_values_are_the_kernel_s_with_and_without_a_gradient(name):
    x = numbers(NAMES[name])
    plain = getattr(ops, name)(wrap(x))._raw
    taped = getattr(ops, name)(wrap(x.clone().requires_grad_()))._raw
    assert taped.requires_grad and not plain.requires_grad
    assert torch.equal(taped.detach().nan_to_num(9), plain.nan_to_num(9))


def test_gradients_of_gradients_and_of_many_at_once(name, monkeypatch):
    def found():
        x = torch.tensor([-5.0, -3.0, -1.0, 0.0, 0.4, 1.0, 2.0, 3.0, 7.0, torch.inf, -torch.inf])
        x.requires_grad_()
        weights = torch.linspace(1, 3, 11)
        first = gradient_of(name, x, weights + 9, create_graph=True)
        second = derivative(first @ weights, x)
        many = gradient_of(name, x, torch.eye(11), is_grads_batched=True, create_graph=True)
        mixed = derivative(many.diagonal() @ weights, x)
        return first.detach(), second, many.detach(), mixed

    fast = found()
    monkeypatch.setattr(kinks, "taped", off)
    for a, b in zip(fast, found(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_a_result_that_is_not_used_has_no_gradient(name):
    x = torch.ones(3).requires_grad_()
    y = torch.autograd.graph.get_gradient_edge(getattr(ops, name)(wrap(x))._raw)
    assert y.node(None) is None or y.node(None) == (None,) or y.node(None)[0] is None


def test_an_input_that_was_changed_is_an_error(name):
    x = torch.ones(3).requires_grad_()
    within = x * 1
    y = getattr(ops, name)(wrap(within))._raw
    within.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_other_types_and_layouts_are_left_to_python(name):
    for x in (torch.ones(3).double(), torch.ones(3).bfloat16(), torch.ones(2, 3).T):
        assert kinks.taped(x, torch.clone, TABLES["constant"]) is None
        assert gradient_of(name, x.requires_grad_(), torch.ones_like(x)).dtype is x.dtype
    with pytest.raises(RuntimeError, match="the nine numbers of the pieces"):
        kinks.extension.module.kinked(torch.ones(3), torch.ones(3), (0.0,) * 8)


def test_any_number_of_threads_and_no_numbers():
    pieces = TABLES["constant"]
    x = torch.linspace(-2, 2, 3 * kinks.LARGE + 1)
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found = kinks.backward(torch.ones_like(x), x, pieces)
            assert torch.equal(found, (x.abs() < 1) + 0.5 * (x.abs() == 1))
    finally:
        torch.set_num_threads(before)
    assert kinks.backward(torch.ones(0), torch.ones(0), pieces).shape == (0,)
    with pytest.raises(RuntimeError, match="must be float32, of one shape"):
        kinks.backward(torch.ones(3), torch.ones(4), pieces)


@pytest.mark.parametrize("table", TABLES)
def test_the_derivative_in_python_is_the_kernel_s(table):
    pieces = TABLES[table]
    x = numbers((pieces.low, pieces.high))
    torch.testing.assert_close(pieces.slope(x), kinks.backward(torch.ones_like(x), x, pieces),
                               rtol=1e-6, atol=1e-6, equal_nan=True)
    wide = pieces.slope(x.double())
    assert wide.dtype is torch.float64 and wide.shape == x.shape


@pytest.mark.parametrize("table", TABLES)
def test_its_own_derivative_is_that_of_the_middle_piece_at_the_bounds_too(table):
    pieces = TABLES[table]
    x = torch.tensor([-9.0, -3.0, -1.0, -0.3, 0.0, 0.7, 1.0, 2.0, 3.0, 9.0]).requires_grad_()
    wanted = pieces.factor * ((x >= pieces.low) & (x <= pieces.high))
    taped = kinks.taped(x, torch.clone, pieces)
    first = torch.autograd.grad(taped, x, torch.ones(10), create_graph=True)[0]
    torch.testing.assert_close(derivative(pieces.slope(x).sum(), x), wanted)
    torch.testing.assert_close(derivative(first.sum(), x), wanted)
