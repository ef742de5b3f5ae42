"""Primitives that update parameters, against numbers recorded from MindSpore 2.10 on a CPU.

`recorded_primitives.json` holds the four parameters p, a, b and c after the call.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.ops.primitives import update_rules

RECORDED = json.loads((Path(__file__).parent / "recorded_primitives.json").read_text())
START = {"p": [[0.6, -0.4], [0.1, 0.5]], "a": [[0.6, 0.5], [0.2, 0.6]],
         "b": [[0.9, 0.1], [0.7, 0.8]], "c": [[0.3, 0.2], [0.4, 0.9]]}
GRADIENT = [[0.3, -0.7], [0.1, 0.8]]

# name, attributes, inputs: a letter is a parameter, g the gradient, g0 its first row
CASES = [
    ("ApplyMomentum", (), ("p", "a", 0.01, "g", 0.9)),
    ("SGD", (0.1, 0.2), ("p", "g", 0.01, "a", 0.9, "b")),
    ("Adam", (), ("p", "a", "b", 0.9, 0.99, 0.01, 0.9, 0.99, 1e-3, "g")),
    ("AdamNoUpdateParam", (), ("p", "a", 0.9, 0.99, 0.01, 0.9, 0.99, 1e-3, "g")),
    ("AdamWeightDecay", (), ("p", "a", "b", 0.01, 0.9, 0.99, 1e-3, 0.1, "g")),
    ("ApplyAdamWithAmsgrad", (), ("p", "a", "b", "c", 0.9, 0.99, 0.01, "g")),
    ("ApplyAdaMax", (), ("p", "a", "b", 0.9, 0.01, 0.9, 0.99, 1e-3, "g")),
    ("ApplyAdadelta", (), ("p", "a", "b", 0.01, 0.9, 1e-3, "g")),
    ("ApplyAdagrad", (), ("p", "a", 0.01, "g")),
    ("ApplyAdagradV2", (1e-3,), ("p", "a", 0.01, "g")),
    ("ApplyRMSProp", (), ("p", "a", "b", 0.01, "g", 0.9, 0.8, 1e-3)),
    ("ApplyCenteredRMSProp", (), ("p", "c", "a", "b", "g", 0.01, 0.9, 0.8, 1e-3)),
    ("ApplyFtrl", (), ("p", "a", "b", "g", 0.01, 0.0, 0.2, -0.5)),
    ("ApplyProximalAdagrad", (), ("p", "a", 0.01, 0.1, 0.2, "g")),
    ("ApplyGradientDescent", (), ("p", 0.01, "g")),
    ("ApplyProximalGradientDescent", (), ("p", 0.01, 0.1, 0.2, "g")),
    ("ApplyAddSign", (), ("p", "a", 0.01, 1.0, 0.9, 0.8, "g")),
    ("ApplyPowerSign", (), ("p", "a", 0.01, 1.0, 0.9, 0.8, "g")),
    ("SparseApplyAdagrad", (0.01,), ("p", "a", "g", [1, 0])),
    ("SparseApplyFtrl", (0.01, 0.0, 0.2, -0.5), ("p", "a", "b", "g", [1, 0])),
    ("FusedSparseAdam", (), ("p", "a", "b", 0.9, 0.99, 0.01, 0.9, 0.99, 1e-3, "g", [1, 0])),
    ("FusedSparseLazyAdam", (), ("p", "a", "b", 0.9, 0.99, 0.01, 0.9, 0.99, 1e-3, "g0", [1])),
    ("FusedSparseFtrl", (0.01, 0.0, 0.2, -0.5), ("p", "a", "b", "g", [1, 0])),
    ("FusedSparseProximalAdagrad", (), ("p", "a", 0.01, 0.1, 0.2, "g", [1, 0])),
]


def call(name, attributes, inputs, numbers):
    parameters = {k: ms.Parameter(ms.Tensor(v), name=k) for k, v in START.items()}
    known = {**parameters, "g": ms.Tensor(GRADIENT), "g0": ms.Tensor(GRADIENT[:1])}
    given = [known[x] if isinstance(x, str) else ms.Tensor(x, ms.int32) if isinstance(x, list)
             else numbers(x) for x in inputs]
    return parameters, getattr(ops, name)(*attributes)(*given)


def test_each_recorded_primitive_is_tested():
    assert {case[0] for case in CASES} == set(RECORDED)


@pytest.mark.parametrize("numbers", [float, ms.Tensor], ids=["numbers", "tensors"])
@pytest.mark.parametrize("name, attributes, inputs", CASES)
def test_recorded(name, attributes, inputs, numbers):
    parameters, out = call(name, attributes, inputs, numbers)
    for parameter, wanted in zip(parameters.values(), RECORDED[name], strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), wanted, rtol=0, atol=4e-6)
    first = out[0] if isinstance(out, tuple) else out
    if name != "AdamNoUpdateParam":
        np.testing.assert_array_equal(first.asnumpy(), parameters["p"].asnumpy())


def test_adagrad_da_by_hand():
    parameters, out = call("ApplyAdagradDA", (), ("p", "a", "b", "g", 0.01, 0.1, 0.2, 2), float)
    total = np.array(START["a"]) + GRADIENT
    square = np.array(START["b"]) + np.square(GRADIENT)
    pull = np.sign(total) * np.maximum(np.abs(total) - 0.2, 0)
    np.testing.assert_allclose(out.asnumpy(), -0.01 * pull / (0.004 + np.sqrt(square)), atol=1e-6)


def test_equal_indices_are_summed_and_others_left_out():
    w, a = (ms.Parameter(ms.Tensor([[0.0], [0.0]]), name=n) for n in "wa")
    grad = ms.Tensor([[1.0], [2.0], [5.0]])
    ops.SparseApplyAdagrad(0.1)(w, a, grad, ms.Tensor([1, 1, 7], ms.int32))
    np.testing.assert_allclose(w.asnumpy(), [[0.0], [-0.1]], rtol=1e-6)
    np.testing.assert_allclose(a.asnumpy(), [[0.0], [9.0]], rtol=1e-6)


def test_keras_momentum():
    w, a = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "wa")
    out = ops.ApplyKerasMomentum(use_nesterov=True)(w, a, 0.5, ms.Tensor([1.0]), 0.5)
    assert [o.asnumpy().item() for o in out] == [0.5, 0.0]


def test_lars_takes_the_norms_from_its_inputs():
    w = ms.Tensor([[0.5, 0.8, 0.2], [0.6, 0.4, 0.2]])
    g = ms.Tensor([[0.4, 0.4, 0.5], [0.2, 0.4, 0.3]])
    out = ops.LARSUpdate()(w, g, (w * w).sum(), (g * g).sum(), 0.0, 1.0)
    documented = [[0.0005265, 0.0005265, 0.00065813], [0.00026325, 0.0005265, 0.00039488]]
    np.testing.assert_allclose(out.asnumpy(), documented, rtol=1e-4)
    out = ops.LARSUpdate(0.0, 0.5)(w, g, ms.Tensor(4.0), ms.Tensor(1.0), 0.0, 1.0)
    np.testing.assert_allclose(out.asnumpy(), g.asnumpy() * 0.5 * 2.0 / 1.0, rtol=1e-6)
    with pytest.raises(ValueError, match="a real Tensor of one element, but got Tensor\\[2, 3]"):
        ops.LARSUpdate()(w, g, w, g, 0.0, 1.0)


def test_errors():
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    with pytest.raises(TypeError, match="argument 1 must be a Parameter, but got int"):
        ops.ApplyMomentum()(w, 3, 0.1, ms.Tensor([1.0]), 0.9)
    with pytest.raises(TypeError, match="the gradient must be a Tensor, but got float"):
        ops.ApplyGradientDescent()(w, 0.1, 1.0)
    with pytest.raises(TypeError, match="'use_nesterov' must be a number or a bool"):
        ops.Adam(use_nesterov="a")
    with pytest.raises(ValueError, match="'nesterov' needs"):
        ops.SGD(dampening=0.1, nesterov=True)
    with pytest.raises(ValueError, match=r"must have shape \(1,\), but got \(2,\)"):
        ops.ApplyGradientDescent()(w, 0.1, ms.Tensor([1.0, 2.0]))


def test_the_printed_form():
    assert repr(ops.ApplyMomentum()) == (
        "Prim[ApplyMomentum]<use_nesterov=False, use_locking=False, gradient_scale=1.0, "
        "side_effect_mem=True>")


@pytest.mark.parametrize("rule", [update_rules.nesterov_adam, update_rules.adamax])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rules_of_16_bits_are_those_of_float32_rounded_once(rule, dtype):
    torch.manual_seed(0)
    narrow = [[torch.rand(size).to(dtype) for size in (3, 5)] for _ in range(4)]
    wide = [[raw.float() for raw in raws] for raws in narrow]
    for lists in (narrow, wide):
        rule(*lists, 0.1, 0.9, 0.99, 1e-8, decay=0.01)
    for name, mine, theirs in zip("p g m v".split(), narrow, wide, strict=True):
        for raw, wanted in zip(mine, theirs, strict=True):
            assert raw.dtype is dtype and torch.equal(raw, wanted.to(dtype)), name
