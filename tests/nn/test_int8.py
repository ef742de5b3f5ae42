"""Dense layers with int8 weights: near to the layer, whatever the type and the number of rows."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn

X = np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32)


def layers(**named):
    layer = nn.Dense(64, 32, **named)
    return layer, nn.Int8Dense(layer)


@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.float16])
@pytest.mark.parametrize("rows", [1, 40])
def test_as_by_the_formula(dtype, rows):
    layer, small = layers()
    x = Tensor(X[:rows]).astype(dtype)
    weights = small.weight.asnumpy().astype(np.float32) * small.scale.asnumpy()[:, None]
    expected = x.astype(ms.float32).asnumpy() @ weights.T + layer.bias.asnumpy()
    tolerance = {ms.float32: 1e-5, ms.bfloat16: 3e-2, ms.float16: 5e-3}[dtype]
    got = small(x)
    assert got.dtype is dtype
    np.testing.assert_allclose(got.astype(ms.float32).asnumpy(), expected, atol=tolerance)
    np.testing.assert_allclose(weights, layer.weight.asnumpy(),
                               atol=float(small.scale.max()) / 2 + 1e-7)


def test_compiled_and_with_gradients_of_the_input():
    _, small = layers(activation="relu")
    for x in (Tensor(X), Tensor(X[:2]).astype(ms.bfloat16)):
        graph, plain = ms.jit(small), small(x).astype(ms.float32).asnumpy()
        for _ in range(2):
            np.testing.assert_allclose(graph(x).astype(ms.float32).asnumpy(), plain, rtol=1e-5)
        gradient = ms.grad(lambda x: small(x).sum())(x)
        weights = small.weight.asnumpy().astype(np.float32) * small.scale.asnumpy()[:, None]
        np.testing.assert_allclose(gradient.astype(ms.float32).asnumpy(), (plain > 0) @ weights,
                                   atol=0.05 if x.dtype is ms.bfloat16 else 1e-5)


def test_networks_and_checkpoints(tmp_path):
    net = nn.SequentialCell(nn.Dense(64, 32), nn.ReLU(), nn.Linear(32, 8))
    before = net(Tensor(X)).asnumpy()
    nn.quantize_weights(net)
    assert net.trainable_params() == []
    after = net(Tensor(X)).asnumpy()
    assert np.abs(after - before).max() < 0.05 * np.abs(before).max()
    ms.save_checkpoint(net, str(tmp_path / "int8.ckpt"))
    again = nn.quantize_weights(nn.SequentialCell(nn.Dense(64, 32), nn.ReLU(), nn.Linear(32, 8)))
    ms.load_checkpoint(str(tmp_path / "int8.ckpt"), again)
    np.testing.assert_array_equal(again(Tensor(X)).asnumpy(), after)


def test_errors():
    with pytest.raises(TypeError, match="'layer' must be a Dense or Linear"):
        nn.Int8Dense(nn.ReLU())
    with pytest.raises(ValueError, match="must have a layer Dense or Linear, but has none"):
        nn.quantize_weights(nn.SequentialCell(nn.ReLU()))


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 33])
def test_any_width_in_16_bits(width):
    # PyTorch's kernel for few rows reads and writes whole blocks of 16 columns
    layer = nn.Dense(width, 3)
    small = nn.Int8Dense(layer)
    x = np.random.default_rng(0).standard_normal((3, width)).astype(np.float32)
    for _ in range(200):  # what is beyond the memory differs from call to call
        found = small(Tensor(x).astype(ms.bfloat16)).float().asnumpy()
    np.testing.assert_allclose(found, layer(Tensor(x)).asnumpy(), atol=0.1)


def test_small_weights_keep_their_scale():
    weights = np.float32([[1e-3, -5e-4, 0, 2.5e-4], [0, 0, 0, 0]])
    small = nn.Int8Dense(nn.Dense(4, 2, Tensor(weights), has_bias=False))
    assert small.weight.asnumpy()[0].tolist() == [127, -64, 0, 32]
    np.testing.assert_allclose(small.scale.asnumpy()[0], 1e-3 / 127, rtol=1e-6)
    assert (small.weight.asnumpy()[1] == 0).all()
    out = small(Tensor(np.eye(4, dtype=np.float32))).asnumpy()
    np.testing.assert_allclose(out, weights.T, atol=1e-3 / 127 / 2 + 1e-9)


@pytest.mark.parametrize("group", [1, 2, 4])
def test_each_group_has_its_scale(group):
    weights = np.float32([[8, 4, 0.5, 0.25], [1, -2, 3, -4]])
    small = nn.Int8Dense(nn.Dense(4, 2, Tensor(weights), has_bias=False), group)
    want = np.abs(weights).reshape(2, -1, group).max(2) / 127
    np.testing.assert_allclose(small.scale.asnumpy(), want, rtol=1e-6)
    bound = np.repeat(want, group, 1).T / 2 + 1e-6
    assert (np.abs(small(Tensor(np.eye(4, dtype=np.float32))).asnumpy() - weights.T) <= bound).all()
