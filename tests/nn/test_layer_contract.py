"""`check_cell` of every layer, one line each."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from tests.nn.contract import check_cell

RNG = np.random.default_rng(3)


def numbers(*shape, low=None):
    values = RNG.standard_normal(shape).astype(np.float32)
    return values if low is None else np.abs(values) + np.float32(low)


def whole(*shape, high):
    return RNG.integers(0, high, shape).astype(np.int32)


PROBABILITIES = numbers(4, 5, low=0.1).astype(np.float64)
PROBABILITIES = (PROBABILITIES / PROBABILITIES.sum(1, keepdims=True)).astype(np.float32)

SMOOTH = [  # layers with second derivatives everywhere
    (nn.Dense, (3, 4), [(2, 3)], {}),
    (nn.Dense, (3, 4), [(2, 5, 3)], {"has_bias": False, "activation": "tanh"}),
    (nn.Linear, (3, 4), [(3,)], {}),
    (nn.BiDense, (3, 4, 2), [(5, 3), (5, 4)], {}),
    (nn.Embedding, (7, 3), [whole(2, 4, high=7)], {}),
    (nn.Embedding, (7, 3), [whole(2, 4, high=7)], {"use_one_hot": True}),
    (nn.EmbeddingExt, (7, 3), [whole(2, 4, high=7)], {}),
    (nn.EmbeddingLookup, (7, 3), [whole(2, 4, high=7)], {}),
    (nn.Flatten, (), [(2, 3, 4)], {}),
    (nn.Identity, (), [(2, 3)], {}),
    (nn.Dropout, (), [(2, 3)], {"p": 0.3}),
    (nn.Dropout2d, (0.3,), [(2, 3, 2, 2)], {}),
    (nn.Conv2d, (2, 3, 3), [(2, 2, 5, 5)], {"has_bias": True}),
    (nn.Conv2d, (2, 4, 2), [(1, 2, 5, 4)], {"stride": 2, "pad_mode": "same", "group": 2}),
    (nn.Conv2d, (2, 3, 3), [(1, 2, 5, 4)],
     {"pad_mode": "pad", "padding": (1, 0, 2, 1), "dilation": 2}),
    (nn.Conv1d, (2, 3, 3), [(2, 2, 6)], {"pad_mode": "valid", "has_bias": True}),
    (nn.Conv3d, (2, 2, 2), [(1, 2, 3, 3, 3)], {"has_bias": True}),
    (nn.Conv2dTranspose, (2, 3, 3), [(1, 2, 3, 3)], {"stride": 2, "has_bias": True}),
    (nn.Conv1dTranspose, (2, 3, 3), [(1, 2, 4)], {"stride": 2, "pad_mode": "pad", "padding": 1}),
    (nn.Conv3dTranspose, (2, 2, 2), [(1, 2, 2, 2, 2)], {"pad_mode": "valid"}),
    (nn.AvgPool1d, (3, 2), [(1, 2, 8)], {"pad_mode": "same"}),
    (nn.AvgPool2d, (3, 2), [(1, 2, 6, 6)],
     {"pad_mode": "pad", "padding": 1, "count_include_pad": False, "ceil_mode": True}),
    (nn.AvgPool3d, (2, 2), [(1, 1, 4, 4, 4)], {}),
    (nn.AdaptiveAvgPool2d, (2,), [(1, 2, 5, 4)], {}),
    (nn.LPPool2d, (2, 2), [numbers(1, 2, 4, 4, low=0.2)], {}),
    (nn.BatchNorm1d, (3,), [(4, 3)], {"half": False}),
    (nn.BatchNorm2d, (2,), [(2, 2, 3, 3)], {"train": True}),
    (nn.BatchNorm2d, (2,), [(2, 2, 3, 3)], {"affine": False}),
    (nn.BatchNorm3d, (2,), [(2, 2, 2, 2, 2)], {"train": True}),
    (nn.LayerNorm, ((3,),), [(2, 4, 3)], {"epsilon": 1e-5}),
    (nn.LayerNorm, ((4, 3),), [(2, 4, 3)],
     {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-5}),
    (nn.GroupNorm, (2, 4), [(2, 4, 3)], {}),
    (nn.InstanceNorm2d, (3,), [(2, 3, 4, 4)], {"half": False}),
    (nn.Tanh, (), [(2, 3)], {}), (nn.Sigmoid, (), [(2, 3)], {}), (nn.SiLU, (), [(2, 3)], {}),
    (nn.GELU, (), [(2, 3)], {}), (nn.GELU, (False,), [(2, 3)], {}), (nn.Mish, (), [(2, 3)], {}),
    (nn.Softmax, (), [(2, 3)], {}), (nn.LogSoftmax, (0,), [(2, 3)], {}),
    (nn.LogSigmoid, (), [(2, 3)], {}), (nn.GLU, (), [(2, 4)], {}),
    (nn.LRN, (2,), [(1, 5, 2, 2)], {}),
    (nn.Upsample, ((4, 4), None, "bilinear"), [(1, 2, 3, 3)], {}),
    (nn.Pad, (((1, 1), (2, 2)),), [(3, 4)], {"mode": "REFLECT"}),
    (nn.ZeroPad2d, (1,), [(1, 2, 3)], {}), (nn.ReplicationPad1d, (2,), [(1, 2, 3)], {}),
    (nn.Norm, (1,), [(2, 3)], {}), (nn.Unfold, ([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1]),
                                   [(1, 2, 3, 3)], {}),
    (nn.PixelShuffle, (2,), [(1, 4, 2, 2)], {}),
    (nn.RNNCell, (3, 4), [(2, 3), (2, 4)], {}), (nn.GRUCell, (3, 4), [(2, 3), (2, 4)], {}),
    (nn.LSTMCell, (3, 4), [(2, 3), (numbers(2, 4), numbers(2, 4))], {}),
    (nn.RNN, (3, 4, 2), [(3, 2, 3)], {}),
    (nn.LSTM, (3, 2, 2), [(3, 2, 3)], {"bidirectional": True}),
    (nn.LSTM, (3, 2), [(3, 2, 3), None, np.array([2, 3], np.int32)], {}),
    (nn.GRU, (3, 2), [(2, 3, 3)], {"batch_first": True}),
    (nn.MultiheadAttention, (4, 2), [(3, 2, 4), (5, 2, 4), (5, 2, 4)], {}),
    (nn.TransformerEncoderLayer, (4, 2, 6), [(3, 2, 4)], {"activation": "gelu"}),
    (nn.TransformerDecoderLayer, (4, 2, 6), [(3, 2, 4), (2, 2, 4)],
     {"activation": "gelu", "norm_first": True}),
    (nn.MSELoss, (), [(2, 3), (2, 3)], {}), (nn.RMSELoss, (), [(2, 3), (2, 3)], {}),
    (nn.SoftmaxCrossEntropyWithLogits, (True,), [(4, 5), whole(4, high=5)], {}),
    (nn.SoftmaxCrossEntropyWithLogits, (), [(4, 5), PROBABILITIES], {"grad": (0,)}),
    (nn.CrossEntropyLoss, (), [(4, 5), whole(4, high=5)], {"label_smoothing": 0.1}),
    (nn.NLLLoss, (), [(4, 5), whole(4, high=5)], {}),
    (nn.BCEWithLogitsLoss, (), [(2, 3), (2, 3)], {}),
    (nn.KLDivLoss, (), [(2, 3), numbers(2, 3, low=0.1)], {}),
    (nn.CosineEmbeddingLoss, (), [(2, 3), (2, 3), np.array([1, -1], np.int32)], {}),
    (nn.GaussianNLLLoss, (), [(2, 3), (2, 3), numbers(2, 3, low=0.5)],
     {"grad": (0, 2), "compiled": False}),
    (nn.DiceLoss, (), [(2, 3), (2, 3)], {"smooth": 1.0}),
    (nn.FocalLoss, (), [(4, 3), whole(4, 1, high=3)], {}),
    (nn.PoissonNLLLoss, (), [(2, 3), numbers(2, 3, low=0.1)], {}),
    (nn.ImageGradients, (), [(1, 2, 3, 3)], {}),
    (nn.SSIM, (), [numbers(1, 1, 5, 5, low=0.1), numbers(1, 1, 5, 5, low=0.1)],
     {"filter_size": 3, "half": False}),
]

KINKED = [  # piecewise linear layers, or with a kink: the random inputs lie off it
    (nn.ReLU, (), [(2, 3)], {}), (nn.ReLU6, (), [(2, 3)], {}), (nn.LeakyReLU, (), [(2, 3)], {}),
    (nn.ELU, (), [(2, 3)], {}), (nn.CELU, (), [(2, 3)], {}), (nn.SeLU, (), [(2, 3)], {}),
    (nn.PReLU, (3,), [(2, 3)], {}), (nn.HSwish, (), [(2, 3)], {}), (nn.HSigmoid, (), [(2, 3)], {}),
    (nn.Hardtanh, (), [(2, 3)], {}), (nn.Softsign, (), [(2, 3)], {}),
    (nn.HShrink, (), [(2, 3)], {}), (nn.SoftShrink, (), [(2, 3)], {}),
    (nn.Threshold, (0.1, 2.0), [(2, 3)], {}), (nn.FastGelu, (), [(2, 3)], {}),
    (nn.MaxPool1d, (2, 2), [(1, 2, 6)], {}), (nn.MaxPool2d, (3, 2), [(1, 2, 6, 6)], {}),
    (nn.MaxPool2d, (3, 2), [(1, 2, 5, 5)], {"pad_mode": "same"}),
    (nn.MaxPool3d, (2, 2), [(1, 1, 4, 4, 4)], {}),
    (nn.AdaptiveMaxPool2d, (2,), [(1, 2, 4, 4)], {}),
    (nn.L1Loss, (), [(2, 3), (2, 3)], {}), (nn.MAELoss, (), [(2, 3), (2, 3)], {}),
    (nn.SmoothL1Loss, (), [(2, 3), (2, 3)], {}), (nn.HuberLoss, (), [(2, 3), (2, 3)], {}),
    (nn.MarginRankingLoss, (), [(3,), (3,), np.array([1, -1, 1], np.float32)], {"grad": (0, 1)}),
    (nn.TripletMarginLoss, (), [(3, 4), (3, 4), (3, 4)], {}),
    (nn.ClipByNorm, (1,), [(2, 3), np.float32([0.7])], {"grad": (0,)}),
]


@pytest.mark.parametrize(("cls", "args", "inputs", "options"), SMOOTH + KINKED,
                         ids=lambda value: getattr(value, "__name__", None))
def test_contract(cls, args, inputs, options):
    cell = check_cell(cls, args, inputs, **options)
    assert isinstance(cell, ms.nn.Cell)


def test_a_checkpoint_holds_every_kind_of_layer(tmp_path):
    def make():
        return nn.SequentialCell(
            nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.PReLU(2), nn.GroupNorm(1, 2), nn.Flatten(),
            nn.Dense(18, 4), nn.LayerNorm((4,)), nn.BatchNorm1d(4))

    net, other = make(), make()
    x = ms.ops.randn(3, 1, 3, 3)
    net.set_train()(x)
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    missing, unused = ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    assert not missing and not unused
    np.testing.assert_array_equal(other(x).asnumpy(), net.set_train(False)(x).asnumpy())


def test_a_network_of_layers_learns():
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2),
                            nn.Flatten(), nn.Dropout(p=0.1), nn.Dense(16, 2)).set_train()
    loss = nn.CrossEntropyLoss()
    x = RNG.standard_normal((16, 1, 4, 4)).astype(np.float32)
    labels = ms.Tensor((x.mean((1, 2, 3)) > 0).astype(np.int32))
    step = ms.value_and_grad(lambda a, b: loss(net(a), b), None, net.trainable_params())
    losses = []
    for _ in range(60):
        value, gradients = step(ms.Tensor(x), labels)
        for parameter, gradient in zip(net.trainable_params(), gradients, strict=True):
            parameter.set_data(parameter - 0.1 * gradient)
        losses.append(value.item())
    assert losses[-1] < 0.3 * losses[0]
