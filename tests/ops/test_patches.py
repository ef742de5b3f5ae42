"""Windows, cells and points of images against loops over them, and the exchange of tokens."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op


def _dilated(x, kernel, stride, gap, same):
    """Grey dilation, pixel by pixel."""
    n, c, height, width = x.shape
    _, tall, wide = kernel.shape
    reach = [gap * (k - 1) + 1 for k in (tall, wide)]
    size = [-(-m // stride) if same else (m - r) // stride + 1
            for m, r in zip((height, width), reach, strict=True)]
    before = [max((s - 1) * stride + r - m, 0) // 2 if same else 0
              for s, r, m in zip(size, reach, (height, width), strict=True)]
    out = np.full((n, c, *size), -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min, x.dtype)
    for i, j, p, q, a, b in np.ndindex(n, c, *size, tall, wide):
        y, z = p * stride + a * gap - before[0], q * stride + b * gap - before[1]
        if 0 <= y < height and 0 <= z < width:
            out[i, j, p, q] = max(out[i, j, p, q], x[i, j, y, z] + kernel[j, a, b])
    return out


@pytest.mark.parametrize("mode", ["SAME", "valid"])
@pytest.mark.parametrize(("stride", "gap"), [(1, 1), (2, 1), (1, 2)])
def test_dilation(mode, stride, gap):
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(2, 3, 6, 7)), rng.normal(size=(3, 2, 3))
    check_op(ops.Dilation2D(stride, gap, mode),
             lambda a, b: _dilated(a, b, stride, gap, mode == "SAME"), [x, kernel],
             [(x * 9).astype(np.int32), (kernel * 9).astype(np.int32)], order=1)


def test_dilation_checks_its_arguments():
    x = ops.ones((1, 2, 4, 4))
    with pytest.raises(ValueError, match="'filter' must have the shape"):
        ops.Dilation2D(1, 1)(x, ops.ones((3, 2, 2)))
    with pytest.raises(TypeError, match="'filter' must be of the type of 'x'"):
        ops.Dilation2D(1, 1)(x, ops.ones((2, 2, 2), ms.int32))
    with pytest.raises(ValueError, match="'pad_mode' must be one of 'VALID', 'SAME'"):
        ops.Dilation2D(1, 1, "pad")


def test_cells_are_drawn_anew_unless_they_are_to_stay():
    x = ops.arange(0.0, 31.0 * 29).reshape((1, 31, 29, 1))
    for pool, reduce in ((ops.FractionalMaxPool, np.max), (ops.FractionalAvgPool, np.mean)):
        for pseudo in (False, True):
            draw = pool([1.0, 1.6, 2.3, 1.0], pseudo, False, False, 5)
            ends = set()
            for _ in range(4):
                out, rows, columns = (part.asnumpy() for part in draw(x))
                assert (rows[0], rows[-1], columns[0], columns[-1]) == (0, 31, 0, 29)
                assert set(np.diff(rows)) <= {1, 2} and set(np.diff(columns)) <= {2, 3}
                want = [[reduce(x.asnumpy()[0, a:b, c:d]) for c, d in
                         zip(columns, columns[1:], strict=False)]
                        for a, b in zip(rows, rows[1:], strict=False)]
                np.testing.assert_allclose(out[0, ..., 0], want, rtol=1e-6)
                ends.add(tuple(rows))
            assert len(ends) > 1
            fixed = pool([1.0, 1.6, 2.3, 1.0], pseudo, False, True, 5)
            assert fixed(x)[1].tolist() == fixed(x)[1].tolist()


def test_attention_at_points_of_pictures():
    rng = np.random.default_rng(0)
    sizes, begins = [(3, 4), (2, 2)], [0, 12]
    value, weight = rng.normal(size=(2, 16, 2, 3)), rng.random((2, 5, 2, 2, 4))
    at = rng.uniform(-0.2, 1.2, (2, 5, 2, 2, 4, 2))

    def reference(value, at, weight):
        out = np.zeros((2, 5, 2, 3))
        for n, q, h, level, p in np.ndindex(weight.shape):
            tall, wide = sizes[level]
            x, y = at[n, q, h, level, p] * (wide, tall) - 0.5
            for row in range(tall):
                for column in range(wide):
                    share = max(1 - abs(x - column), 0) * max(1 - abs(y - row), 0)
                    pixel = value[n, begins[level] + row * wide + column, h]
                    out[n, q, h] += weight[n, q, h, level, p] * share * pixel
        return out.reshape(2, 5, 6)

    def attention(value, at, weight):
        return ops.multi_scale_deformable_attn_function(value, Tensor(sizes), Tensor(begins), at,
                                                        weight)

    check_op(attention, reference, [value, at, weight], order=1, rtol=1e-9)
    with pytest.raises(ValueError, match="each picture of 'shape' must lie in the 16 pixels"):
        ops.multi_scale_deformable_attn_function(Tensor(value), Tensor(sizes), Tensor([0, 13]),
                                                 Tensor(at), Tensor(weight))


def test_tokens_come_back():
    rng = np.random.default_rng(0)
    tokens, weights = rng.normal(size=(6, 3)), rng.random((6, 2))
    experts = rng.integers(0, 4, (6, 2))

    def there_and_back(tokens, weights):
        out, places = ops.moe_token_permute(tokens, Tensor(experts))
        return ops.moe_token_unpermute(out, places, weights)

    check_op(there_and_back, lambda t, w: t * w.sum(1, keepdims=True), [tokens, weights])
    out, places = ops.moe_token_permute(Tensor(tokens), Tensor(experts), 9)
    order = np.argsort(experts.ravel(), kind="stable")
    np.testing.assert_array_equal(out.asnumpy(), tokens[order[:9] // 2])
    assert places.dtype is ms.int32
    kept = np.isin(np.arange(12), order[:9]).reshape(6, 2, 1)
    back = ops.moe_token_unpermute(out, places, Tensor(weights)).asnumpy()
    np.testing.assert_allclose(back, tokens * (weights[..., None] * kept).sum(1))
    with pytest.raises(RuntimeError, match="must have one length"):
        ops.moe_token_permute(Tensor(tokens), Tensor([1, 2]))
    with pytest.raises(ValueError, match="'padded_mode' must be False"):
        ops.moe_token_permute(Tensor(tokens), Tensor(experts), None, True)
