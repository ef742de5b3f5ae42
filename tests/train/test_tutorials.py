"""The steps that MindSpore's beginners take, as one program written for MindSpore."""

import os

from ..zygote import run as python

PROGRAM = '''
import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision
from mindspore.common.initializer import Normal, One, initializer
from mindspore.dataset import GeneratorDataset, transforms
from mindspore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint

ms.set_seed(1)

# tensors
x = Tensor(np.arange(6).reshape(2, 3), ms.float32)
assert x.shape == (2, 3) and x[0, -1] == 2 and (x @ x.T).shape == (2, 2)
assert initializer(One(), (2, 2), ms.float32).init_data().sum() == 4
assert Tensor.from_numpy(x.asnumpy()).dtype == ms.float32

# data
class Points:
    """Points in a square, and whether they lie in the circle."""

    def __init__(self, count):
        rng = np.random.default_rng(0)
        self.points = rng.uniform(-1, 1, (count, 2)).astype(np.float32)

    def __getitem__(self, i):
        return self.points[i], np.int32((self.points[i] ** 2).sum() < 0.6)

    def __len__(self):
        return len(self.points)


def pipeline(count, size=32):
    data = GeneratorDataset(Points(count), ["point", "label"], shuffle=True)
    data = data.map(transforms.TypeCast(ms.float32), "point")
    return data.map(lambda p: p * 1.0, input_columns="point").batch(size)


data = pipeline(512)
assert data.get_col_names() == ["point", "label"] and data.get_dataset_size() == 16
point, label = next(data.create_tuple_iterator())
assert point.shape == (32, 2) and label.dtype == ms.int32
assert set(next(data.create_dict_iterator())) == {"point", "label"}


# model
class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu = nn.SequentialCell(nn.Dense(2, 32, weight_init=Normal(0.5)), nn.ReLU(),
                                            nn.Dense(32, 2))

    def construct(self, x):
        return self.dense_relu(self.flatten(x))


model = Network()
assert len(list(model.trainable_params())) == 4 and "Dense" in str(model)

# derivatives
w, b = Parameter(ops.ones((3, 1)), name="w"), Parameter(ops.zeros(1), name="b")
def forward(x, y):
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z)), z
(loss, z), (dw, db) = ms.value_and_grad(forward, None, [w, b], has_aux=True)(
    x, ops.zeros((2, 1)))
assert dw.shape == (3, 1) and db.shape == (1,)

# training by hand, then with a compiled step
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Adam(model.trainable_params(), 0.01)
grad_fn = ms.value_and_grad(lambda d, t: (loss_fn(model(d), t), model(d)), None,
                            optimizer.parameters, has_aux=True)
def train_step(d, t):
    (loss, _), grads = grad_fn(d, t)
    optimizer(grads)
    return loss
compiled_step = ms.jit(train_step)
for step in (train_step, compiled_step):
    model.set_train()
    for epoch in range(3):
        for d, t in data.create_tuple_iterator():
            loss = step(d, t)

def accuracy(net):
    net.set_train(False)
    right = total = 0
    for d, t in pipeline(256).create_tuple_iterator():
        right += (net(d).argmax(1) == t).asnumpy().sum()
        total += len(d)
    return right / total
assert accuracy(model) > 0.85, accuracy(model)

# saving and loading
ms.save_checkpoint(model, "model.ckpt")
again = Network()
missing, _ = ms.load_param_into_net(again, ms.load_checkpoint("model.ckpt"))
assert missing == [] and accuracy(again) == accuracy(model)
ms.export(model, Tensor(np.zeros((1, 2), np.float32)), file_name="model", file_format="MINDIR")
assert ms.onnx.export.__module__ == "lamella.train.onnx"
graph = nn.GraphCell(ms.load("model.mindir"))
assert np.allclose(graph(ops.ones((1, 2))).asnumpy(), model(ops.ones((1, 2))).asnumpy())

# mixed precision
mixed = auto_mixed_precision(Network(), "O2")
scaler = DynamicLossScaler(scale_value=2**10, scale_factor=2, scale_window=50)
optimizer2 = nn.SGD(mixed.trainable_params(), 0.1)
mixed_grad = ms.value_and_grad(lambda d, t: scaler.scale(loss_fn(mixed(d), t)), None,
                               optimizer2.parameters)
@ms.jit
def mixed_step(d, t):
    loss, grads = mixed_grad(d, t)
    finite = all_finite(grads)
    if finite:
        optimizer2(scaler.unscale(grads))
    scaler.adjust(finite)
    return scaler.unscale(loss)
for d, t in data.create_tuple_iterator():
    loss = mixed_step(d, t)
assert np.isfinite(float(loss))

# graph mode, and Model with callbacks
ms.set_context(mode=ms.GRAPH_MODE)
class Stop(Callback):
    def on_train_epoch_end(self, run_context):
        if run_context.original_args().cur_epoch_num == 4:
            run_context.request_stop()
net = Network()
trainer = Model(net, loss_fn, nn.Adam(net.trainable_params(), 0.01), metrics={"accuracy"})
trainer.train(9, data, [LossMonitor(16), Stop(), ModelCheckpoint(
    "net", "out", CheckpointConfig(16, keep_checkpoint_max=2))])
assert trainer.eval(pipeline(256))["accuracy"] > 0.85
assert trainer.predict(ops.ones((2, 2))).shape == (2, 2)
print("all steps are taken")
'''


def test_the_steps_of_a_beginner(tmp_path):
    (tmp_path / "steps.py").write_text(PROGRAM)
    done = python("-W", "error", "-m", "lamella", "run", "steps.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "all steps are taken"
    assert sum(line.startswith("epoch: ") for line in lines) == 4
    assert sorted(os.listdir(tmp_path / "out")) == ["net-3_16.ckpt", "net-4_16.ckpt"]
