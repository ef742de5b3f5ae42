"""Checks that a compiled function and its eager calls agree in results and state."""


import numpy as np

import lamella as ms
from lamella import Tensor, jit

X = Tensor([1.0, -2.0, 3.0])
W = Tensor([2.0, 0.5, -1.0])


def plain(value):
    """A result as plain values, for comparing."""
    if isinstance(value, Tensor):
        return (value.dtype.name, value.asnumpy().tolist())
    if isinstance(value, (tuple, list)):
        return type(value)(plain(v) for v in value) if not hasattr(value, "_fields") else (
            type(value)(*map(plain, value)))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def close(got, want):
    """Check that two results are alike to rounding, in structure and type exactly."""
    assert type(got) is type(want), (got, want)
    if isinstance(want, Tensor):
        assert got.dtype is want.dtype and got.shape == want.shape, (got, want)
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            close(g, w)
    elif isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            close(got[key], want[key])
    else:
        assert got == want


def agree(function, *calls, graph=True):
    """Check that a function without state gives compiled, twice each, what it gives eagerly."""
    compiled = jit(function, fullgraph=graph)
    for args in calls:
        for _ in range(2):
            close(compiled(*args), function(*args))
    return compiled


def agree_with_state(make, calls, graph=True):
    """The same of what `make` makes, a callable and what it changes: twins, one of them compiled.

    `make` gives a callable and a function that gives its state.
    """
    ms.set_seed(0)
    eager, eager_state = make()
    ms.set_seed(0)
    function, state = make()
    compiled = jit(function, fullgraph=graph)
    for args in calls:
        close(compiled(*args), eager(*args))
        close(state(), eager_state())
    return compiled
