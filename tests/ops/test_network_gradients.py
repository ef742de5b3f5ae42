"""Gradients of network operators by finite differences, their rules at ties, and their errors."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.ops.attention import multi_head_attention_forward
from tests.contracts import check_op

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape)


@pytest.mark.parametrize("function", [
    ops.relu, ops.leaky_relu, ops.elu, ops.celu, ops.gelu, ops.silu, ops.sigmoid, ops.tanh,
    ops.softmax, ops.log_softmax, ops.softplus, ops.softsign, ops.hardswish, ops.mish,
    ops.logsigmoid, ops.selu, ops.hardtanh, ops.fast_gelu, ops.glu, ops.swiglu, ops.softmin,
    ops.relu6, ops.hardsigmoid, ops.hardshrink, ops.softshrink, ops.tanhshrink,
], ids=lambda f: f.__name__)
def test_gradient_of_activation(function):
    check_op(function, None, (normal(3, 4) + 0.01,))


def test_softmax_over_two_axes():
    x = normal(2, 3, 4)
    power = np.exp(x)
    check_op(ops.Softmax((0, 2)), lambda a: power / power.sum((0, 2), keepdims=True), (x,))


@pytest.mark.parametrize("mode", ["same", "valid", "pad"])
def test_gradient_of_convolution(mode):
    padding = 1 if mode == "pad" else 0
    check_op(lambda x, w, b: ops.conv2d(x, w, b, 2, mode, padding), None,
             (normal(1, 2, 4, 5), normal(2, 2, 3, 2), normal(2)))
    check_op(lambda x, w: ops.convolution.conv_transpose(x, w, None, 2, mode, padding, 0, 1, 1),
             None, (normal(1, 2, 2, 3), normal(2, 1, 3, 3)))


def test_gradient_of_normalization():
    mean, var = (ms.Tensor(np.full(3, v)) for v in (0.1, 2.0))
    check_op(lambda x, w, b: ops.batch_norm(x, mean, var, w, b, False), None,
             (normal(4, 3), normal(3), normal(3)))
    check_op(lambda x, w, b: ops.layer_norm(x, (3,), w, b), None,
             (normal(4, 3), normal(3), normal(3)))
    check_op(lambda x, w: ops.rms_norm(x, w)[0], None, (normal(4, 3), normal(3)))


def test_gradient_of_batch_statistics():
    def trained(x, w, b):
        mean, var = ms.Tensor(np.zeros(3)), ms.Tensor(np.ones(3))
        return ops.batch_norm(x, mean, var, w, b, True)
    check_op(trained, None, (normal(4, 3), normal(3), normal(3)))


def test_gradient_of_losses():
    labels = ms.Tensor([0, 2])
    check_op(lambda x: ops.cross_entropy(x, labels, label_smoothing=0.1), None, (normal(2, 3),))
    check_op(ops.mse_loss, lambda a, b: ((a - b) ** 2).mean(), (normal(2, 3), normal(2, 3)))
    check_op(ops.smooth_l1_loss, None, (normal(2, 3), normal(2, 3)))
    check_op(lambda x, y: ops.SoftmaxCrossEntropyWithLogits()(x, y)[0], None,
             (normal(2, 3), np.full((2, 3), 1 / 3)), grad=(0,), order=1)
    check_op(lambda p: ops.binary_cross_entropy(p, ms.Tensor(np.array([0.0, 1.0, 0.5]))), None,
             (np.array([0.2, 0.7, 0.4]),))


def test_tangents_of_the_cross_entropy_with_logits():
    x, y = ms.Tensor(normal(2, 3)), ms.Tensor(np.array([[0.2, 0.3, 0.5], [1, 0, 0]]))
    along = ms.Tensor(normal(2, 3)), ms.Tensor(normal(2, 3))
    _, found = ms.jvp(lambda x, y: ops.SoftmaxCrossEntropyWithLogits()(x, y)[0], (x, y), along)
    _, wanted = ms.jvp(lambda x, y: -(ops.log_softmax(x) * y).sum(-1), (x, y), along)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-6)


def test_ties():
    def slope(function, at):
        return ms.grad(function)(ms.Tensor([float(at)])).item()
    assert slope(ops.relu, 0) == 0
    assert (slope(ops.relu6, 0), slope(ops.relu6, 6)) == (0, 1)
    assert slope(ops.leaky_relu, 0) == pytest.approx(0.6)
    assert (slope(ops.hardswish, -3), slope(ops.hardswish, 3)) == pytest.approx((-0.5, 1.5))
    assert (slope(ops.hardtanh, -1), slope(ops.hardtanh, 1)) == (0.5, 0.5)
    assert slope(ops.selu, 0) == pytest.approx(1.0507010)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32, ms.float64])
@pytest.mark.parametrize("size", [40, 2**16])
def test_the_derivative_of_hardtanh_at_nan_is_one_wherever_it_stands(dtype, size):
    x = ms.ops.full((size,), float("nan"), dtype=dtype)
    assert (ms.grad(ops.hardtanh)(x).astype(ms.float32) == 1).all()


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32, ms.float64])
def test_the_bounds_of_hardtanh(dtype):
    """In every type, also where a bound isn't one of its numbers, and with derivatives of it."""
    x = ms.Tensor([-1, -0.3, 0, 0.1, 2, float("nan")], dtype)
    wanted = [0, 0.5, 1, 0.5, 0, 1]
    function = lambda x: ops.hardtanh(x, -0.3, 0.1)  # noqa: E731
    assert ms.grad(function)(x).astype(ms.float32).tolist() == wanted
    slopes = ms.jvp(function, x, ops.ones_like(x))[1]
    assert slopes.astype(ms.float32).tolist() == wanted
    twice = ms.grad(lambda x: (ms.grad(function)(x) * x)[:5].sum())(x)
    assert twice.astype(ms.float32).tolist()[:5] == wanted[:5]
    reversed_bounds = ms.grad(lambda x: ops.hardtanh(x, 1.0, -1.0))(x)
    assert reversed_bounds.astype(ms.float32).tolist() == [0, 0, 0, 0, 0, 1]


def test_batch_norm_moves_running_statistics():
    x = normal(8, 3).astype(np.float32)
    mean, var = ms.Tensor(np.zeros(3, np.float32)), ms.Tensor(np.ones(3, np.float32))
    ops.batch_norm(ms.Tensor(x), mean, var, None, None, True, 0.3)
    np.testing.assert_allclose(mean.asnumpy(), 0.3 * x.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var.asnumpy(), 0.7 + 0.3 * x.var(0, ddof=1), rtol=1e-5)


def test_dropout():
    x = ops.ones((200, 200), ms.float32)
    out = ops.dropout(x, 0.25).asnumpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.02
    assert ops.dropout(x, 0.25, training=False) is x
    channels = ops.dropout2d(ops.ones((4, 50, 3, 3), ms.float32), 0.5).asnumpy()
    assert all(len(np.unique(plane)) == 1 for plane in channels.reshape(-1, 9))
    out, mask = ops.Dropout(keep_prob=0.75)(x)
    np.testing.assert_allclose(out.asnumpy(), mask.asnumpy() / 0.75, rtol=1e-6)


def test_embedding():
    table = normal(5, 3)
    rows = ms.Tensor([[4, 0], [1, 4]])
    check_op(lambda w: ops.embedding(rows, w), lambda w: w[[[4, 0], [1, 4]]], (table,))
    padded = ms.grad(lambda w: ops.embedding(rows, w, padding_idx=4))(ms.Tensor(table))
    np.testing.assert_array_equal(padded.asnumpy().sum(1), [3, 3, 0, 0, 0])
    w = ms.Tensor(np.full((5, 3), 2.0))
    ops.embedding(ms.Tensor([1]), w, max_norm=1.0)
    np.testing.assert_allclose(np.linalg.norm(w.asnumpy(), axis=1), [12**0.5, 1, *[12**0.5] * 3],
                               rtol=1e-6)


def attention_reference(q, k, v, hidden=None, scale=1.0):
    scores = q @ k.swapaxes(-1, -2) * scale
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    power = np.exp(scores - scores.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True) @ v


def test_flash_attention():
    q, k, v = normal(2, 2, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 4)
    hidden = rng.random((3, 5)) < 0.3
    check_op(lambda a, b, c: ops.flash_attention_score(
        a, b, c, 2, attn_mask=ms.Tensor(hidden), scalar_value=0.5, input_layout="BNSD"),
        lambda a, b, c: attention_reference(a, b, c, hidden, 0.5), (q, k, v), order=1)
    causal = np.triu(np.ones((3, 5), bool), 1)
    flat = [np.moveaxis(a, 1, 2).reshape(2, -1, 8) for a in (q, k, v)]
    got = ops.prompt_flash_attention(*map(ms.Tensor, flat), num_heads=2)
    want = np.moveaxis(attention_reference(q, k, v, causal), 1, 2).reshape(2, 3, 8)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)
    from_end = np.triu(np.ones((3, 5), bool), 3)
    got = ops.flash_attention_score(*map(ms.Tensor, (q, k, v)), 2, input_layout="BNSD",
                                    sparse_mode=3)
    np.testing.assert_allclose(got.asnumpy(), attention_reference(q, k, v, from_end), rtol=1e-6)


def test_heads_share_keys():
    q, k, v = normal(1, 4, 3, 2), normal(1, 2, 5, 2), normal(1, 2, 5, 2)
    got = ops.flash_attention_score(*map(ms.Tensor, (q, k, v)), 4, input_layout="BNSD")
    want = attention_reference(q, k.repeat(2, 1), v.repeat(2, 1))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_multi_head_attention():
    x, w, o = normal(3, 2, 4), normal(12, 4), normal(4, 4)
    out, weights = multi_head_attention_forward(
        *[ms.Tensor(x)] * 3, 4, 2, ms.Tensor(w), None, None, None, False, 0.0, ms.Tensor(o), None)
    parts = [(x @ w[i * 4:i * 4 + 4].T).reshape(3, 2, 2, 2).transpose(1, 2, 0, 3)
             for i in range(3)]
    want = attention_reference(*parts, scale=2**-0.5).transpose(2, 0, 1, 3).reshape(3, 2, 4) @ o.T
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(weights.asnumpy().sum(-1), np.ones((2, 3)), rtol=1e-6)


def test_rotary_position_embedding():
    x, angle = normal(2, 4), normal(1, 2)
    for mode, twice in ((0, np.concatenate([angle] * 2, 1)), (1, angle.repeat(2, 1))):
        codes = map(ms.Tensor, (x, np.cos(twice), np.sin(twice)))
        out = ops.rotary_position_embedding(*codes, mode)
        pairs = x.reshape(2, 2, 2)
        pairs = pairs[:, 0] + 1j * pairs[:, 1] if mode == 0 else pairs[..., 0] + 1j * pairs[..., 1]
        turned = pairs * np.exp(1j * angle)
        parts = turned.real, turned.imag
        want = np.concatenate(parts, 1) if mode == 0 else np.stack(parts, -1).reshape(2, 4)
        np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6)


X = ms.Tensor(np.ones((1, 2, 4, 4), np.float32))


@pytest.mark.parametrize("error, match, call", [
    (TypeError, "'input' must be a Tensor, but got int", lambda: ops.relu(3)),
    (ValueError, r"For 'softmax', 'axis' must be in \[-4, 3\], but got 7",
     lambda: ops.softmax(X, 7)),
    (TypeError, "'axis' must be 'int', but got 1.5", lambda: ops.softmax(X, 1.5)),
    (ValueError, "'approximate' must be 'none' or 'tanh', but got 'fast'",
     lambda: ops.gelu(X, "fast")),
    (ValueError, "'weight' must have the shape", lambda: ops.prelu(X, ms.Tensor([1.0, 2, 3]))),
    (ValueError, "'pad_mode' must be one of 'same', 'valid', 'pad', but got 'full'",
     lambda: ops.conv2d(X, X, pad_mode="full")),
    (ValueError, "padding must be zero when 'pad_mode' is not 'pad', but got 1",
     lambda: ops.conv2d(X, X, padding=1)),
    (ValueError, "multiples of 'groups', but got 2, 1 and 2", lambda: ops.conv2d(X, X, groups=2)),
    (ValueError, "'weight' must be a 4D Tensor", lambda: ops.conv2d(X, ms.Tensor([1.0]))),
    (ValueError, "'kernel_size' must be 1 or more, .* but got 0", lambda: ops.max_pool2d(X, 0)),
    (ValueError, "less than 2 to the 31st, but got 4", lambda: ops.max_pool2d(X, 2**62)),
    (ValueError, "less than 2 to the 31st, but got .4", lambda: ms.nn.MaxPool1d(2**62, 2)),
    (ValueError, "must have rank 4, but got shape", lambda: ops.max_pool2d(X[0], 2)),
    (ValueError, "'reduction' must be 'none', 'mean' or 'sum', but got 'max'",
     lambda: ops.mse_loss(X, X, "max")),
    (TypeError, "'reduction' must be", lambda: ops.smooth_l1_loss(X, X, 1.0, None)),
    (TypeError, "'reduction' must be", lambda: ops.binary_cross_entropy(X, X, None, 1)),
    (ValueError, "'reduction' must be", lambda: ops.mse_loss(X, X, None)),
    (TypeError, "'approximate' must be a str", lambda: ops.gelu(X, 1)),
    (TypeError, "'output_size' must be an int or hold ints",
     lambda: ops.adaptive_avg_pool2d(X, "a")),
    (ValueError, "'output_size' must be an int or have 2",
     lambda: ops.adaptive_avg_pool2d(X, (1,))),
    (ValueError, "must have one shape", lambda: ops.binary_cross_entropy(X, X[0])),
    (ValueError, "'p' must be a number in .0, 1., but got 1.5", lambda: ops.dropout2d(X, 1.5)),
    (TypeError, "must hold integers", lambda: ops.one_hot(X, 3)),
    (ValueError, "exactly one of 'size' and 'scale_factor'", lambda: ops.interpolate(X)),
    (ValueError, "'scale_factor' needs 'recompute_scale_factor=True'",
     lambda: ops.interpolate(X, scale_factor=2.0, mode="bilinear")),
    (ValueError, "'mode' must be one of", lambda: ops.pad(X, (1, 1), "wrap")),
    (ValueError, "takes no 'value', but got 1", lambda: ops.pad(X, (1, 1), "reflect", 1)),
    (ValueError, "'num_heads' must divide 4", lambda: multi_head_attention_forward(
        X[0], X[0], X[0], 4, 3, None, None, None, None, False, 0.0, X[0, 0], None)),
    (ValueError, "for Ascend devices only",
     lambda: ops.flash_attention_score(X, X, X, 2, drop_mask=X)),
])
def test_errors(error, match, call):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss_has_a_gradient_by_its_weights(reduction):
    classes, rows = ms.Tensor([1, 0, -100, 2]), np.arange(4)
    scores = np.random.default_rng(0).normal(size=(4, 3))

    def reference(weights):
        share = np.where([True, True, False, True], weights[[1, 0, 0, 2]], 0)
        losses = -share * scores[rows, [1, 0, 0, 2]]
        return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / share.sum()}[reduction]

    check_op(lambda w: ms.ops.nll_loss(ms.Tensor(scores), classes, w, reduction=reduction),
             reference, [np.array([0.5, 1.5, 2.0])])


def test_weights_of_classes_are_constants():
    x, weight = ms.Tensor([[0.5, 1.0, 2.0], [1.5, 3.0, 0.25]]), ms.Tensor([1.0, 2.0, 3.0])
    by_input, by_weight = ms.grad(ops.multi_margin_loss, (0, 4))(
        x, ms.Tensor([0, 2]), 1, 1.0, weight)
    assert by_input.asnumpy().any() and not by_weight.asnumpy().any()
