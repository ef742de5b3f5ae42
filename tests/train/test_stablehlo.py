"""`export` as StableHLO: what JAX's own loader makes of the file gives the same numbers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

jax = pytest.importorskip("jax", reason="JAX isn't installed")
export = pytest.importorskip("jax.export")


def read(path):
    with open(path, "rb") as file:
        return export.deserialize(bytearray(file.read()))


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape)).astype(ms.float32)


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def agrees(fn, *args, folder):
    ms.export(fn, *args, file_name=folder / "f", file_format="STABLEHLO")
    made = read(folder / "f.stablehlo")
    with jax.enable_x64(True):
        found = made.call(*[x.asnumpy() for x in leaves(args)])
    wanted = leaves(fn(*args))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and str(a.dtype) == str(b.dtype).lower()
        np.testing.assert_allclose(np.asarray(a, np.float64), b.astype(ms.float64).asnumpy(),
                                   1e-4, 1e-5)


def network():
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(8, 3))
    net.set_train(False)
    return net


def loop(x):
    total, _ = ms.while_loop(lambda pair: pair[1] < 20, lambda pair: (pair[0] * 1.1, pair[1] + 3),
                             (x, x.sum() * 0))
    for _ in range(6):
        total = ops.tanh(total @ x.T @ x) + 1
    return total


@pytest.mark.parametrize(("fn", "args"), [
    (network(), [tensor(5, 4)]),
    (lambda pair: {"a": pair[0].T, "b": [pair[1] > 0, ops.cumsum(pair[0], 1)]},
     [(tensor(3, 4), tensor(2))]),
    (loop, [tensor(3, 4) * 0.3]),
    (lambda x: ops.inverse(x @ x.T + ops.eye(3)) @ x, [tensor(3, 4)]),
    (lambda x: (x.astype(ms.float64) * 2, x.astype(ms.int64) + 1), [tensor(3)]),
    (lambda x: ops.broadcast_to(x.sum(0), (5, 4)), [tensor(3, 4)]),
    (ms.jit(lambda x: ops.relu(x) * 2), [tensor(3, 4)]),
], ids=["a Cell", "structures", "loops", "factorizations", "types", "repeats", "compiled"])
def test_what_jax_reads_gives_the_same(fn, args, tmp_path):
    agrees(fn, *args, folder=tmp_path)


def test_a_gradient_function(tmp_path):
    net = network()
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), 0, net.trainable_params())
    agrees(gradient, tensor(5, 4), folder=tmp_path)


def test_weights_in_bfloat16(tmp_path):
    weight = tensor(4, 3).astype(ms.bfloat16)
    agrees(lambda x: (x @ weight.astype(ms.float32)) * 2, tensor(2, 4), folder=tmp_path)


def test_a_process_without_lamella_runs_it(tmp_path):
    net, x = network(), tensor(5, 4)
    ms.export(net, x, file_name=str(tmp_path / "net"), file_format="STABLEHLO")
    np.save(tmp_path / "x.npy", x.asnumpy())
    program = ("import sys, numpy as np, jax.export as e; "
               "net = e.deserialize(bytearray(open('net.stablehlo', 'rb').read())); "
               "np.save('y.npy', net.call(np.load('x.npy'))[0]); "
               "assert 'stablehlo.dot_general' in net.mlir_module(); "
               "assert not any(m in sys.modules for m in ('lamella', 'torch'))")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True,
                   env={**os.environ, "JAX_PLATFORMS": "cpu"})
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(x).asnumpy(), 1e-5, 1e-6)


def test_what_does_more_than_computing_is_refused_and_undone(tmp_path):
    net = nn.Dense(4, 1)
    optimizer, weight = nn.SGD(net.trainable_params(), 0.1), net.weight.asnumpy().copy()
    seen = []

    def step(x):
        _, gradients = ms.value_and_grad(lambda x: net(x).sum(), None,
                                         net.trainable_params())(x)
        return optimizer(gradients)

    def noting(x):
        seen.append(1)
        return x * 2

    for fn, message in ((step, "changes"), (noting, "objects"),
                        (lambda x: x * 2 if x.sum() > 0 else x, "reads values"),
                        (lambda x: x + ops.standard_normal(x.shape), "rand"),
                        (lambda x: (x * 2, 1), "no new Tensor"), (lambda x: x, "gives one")):
        with pytest.raises(RuntimeError, match=f"'STABLEHLO', because of.*{message}"):
            ms.export(fn, tensor(5, 4), file_name=tmp_path / "f", file_format="STABLEHLO")
    assert not seen and (net.weight.asnumpy() == weight).all() and not os.listdir(tmp_path)


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"one size of each input, but input 0 .*None"):
        ms.export(network(), Tensor(shape=[None, 4], dtype=ms.float32), file_name=tmp_path / "f",
                  file_format="STABLEHLO")
    with pytest.raises(TypeError, match="must be a Cell or a function"):
        ms.export(3, tensor(2), file_name=tmp_path / "f", file_format="STABLEHLO")
