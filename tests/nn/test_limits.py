"""The ends of what layers take: the last value inside each limit works, the next one is refused."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

from ..limits import check_limits

INF = math.inf


def cube(rank, length=4):
    return ops.ones((length,) * rank)


def counts(*lengths):
    return ops.ones(lengths)


LIMITS = {
    # (a call, arguments that it takes, arguments that it refuses)
    "BatchNorm1d rank": (lambda n: nn.BatchNorm1d(4)(cube(n)), (2, 3), (1, 4)),
    "BatchNorm2d rank": (lambda n: nn.BatchNorm2d(4)(cube(n)), (4,), (3, 5)),
    "BatchNorm3d rank": (lambda n: nn.BatchNorm3d(4)(cube(n)), (5,), (4, 6)),
    "BatchNorm channels": (lambda n: nn.BatchNorm2d(n)(counts(4, 3, 4, 4)), (3,), (2, 4)),
    "BatchNorm momentum": (lambda m: nn.BatchNorm2d(2, momentum=m), (0.0, 1.0), (-0.01, 1.01)),
    "BatchNorm features": (lambda n: nn.BatchNorm2d(n), (1,), (0, -1)),
    "BatchNorm statistics": (lambda b: nn.BatchNorm2d(1, use_batch_statistics=b),
                             (None, True, False), (1, "no")),
    "InstanceNorm1d rank": (lambda n: nn.InstanceNorm1d(4)(cube(n)), (3,), (2, 4)),
    "InstanceNorm2d rank": (lambda n: nn.InstanceNorm2d(4)(cube(n)), (4,), (3, 5)),
    "InstanceNorm3d rank": (lambda n: nn.InstanceNorm3d(4)(cube(n)), (5,), (4, 6)),
    "InstanceNorm eps": (lambda e: nn.InstanceNorm1d(2, e), (1e-9, 1.0), (0.0, 1.01)),
    "InstanceNorm momentum": (lambda m: nn.InstanceNorm1d(2, momentum=m), (0.0, 1.0), (-0.1, 1.1)),
    "GroupNorm groups": (lambda n: nn.GroupNorm(n, 6), (1, 2, 3, 6), (0, 4, 7)),
    "LayerNorm shape": (lambda shape: nn.LayerNorm(shape), ((1,), [2, 3]), ((), [], 3)),
    "LayerNormExt shape": (lambda shape: nn.LayerNormExt(shape), (2, (1,), [2, 3]), ((), [])),
    "RMSNorm shape": (lambda shape: nn.RMSNorm(shape), (2, (1,), [2, 3]), ((), [])),
    # tables and dense layers
    "Embedding padding": (lambda i: nn.Embedding(5, 2, padding_idx=i), (0, 4), (-1, 5)),
    "EmbeddingExt padding": (lambda i: nn.EmbeddingExt(5, 2, i), (-5, 4), (-6, 5)),
    "EmbeddingLookup size": (lambda n: nn.EmbeddingLookup(n, n), (1,), (0,)),
    "EmbeddingLookup norm": (lambda m: nn.EmbeddingLookup(5, 2, max_norm=m), (1e-9,), (0.0, INF)),
    "MultiFieldEmbeddingLookup fields": (
        lambda n: nn.MultiFieldEmbeddingLookup(5, 2, n), (1,), (0,)),
    "Dense in": (lambda n: nn.Dense(n, 1), (1,), (0,)),
    "Dense out": (lambda n: nn.Dense(1, n), (1,), (0,)),
    "Dense weight": (lambda s: nn.Dense(3, 2, ops.ones(s)), ((2, 3),), ((3, 2), (2,))),
    "Dense bias": (lambda s: nn.Dense(3, 2, bias_init=ops.ones(s)), ((2,),), ((3,), (2, 1))),
    "BiDense weight": (lambda s: nn.BiDense(3, 4, 2, ops.ones(s)), ((2, 3, 4),), ((2, 4, 3),)),
    "BiDense bias": (lambda s: nn.BiDense(3, 4, 2, bias_init=ops.ones(s)), ((2,),), ((3,),)),
    "BiDense first": (lambda n: nn.BiDense(3, 4, 2)(counts(5, n), counts(5, 4)), (3,), (2, 4)),
    "BiDense second": (lambda n: nn.BiDense(3, 4, 2)(counts(5, 3), counts(5, n)), (4,), (3, 5)),
    "BiDense batch": (lambda n: nn.BiDense(3, 4, 2)(counts(5, 3), counts(n, 4)), (5,), (1, 4)),
    "Int8Dense group": (lambda n: nn.Int8Dense(nn.Dense(6, 2), n), (1, 2, 6, None), (0, 4, 7)),
    # convolution
    "Conv2d groups": (lambda n: nn.Conv2d(4, 6, 1, group=n), (1, 2), (0, 3, 4)),
    "Conv2d padding": (lambda p: nn.Conv2d(1, 1, 1, pad_mode="pad", padding=p),
                       (0, (0, 1, 2, 3)), (-1, (0, 1, 2), (0, 0, 0, -1), (1,) * 6)),
    "Conv3d padding": (lambda p: nn.Conv3d(1, 1, 1, pad_mode="pad", padding=p),
                       (0, (1,) * 6), (-1, (1,) * 5, (1,) * 4)),
    "Conv2d kernel": (lambda k: nn.Conv2d(1, 1, k), (1, (1, 2)), (0, (1, 0), (1, 1, 1))),
    "Conv2d stride": (lambda s: nn.Conv2d(1, 1, 1, s), (1, (1, 2)), (0, (1, 0), (1, 1, 1))),
    "Conv2d dilation": (lambda d: nn.Conv2d(1, 1, 1, dilation=d), (1, (1, 2)), (0, (1, 1, 1))),
    "Conv3d sizes": (lambda k: nn.Conv3d(1, 1, k, k, dilation=k), (1, (1, 2, 3)), (0, (1, 1))),
    "Conv1d kernel": (lambda k: nn.Conv1d(1, 1, k), (1, 2), (0,)),
    "Conv1d stride": (lambda s: nn.Conv1d(1, 1, 1, s), (1,), (0,)),
    "Conv1d padding": (lambda p: nn.Conv1d(1, 1, 1, 1, "pad", p), (0, 1), (-1,)),
    "Conv1d dilation": (lambda d: nn.Conv1d(1, 1, 1, dilation=d), (1,), (0,)),
    "Conv1d rank": (lambda n: nn.Conv1d(4, 1, 1)(cube(n)), (3,), (2, 4)),
    "Conv1d channels": (lambda n: nn.Conv1d(n, 1, 1)(counts(2, 3, 4)), (3,), (2, 4)),
    "Conv1d weight": (lambda n: nn.Conv1d(4, 4, 4, weight_init=cube(n)), (3,), (2, 4)),
    "Conv2d rank": (lambda n: nn.Conv2d(4, 1, 1)(cube(n)), (4,), (2, 5)),
    "Conv2dTranspose rank": (lambda n: nn.Conv2dTranspose(4, 1, 1)(cube(n)), (4,), (3, 5)),
    "Conv3dTranspose rank": (lambda n: nn.Conv3dTranspose(4, 1, 1)(cube(n)), (5,), (4, 6)),
    "Conv1dTranspose rank": (lambda n: nn.Conv1dTranspose(4, 1, 1)(cube(n)), (3,), (2, 4)),
    "Conv2dTranspose extra below stride": (
        lambda n: nn.Conv2dTranspose(1, 1, 3, 3, "pad", 0, n, 2), (0, 2, (1, 2)), (3, -1, (0, 3))),
    "Conv2dTranspose extra below dilation": (
        lambda n: nn.Conv2dTranspose(1, 1, 3, 1, "pad", 0, n, 3), (0, 2), (3,)),
    "Conv2dTranspose extra mode": (
        lambda mode: nn.Conv2dTranspose(1, 1, 3, 2, mode, 0, (0, 1)), ("pad",), ("same", "valid")),
    "Conv3dTranspose extra": (
        lambda n: nn.Conv3dTranspose(1, 1, 3, (2, 3, 4), "pad", output_padding=n),
        (1, (1, 2, 3)), (2, (0, 0, 4), (1, 1))),
    # recurrent
    "LSTM dropout": (lambda p: nn.LSTM(2, 2, dropout=p), (0.0, 0.99), (-0.01, 1.0)),
    "LSTM sizes": (lambda n: nn.LSTM(n, n, n), (1,), (0,)),
    "GRU input": (lambda n: nn.GRU(n, 2)(counts(4, 2, 3)), (3,), (2, 4)),
    "GRU rank": (lambda n: nn.GRU(4, 2)(cube(n)), (3,), (2, 4)),
    "GRU lengths": (lambda n: nn.GRU(4, 2)(cube(3), None, Tensor(n, ms.int32)),
                    ([0, 1, 4, 9],), ([-1, 1, 1, 1], [1, 2, 3], [[1, 1, 1, 1]])),
    "GRU state": (lambda s: nn.GRU(3, 2, 2, bidirectional=True)(counts(4, 5, 3), counts(*s)),
                  ((4, 5, 2),), ((2, 5, 2), (4, 5, 3), (4, 4, 2))),
    "RNNCell sizes": (lambda n: nn.RNNCell(n, n), (1,), (0,)),
    # attention
    "MultiheadAttention heads": (lambda n: nn.MultiheadAttention(6, n), (1, 3, 6), (0, 4, 12)),
    "Transformer width of src": (
        lambda n: nn.Transformer(4, 1, 1, 1, 2)(counts(3, 2, n), counts(3, 2, 4)), (4,), (3, 5)),
    "Transformer width of tgt": (
        lambda n: nn.Transformer(4, 1, 1, 1, 2)(counts(3, 2, 4), counts(3, 2, n)), (4,), (3, 5)),
    "Transformer batch": (
        lambda n: nn.Transformer(4, 1, 1, 1, 2)(counts(3, n, 4), counts(5, 2, 4)), (2,), (1, 3)),
    "Transformer batch first": (
        lambda n: nn.Transformer(4, 1, 1, 1, 2, batch_first=True)(counts(n, 3, 4), counts(2, 5, 4)),
        (2,), (1, 3)),
    "Transformer layers": (lambda n: nn.Transformer(4, 1, n, n, 2), (1,), (0,)),
    # activations and dropout
    "Hardtanh": (lambda top: nn.Hardtanh(0.5, top), (0.75,), (0.5, 0.25)),
    "Softmax2d rank": (lambda n: nn.Softmax2d()(cube(n)), (3, 4), (2, 5)),
    "RReLU": (lambda top: nn.RReLU(0.5, top), (0.5, 1), (0.25,)),
    "PReLU channels": (lambda n: nn.PReLU(n), (1,), (0,)),
    "PReLU list": (lambda w: nn.PReLU(2, w), ([0.1, 0.2],), ([0.1], [0.1] * 3, [0.1, 1])),
    "PReLU Tensor": (lambda w: nn.PReLU(2, w),
                     (ops.ones(2), ops.ones(2, ms.float16)),
                     (ops.ones(3), ops.ones((2, 1)), ops.ones(2, ms.float64))),
    "LRN radius": (lambda n: nn.LRN(n), (0, 1), (-1,)),
    "Dropout keep": (lambda p: nn.Dropout(p), (1e-9, 1.0), (0.0, 1.01)),
    "Dropout drop": (lambda p: nn.Dropout(p=p), (0, 0.0, 0.99), (-0.01, 1.0)),
    "Dropout1d": (lambda p: nn.Dropout1d(p), (0.0, 1.0), (-0.01, 1.01)),
    "ExponentialMovingAverage": (
        lambda d: nn.ExponentialMovingAverage(nn.Dense(1, 1).get_parameters(), d),
        (0.0, 1.0), (-0.01, 1.01)),
    # shapes
    "Flatten start": (lambda n: nn.Flatten(n)(cube(3)), (-3, 0, 2), (-4, 3)),
    "Flatten end": (lambda n: nn.Flatten(-3, n)(cube(3)), (-3, 2), (-4, 3)),
    "Flatten of a number": (lambda n: nn.Flatten(n)(Tensor(1.0)), (-1, 0), (-2, 1)),
    "Roll axis": (lambda n: nn.Roll(1, n)(cube(3)), (-3, 2), (-4, 3)),
    "Roll axes": (lambda n: nn.Roll([1, 2], n), ([0, 1],), ([0], [0, 1, 2])),
    "ChannelShuffle": (lambda n: nn.ChannelShuffle(n), (1,), (0,)),
    "Pad count": (lambda n: nn.Pad(((1, 2),) * n), (1, 4), (5,)),
    "Pad pair": (lambda n: nn.Pad(((1,) * n,)), (2,), (1, 3)),
    "Pad rank": (lambda n: nn.Pad(((1, 2),) * 2)(cube(n)), (2,), (1, 3)),
    "Unfold sizes": (lambda k: nn.Unfold(k, [1, 1, 1, 1], [1, 1, 1, 1]),
                     ([1, 2, 3, 1], (1, 1, 1, 1)),
                     ([2, 1, 1, 1], [1, 1, 1, 2], [1, 1, 1], [1] * 5, [1, 0, 1, 1])),
    "Unfold rank": (lambda n: nn.Unfold(*[[1, 1, 1, 1]] * 3)(cube(n)), (4,), (3, 5)),
    "L1Regularizer": (lambda s: nn.L1Regularizer(s), (1e-9, 2), (0, -1.0, INF, math.nan)),
    "TimeDistributed rank": (lambda n: nn.TimeDistributed(nn.ReLU(), 0)(cube(n)), (3, 4), (2,)),
    "TimeDistributed axes": (
        lambda n: nn.TimeDistributed(nn.ReLU(), -2, n)(cube(3)), (0, 2, -1, -3), (1, -2)),
    "ConstantPad1d": (lambda p: nn.ConstantPad1d(p, 0), ((), (1, 2)), ((1,), (1, 2, 3, 4))),
    "ConstantPad2d rank": (lambda n: nn.ConstantPad2d(1, 0)(cube(n)), (2, 3), (1,)),
    "ConstantPad2d rest": (lambda p: nn.ConstantPad2d(p, 0)(counts(3, 5)),
                           ((-2, 0, 0, 0), (0, 0, -1, -1)), ((-2, -3, 0, 0), (0, 0, -1, -2))),
    "ReflectionPad1d": (lambda p: nn.ReflectionPad1d(p)(counts(2, 4)), (0, (0, 3)), (-1, (0, -1))),
    "ReflectionPad3d rank": (lambda n: nn.ReflectionPad3d(1)(cube(n)), (4, 5), (2,)),
    # images
    "ImageGradients rank": (lambda n: nn.ImageGradients()(cube(n)), (4,), (3, 5)),
    "PSNR rank": (lambda n: nn.PSNR()(cube(n), cube(n) * 2), (4,), (3, 5)),
    "PSNR range": (lambda top: nn.PSNR(top), (1e-9, 255, INF), (0, -1)),
    "SSIM range": (lambda top: nn.SSIM(top), (1e-9, 255, INF), (0, -1)),
    "SSIM size": (lambda n: nn.SSIM(filter_size=n)(counts(2, 1, 4, 5), counts(2, 1, 4, 5)),
                  (1, 4), (0, 5)),
    "SSIM sigma": (lambda s: nn.SSIM(filter_sigma=s), (1e-3,), (0.0, INF)),
    "CentralCrop share": (lambda f: nn.CentralCrop(f), (1e-9, 1.0), (0.0, 1.01)),
    "CentralCrop rank": (lambda n: nn.CentralCrop(0.5)(cube(n)), (3, 4), (2, 5)),
    "Range": (lambda d: nn.Range(1, 5, d), (1, -1, 0.5), (0, 0.0)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name], match="must|may|can't|nothing")


TYPES = {
    "Moments": (lambda kind: nn.Moments(0)(ops.ones(3, kind)),
                (ms.float16, ms.bfloat16, ms.float32, ms.float64), (ms.int32, ms.complex64)),
    "GRU": (lambda kind: nn.GRU(3, 2)(ops.ones((4, 2, 3), kind), ops.ones((1, 2, 2), kind)),
            (ms.float16, ms.bfloat16, ms.float32, ms.float64), (ms.int32, ms.complex64)),
    "GRUCell": (lambda kind: nn.GRUCell(3, 2)(ops.ones((4, 3), kind), ops.ones((4, 2), kind)),
                (ms.float32,), (ms.int32, ms.complex64)),
    "GRU of lengths": (lambda kind: nn.GRU(3, 2)(counts(4, 2, 3), None, ops.ones(2, kind)),
                       (ms.int32, ms.int64), (ms.int16, ms.float32)),
    "MultiheadAttention": (lambda kind: nn.MultiheadAttention(4, 2)(
        cube(2), cube(2), cube(2), ops.zeros(4, kind)), (ms.bool_, ms.float32), (ms.int32,)),
}


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    call, inside, outside = TYPES[name]
    for kind in inside:
        call(kind)
    for kind in outside:
        with pytest.raises((TypeError, ValueError), match="must"):
            call(kind)


@pytest.mark.parametrize("state", [
    lambda h: h, lambda h: (h,), lambda h: (h, h, h), lambda h: [h, h]])
def test_the_two_states_of_an_lstm(state):
    x, h = counts(3, 2, 4), counts(1, 2, 5)
    nn.LSTM(4, 5)(x, (h, h))
    nn.LSTMCell(4, 5)(x[0], (h[0], h[0]))
    with pytest.raises(TypeError, match="tuple of two"):
        nn.LSTM(4, 5)(x, state(h))
    with pytest.raises(TypeError, match="tuple of two"):
        nn.LSTMCell(4, 5)(x[0], state(h[0]))


@pytest.mark.parametrize("activation", ["relu", "gelu", nn.ReLU(), nn.GELU(), ops.relu, ops.gelu])
def test_activations_of_a_transformer(activation):
    layer = nn.TransformerEncoderLayer(4, 2, 6, activation=activation)
    layer.dense1.bias.set_data(Tensor(np.float32([-1, -0.5, 0, 0.5, 1, 2])))
    x = Tensor(np.random.default_rng(0).standard_normal((3, 2, 4)).astype(np.float32))
    inner = layer.dense1(x)
    if activation == "gelu":
        activation = ops.gelu
    want = layer.dense2(ops.relu(inner) if activation == "relu" else activation(inner))
    np.testing.assert_allclose(layer._feed_forward(x).asnumpy(), want.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("sides", ["img", "type"])
def test_two_images_of_one_kind(sides):
    first, other = counts(2, 3, 4, 4), counts(2, 3, 4, 4).astype(ms.float16)
    if sides == "img":
        other = counts(2, 3, 4, 5)
    for measure in (nn.PSNR(), nn.SSIM(filter_size=3), nn.MSSSIM(power_factors=[1], filter_size=3)):
        with pytest.raises((TypeError, ValueError), match="both images"):
            measure(first, other)
