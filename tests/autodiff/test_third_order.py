"""Third derivatives of operators by three compositions, against differences of the second.

PyTorch's own formulas for second derivatives and for tangents are not all right when they are
differentiated themselves.
"""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops

RNG = np.random.default_rng(0)
STEP = 1e-5


def tensor(*shape):
    return Tensor(RNG.standard_normal(shape))


SCALE, SHIFT = Tensor(RNG.uniform(0.5, 1.5, 3)), tensor(3)
ZERO, ONE = Tensor(np.zeros(3)), Tensor(np.ones(3))
LABELS, TARGET = Tensor([0, 2], ms.int32), Tensor(RNG.uniform(0.1, 0.9, (2, 3)))
KERNELS, IMAGE = tensor(4, 3, 3, 3), tensor(1, 1, 4, 4)


def positive(x):
    return ops.matmul(x, x.T) + ops.eye(3, 3, ms.float64)


def double(cell):
    cell.to(ms.float64)
    return cell


norm1d, group = double(nn.BatchNorm1d(3).set_train()), double(nn.GroupNorm(1, 3))
encoder = double(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0))
attention = double(nn.MultiheadAttention(4, 2))

OPERATORS = {  # each with the shape of its input
    "layer_norm": (lambda x: ops.layer_norm(x, (3,), SCALE, SHIFT, 1e-2), (2, 3)),
    "group_norm": (lambda x: ops.group_norm(x, 1, SCALE, SHIFT, 1e-2), (2, 3, 2, 2)),
    "batch_norm": (lambda x: ops.batch_norm(x, ZERO.copy(), ONE.copy(), SCALE, SHIFT, True, 0.1,
                                            1e-2), (4, 3)),
    "BatchNorm1d": (norm1d, (4, 3)), "GroupNorm": (group, (2, 3, 2, 1)),
    "TransformerEncoderLayer": (encoder, (3, 1, 4)),
    "MultiheadAttention": (lambda x: attention(x, x, x)[0], (3, 1, 4)),
    "flash_attention_score": (lambda x: ops.flash_attention_score(
        x, x * 0.5, ops.sin(x), 1, scalar_value=0.7, input_layout="BNSD"), (1, 1, 3, 4)),
    "conv2d": (lambda x: ops.conv2d(x * x, KERNELS), (1, 3, 4, 4)),
    "max_pool2d": (lambda x: ops.max_pool2d(x**3, 2, 2), (1, 1, 4, 4)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x**3, 2, 2), (1, 1, 4, 4)),
    "interpolate": (lambda x: ops.interpolate(x**3, size=(5, 6), mode="bilinear"), (1, 1, 3, 3)),
    "grid_sample": (lambda g: ops.grid_sample(IMAGE, ops.tanh(g) * 0.8), (1, 2, 2, 2)),
    "softmax": (lambda x: ops.softmax(x, -1), (2, 3)),
    "log_softmax": (lambda x: ops.log_softmax(x, -1), (2, 3)),
    "logsumexp": (lambda x: ops.logsumexp(x, 1), (2, 3)),
    "cross_entropy": (lambda x: ops.cross_entropy(x, LABELS, label_smoothing=0.1), (2, 3)),
    "binary_cross_entropy": (lambda x: ops.binary_cross_entropy(ops.sigmoid(x), TARGET), (2, 3)),
    "binary_cross_entropy_with_logits": (
        lambda x: ops.binary_cross_entropy_with_logits(x, TARGET), (2, 3)),
    "mse_loss": (lambda x: ops.mse_loss(x * x, TARGET), (2, 3)),
    "huber_loss": (lambda x: ops.huber_loss(x * x * 2, TARGET), (2, 3)),
    "smooth_l1_loss": (lambda x: ops.smooth_l1_loss(x * x * 2, TARGET), (2, 3)),
    "kl_div": (lambda x: ops.kl_div(ops.log_softmax(x, -1), TARGET), (2, 3)),
    "cosine_similarity": (lambda x: ops.cosine_similarity(x, TARGET), (2, 3)),
    "norm": (ops.norm, (2, 3)), "std": (lambda x: ops.std(x, 1), (2, 3)),
    "prod": (lambda x: ops.prod(x, 1), (2, 3)), "cumprod": (lambda x: ops.cumprod(x, 1), (2, 3)),
    "sort": (lambda x: ops.sort(x**3)[0], (2, 3)), "pow": (lambda x: (x * x + 0.3)**x, (2, 3)),
    "det": (lambda x: ops.det(positive(x)), (3, 3)),
    "slogdet": (lambda x: ops.slogdet(positive(x))[1], (3, 3)),
    "inverse": (lambda x: ops.inverse(positive(x)), (3, 3)),
    "cholesky": (lambda x: ops.cholesky(positive(x)), (3, 3)),
    "matrix_exp": (ops.matrix_exp, (2, 2)),
    "svd": (lambda x: ops.svd(x, compute_uv=False), (3, 3)),
    "fft": (lambda x: ops.abs(ops.fft(x**3, dim=0)), (5,)),
    "gelu": (lambda x: ops.gelu(x, approximate="none"), (2, 3)),
    "gelu, tanh": (lambda x: ops.gelu(x, approximate="tanh"), (2, 3)),
    "mish": (ops.mish, (2, 3)), "silu": (ops.silu, (2, 3)), "elu": (ops.elu, (2, 3)),
    "softplus": (lambda x: ops.softplus(x), (2, 3)), "lgamma": (
        lambda x: ops.lgamma(x * x + 0.5), (2, 3)),
}


# PyTorch maps some kernels one example at a time, and says so
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", OPERATORS)
def test_third_derivatives(name):
    operator, shape = OPERATORS[name]
    rng = np.random.default_rng(len(name))
    x, *along = (Tensor(rng.standard_normal(shape)) for _ in range(4))
    weights = Tensor(rng.standard_normal(operator(x).shape))

    def function(x):
        return (operator(x) * weights).sum()

    def slope(f, v):
        return lambda x: (ms.grad(f)(x) * v).sum()

    second = slope(slope(function, along[0]), along[1])
    if name == "grid_sample" and torch.__version__.startswith("2.7."):
        pytest.skip("PyTorch 2.7 has no derivative of this one's derivative")
    want = (float(second(x + along[2] * STEP)) - float(second(x - along[2] * STEP))) / (2 * STEP)
    mixed = slope(slope(lambda x: ms.jvp(function, x, along[0])[1], along[1]), along[2])
    rows = ms.jacfwd(ms.jacfwd(ms.jacfwd(function)))(x).asnumpy().reshape([x.size] * 3)
    found = {
        "reverse mode": float(slope(second, along[2])(x)), "over a tangent": float(mixed(x)),
        "forward mode": np.einsum("abc,a,b,c", rows, *(v.asnumpy().ravel() for v in along))}
    for way, got in found.items():
        assert got == pytest.approx(want, rel=1e-4, abs=1e-4), way
