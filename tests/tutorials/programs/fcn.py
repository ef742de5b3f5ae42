"""A fully convolutional network colours rectangles: VOC files, a transposed convolution, IoU."""

from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops as ops
import mindspore.train as train
import numpy as np
from mindspore import Tensor
from mindspore.common.initializer import Constant
from mindspore.dataset import vision
from PIL import Image

ms.set_seed(2)
rng = np.random.default_rng(0)
CLASSES, SIDE, IGNORED = 3, 32, 255


def write_voc(root, count=16):
    """JPEG pictures and PNG masks in the folders of a VOC2012 release; 255 marks the borders."""
    folders = [Path(root, f) for f in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation")]
    for folder in folders:
        folder.mkdir(parents=True)
    for i in range(count):
        mask = np.zeros((40, 48), np.uint8)
        for kind, left in (1, 2), (2, 26):
            y, x = rng.integers(2, 14), left + rng.integers(0, 5)
            mask[y:y + 20, x:x + 16] = IGNORED
            mask[y + 1:y + 19, x + 1:x + 15] = kind
        picture = np.full((40, 48, 3), 60)
        picture[mask == 1] = 200, 60, 60
        picture[mask == 2] = 60, 60, 200
        picture = (picture + rng.integers(0, 30, picture.shape)).astype(np.uint8)
        Image.fromarray(picture).save(folders[0] / f"{i:04}.jpg", quality=95)
        Image.fromarray(mask).save(folders[1] / f"{i:04}.png")
    (folders[2] / "train.txt").write_text("".join(f"{i:04}\n" for i in range(count)))


class SegDataset:
    def __init__(self, root, batch_size):
        self.data = ds.VOCDataset(root, task="Segmentation", usage="train", decode=True,
                                  shuffle=True)
        self.batch_size = batch_size

    def preprocess(self, image, label):
        image = vision.Resize((SIDE, SIDE))(image)
        label = vision.Resize((SIDE, SIDE), vision.Inter.NEAREST)(label)
        if label.ndim == 3:
            label = label[..., 0]
        image = (image - np.array([110.0, 60.0, 110.0])) / 60
        return image.transpose(2, 0, 1).astype(np.float32), label.astype(np.int32)

    def get_dataset(self):
        self.data = self.data.map(self.preprocess, input_columns=["image", "target"],
                                  output_columns=["data", "label"], num_parallel_workers=1)
        return self.data.batch(self.batch_size, drop_remainder=True)


def bilinear(channels, size):
    """The weights with which a transposed convolution enlarges by interpolation."""
    factor = (size + 1) // 2
    centre = factor - 1 if size % 2 else factor - 0.5
    line = 1 - np.abs(np.arange(size) - centre) / factor
    weights = np.zeros((channels, channels, size, size), np.float32)
    weights[range(channels), range(channels)] = np.outer(line, line)
    return Tensor(weights)


class FCN(nn.Cell):
    def __init__(self, n_class):
        super().__init__()
        self.conv1 = nn.SequentialCell(
            nn.Conv2d(3, 16, 3, weight_init="xavier_uniform"), nn.BatchNorm2d(16), nn.ReLU())
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = nn.SequentialCell(
            nn.Conv2d(16, 32, 3, weight_init="xavier_uniform"), nn.BatchNorm2d(32), nn.ReLU())
        self.pool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.score = nn.Conv2d(32, n_class, 1, weight_init="xavier_uniform")
        self.score_pool1 = nn.Conv2d(16, n_class, 1, weight_init=Constant(0))
        self.upscore1 = nn.Conv2dTranspose(n_class, n_class, 4, stride=2,
                                           weight_init=bilinear(n_class, 4))
        self.upscore2 = nn.Conv2dTranspose(n_class, n_class, 4, stride=2,
                                           weight_init=bilinear(n_class, 4))

    def construct(self, x):
        x1 = self.pool1(self.conv1(x))
        x = self.upscore1(self.score(self.pool2(self.conv2(x1))))
        return self.upscore2(x + self.score_pool1(x1))


class MeanIntersectionOverUnion(train.Metric):
    def __init__(self, num_class):
        super().__init__()
        self.num_class = num_class
        self.clear()

    def clear(self):
        self.table = np.zeros((self.num_class,) * 2)

    def update(self, *inputs):
        guess, label = inputs[0].asnumpy().argmax(axis=1), inputs[1].asnumpy()
        known = label < self.num_class
        both = self.num_class * label[known] + guess[known]
        self.table += np.bincount(both, minlength=self.num_class**2).reshape(self.table.shape)

    def eval(self):
        shared = np.diag(self.table)
        return (shared / (self.table.sum(0) + self.table.sum(1) - shared)).mean()


write_voc("VOC2012")
dataset = SegDataset("VOC2012", batch_size=4).get_dataset()
net = FCN(CLASSES)
loss_fn = nn.CrossEntropyLoss(ignore_index=IGNORED)

# twice as large in both directions: inside the picture, the values that lie a quarter pixel away
small = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4).repeat(CLASSES, 1)
large = net.upscore1(Tensor(small)).asnumpy()
assert large.shape == (1, CLASSES, 8, 8)
np.testing.assert_allclose(large[0, 0, 3, 1:7], 4 * 1.25 + 0.25 + 0.5 * np.arange(6), rtol=1e-6)

image, label = next(dataset.create_tuple_iterator())
assert image.shape == (4, 3, SIDE, SIDE) and set(np.unique(label.asnumpy())) == {0, 1, 2, 255}


def forward(image, label):
    logits = net(image)
    return loss_fn(logits, label), logits


grad_fn = ms.value_and_grad(forward, None, net.trainable_params(), has_aux=True)
net.set_train(False)
(loss, logits), grads = grad_fn(image, label)
(compiled, _), compiled_grads = ms.jit(grad_fn)(image, label)
np.testing.assert_allclose(loss.asnumpy(), compiled.asnumpy(), rtol=1e-5)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-5)
log_p, wanted = ops.log_softmax(logits, 1).asnumpy(), label.asnumpy()
at = np.nonzero(wanted != IGNORED)
np.testing.assert_allclose(
    float(loss), -log_p[at[0], wanted[at], at[1], at[2]].mean(), rtol=1e-5)

steps = dataset.get_dataset_size()
rates = nn.cosine_decay_lr(1e-4, 0.05, total_step=10 * steps, step_per_epoch=steps, decay_epoch=10)
optimizer = nn.Momentum(net.trainable_params(), learning_rate=Tensor(rates), momentum=0.9,
                        weight_decay=0.0001, loss_scale=1024)
scale = train.FixedLossScaleManager(1024, drop_overflow_update=False)
model = train.Model(net, loss_fn=loss_fn, optimizer=optimizer, loss_scale_manager=scale,
                    metrics={"mean iou": MeanIntersectionOverUnion(CLASSES),
                             "loss": train.Loss()})
before = model.eval(dataset)
model.train(10, dataset, callbacks=[
    train.TimeMonitor(), train.LossMonitor(steps),
    train.ModelCheckpoint("FCN", "kept", train.CheckpointConfig(10, keep_checkpoint_max=2))])
after = model.eval(dataset)
assert after["loss"] < 0.5 * before["loss"] and after["mean iou"] > 0.7, (before, after)
