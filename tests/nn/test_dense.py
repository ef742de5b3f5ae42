"""Fully connected layers and embeddings: first values, and parity with PyTorch's layers."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn


def spread(parameter):
    values = parameter.asnumpy()
    return float(np.abs(values).max()), float(values.std())


@pytest.mark.parametrize(("make", "name", "bound"), [
    (lambda: nn.Dense(64, 300), "weight", 1 / 8), (lambda: nn.Dense(64, 300), "bias", 1 / 8),
    (lambda: nn.Linear(64, 300), "weight", 1 / 8),
    (lambda: nn.BiDense(16, 8, 50), "weight", 1 / 4),
    (lambda: nn.Conv2d(16, 64, 2, has_bias=True), "weight", 1 / 8),
    (lambda: nn.Conv2d(16, 640, 2, has_bias=True), "bias", 1 / 8),
    (lambda: nn.Conv1d(16, 64, 4), "weight", 1 / 8),
    (lambda: nn.Conv2dTranspose(16, 16, 2), "weight", 1 / 8),
    (lambda: nn.LSTM(8, 64), "weight_ih_l0", 1 / 8),
    (lambda: nn.GRUCell(8, 64), "weight_hh", 1 / 8),
    (lambda: nn.MultiheadAttention(16, 2), "in_proj_weight", (6 / 64) ** 0.5),
])
def test_first_values_are_uniform(make, name, bound):
    parameter = make().parameters_dict()[name]
    largest, deviation = spread(parameter)
    assert 0.95 * bound < largest <= bound * 1.0001
    assert deviation == pytest.approx(bound / 3**0.5, rel=0.1)


def test_first_values_of_an_embedding():
    net = nn.Embedding(200, 50, padding_idx=3)
    assert spread(net.embedding_table)[1] == pytest.approx(0.01, rel=0.05)
    assert (net.embedding_table[3] == 0).all() and not (net.embedding_table[2] == 0).any()
    assert spread(nn.EmbeddingExt(200, 50).weight)[1] == pytest.approx(1, rel=0.05)


def test_dense_is_pytorch_s():
    mine, theirs = nn.Dense(3, 4), torch.nn.Linear(3, 4)
    mine.weight.set_data(ms.Tensor(theirs.weight.detach().numpy()))
    mine.bias.set_data(ms.Tensor(theirs.bias.detach().numpy()))
    x = torch.randn(2, 5, 3)
    np.testing.assert_allclose(mine(ms.Tensor(x.numpy())).asnumpy(), theirs(x).detach().numpy(),
                               rtol=1e-5, atol=1e-6)


def test_the_activation_sees_a_matrix():
    net = nn.Dense(3, 4, activation=nn.Softmax(axis=0))
    x = ms.ops.randn(2, 5, 3)
    total = net(x).reshape(-1, 4).sum(0).asnumpy()
    np.testing.assert_allclose(total, np.ones(4), rtol=1e-5)


def test_initializers_of_every_kind():
    weight = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    net = nn.Dense(3, 2, weight_init=weight, bias_init=0.5)
    assert (net.weight == weight).all() and (net.bias == 0.5).all()
    assert net.weight is not weight
    net.weight += 1
    assert weight[0, 0] == 0


def test_bidense_is_the_bilinear_form():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 4))
    net = nn.BiDense(3, 4, 2).to(ms.float64)
    want = np.einsum("ni,kij,nj->nk", a, net.weight.asnumpy(), b) + net.bias.asnumpy()
    np.testing.assert_allclose(net(ms.Tensor(a), ms.Tensor(b)).asnumpy(), want, rtol=1e-10)


def test_embedding_rows_out_of_range_are_refused():
    with pytest.raises(RuntimeError, match="For 'embedding', the rows in 'input' must be in"):
        nn.Embedding(3, 2)(ms.Tensor([3], ms.int32))


def test_gradient_of_an_embedding_falls_on_the_rows_used():
    net = nn.Embedding(5, 2)
    ids = ms.Tensor([1, 1, 4], ms.int32)
    (gradient,) = ms.grad(lambda i: net(i).sum(), None, net.trainable_params())(ids)
    assert gradient.asnumpy()[:, 0].tolist() == [0, 2, 0, 0, 1]


def test_lookup_cuts_long_rows():
    net = nn.EmbeddingLookup(4, 2, "ones", max_norm=1.0)
    rows = net(ms.Tensor([[0, 3]], ms.int32)).asnumpy()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=-1), [[1, 1]], rtol=1e-6)
