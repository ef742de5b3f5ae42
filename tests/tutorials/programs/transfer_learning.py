"""A residual network learns patterns; its frozen backbone then serves another pair of classes."""

from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import numpy as np
from mindspore import Model, nn, ops
from mindspore.common.initializer import HeNormal
from mindspore.train import CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from PIL import Image

ms.set_seed(1)
rng = np.random.default_rng(0)


def write_images(root, kinds, count=12):
    """A folder of JPEG files for each kind: stripes across, stripes down, or a chequered field."""
    y, x = np.mgrid[:40, :40] // 5 % 2
    patterns = {"across": y, "down": x, "chequered": x ^ y}
    for kind in kinds:
        folder = Path(root, kind)
        folder.mkdir(parents=True)
        for i in range(count):
            picture = patterns[kind][..., None] * 180.0 + rng.uniform(0, 60, (40, 40, 3))
            Image.fromarray(picture.astype(np.uint8)).save(folder / f"{i}.jpg")


def load(root, training):
    data = ds.ImageFolderDataset(root, num_parallel_workers=1, shuffle=training)
    mean, std = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
    if training:
        steps = [vision.RandomCropDecodeResize(32, scale=(0.8, 1.0), ratio=(0.9, 1.1)),
                 vision.RandomHorizontalFlip(prob=0.5)]
    else:
        steps = [vision.Decode(), vision.Resize(36), vision.CenterCrop(32)]
    steps += [vision.Normalize(mean=mean, std=std), vision.HWC2CHW()]
    return data.map(operations=steps, input_columns="image", num_parallel_workers=1).batch(8)


class Block(nn.Cell):
    def __init__(self, channels, out_channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out_channels, 3, stride, weight_init=HeNormal())
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, weight_init=HeNormal())
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU()
        self.down_sample = None
        if stride != 1:
            self.down_sample = nn.SequentialCell(
                nn.Conv2d(channels, out_channels, 1, stride), nn.BatchNorm2d(out_channels))

    def construct(self, x):
        identity = x
        out = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        return self.relu(out + identity)


class ResNet(nn.Cell):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, weight_init="normal")
        self.norm = nn.BatchNorm2d(8)
        self.max_pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = nn.SequentialCell([Block(8, 8, 1), Block(8, 8, 1)])
        self.layer2 = nn.SequentialCell([Block(8, 16, 2)])
        self.avg_pool = nn.AvgPool2d(4)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(16, num_classes)

    def construct(self, x):
        x = self.max_pool(ops.relu(self.norm(self.conv1(x))))
        return self.fc(self.flatten(self.avg_pool(self.layer2(self.layer1(x)))))


# the network to start from, trained and saved by Model
write_images("pretraining", ["across", "chequered", "down"])
net = ResNet(3)
loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss_fn, nn.Momentum(net.trainable_params(), 0.05, 0.9), metrics={"acc"})
data = load("pretraining", training=True)
keep = ModelCheckpoint("resnet", "saved", CheckpointConfig(
    data.get_dataset_size(), keep_checkpoint_max=2))
model.train(4, data, callbacks=[keep, LossMonitor(5), TimeMonitor()], dataset_sink_mode=False)
names = sorted(p.name for p in Path("saved").glob("*.ckpt"))
assert names == ["resnet-3_5.ckpt", "resnet-4_5.ckpt"], names

# its weights without the head; then a new head on the frozen rest
write_images("transfer", ["across", "down"])
saved = ms.load_checkpoint("saved/resnet-4_5.ckpt")
backbone = ms.load_checkpoint("saved/resnet-4_5.ckpt", filter_prefix=["fc", "moments"])
assert {name for name in saved if name not in backbone} >= {"fc.weight", "fc.bias"}
new = ResNet(3)
missing, _ = ms.load_param_into_net(new, backbone)
assert sorted(missing) == ["fc.bias", "fc.weight"], missing
new.fc = nn.Dense(new.fc.in_channels, 2)
for param in new.get_parameters():
    if param.name not in ["fc.weight", "fc.bias"]:
        param.requires_grad = False
assert [p.name for p in new.trainable_params()] == ["fc.weight", "fc.bias"]
kept = new.layer1[0].conv1.weight.asnumpy().copy()

trainable = nn.Momentum(new.trainable_params(), 0.1, 0.9)
forward = nn.WithLossCell(new, loss_fn)
grad_fn = ms.value_and_grad(forward, None, trainable.parameters)
new.set_train(False)
images, labels = next(load("transfer", training=False).create_tuple_iterator())
loss, grads = grad_fn(images, labels)
compiled_loss, compiled_grads = ms.jit(grad_fn)(images, labels)
for a, b in zip((loss, *grads), (compiled_loss, *compiled_grads), strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
# the gradient of the bias of a softmax: probabilities less the labels
wanted = (ops.softmax(new(images), 1) - ops.one_hot(labels, 2)).mean(0).asnumpy()
np.testing.assert_allclose(grads[1].asnumpy(), wanted, rtol=1e-4, atol=1e-6)

train_net = nn.TrainOneStepCell(forward, trainable)
train_net.set_train()
data = load("transfer", training=True)
losses = [float(train_net(d, t)) for _ in range(5) for d, t in data.create_tuple_iterator()]
assert losses[-1] < 0.6 * losses[0], losses
assert np.array_equal(new.layer1[0].conv1.weight.asnumpy(), kept)
accuracy = Model(new, loss_fn, metrics={"Accuracy": nn.Accuracy()}).eval(load("transfer", False))
assert accuracy["Accuracy"] > 0.9, accuracy
