"""Arguments of layers that no other test refuses: each call breaks one condition."""

import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.nn import optim
from tests.contracts import check_refused

X, M, V, INTS = ops.ones((2, 3, 4)), ops.ones((3, 4)), ops.ones(4), Tensor([1, 2, 3])


def weights():
    return [ms.Parameter(ops.ones((2, 2)), name="w")]


CALLS = [
    lambda: nn.Pad(((0, 1),))(M), lambda: nn.TimeDistributed(nn.ReLU(), 0, 1)(M),
    lambda: nn.TimeDistributed(nn.ReLU(), 1, 1)(X), lambda: nn.ConstantPad2d((1, 1, 1, 1), 0.5)(V),
    lambda: nn.DiceLoss()(M.astype(ms.uint8), M), lambda: nn.DiceLoss()(M, M.astype(ms.uint8)),
    lambda: nn.MultiClassDiceLoss(V)(M, M), lambda: nn.MultiClassDiceLoss()(M, M[:2]),
    lambda: nn.MultiClassDiceLoss()(V, V), lambda: nn.FocalLoss(M)(M, M),
    lambda: nn.SampledSoftmaxLoss(0, 5), lambda: nn.BiDense(4, 4, 2)(M, X),
    lambda: nn.SSIM()(ops.ones((1, 1, 16, 16)), ops.ones((1, 2, 16, 16))),
    lambda: optim.AdaFactor(weights(), warmup_init=True, relative_step=False, learning_rate=0.1),
    lambda: optim.AdaFactor(weights(), eps=(1e-3,)),
    lambda: optim.Rprop(weights(), step_sizes=(2.0, 1.0)),
    lambda: optim.Rprop(weights(), step_sizes=(2.0,)), lambda: optim.Rprop(weights(), etas=(0.5,)),
    lambda: optim.Momentum([{"order_params": weights(), "lr": 0.1}], 0.1, 0.9),
    lambda: optim.Momentum([{"order_params": 1}], 0.1, 0.9),
    lambda: optim.Momentum([{"params": [1]}], 0.1, 0.9),
    lambda: nn.Dense(1, 1).insert_param_to_cell(1, weights()[0]),
    lambda: nn.Dense(1, 1).insert_param_to_cell("", weights()[0]),
    lambda: nn.Dense(1, 1).insert_param_to_cell("a.b", weights()[0]),
    lambda: nn.Dense(1, 1).register_buffer("b", 1),
    lambda: nn.MaxPool2d(2, pad_mode="pad", data_format="NHWC"),
    lambda: nn.probability.distribution.Categorical(Tensor(1.0)),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_refused(call):
    check_refused(call)


def test_what_stands_at_a_boundary_is_taken():
    assert nn.TimeDistributed(nn.ReLU(), 1, 0)(X).shape == X.shape
    assert optim.Rprop(weights(), step_sizes=(2.0, 2.0))
