"""Optimizers as functions: the numbers of the optimizers themselves, and their derivatives."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.nn import optim

from .test_optimizer import EVERY, REQUIRED

MORE = {
    "Momentum nesterov": dict(learning_rate=0.1, momentum=0.9, use_nesterov=True),
    "SGD damped": dict(learning_rate=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "SGD nesterov": dict(learning_rate=0.1, momentum=0.9, nesterov=True),
    "Adam amsgrad": dict(learning_rate=0.1, use_amsgrad=True),
    "Adam nesterov": dict(learning_rate=0.1, use_nesterov=True, weight_decay=0.1),
    "AdamWeightDecay decay": dict(learning_rate=0.1, weight_decay=0.1),
    "RMSProp centered": dict(learning_rate=0.1, centered=True, momentum=0.5),
    "Lamb decay": dict(learning_rate=0.1, weight_decay=0.1),
    "AdaFactor first": dict(beta1=0.9, scale_parameter=True),
}
CASES = {**EVERY, **MORE}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def start():
    return {"w": Tensor(numbers(2, 3)), "b": [Tensor(numbers(3, seed=1))]}


def gradient(step, p):
    return ms.tree.map(lambda leaf: ops.cos(leaf + step), p)


def made(case):
    return nn.FunctionalOptimizer(getattr(nn, case.split()[0]), **CASES[case])


def close(found, want, rtol=1e-5, atol=1e-6):
    for a, b in zip(ms.tree.leaves(found), ms.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=atol)


def run(optimizer, p, state, steps=3):
    for step in range(steps):
        p, state = optimizer.update(gradient(step, p), state, p)
    return p, state


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_steps_are_those_of_the_optimizer(case, compiled):
    p = start()
    weights = [ms.Parameter(leaf.copy(), name=f"p{i}") for i, leaf in enumerate(ms.tree.leaves(p))]
    optimizer = getattr(nn, case.split()[0])(weights, **CASES[case])
    for step in range(3):
        optimizer(tuple(ops.cos(w.value() + step) for w in weights))
    functional = made(case)
    state = functional.init(p)
    step = ms.jit(lambda p, state: run(functional, p, state)) if compiled else (
        lambda p, state: run(functional, p, state))
    for _ in range(3):
        found, after = step(p, state)
        close(found, [w.value() for w in weights])
    assert after.keys() == state.keys()
    close(p, start(), 0, 0)


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_differentiated_by_parameters_and_state(case):
    functional, p = made(case), start()
    _, state = run(functional, p, functional.init(p), 2)
    moving = [name for name, value in state.items()
              if value.dtype == ms.float32 and "power" not in name and "step" not in name]

    def loss(p, chosen):
        new, _ = run(functional, p, {**state, **chosen}, 2)
        return sum((leaf**2).sum() for leaf in ms.tree.leaves(new))

    chosen = {name: state[name] for name in moving}
    by_p, by_state = ms.grad(loss, (0, 1))(p, chosen)
    direction = ms.tree.map(lambda leaf: Tensor(numbers(*leaf.shape, seed=5)), (p, chosen))
    found = sum(float((a * b).sum()) for a, b in zip(
        ms.tree.leaves((by_p, by_state)), ms.tree.leaves(direction), strict=True))
    assert np.isfinite(found)
    pushed = float(ms.jvp(loss, (p, chosen), direction)[1])
    np.testing.assert_allclose(pushed, found, rtol=1e-3, atol=1e-4)


NOT_SMOOTH = {"FTRL", "ProximalAdagrad", "Rprop"}
IN_FLOAT32 = {"AdaFactor", "AdaFactor first", "ASGD"}


@pytest.mark.parametrize("case", sorted(set(CASES) - NOT_SMOOTH - IN_FLOAT32))
def test_gradients_are_finite_differences(case):
    """By the parameters, in float64, where the rule computes in that type."""
    functional = made(case)
    p = {"w": Tensor(numbers(2, 3).astype(np.float64))}
    state = functional.init(p)

    def loss(w):
        new, _ = run(functional, {"w": w}, state, 2)
        return (new["w"] ** 2).sum()

    ms.check_grads(loss, p["w"], eps=1e-5, atol=1e-4, rtol=1e-4)


def test_a_first_gradient_of_zero_has_a_derivative():
    adam = nn.FunctionalOptimizer(nn.Adam, learning_rate=0.1, eps=0.1)
    state = adam.init(Tensor([1.0]))

    def after(g):
        return adam.update(g, state, Tensor([1.0]))[0].sum()

    change = float(after(Tensor([1e-4])) - after(Tensor([-1e-4]))) / 2e-4
    np.testing.assert_allclose(float(ms.grad(after)(Tensor([0.0]))[0]), change, rtol=1e-2)


def test_by_the_learning_rate():
    sgd = nn.FunctionalOptimizer(nn.Momentum, learning_rate=0.1, momentum=0.5)
    start = Tensor([2.0, -1.0])
    first = sgd.init(start)

    def loss(rate):
        w, state = start, {**first, "learning_rate": rate}
        for _ in range(3):
            w, state = sgd.update(w, state, w)
        return (w**2).sum()

    rate, step = Tensor(0.1), Tensor(1e-3)
    want = float(loss(rate + step) - loss(rate - step)) / 2e-3
    np.testing.assert_allclose(float(ms.grad(loss)(rate)), want, rtol=1e-3)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "AdamWeightDecay", "RMSProp", "Lamb",
                                  "Adagrad", "AdaMax", "Rprop", "FTRL", "AdaFactor", "ASGD"])
def test_under_vmap(name):
    functional = made(name)
    many = Tensor(numbers(4, 3))

    def trained(w):
        return run(functional, w, functional.init(many[0]))[0]

    together = ms.vmap(trained)(many)
    by_each = ms.vmap(ms.grad(lambda w: trained(w).sum()))(many)
    for i in range(4):
        close(together[i], trained(many[i]))
        close(by_each[i], ms.grad(lambda w: trained(w).sum())(many[i]), 1e-4)


def test_made_by_a_function():
    def make(parameters):
        return nn.LARS(nn.Momentum(parameters, 0.5, 0.9), coefficient=0.02)

    functional, w = nn.FunctionalOptimizer(make), ms.Parameter(Tensor(numbers(3)), name="w")
    p = w.value().copy()
    optimizer, state = make([w]), functional.init(p)
    for step in range(3):
        optimizer((ops.cos(w.value() + step),))
        p, state = functional.update(ops.cos(p + step), state, p)
    close(p, w.value())


def test_wrong_arguments():
    with pytest.raises(TypeError, match="'make' must be an optimizer's class"):
        nn.FunctionalOptimizer(3)
    with pytest.raises(TypeError, match="'make' must give an optimizer of 'nn'"):
        nn.FunctionalOptimizer(lambda p: p).init(Tensor(1.0))
    sgd = nn.FunctionalOptimizer(nn.SGD)
    with pytest.raises(TypeError, match="'params' must hold Tensors"):
        sgd.init([])
    p = start()
    state = sgd.init(p)
    with pytest.raises(ValueError, match="'gradients' must have the structure of 'params'"):
        sgd.update(p["w"], state, p)
    with pytest.raises(ValueError, match="'global_step' is missing"):
        sgd.update(p, {}, p)
    with pytest.raises(ValueError, match="'learning_rate' in 'state' must have shape"):
        sgd.update(p, {**state, "learning_rate": Tensor([0.1])}, p)


def test_all_optimizers_are_tried():
    assert {name for name in optim.__all__ if name in REQUIRED or name in EVERY} <= set(CASES)


def test_gradients_may_have_their_keys_in_another_order():
    optimizer, params = nn.FunctionalOptimizer(nn.SGD, learning_rate=1.0), {
        "w": Tensor([5.0, 5.0]), "b": {"u": Tensor([5.0, 5.0]), "v": Tensor([5.0, 5.0])}}
    new, _ = optimizer.update({"b": {"v": Tensor([1.0, 2.0]), "u": Tensor([2.0, 3.0])},
                               "w": Tensor([3.0, 4.0])}, optimizer.init(params), params)
    assert new["w"].tolist() == [2.0, 1.0]
    assert new["b"]["u"].tolist() == [3.0, 2.0] and new["b"]["v"].tolist() == [4.0, 3.0]
