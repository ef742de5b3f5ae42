"""Training steps whose forward function is compiled, beside eager ones."""

import dataclasses

import numpy as np

import lamella as ms
from lamella import Tensor, jit, nn

STEPS = 4


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def leaves(value):
    if isinstance(value, Tensor):
        yield value.asnumpy()
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif dataclasses.is_dataclass(value):
        yield from leaves(vars(value))
    else:
        yield np.asarray(value)


def assert_alike(found, wanted):
    found, wanted = list(leaves(found)), list(leaves(wanted))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def train(forward, cell, inputs, compiled, positions=None, has_aux=False):
    """The results of some steps, and the report of the compiled function."""
    call = jit(forward) if compiled else forward
    weights = None if cell is None else tuple(cell.trainable_params())
    gradient = ms.value_and_grad(call, positions, weights, has_aux=has_aux)
    update = nn.Momentum(weights, 0.1, 0.9) if weights else None
    ms.set_seed(3)
    seen = []
    for step in range(STEPS):
        value, gradients = gradient(*inputs(step))
        seen.append((value, gradients))
        if update is not None:
            update(gradients if positions is None else gradients[1])
    if cell is not None:
        seen.append([p.value() for p in cell.get_parameters()])
    return seen, call.report() if compiled else None


def check(make, inputs, traces=1, **options):
    """Eager and compiled programs have the same results; one is recorded `traces` times.

    Args:
        make: returns a forward function and the Cell whose weights are trained, or None.
        inputs: from the number of a step to the arguments.
    """
    ms.set_seed(1)
    forward, cell = make()
    eager, _ = train(forward, cell, inputs, False, **options)
    ms.set_seed(1)
    forward, cell = make()
    found, report = train(forward, cell, inputs, True, **options)
    assert_alike(found, eager)
    assert report is not None
    assert report["eager"] == [], report
    assert (report["traces"], report["replays"]) == (traces, STEPS - traces), report


def mlp():
    return nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 3))


def batch(step, count=5):
    return (Tensor(array(count, 4, seed=step)),
            Tensor(np.arange(count, dtype=np.int32) % 3))
