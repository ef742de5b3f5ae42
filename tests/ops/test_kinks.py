"""Gradients where functions have none: at kinks, between equal elements, at 0.

The numbers are MindSpore 2.10's, from ``ms.grad`` of each expression by `x`. Intended differences
(`selu`, `cumprod` at 0, `atan2(0, 0)`) stand in docs/differences.md.
"""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, mint, nn, ops

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_kinks.json").read_text())
X = [-1.0, 0.0, 0.0, 1.0, 1.0]
NAMES = {
    "ops": ops, "nn": nn, "mint": mint, "Tensor": Tensor, "z": Tensor([0.0] * 5),
    "one": Tensor([1.0] * 5), "y": Tensor([1.0, 0.0, -1.0, 1.0, 2.0]),
    "m": Tensor([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])}


@pytest.mark.parametrize("expression", RECORDED)
def test_the_gradient_is_mindspores(expression: str) -> None:
    function = eval(f"lambda x: {expression}", dict(NAMES))
    found = ms.grad(function)(Tensor(X))
    np.testing.assert_allclose(found.asnumpy().ravel(), RECORDED[expression], atol=2e-5)


@pytest.mark.parametrize("expression", [
    "ops.margin_ranking_loss(x,y,one)", "nn.HingeEmbeddingLoss()(x,Tensor([1.,-1.,1.,-1.,1.]))",
    "ops.aminmax(x)[1]", "ops.rrelu(x, 0.1, 0.1)"])
def test_and_so_it_is_compiled(expression: str) -> None:
    function = eval(f"lambda x: {expression}", dict(NAMES))
    step = ms.jit(ms.grad(function))
    for _ in range(3):
        np.testing.assert_allclose(step(Tensor(X)).asnumpy(), RECORDED[expression], atol=2e-5)
