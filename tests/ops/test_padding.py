"""Paddings of every mode beside NumPy, and how long they may be."""

import numpy as np
import pytest

from lamella import Tensor, ops

X = np.arange(2 * 3 * 4 * 5.0, dtype=np.float32).reshape(2, 3, 4, 5)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrors_at_each_end(mode, rank):
    x = X[(0,) * (4 - rank)]
    edge = int(mode == "SYMMETRIC")
    for pairs in ([(1, 0)] * rank, [(n - 1 + edge, i % 2) for i, n in enumerate(x.shape)],
                  [(0, n - 1 + edge) for n in x.shape]):
        for given in (Tensor(pairs), pairs):
            found = ops.mirror_pad(Tensor(x), given, mode)
            np.testing.assert_array_equal(found.asnumpy(), np.pad(x, pairs, mode.lower()))
    for pairs in ([(x.shape[0] + edge, 0)] + [(0, 0)] * (rank - 1), [(0, 0)] * (rank - 1)
                  + [(0, x.shape[-1] + edge)], [(-1, 0)] + [(0, 0)] * (rank - 1),
                  [(0, -1)] + [(0, 0)] * (rank - 1), [(0, 0)] * (rank + 1)):
        with pytest.raises(ValueError, match="mirror_pad"):
            ops.mirror_pad(Tensor(x), Tensor(pairs), mode)
    with pytest.raises(ValueError, match="'mode' must be"):
        ops.mirror_pad(Tensor(x), Tensor([(0, 0)] * rank), "EDGE")


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_last_dimension_of_one(length):
    x = X[..., :1]
    found = ops.padding(Tensor(x), length)
    np.testing.assert_array_equal(found.asnumpy(), np.pad(x, [(0, 0)] * 3 + [(0, length - 1)]))


@pytest.mark.parametrize("x, length", [(X[..., :1], 0), (X[..., :1], -1), (X, 8), (X[0, 0, 0, :1],
                                                                                  8)])
def test_what_is_not_padded(x, length):
    with pytest.raises(ValueError, match="For 'padding'"):
        ops.padding(Tensor(x), length)


@pytest.mark.parametrize("mode, name", [("constant", "constant"), ("reflect", "reflect"),
                                        ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("amounts", [(1, 2), (1, 2, 3, 0), (0, 1, 2, 1, 1, 0)], ids=len)
def test_the_last_dimensions_first(amounts, mode, name):
    """All but constants need one or two dimensions that stay."""
    count = len(amounts) // 2
    x = X if count < 3 else X[None]
    x = x[0, 0] if count == 1 else x
    pairs = [(0, 0)] * (x.ndim - count) + [amounts[2 * i:2 * i + 2] for i in reversed(range(count))]
    for given in (amounts, Tensor(amounts)):
        found = ops.pad(Tensor(x), given, mode)
        np.testing.assert_array_equal(found.asnumpy(), np.pad(x, pairs, name))
    if mode == "constant":
        found = ops.pad(Tensor(x), amounts, mode, 7.0)
        np.testing.assert_array_equal(found.asnumpy(), np.pad(x, pairs, constant_values=7))
