"""Functions whose stages XLA runs, beside eager calls."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.graph.runtime import stage
from lamella.graph.runtime.compiled import Compiled


@pytest.fixture(autouse=True)
def forced(monkeypatch):
    """XLA runs all that it can run, from the first replay on; for files that import this."""
    monkeypatch.setattr(stage, "ENGINE", "xla")


def engine(compiled):
    return compiled.report()["backends"]


def run(fn, *args, calls=4):
    """A compiled function after its stages were compiled; each call is compared with an eager one.
    """
    compiled = Compiled(fn)
    for _ in range(calls):
        found, wanted = compiled(*args), fn(*args)
        for a, b in zip(parts(found), parts(wanted), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            if b.is_floating_point():
                limit = {ms.float16: 2e-3, ms.bfloat16: 2e-2}.get(b.dtype, 2e-5)  # two units
                most = float(b.float().abs().max()) if b.size else 0.0
                np.testing.assert_allclose(a.float().asnumpy(), b.float().asnumpy(), limit,
                                           limit / 10 * most)
            else:
                assert (a == b).all()
    return compiled


def parts(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def tensor(*shape, dtype=ms.float32, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 3
    return Tensor(values).astype(dtype)
