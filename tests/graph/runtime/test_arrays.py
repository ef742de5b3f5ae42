"""NumPy arrays as arguments: inputs of one graph."""

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.runtime.compiled import Compiled


def array(i, *shape, kind: Any = np.float32):
    return (np.random.default_rng(i).standard_normal(shape or (4, 3)) * 9).astype(kind)


X = Tensor(array(99))

PROGRAMS = {
    "a Tensor": lambda a: Tensor(a) * 2,
    "a Tensor of another type": lambda a: Tensor(a, ms.float16).sum(),
    "ms.tensor": lambda a: ms.tensor(a, ms.int32) + 1,
    "shared memory": lambda a: Tensor.from_numpy(a) + X,
    "scaled": lambda a: X * Tensor(a / 255 - 0.5),
    "scaled in another type": lambda a: Tensor(a.astype(np.float32) * 2 + 1),
    "parts": lambda a: Tensor(a[:, 0]).sum() + Tensor(a[None, 1:, ..., 2]),
    "turned": lambda a: Tensor(a.T.reshape(2, -1)) + a.shape[0],
    "by the size": lambda a: Tensor(a) / len(a) if a.ndim == 2 else Tensor(a),
    "functions": lambda a: Tensor(np.maximum(np.sqrt(np.abs(a)), 1)),
    "twice": lambda a: Tensor(a) + Tensor(a).add_(1),
}


@pytest.mark.parametrize("size, traces", [(64, 2), (65, 5)])
def test_lists_of_up_to_64_numbers_are_inputs(size, traces):
    step = jit(lambda a: X.sum() * a.tolist()[-1])
    for i in range(5):
        a = array(i, size, kind=np.float64)
        np.testing.assert_allclose(step(a).asnumpy(), X.asnumpy().sum() * a[-1], rtol=1e-4)
    assert step.report()["traces"] == traces


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8])
def test_new_arrays_are_recorded_once(name, kind):
    step = jit(PROGRAMS[name])
    for i in range(6):
        got, wanted = step(array(i, kind=kind)), PROGRAMS[name](array(i, kind=kind))
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-6)
    assert step.report()["traces"] == 2 and step.report()["replays"] == 4


def test_batches_of_arrays_train():
    def program(wrap):
        ms.set_seed(1)
        net = nn.Dense(3, 1)
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        gradient = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None,
                                     optimizer.parameters)

        def step(batch):
            loss, gradients = gradient(Tensor(batch["x"]), Tensor(batch["y"]))
            optimizer(gradients)
            return loss

        fn = wrap(step)
        losses = [float(fn({"x": array(i), "y": array(-i % 9, 4, 1)})) for i in range(8)]
        return losses, fn

    wanted, _ = program(lambda fn: fn)
    got, fn = program(jit)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert fn.report()["traces"] == 2


def test_other_shapes_types_and_layouts_have_their_own_graphs():
    step = jit(lambda a: Tensor(a) + a.shape[0])
    for i in range(3):
        for given in (array(i), array(i, 2, 3), array(i, 3, 4).T, array(i, kind=np.int64),
                      array(i)[::-1]):
            np.testing.assert_allclose(step(given).asnumpy(), given + given.shape[0], rtol=1e-6)


def test_an_array_that_is_written_again_and_again():
    buffer = array(0)
    copying, sharing = jit(lambda a: Tensor(a) * 2), jit(lambda a: Tensor.from_numpy(a) * 2)
    for i in range(6):
        buffer[...] = array(i % 4)
        for step in (copying, sharing):
            np.testing.assert_allclose(step(buffer).asnumpy(), array(i % 4) * 2)
            np.testing.assert_allclose(step(array(0)).asnumpy(), array(0) * 2)


def test_memory_that_is_shared_is_changed():
    def fn(a):
        x = Tensor.from_numpy(a)
        x.add_(1)
        return x * 2

    step = jit(fn)
    with pytest.warns(UserWarning, match="changes a NumPy array"):
        for i in range(12):
            mine, wanted = array(i), array(i)
            np.testing.assert_allclose(step(mine).asnumpy(), fn(wanted).asnumpy())
            np.testing.assert_array_equal(mine, wanted)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("value", [5.0, np.nan])
def test_an_array_changes_after_a_tensor_of_its_memory_was_made(value):
    """What was computed before the change used the old numbers, and nothing takes them for new."""
    def fn(x):
        own = np.zeros(x.shape, np.float32)
        part = x + Tensor.from_numpy(own)
        own.ravel()[0] = value
        return part, Tensor(np.zeros(x.shape, np.float32)) + x, part + Tensor.from_numpy(own)

    step = jit(fn)
    for i in range(4):
        for mine, wanted in zip(step(X * i), fn(X * i), strict=True):
            np.testing.assert_array_equal(mine.asnumpy(), wanted.asnumpy())


@pytest.mark.parametrize("fn", [
    lambda a: X * a.sum(), lambda a: X * float(a[0, 0]), lambda a: X if a[0, 0] > 0 else -X,
    lambda a: X * a.max() + Tensor(a[0].tolist()).sum(), lambda a: (X, a.mean())[0] + a.min()])
def test_numbers_that_are_read_off_an_array_are_computed_by_replays(fn):
    step = jit(fn)
    for i in range(12):
        np.testing.assert_allclose(step(array(i)).asnumpy(), fn(array(i)).asnumpy(), rtol=1e-6)
    assert step.report()["replays"] >= 8 and not step.report()["eager"]


@pytest.mark.parametrize("fn", [
    lambda a: (a, X)[1] * bool(a.any()), lambda a: X + Tensor(np.concatenate([a, a])[:4])])
def test_what_reads_the_values_is_right_and_bounded(fn):
    step = jit(fn)
    with pytest.warns(UserWarning, match="runs eagerly") as found:
        for i in range(60):
            np.testing.assert_allclose(step(array(i)).asnumpy(), fn(array(i)).asnumpy(), rtol=1e-6)
    assert len(found) == 1 and step.report()["traces"] < 33


def test_arrays_beside_numbers_and_parameters():
    weight = Parameter(X, name="w")
    step = jit(lambda a, n, k: ops.assign(weight, Tensor(a * 2) * n) + Tensor(a) * k)
    for i in range(6):
        np.testing.assert_allclose(step(array(i), i, 0.5 * i).asnumpy(),
                                   array(i) * 2 * i + array(i) * (0.5 * i), rtol=1e-5)
        np.testing.assert_allclose(weight.asnumpy(), array(i) * 2 * i, rtol=1e-6)


def test_equal_arrays_of_the_program_are_one_constant():
    mask = np.triu(np.ones((3, 3), np.float32))

    def fn(x):
        for _ in range(3):
            x = x * Tensor(mask) + Tensor(mask.copy()) + Tensor(mask.T)
        return x

    compiled, x = Compiled(fn), Tensor(np.ones((3, 3), np.float32))
    for _ in range(3):
        assert np.array_equal(compiled(x).asnumpy(), fn(x).asnumpy())
    (graph,) = compiled.graphs(x)
    assert len(graph.inputs.constants) == 2
    mask[0, 0] = 7
    assert np.array_equal(compiled(x).asnumpy(), fn(x).asnumpy())


def test_equal_arrays_that_are_changed_apart():
    mask = np.ones((2, 2), np.float32)

    def fn(x):
        first, second = Tensor(mask), Tensor(mask)
        first[0] = x
        return first + 2 * second

    compiled, x = Compiled(fn), Tensor(np.zeros(2, np.float32))
    for _ in range(3):
        assert np.array_equal(compiled(x).asnumpy(), [[2, 2], [3, 3]])
