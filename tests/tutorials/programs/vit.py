"""A vision transformer in graph mode: patches by a convolution, attention, smoothed labels."""

from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops, train
from mindspore.common.initializer import Normal, initializer
from mindspore.dataset import ImageFolderDataset, transforms, vision
from mindspore.nn import LossBase
from PIL import Image

ms.set_seed(3)
ms.set_context(mode=ms.GRAPH_MODE)
rng = np.random.default_rng(0)
for label, colour in enumerate(["red", "blue"]):
    Path("train", colour).mkdir(parents=True)
    for i in range(16):
        picture = rng.uniform(0, 90, (48, 64, 3))
        y, x = rng.integers(0, 24, 2)
        picture[y:y + 24, x:x + 32, 2 * label] += 150
        Image.fromarray(picture.astype(np.uint8)).save(f"train/{colour}/{i}.png")

data = ImageFolderDataset("train", shuffle=True, class_indexing={"red": 0, "blue": 1})
data = data.map([vision.Decode(), vision.Resize((32, 32)),
                 vision.Normalize([123.0] * 3, [64.0] * 3), vision.HWC2CHW()],
                input_columns="image")
data = data.map(transforms.TypeCast(ms.int32), "label").batch(8, drop_remainder=True)


class Attention(nn.Cell):
    def __init__(self, dim, num_heads=4, keep_prob=1.0):
        super().__init__()
        self.num_heads, self.scale = num_heads, Tensor((dim // num_heads) ** -0.5)
        self.qkv = nn.Dense(dim, dim * 3)
        self.attn_drop = nn.Dropout(p=1.0 - keep_prob)
        self.out = nn.Dense(dim, dim)
        self.mul, self.softmax = ops.Mul(), nn.Softmax(axis=-1)
        self.q_matmul_k = ops.BatchMatMul(transpose_b=True)
        self.attn_matmul_v = ops.BatchMatMul()

    def construct(self, x):
        b, n, c = x.shape
        qkv = ops.reshape(self.qkv(x), (b, n, 3, self.num_heads, c // self.num_heads))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), axis=0)
        attn = self.softmax(self.mul(self.q_matmul_k(q, k), self.scale))
        out = self.attn_matmul_v(self.attn_drop(attn), v)
        return self.out(ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (b, n, c)))


class Residual(nn.Cell):
    def __init__(self, *cells):
        super().__init__()
        self.cell = nn.SequentialCell(*cells)

    def construct(self, x, **kwargs):
        return self.cell(x, **kwargs) + x


class ViT(nn.Cell):
    def __init__(self, image_size=32, patch=8, dim=32, layers=2, num_classes=2):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, kernel_size=patch, stride=patch, has_bias=True)
        self.cls_token = Parameter(initializer(Normal(sigma=1.0), (1, 1, dim), ms.float32), "cls")
        self.pos_embedding = Parameter(
            initializer(Normal(0.02), (1, (image_size // patch) ** 2 + 1, dim), ms.float32), "pos")
        self.pos_dropout = nn.Dropout(p=0.1)
        blocks = []
        for _ in range(layers):
            ffn = [nn.LayerNorm((dim,)), nn.Dense(dim, 64, activation="gelu"), nn.Dense(64, dim)]
            blocks.append(nn.SequentialCell([
                Residual(nn.LayerNorm((dim,)), Attention(dim)), Residual(*ffn)]))
        self.transformer = nn.SequentialCell(blocks)
        self.norm = nn.LayerNorm((dim,))
        self.dense = nn.Dense(dim, num_classes)

    def construct(self, x):
        x = self.patches(x)
        b, c, h, w = x.shape
        x = ops.transpose(ops.reshape(x, (b, c, h * w)), (0, 2, 1))
        cls_tokens = ops.tile(self.cls_token, (x.shape[0], 1, 1))
        x = ops.concat((cls_tokens, x), axis=1)
        x = self.pos_dropout(x + self.pos_embedding)
        return self.dense(self.norm(self.transformer(x))[:, 0])


class CrossEntropySmooth(LossBase):
    def __init__(self, smooth_factor=0.1, num_classes=2):
        super().__init__()
        self.onehot = ops.OneHot()
        self.on_value = Tensor(1.0 - smooth_factor, ms.float32)
        self.off_value = Tensor(smooth_factor / (num_classes - 1), ms.float32)
        self.ce = nn.SoftmaxCrossEntropyWithLogits(reduction="mean")

    def construct(self, logit, label):
        return self.ce(logit, self.onehot(label, logit.shape[1], self.on_value, self.off_value))


network, loss = ViT(), CrossEntropySmooth()
network.set_train(False)
images, labels = next(data.create_tuple_iterator())
compiled = network(images)
ms.set_context(mode=ms.PYNATIVE_MODE)
np.testing.assert_allclose(network(images).asnumpy(), compiled.asnumpy(), rtol=1e-4, atol=1e-5)
ms.set_context(mode=ms.GRAPH_MODE)
log_p = ops.log_softmax(compiled, 1).asnumpy()
y = labels.asnumpy()
rows = np.arange(len(y))
np.testing.assert_allclose(float(loss(compiled, labels)),
                           -(0.9 * log_p[rows, y] + 0.1 * log_p[rows, 1 - y]).mean(), rtol=1e-5)

epochs, steps = 6, data.get_dataset_size()
rates = nn.cosine_decay_lr(0.0, 0.005, total_step=epochs * steps, step_per_epoch=steps,
                           decay_epoch=epochs)
optimizer = nn.Adam(network.trainable_params(), learning_rate=rates)
manager = train.CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=1)
model = train.Model(network, loss_fn=loss, optimizer=optimizer, metrics={"acc"}, amp_level="O0")
before = float(loss(compiled, labels))
model.train(epochs, data, callbacks=[train.ModelCheckpoint("vit", "vit", manager),
                                     train.LossMonitor(steps), train.TimeMonitor(steps)],
            dataset_sink_mode=False)

again = ViT()
ms.load_param_into_net(again, ms.load_checkpoint(f"vit/vit-{epochs}_{steps}.ckpt"))
metrics = {"Top_1_Accuracy": train.Top1CategoricalAccuracy(), "loss": train.Loss()}
scores = train.Model(again, loss_fn=loss, metrics=metrics).eval(data)
assert scores["Top_1_Accuracy"] > 0.9 and scores["loss"] < before, scores
again.set_train(False)
assert ops.softmax(again(images), 1).argmax(1).asnumpy().tolist() == y.tolist()
