"""Training on the simulated device: the CPU's losses, and how often the host waits for it."""

import math
import os
import tempfile

import numpy as np
import pytest

import lamella as ms
from lamella import amp, nn, ops
from lamella.graph.runtime import execution
from tests.device.simulated import target
from tests.device.simulated.target import PLACE, counts

RNG = np.random.default_rng(3)
IMAGES = RNG.standard_normal((8, 1, 8, 8)).astype(np.float32)
LABELS = RNG.integers(0, 3, 8).astype(np.int32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, pad_mode="same")
        self.norm = nn.BatchNorm2d(4)
        self.dense = nn.Dense(64, 3)

    def construct(self, x):
        x = ops.max_pool2d(ops.relu(self.norm(self.conv(x))), 2, 2)
        return self.dense(x.reshape(x.shape[0], -1))


class Tokens(nn.Cell):
    """Attention, normalization, dropout and an LSTM over embedded tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm((8,))
        self.dropout = nn.Dropout(p=0.1)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.dense = nn.Dense(8, 3)

    def construct(self, tokens):
        x = self.embedding(tokens)
        x = self.norm(x + self.dropout(self.attention(x, x, x, need_weights=False)[0]))
        return self.dense(self.lstm(x)[0][:, -1])


OPTIMIZERS = {
    "SGD": lambda p: nn.SGD(p, 0.1), "Momentum": lambda p: nn.Momentum(p, 0.05, 0.9),
    "Adam": lambda p: nn.Adam(p, 0.01),
    "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.1),
    "RMSProp": lambda p: nn.RMSProp(p, 0.01),
    "schedule": lambda p: nn.Adam(p, nn.cosine_decay_lr(0.0, 0.01, 20, 5, 2)),
    "groups": lambda p: nn.Adam([{"params": p[:1], "lr": 0.01}, {"params": p[1:]}], 0.02),
}


def step_of(net, optimizer, compiled):
    loss_fn = nn.CrossEntropyLoss()
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        optimizer(ops.clip_by_global_norm(grads, 5.0))
        return loss

    return ms.jit(step) if compiled else step


def losses(device, optimizer, compiled, count=8, net=Net, data=IMAGES):
    ms.set_device(device)
    ms.set_seed(1)
    net = net()
    net.set_train()
    made = OPTIMIZERS[optimizer](net.trainable_params())
    step = step_of(net, made, compiled)
    x, y = ms.Tensor(data), ms.Tensor(LABELS)
    found, waits = [], []
    for _ in range(count):
        counts()
        found.append(step(x, y))
        waits.append(counts())
    return [loss.asnumpy().item() for loss in found], settled(waits)


def settled(waits):
    """How often a step waits that neither records nor tries what is faster, by the last ones."""
    return sorted(waits[-6:], key=lambda each: sum(each.values()))[3]


def without_trials():
    """Let this process try nothing that may be faster: a trial waits for the device."""
    execution.HOT = execution.WARM = math.inf


@pytest.mark.parametrize("compiled", [False, True])
def test_a_training_step_never_waits_for_the_device(compiled):
    without_trials()
    for optimizer in sorted(OPTIMIZERS):
        here, waits = losses(target.NAME, optimizer, compiled)
        assert waits == {}, (optimizer, waits)
        there, _ = losses("CPU", optimizer, compiled)
        np.testing.assert_allclose(here, there, rtol=1e-4, err_msg=optimizer)


@pytest.mark.parametrize("compiled", [False, True])
def test_attention_and_recurrent_cells_train(compiled):
    tokens = RNG.integers(0, 11, (8, 5)).astype(np.int32)
    without_trials()
    here, waits = losses(target.NAME, "Adam", compiled, net=Tokens, data=tokens)
    assert waits == {}, waits
    assert here[-1] < here[0]


def scaled_step(net, optimizer, scaler, level=None):
    loss_fn = nn.CrossEntropyLoss()

    def forward(x, y):
        return scaler.scale(loss_fn(net(x).astype(ms.float32), y))

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if finite:
            optimizer(grads)
        scaler.adjust(finite)
        return scaler.unscale(loss)

    return step


@pytest.mark.parametrize("compiled", [False, True])
def test_loss_scaling_waits_once(compiled):
    without_trials()
    net = amp.auto_mixed_precision(Net(), "O2")
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    step = scaled_step(net, optimizer, amp.DynamicLossScaler(1024, 2, 50))
    step = ms.jit(step) if compiled else step
    x, y = ms.Tensor(IMAGES), ms.Tensor(LABELS)
    found, waits = [], []
    for _ in range(8):
        counts()
        found.append(step(x, y))
        waits.append(counts())
    assert sum(settled(waits).values()) == 1, waits
    assert found[-1].asnumpy() < found[0].asnumpy()


def dataset():
    rows = ms.dataset.NumpySlicesDataset({"image": IMAGES, "label": LABELS}, shuffle=False)
    return rows.batch(4)


@pytest.mark.parametrize("level", ["O0", "O2", "O3"])
def test_model(level):
    net = Net()
    model = ms.train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01),
                           metrics={"accuracy"}, amp_level=level)
    history = []

    class Keep(ms.train.Callback):
        def on_train_step_end(self, run_context):
            found = run_context.original_args().net_outputs
            history.append(float((found[0] if isinstance(found, tuple) else found).asnumpy()))

    model.train(6, dataset(), callbacks=[Keep()], dataset_sink_mode=False)
    assert np.mean(history[-2:]) < np.mean(history[:2])
    assert 0 <= model.eval(dataset())["accuracy"] <= 1
    assert model.predict(ms.Tensor(IMAGES)).device == PLACE


def test_checkpoints_move_between_devices():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.ckpt")
        net = Net()
        ms.save_checkpoint(net, path)
        wanted = net(ms.Tensor(IMAGES)).asnumpy()
        ms.set_device("CPU")
        other = Net()
        ms.load_param_into_net(other, ms.load_checkpoint(path))
        np.testing.assert_allclose(other(ms.Tensor(IMAGES)).asnumpy(), wanted, rtol=1e-5)
        ms.set_device(target.NAME, target.INDEX)
        back = Net()
        ms.load_param_into_net(back, ms.load_checkpoint(path))
        assert back.dense.weight.device == PLACE
        np.testing.assert_allclose(back(ms.Tensor(IMAGES)).asnumpy(), wanted, rtol=1e-6)


def test_higher_derivatives_and_vmap():
    x = ms.Tensor([1.0, 2.0, 3.0])

    def cube(x):
        return (x ** 3).sum()

    assert ms.grad(ms.grad(lambda x: cube(x)))(ms.Tensor(2.0)).asnumpy() == 12.0
    np.testing.assert_allclose(ms.vmap(ms.grad(lambda x: x ** 3))(x).asnumpy(), [3.0, 12.0, 27.0])
    primal, tangent = ms.jvp(cube, x, ops.ones_like(x))
    assert tangent.device == PLACE and tangent.asnumpy() == 42.0
    assert ms.jacfwd(lambda x: x * x)(x).device == PLACE


@pytest.mark.skipif(target.IS_REAL and target.count() < 2, reason="there is one device")
def test_a_second_device_of_one_process():
    net, x, other_place = Net(), ms.Tensor(IMAGES), f"{target.NAME}:{1 - target.INDEX}"
    with ms.DeviceCtx(target.NAME, 1 - target.INDEX):
        other, given = Net(), ms.Tensor(IMAGES)
        assert other.dense.weight.device == other_place and other(given).device == other_place
        step = step_of(other, nn.Adam(other.trainable_params(), 0.01), True)
        there = [step(given, ms.Tensor(LABELS)).device for _ in range(3)]
    assert there == [other_place] * 3
    assert net(x).device == PLACE
    with pytest.raises(TypeError, match="must be on one device"):
        net(given)
    step = step_of(net, nn.Adam(net.trainable_params(), 0.01), True)
    assert [step(x, ms.Tensor(LABELS)).device for _ in range(3)] == [PLACE] * 3


def test_sparse_tensors():
    indices = ms.Tensor([[0, 1], [1, 2]], ms.int32)
    coo = ms.COOTensor(indices, ms.Tensor([1.0, 2.0]), (3, 4))
    csr = coo.to_csr()
    dense = coo.to_dense()
    assert dense.device == csr.to_dense().device == PLACE
    np.testing.assert_allclose(csr.to_dense().asnumpy(), dense.asnumpy())
    x = ops.ones((4, 1))
    np.testing.assert_allclose(csr.mv(x).asnumpy(), dense.asnumpy() @ np.ones((4, 1)))
    grad = ms.grad(lambda values: (2.0 * ms.COOTensor(indices, values, (3, 4)).to_dense()).sum())
    assert grad(ms.Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 2.0]
