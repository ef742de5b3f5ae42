"""Layers on the simulated device: the CPU's results and gradients, and nothing left on the CPU."""

import numpy as np

import lamella as ms
from lamella import ops
from tests.contracts import outputs
from tests.device.simulated import target
from tests.nn.layer_cases import CASES, scope, set_parameters


def test_layers_give_the_cpu_s_results():
    wrong = []
    for made, given in CASES:
        if given is None:  # its arguments have no such line
            continue
        here, there = (_results(device, made, given) for device in (target.NAME, "CPU"))
        for a, b in zip(here, there, strict=True):
            if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
                wrong.append(f"{made} of {given}: {np.abs(a - b).max()}")
    assert not wrong, "\n".join(wrong)


def _results(device, made, given):
    """Outputs, and gradients by Parameters, as arrays."""
    ms.set_device(device)
    names = scope(ms)
    ms.set_seed(0)
    cell = eval(made, names)  # noqa: S307  (the lines of a test)
    set_parameters(cell, ms)
    args = eval(f"({given}{',' * bool(given)})", names)  # noqa: S307
    weights = [p for p in cell.trainable_params() if p.dtype in (ms.float32, ms.float16)]

    def total(*args):
        found = outputs(cell(*args))
        return sum((ops.sum(out.abs().astype(ms.float32)) for out in found), ms.Tensor(0.0)), found

    found = total(*args)[1]
    grads = ms.grad(lambda: total(*args)[0], None, weights)() if weights else ()
    tensors = [*found, *outputs(grads)]
    assert all(t.device.startswith(device) for t in tensors), made
    return [t.asnumpy().astype(np.float64) if t.dtype not in (ms.bool, ms.complex64)
            else t.asnumpy() for t in tensors]
