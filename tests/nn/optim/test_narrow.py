"""Weights of 16 bits, more than a register holds, move as those of float32 do, but for rounding."""

import numpy as np
import pytest

import lamella as ms

from .test_optimizer import EVERY, nn

SHAPE = (5, 33)  # with vectors of 16, and something left over
STEPS = 3


def trained(name, types, compiled=False):
    """Weights after some steps, as float32, from the same numbers in each type."""
    rng = np.random.default_rng(4)
    starts = [rng.normal(size=SHAPE) for _ in types]
    slopes = [rng.choice([-1, 1], SHAPE) * rng.uniform(0.5, 1.5, SHAPE) for _ in types]
    weights = [ms.Parameter(ms.Tensor(start, dtype), name=f"w{i}")
               for i, (start, dtype) in enumerate(zip(starts, types, strict=True))]
    optimizer = getattr(nn, name)(weights, **EVERY[name])
    call = ms.jit(lambda *gradients: optimizer(gradients)) if compiled else (
        lambda *gradients: optimizer(gradients))
    for _ in range(STEPS):
        call(*[ms.Tensor(slope, dtype) for slope, dtype in zip(slopes, types, strict=True)])
    assert not compiled or call.report()["replays"] > 0
    return [weight.asnumpy().astype(np.float32) for weight in weights], starts


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
@pytest.mark.parametrize("name", EVERY)
def test_it(name, dtype, compiled):
    wanted, starts = trained(name, (ms.float32, ms.float32))
    rounding = 2.0 ** (-11 if dtype == ms.float16 else -8)
    for types in ((dtype, dtype), (ms.float32, dtype)):
        found, _ = trained(name, types, compiled)
        for got, want, start in zip(found, wanted, starts, strict=True):
            moved = np.abs(want - start).max()
            allowed = (STEPS + 1) * rounding * (np.abs(want).max() + moved) + 0.02 * moved
            assert np.abs(got - want).max() <= allowed
