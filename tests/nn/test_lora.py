"""LoRA: unchanged at first, trained alone, merged without a difference."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn
from tests.nn.contract import check_cell


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.query, self.value = nn.Dense(6, 6), nn.Dense(6, 6, has_bias=False)
        self.out = nn.SequentialCell(nn.Dense(6, 4, activation="relu"), nn.Linear(4, 2))

    def construct(self, x):
        return self.out(self.query(x) * self.value(x))


X = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)


def test_contract():
    ms.set_seed(0)
    check_cell(lambda: nn.LoRADense(nn.Dense(6, 4, "ones", "ones"), 2), inputs=[(3, 6)])


def test_formula():
    layer = nn.LoRADense(nn.Dense(6, 4), rank=2, alpha=3.0)
    layer.lora_b.set_data(ms.ops.ones((4, 2)))
    w, b, a_, b_ = (p.asnumpy() for p in (layer.weight, layer.bias, layer.lora_a, layer.lora_b))
    expected = X @ w.T + b + 1.5 * (X @ a_.T) @ b_.T
    np.testing.assert_allclose(layer(Tensor(X)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.merged()(Tensor(X)).asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_trained_and_merged(compiled):
    net = Block()
    before = net(Tensor(X)).asnumpy()
    trained = nn.add_lora(net, rank=2, names=["query", "value"])
    assert [p.name for p in trained] == ["query.lora_a", "query.lora_b", "value.lora_a",
                                         "value.lora_b"]
    np.testing.assert_array_equal(net(Tensor(X)).asnumpy(), before)
    frozen = {p.name: p.asnumpy().copy() for p in net.get_parameters() if not p.requires_grad}
    optimizer = nn.Adam(trained, 0.05)
    step = ms.value_and_grad(lambda x: ((net(x) - 1) ** 2).mean(), None, trained)

    def train(x):
        loss, gradients = step(x)
        optimizer(gradients)
        return loss

    train = ms.jit(train) if compiled else train
    losses = [float(train(Tensor(X))) for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0]
    for p in net.get_parameters():
        if p.name in frozen:
            np.testing.assert_array_equal(p.asnumpy(), frozen[p.name])
    after = net(Tensor(X)).asnumpy()
    nn.merge_lora(net)
    assert type(net.query) is nn.Dense and "query.lora_a" not in net.parameters_dict()
    np.testing.assert_allclose(net(Tensor(X)).asnumpy(), after, rtol=1e-4, atol=1e-5)


def test_all_layers_but_those_with_an_activation():
    net = Block()
    nn.add_lora(net, rank=2)
    assert [type(c).__name__ for c in (net.query, net.value, net.out[0], net.out[1])] == [
        "LoRADense", "LoRADense", "Dense", "LoRADense"]
    assert net.trainable_params() and all("lora" in p.name for p in net.trainable_params())


def test_errors():
    with pytest.raises(ValueError, match="must have a layer Dense or Linear named \\('key',\\)"):
        nn.add_lora(Block(), names=["key"])
    with pytest.raises(ValueError, match="must have a layer LoRADense, but has none"):
        nn.merge_lora(Block())
    with pytest.raises(TypeError, match="without an activation"):
        nn.add_lora(Block(), names=["out.0"])
    with pytest.raises(TypeError, match="'network' must be a Cell"):
        nn.add_lora(3)  # type: ignore[arg-type]
