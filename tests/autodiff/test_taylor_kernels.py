"""Rules of Taylor series, each beside the coefficients by Cauchy's integral over a circle."""

import math

import pytest
import torch

from lamella.autodiff.taylor_rules import Moving, moved

aten = torch.ops.aten
ORDER, POINTS, RADIUS = 5, 48, 0.15


def series(*shape, lacking=(), seed=0, start=2.0):
    """Random coefficients of a path that begins near `start`; None for those that are lacking."""
    made = torch.randn(ORDER + 1, *shape, generator=torch.Generator().manual_seed(seed),
                       dtype=torch.float64) / 4
    return Moving([None if k in lacking else raw + (start if k == 0 else 0)
                   for k, raw in enumerate(made)])


def unknown(function, points):
    raise LookupError("no rule")


def by_integral(func, args, kwargs):
    """The coefficients of a kernel's result as means over a circle around 0."""
    values = []
    for step in range(POINTS):
        t = RADIUS * complex(math.cos(2 * math.pi * step / POINTS),
                             math.sin(2 * math.pi * step / POINTS))

        def at(value, t=t):
            if isinstance(value, Moving):
                return sum(raw * t**k for k, raw in enumerate(value.series) if raw is not None)
            if isinstance(value, (tuple, list)):
                return [at(part) for part in value]
            complexes = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.to(torch.complex128) if complexes else value

        values.append((func(*at(args), **kwargs), t))
    return [torch.stack([value * t**-k for value, t in values]).mean(0).real
            for k in range(ORDER + 1)]


X, Y = series(3, 4), series(3, 4, lacking=(1, 4), seed=1, start=-1.5)
LATE = series(3, 4, lacking=(1, 2, 3), seed=2)
FIXED = torch.linspace(1, 3, 12, dtype=torch.float64).reshape(3, 4)
MASK = FIXED > 1.7
A, B, BIAS = series(2, 3, seed=3), series(3, 4, lacking=(2,), seed=4), series(4, seed=5)
CASES = {
    "add": (aten.add.Tensor, (X, Y), {"alpha": 3}), "add of a number": (aten.add.Tensor, (Y, 2.5)),
    "add of a constant": (aten.add.Tensor, (FIXED, Y), {"alpha": -2}),
    "sub": (aten.sub.Tensor, (Y, X), {"alpha": 0.5}), "sub from": (aten.sub.Tensor, (FIXED, LATE)),
    "rsub": (aten.rsub.Scalar, (Y, 2.5, 3)), "mul": (aten.mul.Tensor, (X, Y)),
    "mul by a number": (aten.mul.Tensor, (LATE, -1.5)),
    "mul of a row": (aten.mul.Tensor, (Y, BIAS)), "square": (aten.mul.Tensor, (Y, Y)),
    "div": (aten.div.Tensor, (X, Y)), "div by a number": (aten.div.Tensor, (Y, 4.0)),
    "div of a constant": (aten.div.Tensor, (FIXED, LATE)),
    "addmm": (aten.addmm.default, (BIAS, A, B), {"beta": 0.5, "alpha": 3}),
    "addmm of constants": (aten.addmm.default, (FIXED[:2], A, FIXED), {"alpha": 2}),
    "mm": (aten.mm.default, (A, B)), "mv": (aten.mv.default, (B, BIAS)),
    "dot": (aten.dot.default, (BIAS, BIAS)),
    "bmm": (aten.bmm.default, (series(2, 3, 4, lacking=(1,)), series(2, 4, 5, seed=7))),
    "stack": (aten.stack.default, ([Y, LATE, FIXED], 1)),
    "cat": (aten.cat.default, ([LATE, Y], -1)),
    "where": (aten.where.self, (MASK, X, Y)),
    "where constant": (aten.where.self, (MASK, FIXED, LATE)),
    **{name: (getattr(aten, name).default, (given,)) for name, given in (
        ("exp", Y), ("log", X), ("sqrt", X), ("tanh", Y), ("sigmoid", LATE), ("silu", Y),
        ("reciprocal", Y), ("rsqrt", X), ("sin", Y), ("cos", Y), ("neg", Y), ("sum", Y))},
    **{f"power {power}": (aten.pow.Tensor_Scalar, (Y if power != 0.5 else X, power))
       for power in (1, 2, 3, 6, 11, 16, -1, -2, -5, 0.5)},
    "reshape": (aten.view.default, (Y, [4, 3])), "transpose": (aten.permute.default, (Y, [1, 0])),
}


@pytest.mark.parametrize("name", CASES)
def test_coefficients(name):
    func, args, kwargs = (*CASES[name], {})[:3]
    found = moved(ORDER, unknown)(func, args, kwargs).series
    assert len(found) == ORDER + 1
    for got, want in zip(found, by_integral(func, args, kwargs), strict=True):
        got = torch.zeros_like(want) if got is None else got
        torch.testing.assert_close(got.broadcast_to(want.shape), want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("power", [0, 17, -17, 2.5, math.inf, math.nan, 2 + 0j])
def test_other_powers_have_no_rule(power):
    with pytest.raises(LookupError, match="no rule"):
        moved(ORDER, unknown)(aten.pow.Tensor_Scalar, (X, power), {})


@pytest.mark.parametrize("func, args, kwargs", [
    (aten.pow.Tensor_Tensor, (X, Y), {}), (aten.pow.Tensor_Tensor, (X, FIXED), {}),
    (aten.pow.Scalar, (2.0, X), {}), (aten.where.self, (X, X, Y), {}),
    (aten.mean.dim, (X, [Y]), {}), (aten.view.dtype, (X, torch.float32), {}),
    (aten.erf.default, (X,), {}), (aten.div.Tensor_mode, (X, Y), {"rounding_mode": "floor"}),
    (aten.abs.default, (Moving([FIXED * 1j, FIXED * 1j]),), {})], ids=range(9))
def test_kernels_without_a_rule(func, args, kwargs):
    with pytest.raises(LookupError, match="no rule"):
        moved(ORDER, unknown)(func, args, kwargs)


@pytest.mark.parametrize("func, slope", [
    (aten.relu.default, torch.tensor([0.0, 0, 0, 1, 1])),
    (aten.abs.default, torch.tensor([-1.0, -1, 0, 1, 1]))])
def test_kinks(func, slope):
    start = torch.tensor([-2.0, -0.5, 0, 0.5, 3])
    given = [start, start + 7, None, start * 3]
    found = moved(3, unknown)(func, (Moving(given),), {}).series
    assert torch.equal(found[0], func(start)) and found[2] is None
    for k in (1, 3):
        assert torch.equal(found[k], given[k] * slope)


def test_constants_and_several_results():
    apply = moved(2, unknown)
    path = Moving([FIXED, None, FIXED * 2])
    assert torch.equal(apply(aten.floor.default, (path,), {}), FIXED.floor())
    assert torch.equal(apply(aten.add.Tensor, (FIXED, 1.0), {}), FIXED + 1)
    rows = apply(aten.unbind.int, (path, 1), {})
    assert len(rows) == 4
    for number, row in enumerate(rows):
        assert torch.equal(row.series[2], FIXED[:, number] * 2) and row.series[1] is None
