"""The formulas of optimizers in NumPy, with every number other than 0 and 1, in both ways."""

import numpy as np
import pytest
import torch

from lamella.ops.primitives import update_rules as rules

LR, DECAY, EPS, L1, L2 = 0.3, 0.2, 0.15, 0.25, 0.4
RNG = np.random.default_rng(5)
SHAPES = (2, 3), (4,)


def drawn(low, high):
    return [RNG.uniform(low, high, shape) for shape in SHAPES]


P, G = drawn(-2, 2), drawn(-2, 2)
A, B, C = drawn(0.5, 2), drawn(0.5, 2), drawn(0.5, 2)
M = drawn(-1, 1)


def decayed(p, g):
    return g + DECAY * p


def sgd(nesterov, momentum=0.6):
    def step(p, g, a):
        g = decayed(p, g)
        a = momentum * a + g
        return p - LR * (g + momentum * a if nesterov else a), a
    return step


def damped(nesterov, first):
    def step(p, g, a, stat):
        g = decayed(p, g)
        a = g if first else 0.6 * a + 0.8 * g
        return p - LR * (g + 0.6 * a if nesterov else a), a, stat * 0
    return step


def moments(g, m, v):
    return 0.7 * m + 0.3 * g, 0.6 * v + 0.4 * g * g


def adam(p, g, m, v):
    m, v = moments(decayed(p, g), m, v)
    return p - LR * m / (np.sqrt(v) + EPS), m, v


def amsgrad(p, g, m, v, largest):
    m, v = moments(decayed(p, g), m, v)
    largest = np.maximum(largest, v)
    return p - LR * m / (np.sqrt(largest) + EPS), m, v, largest


def adam_weight_decay(p, g, m, v):
    m, v = moments(g, m, v)
    return p * (1 - LR * DECAY) - LR * m / (np.sqrt(v) + EPS), m, v


def nesterov_adam(p, g, m, v):
    g = decayed(p, g)
    m, v = moments(g, m, v)
    return p - LR * (0.7 * m + 0.3 * g) / (np.sqrt(v) + EPS), m, v


def adamax(p, g, m, v):
    g = decayed(p, g)
    m, v = 0.7 * m + 0.3 * g, np.maximum(0.6 * v, abs(g))
    return p - LR * m / (v + EPS), m, v


def adagrad(grows):
    def step(p, g, a):
        g = decayed(p, g)
        a = a + g * g * grows
        return p - LR * g / (np.sqrt(a) + EPS), a
    return step


def shrunk(x, rate):
    return np.sign(x) * np.maximum(abs(x) - rate * L1, 0) / (1 + rate * L2)


def proximal_adagrad(p, g, a):
    g = decayed(p, g)
    a = a + g * g
    return shrunk(p - LR / np.sqrt(a) * g, LR / np.sqrt(a)), a


def proximal_descent(p, g):
    return (shrunk(p - LR * g, LR),)


def adagrad_da(p, g, total, square):
    total, square = total + g, square + g * g
    pull = np.sign(total) * np.maximum(abs(total) - L1 * 3, 0)
    return -LR * pull / (L2 * 3 * LR + np.sqrt(square)), total, square


def rmsprop(p, g, square, moment):
    g = decayed(p, g)
    square = 0.7 * square + 0.3 * g * g
    moment = 0.6 * moment + LR * g / np.sqrt(square + EPS)
    return p - moment, square, moment


def centered(p, g, square, moment, mean):
    g = decayed(p, g)
    square, mean = 0.7 * square + 0.3 * g * g, 0.7 * mean + 0.3 * g
    spread = square + EPS - mean * mean
    moved = np.where(spread > 0, 0.6 * moment + LR * g / np.sqrt(np.maximum(spread, 1e-9)), moment)
    return np.where(spread > 0, p - moved, p), square, moved, mean


def adadelta(p, g, accum, update):
    g = decayed(p, g)
    accum = 0.7 * accum + 0.3 * g * g
    step = np.sqrt((update + EPS) / (accum + EPS)) * g
    return p - LR * step, accum, 0.7 * update + 0.3 * step * step


def ftrl(shrinkage):
    def step(p, g, accum, linear):
        g = decayed(p, g)
        grown = accum + g * g
        linear = linear + g + 2 * shrinkage * p - (grown**0.7 - accum**0.7) / LR * p
        found = (L1 * np.sign(linear) - linear) / (grown**0.7 / LR + 2 * L2)
        return np.where(abs(linear) > L1, found, 0), grown, linear
    return step


def lamb(p, g, m, v):
    m, v = moments(g, m, v)
    step = m / (1 - 0.7**3) / (np.sqrt(v / (1 - 0.6**3)) + EPS) + DECAY * p
    return p - LR * np.linalg.norm(p) / np.linalg.norm(step) * step, m, v


BETAS = (LR, 0.7, 0.6, EPS)
MORE = {"decay": DECAY}
# the rule, what it changes, its numbers, and the same in NumPy
CASES = {
    "sgd": (rules.sgd, (A,), (LR, 0.6), MORE, sgd(False)),
    "sgd that looks ahead": (rules.sgd, (A,), (LR, 0.6, True), MORE, sgd(True)),
    "sgd without momentum": (rules.sgd, (A,), (LR, 0.0), MORE, sgd(False, 0.0)),
    "damped": (rules.damped_sgd, (A, [0 * a for a in A]), (LR, 0.6, 0.2, DECAY), {},
               damped(False, False)),
    "damped that looks ahead": (rules.damped_sgd, (A, [0 * a for a in A]),
                                (LR, 0.6, 0.2, DECAY, True), {}, damped(True, False)),
    "first of damped": (rules.damped_sgd, (A, [0 * a + 0.5 for a in A]), (LR, 0.6, 0.2, DECAY), {},
                        damped(False, True)),
    "adam": (rules.adam, (M, A), BETAS, MORE, adam),
    "adam_weight_decay": (rules.adam_weight_decay, (M, A), BETAS, MORE, adam_weight_decay),
    "adam_weight_decay by a tensor": (
        rules.adam_weight_decay, (M, A), BETAS,
        {"decay": torch.tensor([DECAY], dtype=torch.float64)}, adam_weight_decay),
    "nesterov_adam": (rules.nesterov_adam, (M, A), BETAS, MORE, nesterov_adam),
    "adamax": (rules.adamax, (M, A), BETAS, MORE, adamax),
    "adagrad": (rules.adagrad, (A,), (LR, EPS), MORE, adagrad(True)),
    "adagrad of sums that stay": (rules.adagrad, (A,), (LR, EPS, False), MORE, adagrad(False)),
    "proximal_adagrad": (rules.proximal_adagrad, (A,), (LR, L1, L2), MORE, proximal_adagrad),
    "proximal_descent": (rules.proximal_descent, (), (LR, L1, L2), {}, proximal_descent),
    "adagrad_da": (rules.adagrad_da, (M, A), (LR, L1, L2, 3), {}, adagrad_da),
    "rmsprop": (rules.rmsprop, (A, M), (LR, 0.7, 0.6, EPS), MORE, rmsprop),
    "adadelta": (rules.adadelta, (A, B), (LR, 0.7, EPS), MORE, adadelta),
    "ftrl": (rules.ftrl, (A, M), (LR, L1, L2, -0.7), MORE, ftrl(0)),
    "ftrl with shrinkage": (rules.ftrl, (A, M), (LR, L1, L2, -0.7), {**MORE, "shrinkage": 0.35},
                            ftrl(0.35)),
    "lamb": (rules.lamb, (M, A), (*BETAS, torch.tensor(3.0)), MORE, lamb),
    # the last of their lists is given by keyword
    "amsgrad": (rules.adam, (M, A, B), BETAS, {**MORE, "last": "vhat"}, amsgrad),
    "centered": (rules.rmsprop, (A, M, [2 * c for c in C]), (LR, 0.7, 0.6, EPS),
                 {**MORE, "last": "means"}, centered),
}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_step(name, recorded):
    """By kernels over lists, and tensor by tensor where gradients are recorded."""
    rule, states, numbers, options, formula = CASES[name]
    lists = [[torch.tensor(x) for x in values] for values in (P, G, *states)]
    options = dict(options)
    last = options.pop("last", None)
    given = lists[:-1] if last else lists
    with torch.set_grad_enabled(recorded):
        rule(*given, *numbers, **options, **({last: lists[-1]} if last else {}))
    for place in range(len(SHAPES)):
        wanted = formula(*(values[place] for values in (P, G, *states)))
        for raws, want in zip([lists[0], *lists[2:]], wanted, strict=True):
            np.testing.assert_allclose(raws[place].numpy(), want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_descent_of_many_numbers_of_16_bits(dtype):
    """Also of those that fill a whole vector register."""
    p, g, a = (torch.linspace(low, 2, 67).to(dtype) for low in (-2, -1, 0.5))
    wanted, accum = sgd(False)(*(raw.double().numpy() for raw in (p, g, a)))
    with torch.no_grad():
        rules.sgd([p], [g], [a], LR, 0.6, decay=DECAY)
    unit = torch.finfo(dtype).eps
    np.testing.assert_allclose(p.double().numpy(), wanted, rtol=2 * unit, atol=2 * unit)
    np.testing.assert_allclose(a.double().numpy(), accum, rtol=2 * unit, atol=2 * unit)


def test_a_first_gradient_of_zero_has_a_derivative():
    """The root of a second moment of 0 counts as constant."""
    weight = torch.tensor([1.0], requires_grad=True)
    lists = [[weight], [weight * 0.0], [torch.zeros(1)], [torch.zeros(1)]]
    with torch.enable_grad():
        rules.adam(*lists, *BETAS)
    assert torch.autograd.grad(lists[0][0].sum(), weight)[0].item() == 1.0


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("param, update, wanted", [
    ([3.0, 4.0], [0.0, 2.0], 2.5), ([0.0, 0.0], [1.0, 1.0], 1.0), ([3.0, 4.0], [0.0, 0.0], 1.0)])
def test_the_trust_in_a_step(param, update, wanted, recorded):
    with torch.set_grad_enabled(recorded):
        assert rules.trust(torch.tensor(param), torch.tensor(update)).item() == wanted


@pytest.mark.parametrize("lengths, clip, ratio", [
    ((2.0, 3.0), False, 0.5 * 2.0 / (3.0 + DECAY * 2.0 + EPS)), ((0.0, 3.0), False, 1.0),
    ((2.0, 0.0), False, 1.0), ((0.3, 3.0), True, 0.5 * 0.3 / (3.0 + DECAY * 0.3 + EPS) / LR),
    ((9.0, 1.0), True, 1.0)])
def test_a_gradient_in_the_length_of_its_parameter(lengths, clip, ratio):
    p, g = torch.tensor(P[0]), torch.tensor(G[0])
    found = rules.lars(p, g, *map(torch.tensor, lengths), DECAY, LR, EPS, 0.5, clip)
    np.testing.assert_allclose(found.numpy(), decayed(P[0], G[0]) * ratio, rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (5,)])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("scaled, clip", [(False, 0.4), (True, 0.4), (False, 50.0), (True, 50.0)])
def test_adafactor(shape, first, scaled, clip):
    draw = np.random.default_rng(1)
    p, g, mean, square = (draw.uniform(0.5, 2, shape) for _ in range(4))
    row, col = (draw.uniform(0.5, 2, size) for size in (shape[:-1], shape[:-2] + shape[-1:]))
    found = rules.adafactor(
        torch.tensor(p), torch.tensor(g), torch.tensor(mean) if first else None, torch.tensor(row),
        torch.tensor(col), torch.tensor(square), LR, (0.1, 0.3), clip, 0.7, torch.tensor(0.6),
        DECAY, scaled)
    lr = LR * (max(np.sqrt(np.mean(p * p)), 0.3) if scaled else 1)
    squared = g * g + 0.1
    if len(shape) > 1:
        row, col = 0.6 * row + 0.4 * squared.mean(-1), 0.6 * col + 0.4 * squared.mean(-2)
        second = (row / row.mean(-1, keepdims=True))[..., None] * col[..., None, :]
        kept = row, col, None
    else:
        second = 0.6 * square + 0.4 * squared
        kept = None, None, second
    update = g / np.sqrt(second)
    update = update / max(np.sqrt(np.mean(update**2)) / clip, 1) * lr
    moved = 0.7 * mean + 0.3 * update if first else None
    new = p - DECAY * lr * p - (moved if first else update)
    for raw, want in zip(found, (new, moved, *kept), strict=True):
        assert (raw is None) is (want is None)
        if raw is not None:
            np.testing.assert_allclose(raw.numpy(), want, rtol=1e-5)


def test_the_least_magnitude_that_scales_a_rate():
    """Of a parameter of zeros a step of `eps[1]` times the rate is left."""
    zero, one = torch.zeros(2), torch.ones(2)
    found = rules.adafactor(zero, one, None, one, one, zero, LR, (0.0, 0.3), 9.0, 0.9,
                            torch.tensor(0.0), 0.0, True)
    np.testing.assert_allclose(found[0].numpy(), [-LR * 0.3] * 2, rtol=1e-6)
