"""The parts of batch normalization over devices: together they are the normalization of all."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint

RNG = np.random.default_rng(11)
PARTS = [(RNG.normal(size=(n, 3, 2, 5)) * 2 + n).astype(np.float32) for n in (2, 5)]
WHOLE = np.concatenate(PARTS)
COUNTS = [20, 50]
EPS = 0.3


def gathered(counts, eps=EPS, **options):
    stats = [mint.batch_norm_stats(Tensor(part), eps) for part in PARTS]
    means, inverses = (mint.stack(list(each)) for each in zip(*stats, strict=True))
    return mint.batch_norm_gather_stats_with_counts(
        Tensor(PARTS[0]), means, inverses, eps=eps,
        counts=None if counts is None else Tensor(counts, ms.float32), **options)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
def test_statistics_are_those_of_channels(shape):
    x = RNG.normal(size=shape) * 3 + 1
    mean, inverse = mint.batch_norm_stats(Tensor(x), 0.2)
    others = tuple(d for d in range(len(shape)) if d != 1)
    assert mean.dtype == inverse.dtype == ms.float32
    np.testing.assert_allclose(mean.asnumpy(), x.mean(others), rtol=1e-5)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / np.sqrt(x.var(others) + 0.2), rtol=1e-5)


def test_statistics_of_parts_by_their_counts():
    mean, inverse = gathered(COUNTS)
    np.testing.assert_allclose(mean.asnumpy(), WHOLE.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / np.sqrt(WHOLE.var((0, 2, 3)) + EPS),
                               rtol=1e-5)


def test_parts_count_alike_without_counts():
    for one, other in zip(gathered(None), gathered([7, 7]), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    assert abs(gathered(None)[0].asnumpy() - gathered(COUNTS)[0].asnumpy()).min() > 0.1


@pytest.mark.parametrize("options, momentum", [({}, 0.1), ({"momentum": 0.7}, 0.7)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_statistics_move_as_in_batch_norm(options, momentum, dtype):
    start = RNG.uniform(1, 2, (2, 3))
    running = [Tensor(part.astype(dtype)) for part in start]
    gathered(COUNTS, running_mean=running[0], running_var=running[1], **options)
    wanted = [torch.from_numpy(part).float() for part in start]
    torch.nn.functional.batch_norm(torch.from_numpy(WHOLE), *wanted, training=True,
                                   momentum=momentum)
    for one, other in zip(running, wanted, strict=True):
        assert str(one.dtype).lower() == dtype
        np.testing.assert_allclose(one.asnumpy(), other.numpy(), rtol=1e-5)


def test_one_running_statistic_alone_stays():
    alone = Tensor([1.0, 2, 3])
    gathered(COUNTS, running_mean=alone)
    gathered(COUNTS, running_var=alone)
    assert alone.tolist() == [1, 2, 3]


def test_default_epsilon_is_that_of_batch_norm():
    mean, inverse = Tensor([[1.0]]), Tensor([[200.0]])
    given = mint.batch_norm_gather_stats_with_counts(mean, mean, inverse, eps=1e-5)
    default = mint.batch_norm_gather_stats_with_counts(mean, mean, inverse)
    np.testing.assert_allclose(default[1].asnumpy(), given[1].asnumpy())
    np.testing.assert_allclose(default[1].asnumpy(), [200.0], rtol=1e-3)
    other = mint.batch_norm_gather_stats_with_counts(mean, Tensor([[1.0], [3]]),
                                                     Tensor([[200.0], [200]]), eps=1e-6)
    np.testing.assert_allclose(other[1].asnumpy(), [1 / np.sqrt(1 + 1 / 200**2)], rtol=1e-6)


@pytest.mark.parametrize("given", [(), ("mean",), ("invstd",), ("weight", "bias"), ("bias",),
                                   ("mean", "invstd", "weight", "bias")])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 5)])
def test_elements_by_what_is_given(given, shape):
    x = RNG.normal(size=shape).astype(np.float32)
    parts = {name: RNG.uniform(1, 2, 3).astype(np.float32) for name in given}
    found = mint.batch_norm_elemt(Tensor(x), **{k: Tensor(v) for k, v in parts.items()})
    last = np.moveaxis(x, 1, -1).astype(float)
    wanted = (last - parts.get("mean", 0)) * parts.get("invstd", 1) * parts.get("weight", 1) \
        + parts.get("bias", 0)
    np.testing.assert_allclose(found.asnumpy(), np.moveaxis(wanted, -1, 1), rtol=1e-5, atol=1e-6)


def test_elements_keep_their_type():
    one = Tensor([2.0])
    out = mint.batch_norm_elemt(Tensor([[3.0]], ms.float16), one, one, one, one)
    assert out.dtype == ms.float16 and out.tolist() == [[6]]
