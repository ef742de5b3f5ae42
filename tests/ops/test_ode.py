"""`odeint`: solutions and gradients beside SciPy, closed forms and finite differences."""

import dataclasses

import numpy as np
import pytest
import scipy.integrate
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops import ode

TIMES = np.array([0.0, 0.3, 0.7, 2.0])


def pendulum(y, t, k):
    return ops.stack([y[1], -k * ops.sin(y[0]) - 0.1 * t * y[1]])


def in_numpy(t, y, k):
    return np.array([y[1], -k * np.sin(y[0]) - 0.1 * t * y[1]])


def solved(y0, t, k):
    return ms.odeint(pendulum, y0, t, k, rtol=1e-9, atol=1e-11)


def finite(function, value, step=1e-5):
    found = np.zeros_like(value)
    for place in np.ndindex(value.shape):
        moved = [value.copy(), value.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("times", [TIMES, TIMES[::-1].copy(), TIMES[:2]],
                         ids=["forwards", "backwards", "two"])
def test_like_scipy(times, compiled):
    y0, k = np.array([1.0, 0.5]), 3.0
    want = scipy.integrate.solve_ivp(in_numpy, (times[0], times[-1]), y0, "DOP853", times,
                                     args=(k,), rtol=1e-12, atol=1e-13).y.T
    run = ms.jit(solved) if compiled else solved
    for _ in range(3):
        found = run(Tensor(y0), Tensor(times), Tensor(k))
        np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-7, atol=1e-8)
    if compiled:
        assert run.report()["replays"] > 0


def test_other_values_take_other_steps_in_one_graph():
    run = ms.jit(solved)
    for speed in (1.0, 3.0, 20.0, 2.0, 30.0):
        args = Tensor([1.0, 0.5], ms.float64), Tensor(TIMES), Tensor(speed, ms.float64)
        np.testing.assert_allclose(run(*args).asnumpy(), solved(*args).asnumpy(), rtol=1e-9)
    assert run.report()["traces"] <= 3


# eagerly; what `jit` makes of the loops is compared in the tests above, and of their derivatives in
# tests/ops/test_loop_transforms.py
COMPILED = [False, pytest.param(True, marks=pytest.mark.long("the same derivatives, compiled"))]


@pytest.mark.parametrize("compiled, adjoint", [
    (False, True), (False, False), (True, True),
    pytest.param(True, False, marks=COMPILED[1].marks)])
def test_gradients_by_everything(adjoint, compiled):
    y0, k, weight = np.array([1.0, 0.5]), np.array(3.0), np.cos(np.arange(8.0)).reshape(4, 2)

    def loss(y0, t, k):
        found = ms.odeint(pendulum, y0, t, k, rtol=1e-6, atol=1e-8, adjoint=adjoint)
        return (found * Tensor(weight)).sum()

    def value(**changed):
        given = {"y0": y0, "t": TIMES, "k": k, **changed}
        return float((solved(*map(Tensor, given.values())).asnumpy() * weight).sum())

    gradient = ms.grad(loss, (0, 1, 2))
    gradient = ms.jit(gradient) if compiled else gradient
    for _ in range(2):
        found = gradient(Tensor(y0), Tensor(TIMES), Tensor(k))
    wants = [finite(lambda v: value(y0=v), y0), finite(lambda v: value(t=v), TIMES),
             finite(lambda v: value(k=v), k)]
    for got, want in zip(found, wants, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_second_derivatives():
    def end(k):
        return ms.odeint(lambda y, t, k: -k * y, Tensor(1.0, ms.float64),
                         Tensor([0.0, 0.5, 2.0]), k, rtol=1e-7, atol=1e-8)[-1]

    k = Tensor(0.7, ms.float64)
    np.testing.assert_allclose(float(ms.grad(ms.grad(end))(k)), 4 * np.exp(-1.4), rtol=1e-5)
    np.testing.assert_allclose(float(ms.jvp(end, k, Tensor(1.0, ms.float64))[1]),
                               -2 * np.exp(-1.4), rtol=1e-5)


@dataclasses.dataclass
class Pair:
    a: Tensor
    b: Tensor


def test_structures_and_parameters():
    net = nn.Dense(2, 2, dtype=ms.float64)

    def field(y, t):
        return Pair(ops.tanh(net(y.a)), -y.b * t)

    y0 = Pair(Tensor([[1.0, -1.0]], ms.float64), Tensor([2.0], ms.float64))
    times = Tensor([0.0, 1.0], ms.float64)

    def loss(y0, **options):
        found = ms.odeint(field, y0, times, rtol=1e-8, atol=1e-9, **options)
        return (found.a[-1] ** 2).sum() + found.b[-1].sum()

    weights = net.trainable_params()
    gradients = [ms.grad(lambda y0: loss(y0, **options), 0, weights)(y0)  # noqa: B023
                 for options in ({"weights": weights}, {"adjoint": False})]
    (by_y, by_weights), (want_y, want_weights) = gradients
    for got, want in zip((by_y.a, by_y.b, *by_weights), (want_y.a, want_y.b, *want_weights),
                         strict=True):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("compiled", COMPILED)
def test_examples_take_their_own_steps(compiled):
    starts, speeds = Tensor([[1.0, 0.5], [0.1, 0.0]], ms.float64), Tensor([3.0, 20.0], ms.float64)
    times = Tensor(TIMES[:3])

    def end(y0, k):
        return ms.odeint(pendulum, y0, times, k, rtol=1e-5, atol=1e-7)[1:]

    made = ms.jit if compiled else lambda f: f
    together = made(ms.vmap(end))(starts, speeds)
    by_each = made(ms.vmap(ms.grad(lambda y0, k: end(y0, k).sum(), (0, 1))))(starts, speeds)
    for i in range(2):
        np.testing.assert_allclose(together.asnumpy()[i], end(starts[i], speeds[i]).asnumpy(),
                                   rtol=1e-9)
        alone = ms.grad(lambda y0, k: end(y0, k).sum(), (0, 1))(starts[i], speeds[i])
        for a, b in zip(by_each, alone, strict=True):
            np.testing.assert_allclose(a.asnumpy()[i], b.asnumpy(), rtol=1e-6)
    jacobian = ms.jacrev(lambda y0: end(y0, speeds[0])[-1])(starts[0])
    np.testing.assert_allclose(jacobian.asnumpy(),
                               ms.jacfwd(lambda y0: end(y0, speeds[0])[-1])(starts[0]).asnumpy(),
                               rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("compiled", COMPILED)
def test_forward_mode_takes_the_derivative_of_the_steps(compiled):
    times, k = Tensor(TIMES[:3]), Tensor(3.0, ms.float64)
    y0, direction = Tensor([1.0, 0.5], ms.float64), Tensor([0.3, -0.2], ms.float64)

    def end(y0):  # as loosely as no difference of two adjoint solutions is linear
        return ms.odeint(pendulum, y0, times, k, rtol=1e-3)[-1]

    def found(y0):
        return (ms.jvp(end, (y0,), (direction,))[1], ms.jacfwd(end)(y0),
                ms.hessian(lambda y: (end(y) ** 2).sum())(y0), ms.jacrev(end)(y0))

    tangent, forwards, second, by_adjoint = (
        part.asnumpy() for part in (ms.jit(found) if compiled else found)(y0))
    np.testing.assert_allclose(forwards @ direction.asnumpy(), tangent, rtol=1e-10)
    np.testing.assert_allclose(second, second.T, rtol=1e-8)

    def squares(y):
        return (solved(y, times, k)[-1] ** 2).sum()

    exact, gradients = [], []  # their differences, of solutions that are as good as exact
    for row in np.eye(2) * 1e-5:
        after, before = Tensor(y0.asnumpy() + row), Tensor(y0.asnumpy() - row)
        exact.append((solved(after, times, k) - solved(before, times, k))[-1].asnumpy() / 2e-5)
        gradients.append((ms.grad(squares)(after) - ms.grad(squares)(before)).asnumpy() / 2e-5)
    np.testing.assert_allclose(forwards, np.transpose(exact), atol=5e-3)
    np.testing.assert_allclose(by_adjoint, np.transpose(exact), atol=5e-3)
    np.testing.assert_allclose(second, gradients, atol=5e-2)


def test_what_is_not_reached_is_nan():
    # y' = y^2 is infinite at 1
    found = ms.odeint(lambda y, t: y * y, Tensor(1.0), Tensor([0.0, 0.5, 2.0])).asnumpy()
    np.testing.assert_allclose(found[:2], [1.0, 2.0], rtol=1e-3)
    assert np.isnan(found[2])
    few = ms.odeint(lambda y, t: -y, Tensor(1.0), Tensor([0.0, 100.0]), max_steps=3).asnumpy()
    assert np.isnan(few[1])


def test_float32_and_one_time():
    y = ms.odeint(lambda y, t: -y, Tensor([1.0, 2.0]), Tensor([0, 1, 3]))
    assert y.dtype == ms.float32 and y.shape == (3, 2)
    np.testing.assert_allclose(y[-1].asnumpy(), np.exp(-3) * np.array([1, 2]), rtol=1e-3)
    assert ms.odeint(lambda y, t: -y, Tensor([1.0]), Tensor([2.0])).asnumpy().tolist() == [[1.0]]


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.odeint(3, Tensor(1.0), Tensor([0.0])), TypeError, "'func' must be a function"),
    (lambda: ms.odeint(lambda y, t: y, 1.0, Tensor([0.0])), TypeError, "'y0' must hold Tensors"),
    (lambda: ms.odeint(lambda y, t: y, Tensor(1), Tensor([0.0])), TypeError, "one floating type"),
    (lambda: ms.odeint(lambda y, t: y, Tensor(1.0), Tensor(0.0)), ValueError, "rank 1"),
    (lambda: ms.odeint(lambda y, t: y, Tensor(1.0), [0.0]), TypeError, "'t' must be"),
    (lambda: ms.odeint(lambda y, t: y[0], Tensor([1.0, 2.0]), Tensor([0.0, 1.0])), ValueError,
     "'func' must give a derivative"),
    (lambda: ms.odeint(lambda y, t: y, Tensor(1.0), Tensor([0.0]), rtol=-1.0), ValueError,
     "'rtol' must be a float above 0"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_coefficients_are_scipys():
    own = scipy.integrate.RK45
    *stages, last = ode._STAGES
    for row, (stage, time) in enumerate(zip(stages, ode._TIMES, strict=False), 1):
        np.testing.assert_allclose(stage, own.A[row, :row], rtol=1e-15)
        assert abs(time - own.C[row]) < 1e-16
    assert ode._TIMES[-1] == 1
    np.testing.assert_allclose(last, own.B, rtol=1e-15)
    np.testing.assert_allclose(np.negative(ode._ERROR), own.E, rtol=1e-13)
    np.testing.assert_allclose(ode._MIDDLE, own.P @ 0.5 ** np.arange(1, 5), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("length", [None, 1e-4, 0.05, 0.4, 0.9, 3.0])
def test_a_step_is_scipys(length):
    y0, k, options = np.array([1.0, 0.5]), 3.0, {"rtol": 1e-3, "atol": 1e-5}
    solver = ode._Solver(lambda y, t: pendulum(y, t, Tensor(k)), Tensor(y0), (),
                         {**options, "max_steps": 9})
    own = scipy.integrate.RK45(lambda t, y: in_numpy(t, y, k), 0.0, y0, 3.0, **options,
                               **({} if length is None else {"first_step": length}))
    if length is None:
        found = solver.first_step([torch.from_numpy(y0)], [torch.from_numpy(own.f)],
                                  torch.tensor(0.0, dtype=torch.float64))
        np.testing.assert_allclose(found.item(), own.h_abs, rtol=1e-12)
        length = own.h_abs
    t = torch.tensor([0.0, length * 0.3, length * 0.8, 3.0], dtype=torch.float64)
    y, f = [torch.from_numpy(y0)], [torch.from_numpy(own.f)]
    outs = [torch.full((4, 2), torch.nan, dtype=torch.float64)]
    now, longer, count, new, slope, outs = solver.step(
        t, t[-1], t[0], torch.tensor(length, dtype=torch.float64), torch.tensor(4), y, f, outs)
    own.step()
    assert count.item() == 5
    if own.t < length:  # a step that is too long is taken back
        assert now.item() == 0 and 0.2 * length <= longer.item() < length
        np.testing.assert_array_equal(new[0].asnumpy(), y0)
        np.testing.assert_array_equal(slope[0].asnumpy(), f[0].numpy())
        return
    np.testing.assert_allclose([now.item(), longer.item()], [own.t, own.h_abs], rtol=1e-9)
    np.testing.assert_allclose(new[0].asnumpy(), own.y, rtol=1e-12)
    np.testing.assert_allclose(slope[0].asnumpy(), own.f, rtol=1e-12)
    np.testing.assert_allclose(outs[0].asnumpy()[1:3].T, own.dense_output()(t[1:3].numpy()),
                               rtol=1e-11)
    assert np.isnan(outs[0].asnumpy()[0]).all()


def test_a_first_step_where_nothing_moves():
    solver = ode._Solver(lambda y, t: y * 0, Tensor([0.0]), (),
                         {"rtol": 1e-3, "atol": 1e-5, "max_steps": 9})
    zero = [torch.zeros(1, dtype=torch.float64)]
    assert solver.first_step(zero, zero, torch.tensor(0.0)).item() == pytest.approx(1e-6)


def test_a_slope_may_have_its_keys_in_another_order():
    def slope(y, t, k):
        return {"q": y["q"] * 2, "p": y["p"] * k}

    def end(k, t, **options):
        found = ms.odeint(slope, {"p": k, "q": k}, ops.stack([t * 0, t]), k, **options)
        return found["p"][1] + 10 * found["q"][1]

    k, t = Tensor(1.0, ms.float64), Tensor(0.5, ms.float64)
    np.testing.assert_allclose(float(end(k, t)), np.exp(0.5) + 10 * np.exp(1), 1e-4)
    for adjoint in (True, False):  # of k e^(kt) + 10 k e^(2t)
        by_k, by_t = ms.grad(lambda k, t: end(k, t, adjoint=adjoint), (0, 1))(k, t)  # noqa: B023
        np.testing.assert_allclose(float(by_k), 1.5 * np.exp(0.5) + 10 * np.exp(1), 1e-4)
        np.testing.assert_allclose(float(by_t), np.exp(0.5) + 20 * np.exp(1), 1e-4)


@pytest.mark.parametrize("times", [TIMES[1:], TIMES[::-1].copy(), TIMES[:2]])
def test_derivatives_by_the_times_in_forward_mode(times):
    def value(t):
        return ms.odeint(lambda y, t: -y, Tensor(1.0, ms.float64), t)

    jacobian = ms.jacfwd(value)(Tensor(times)).asnumpy()
    exact = np.exp(times[0] - times)  # falls as its own time grows, and rises with the first
    np.testing.assert_allclose(jacobian, np.diag(-exact) + np.outer(exact, np.eye(len(times))[0]),
                               atol=1e-4)
