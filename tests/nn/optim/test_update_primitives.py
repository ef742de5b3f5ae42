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


KINDS = (ms.float16, ms.float32, ms.float64)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("states", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_adam_with_moments_of_another_type(kind, states, nesterov):
    """In float64 from the same numbers, each result rounded to its own type."""
    w = ms.Parameter(ms.Tensor(START["p"], kind), name="w")
    m, v = (ms.Parameter(ms.Tensor(START[n], states), name=n) for n in "ab")
    p, a, b, g = (x.asnumpy().astype(np.float64) for x in (w, m, v, ms.Tensor(GRADIENT, kind)))
    ops.Adam(use_nesterov=nesterov)(w, m, v, 0.5, 0.75, 0.25, 0.5, 0.75, 0.125,
                                    ms.Tensor(GRADIENT, kind))
    a, b = 0.5 * a + 0.5 * g, 0.75 * b + 0.25 * g * g
    p = p - 0.25 * (0.5 * a + 0.5 * g if nesterov else a) / (np.sqrt(b) + 0.125)
    assert [x.dtype for x in (w, m, v)] == [kind, states, states]
    for found, wanted in ((w, p), (m, a), (v, b)):
        rtol = {ms.float16: 1e-3, ms.float32: 1e-6, ms.float64: 1e-6}[found.dtype]
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=rtol)


@pytest.mark.parametrize("kind, states", [(ms.float16, ms.float32), (ms.float32, ms.float16)])
def test_adam_weight_decay_with_moments_of_another_type(kind, states):
    w = ms.Parameter(ms.Tensor([1.0, -2.0], kind), name="w")
    m, v = (ms.Parameter(ms.Tensor([0.5, 0.25], states), name=n) for n in "mv")
    ops.AdamWeightDecay()(w, m, v, 0.25, 0.5, 0.75, 0.125, 0.5, ms.Tensor([0.5, -1.0], kind))
    moments = np.array([0.5, -0.375]), np.array([0.4375, 0.4375])
    wanted = np.array([1.0, -2.0]) * (1 - 0.125) - 0.25 * moments[0] / (np.sqrt(moments[1]) + 0.125)
    np.testing.assert_allclose(w.asnumpy(), wanted, rtol=1e-3)
    assert [(x.dtype, x.asnumpy().tolist()) for x in (m, v)] == [
        (states, list(x)) for x in moments]


def test_adam_with_moments_of_another_type_compiled():
    def made():
        return (ms.Parameter(ms.Tensor(START["p"], ms.float16), name="w"),
                *(ms.Parameter(ms.Tensor(START[n]), name=n) for n in "ab"))

    def step(g):
        ops.Adam()(*compiled, 0.5, 0.75, 0.25, 0.5, 0.75, 0.125, g)
        return compiled[0] + 0

    compiled, eager = made(), made()
    g = ms.Tensor(GRADIENT, ms.float16)
    ms.jit(step)(g)
    ops.Adam()(*eager, 0.5, 0.75, 0.25, 0.5, 0.75, 0.125, g)
    for one, other in zip(compiled, eager, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_moments_of_another_type_lie_as_their_parameter():
    w = ms.Parameter(ms.Tensor(START["p"]).T, name="w")
    m, v = (ms.Parameter(ms.Tensor(START[n], ms.float16), name=n) for n in "ab")
    first = ms.Parameter(ms.Tensor(START["p"]).T.copy(), name="w")
    others = [ms.Parameter(ms.Tensor(START[n]), name=n) for n in "ab"]
    numbers = (0.5, 0.75, 0.25, 0.5, 0.75, 0.125, ms.Tensor(GRADIENT))
    ops.Adam()(w, m, v, *numbers)
    ops.Adam()(first, *others, *numbers)
    np.testing.assert_allclose(w.asnumpy(), first.asnumpy(), rtol=1e-3)


def test_moments_must_be_floating():
    w, m, v = (ms.Parameter(ms.Tensor([1], kind), name=n)
               for n, kind in (("w", ms.float32), ("m", ms.int32), ("v", ms.float32)))
    with pytest.raises(TypeError, match="the state in Parameter 'm'.*but got Int32"):
        ops.Adam()(w, m, v, 0.5, 0.75, 0.25, 0.5, 0.75, 0.125, ms.Tensor([1.0]))


@pytest.mark.parametrize("number", [float, ms.Tensor], ids=["numbers", "tensors"])
def test_a_power_of_1_gives_an_infinite_step(number):
    for name, powers in (("Adam", (1.0, 0.5)), ("ApplyAdaMax", (1.0,)), ("Adam", (0.5, 1.5))):
        w, m, v = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "wmv")
        numbers = [number(x) for x in (*powers, 0.25, 0.5, 0.75, 0.125)]
        getattr(ops, name)()(w, m, v, *numbers, ms.Tensor([1.0]))
        wanted = np.nan if powers[-1] > 1 else -np.inf
        np.testing.assert_array_equal(w.asnumpy(), [wanted])
        np.testing.assert_array_equal(m.asnumpy(), [1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_formulas_hold_for_every_type_and_sign(kind):
    """Where 2.10's kernels leave the documented formula (`docs/differences.md`)."""
    def held(*values):
        return ms.Parameter(ms.Tensor([list(values)], kind), name="x")

    g, row = ms.Tensor([[0.5, -1.0, 0.0]], kind), ms.Tensor([0], ms.int32)
    grad = g.asnumpy().astype(np.float64)
    w, a = held(1.0, -2.0, 3.0), held(0.5, 0.25, 1.5)
    grown = a.asnumpy().astype(np.float64) + grad**2
    step = np.array([[1.0, -2.0, 3.0]]) - 0.25 * grad / (np.sqrt(grown) + 0.125)
    ops.ApplyAdagradV2(0.125)(w, a, 0.25, g)
    np.testing.assert_allclose(w.asnumpy(), step, rtol=2e-3)
    np.testing.assert_array_equal(a.asnumpy(), grown)
    w, a = held(1.0, -2.0, 3.0), held(0.5, 0.25, 1.5)
    ops.SparseApplyAdagradV2(0.25, 0.125)(w, a, g, row)
    np.testing.assert_allclose(w.asnumpy(), step, rtol=2e-3)
    w, s, m = held(1.0, -2.0, 3.0), held(0.5, 0.25, 1.5), held(0.0, 0.0, 1.0)
    ops.SparseApplyRMSProp(0.5, 0.75, 0.125)(w, s, m, 0.25, g, row)
    np.testing.assert_array_equal(s.asnumpy(), [[0.375, 0.625, 0.75]])
    w, a, s = held(1.0, 1.0, 1.0), held(0.5, -0.25, -0.125), held(0.75, 3.0, 1.0)
    ops.ApplyAdagradDA()(w, a, s, g, 0.25, 0.125, 0.5, 2)
    total, square = np.array([[1.0, -1.25, -0.125]]), np.array([[1.0, 4.0, 1.0]])
    pull = np.sign(total) * np.maximum(np.abs(total) - 0.25, 0)
    np.testing.assert_allclose(w.asnumpy(), -0.25 * pull / (0.25 + np.sqrt(square)), rtol=2e-3)
