"""Elements and channels dropped at random: how many, by what scale, in what ranks and limits."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

CHANNELS = {"dropout1d": ((40, 50, 6), 1), "dropout2d": ((40, 50, 2, 3), 2),
            "dropout3d": ((40, 50, 2, 1, 3), 3)}


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("p", [0.0, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_channels(name, p, kind):
    ms.set_seed(1)
    shape, rank = CHANNELS[name]
    x = np.random.default_rng(2).random(shape).astype(kind) + 1
    found = getattr(ops, name)(Tensor(x), p).asnumpy()
    assert found.dtype == kind
    kept = (found != 0).reshape(40, 50, -1)
    assert (kept.all(2) == kept.any(2)).all()  # all of a channel or nothing
    assert abs(kept.mean() - (1 - p)) < 0.05
    scale = 1 / (1 - p) if p < 1 else 0
    np.testing.assert_allclose(found, np.where(found != 0, x * scale, 0), rtol=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("seed", [None, 0, 7])
def test_elements(p, seed):
    ms.set_seed(3)
    x = np.random.default_rng(4).random((40, 50)).astype(np.float32) + 1
    found = ops.dropout(Tensor(x), p, seed=seed).asnumpy()
    assert abs((found != 0).mean() - (1 - p)) < 0.05
    np.testing.assert_allclose(found, np.where(found != 0, x / (1 - p), 0), rtol=1e-6)


@pytest.mark.parametrize("name, ranks", [("dropout1d", {2, 3}), ("dropout2d", {4}),
                                         ("dropout3d", {5})])
def test_ranks(name, ranks):
    for rank in range(1, 7):
        x = ops.ones((2,) * rank)
        if rank in ranks:
            assert getattr(ops, name)(x, 0.5).shape == x.shape
        else:
            with pytest.raises(ValueError, match="must have a rank in"):
                getattr(ops, name)(x, 0.5)


@pytest.mark.parametrize("name", ["dropout", *CHANNELS])
def test_limits(name):
    call, x = getattr(ops, name), ops.ones(CHANNELS.get(name, ((2, 3), 0))[0])
    assert call(x, 0.5, False) is not None and (call(x, 0.5, False) == x).all()
    assert (call(x, 0) == x).all()
    for p in (-0.01, 1.01) if name != "dropout" else (-0.01, 1.0, 1, 1.01):
        with pytest.raises(ValueError, match="'p' must be a number in"):
            call(x, p)
    for p in (True, False, "0.5", None):
        with pytest.raises(ValueError if name == "dropout" and p is True else TypeError):
            call(x, p)
    for training in (1, None):
        with pytest.raises(TypeError, match="'training' must be a bool"):
            call(x, 0.5, training)


def test_a_seed_has_a_stream_of_its_own():
    x = ops.ones((40, 50))

    def drawn(first):
        ms.set_seed(5)
        if first:
            ops.dropout(x, 0.5)
        return ops.dropout(x, 0.5, seed=3).asnumpy(), ops.dropout(x, 0.5).asnumpy()

    (own, common), (again, later) = drawn(False), drawn(True)
    np.testing.assert_array_equal(own, again)
    assert (own != common).any() and (common != later).any()
