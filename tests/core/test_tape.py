"""Functions on the tape: what transformations see of them, and what a call looks for."""

from __future__ import annotations

import inspect

import pytest
import torch

from lamella.core.tape import TapeFunction


class Cube(TapeFunction):
    """x cubed, with a factor that isn't differentiated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return factor * x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * 3 * ctx.factor * x ** 2, None


def test_derivatives_of_any_order_and_in_transformations(monkeypatch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(Cube.apply(x, 2.0).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [6.0, 24.0] and second.tolist() == [12.0, 24.0]
    inside = torch.func.vmap(torch.func.grad(lambda v: Cube.apply(v, 2.0)))(x.detach())
    assert inside.tolist() == [6.0, 24.0]


def test_a_plain_call_looks_for_no_default_arguments(monkeypatch):
    monkeypatch.setattr(inspect, "signature", None)
    x = torch.tensor(2.0, requires_grad=True)
    assert Cube.apply(x, 1.0).item() == 8.0
    with pytest.raises(TypeError):
        Cube.apply(x)
