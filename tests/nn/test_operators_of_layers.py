"""The operators that layers have as attributes: subclasses call them, programs shard them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

X = Tensor(np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32))
LINE, VOLUME = X[:, :, 0], X[:, :, None].tile((1, 1, 4, 1, 1))
IDS = Tensor([[1, 2], [4, 0]], ms.int32)


def through_line(layer: Any, operator: Any, *more: Any) -> Any:
    return layer.squeeze(operator(layer.expand_dims(LINE, 2), *more))


@pytest.mark.parametrize(("layer", "x", "by_operators"), [
    (nn.Dense(8, 4), X[0, 0], lambda n, x: n.bias_add(n.matmul(x, n.weight), n.bias)),
    (nn.Conv2d(3, 4, 3), X, lambda n, x: n.conv2d(x, n.weight)),
    (nn.Conv1d(3, 4, 3), LINE, lambda n, x: through_line(n, n.conv2d, n.weight)),
    (nn.Conv3d(3, 4, 3), VOLUME, lambda n, x: n.conv3d(x, n.weight)),
    (nn.Conv2dTranspose(3, 4, 3, 2), X,
     lambda n, x: n.conv2d_transpose(x, n.weight, (2, 4, 16, 16))),
    (nn.Conv1dTranspose(3, 4, 3, 2), LINE,
     lambda n, x: through_line(n, n.conv2d_transpose, n.weight, (2, 4, 1, 16))),
    (nn.Conv3dTranspose(3, 4, 3, 2), VOLUME, lambda n, x: n.conv3d_transpose(x, n.weight)),
    (nn.MaxPool2d(2, 2), X, lambda n, x: n.max_pool(x)),
    (nn.AvgPool2d(3, 2, "same"), X, lambda n, x: n.avg_pool(x)),
    (nn.MaxPool1d(2, 2), LINE, lambda n, x: n.squeeze(n.max_pool(n.expand(x, 2)))),
    (nn.AvgPool1d(2, 2), LINE, lambda n, x: n.squeeze(n.avg_pool(n.expand(x, 2)))),
    (nn.BatchNorm2d(3).set_train(False), X, lambda n, x: n.bn_infer(
        x, n.gamma, n.beta, n.moving_mean, n.moving_variance)[0]),
    (nn.BatchNorm2d(3).set_train(), X, lambda n, x: n.bn_train(
        x, n.gamma, n.beta, n.moving_mean, n.moving_variance)[0]),
    (nn.LayerNorm((8,)), X, lambda n, x: n.layer_norm(x, n.gamma, n.beta)[0]),
    (nn.Softmax(1), X, lambda n, x: n.softmax(x)),
    (nn.LogSoftmax(1), X, lambda n, x: n.log_softmax(x)),
    (nn.Sigmoid(), X, lambda n, x: n.sigmoid(x)), (nn.Tanh(), X, lambda n, x: n.tanh(x)),
    (nn.ReLU(), X, lambda n, x: n.relu(x)), (nn.ELU(0.5), X, lambda n, x: n.elu(x)),
    (nn.HSwish(), X, lambda n, x: n.hswish(x)), (nn.PReLU(), X, lambda n, x: n.prelu(x, n.w)),
    (nn.Embedding(5, 3), IDS, lambda n, x: n.gather(n.embedding_table, x, 0)),
], ids=lambda value: type(value).__name__ if isinstance(value, nn.Cell) else "")
def test_operators_compute_what_the_layer_does(layer, x, by_operators):
    np.testing.assert_allclose(by_operators(layer, x).asnumpy(), layer(x).asnumpy(), rtol=1e-4,
                               atol=1e-5)


def test_a_dropout_has_its_operator():
    layer = nn.Dropout(p=0.25).set_train()
    out, mask = layer.dropout(ops.ones(4000))
    assert abs(float((out == 0).astype(ms.float32).mean()) - 0.25) < 0.05
    np.testing.assert_allclose(out[out != 0].asnumpy(), 4 / 3, rtol=1e-6)
    assert mask.shape == out.shape
    left = layer.by_operators(ops.ones((20, 20))).asnumpy()
    assert left.shape == (20, 20) and set(left.round(4).ravel()) == {0, np.float32(1.3333)}
    for other in (layer.set_train(False), nn.Dropout(p=0.0).set_train()):
        assert other.by_operators(ops.ones(8)).asnumpy().tolist() == [1] * 8


@pytest.mark.parametrize("layer", [nn.LayerNorm((8,)), nn.LayerNorm((8, 8), -2, -2)],
                         ids=["rows", "matrices"])
def test_a_layer_norm_by_its_operator(layer):
    np.testing.assert_allclose(layer.by_operators(X).asnumpy(), layer(X).asnumpy(), rtol=1e-5,
                               atol=1e-6)


@pytest.mark.parametrize("ranks", [(1, 2), (2, 1), (2, 2), (3, 2), (3, 3)])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_products_of_matrices_that_are_turned(ranks, first, second):
    """Vectors stay as they are."""
    one = np.random.default_rng(5).standard_normal((2, 3, 4)[-ranks[0]:]).astype(np.float32)
    two = np.random.default_rng(6).standard_normal((2, 4, 5)[3 - ranks[1]:]).astype(np.float32)
    if ranks[1] == 1:
        two = two[:4]
    wanted = one @ two
    if first and ranks[0] > 1:
        one = one.swapaxes(-1, -2)
    if second and ranks[1] > 1:
        two = two.swapaxes(-1, -2)
    found = nn.MatMul(first, second)(Tensor(one.copy()), Tensor(two.copy()))
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(8,), (5, 8), (2, 3, 8), (2, 1, 3, 8), (0, 8)])
@pytest.mark.parametrize("bias", [False, True])
def test_dense_of_any_number_of_dimensions(shape, bias):
    layer = nn.Dense(8, 4, has_bias=bias, activation="tanh")
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    found = layer.by_operators(Tensor(x)).asnumpy()
    wanted = x @ layer.weight.asnumpy().T + (layer.bias.asnumpy() if bias else 0)
    assert found.shape == (*shape[:-1], 4)
    np.testing.assert_allclose(found, np.tanh(wanted), rtol=1e-4, atol=1e-6)


def test_a_subclass_computes_by_the_operators():
    class Standardized(nn.Conv2d):
        """Weight standardization (Qiao et al., 2019), as programs write it."""

        def construct(self, x):
            weight = self.weight
            weight = (weight - weight.mean((1, 2, 3), keep_dims=True)) / 2
            return self.conv2d(x, weight)

    layer = Standardized(3, 4, 3, pad_mode="valid")
    weight = layer.weight.asnumpy()
    weight = (weight - weight.mean((1, 2, 3), keepdims=True)) / 2
    wanted = ops.conv2d(X, Tensor(weight))
    np.testing.assert_allclose(layer(X).asnumpy(), wanted.asnumpy(), atol=1e-5)


def test_strategies_may_be_given_to_them():
    layer = nn.Dropout(p=0.5)
    layer.dropout.shard(((1, 1),))
    embedding = nn.Embedding(5, 3)
    embedding.gather.shard(((1, 1), (1, 1)))
    assert layer.set_train()(ops.ones((2, 3))).shape == (2, 3)
    assert embedding(IDS).shape == (2, 2, 3)


def test_a_sequence_lists_its_cells():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    assert [type(cell) for cell in net.cell_list] == [nn.Dense, nn.ReLU]
