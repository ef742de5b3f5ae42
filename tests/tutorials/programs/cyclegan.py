"""Two generators translate between two kinds of pictures and back: instance norm, reflection."""

from pathlib import Path

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore.common.initializer import Normal, initializer
from mindspore.dataset import GeneratorDataset, vision
from PIL import Image

ms.set_seed(8)
SIDE = 16


def write_images(count=8):
    """Left bright in folder A, right bright in folder B."""
    rng = np.random.default_rng(0)
    for folder, half in ("trainA", slice(0, 8)), ("trainB", slice(8, 16)):
        Path(folder).mkdir()
        for i in range(count):
            picture = rng.integers(0, 60, (SIDE, SIDE, 3)).astype(np.uint8)
            picture[:, half] += 180
            Image.fromarray(picture).save(f"{folder}/{i}.png")


class Unaligned:
    def __init__(self):
        self.files = [sorted(Path(f).iterdir()) for f in ("trainA", "trainB")]

    def __len__(self):
        return len(self.files[0])

    def __getitem__(self, i):
        return tuple(np.array(Image.open(files[i])) for files in self.files)


class ConvNormReLU(nn.Cell):
    def __init__(self, channels, planes, kernel_size=4, stride=2, alpha=0.2, norm="instance",
                 pad_mode="CONSTANT", use_relu=True, padding=1, transpose=False):
        super().__init__()
        layers = []
        if transpose:
            layers.append(nn.Conv2dTranspose(channels, planes, kernel_size, stride,
                                             pad_mode="same"))
        elif pad_mode == "CONSTANT":
            layers.append(nn.Conv2d(channels, planes, kernel_size, stride, pad_mode="pad",
                                    padding=padding, has_bias=norm is None))
        else:
            paddings = ((0, 0), (0, 0), (padding, padding), (padding, padding))
            layers.append(nn.Pad(paddings=paddings, mode=pad_mode))
            layers.append(nn.Conv2d(channels, planes, kernel_size, stride, pad_mode="pad"))
        if norm == "instance":
            layers.append(nn.BatchNorm2d(planes, affine=False, use_batch_statistics=True)
                          if transpose else nn.InstanceNorm2d(planes, affine=False))
        if use_relu:
            layers.append(nn.LeakyReLU(alpha) if alpha > 0 else nn.ReLU())
        self.features = nn.SequentialCell(layers)

    def construct(self, x):
        return self.features(x)


class ResidualBlock(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = ConvNormReLU(dim, dim, 3, 1, 0, pad_mode="REFLECT")
        self.conv2 = ConvNormReLU(dim, dim, 3, 1, 0, pad_mode="REFLECT", use_relu=False)
        self.dropout = nn.Dropout(p=0.0)

    def construct(self, x):
        return x + self.conv2(self.dropout(self.conv1(x)))


class ResNetGenerator(nn.Cell):
    def __init__(self, dim=8):
        super().__init__()
        self.conv_in = ConvNormReLU(3, dim, 7, 1, 0, pad_mode="REFLECT", padding=3)
        self.down = ConvNormReLU(dim, dim * 2, 3, 2, 0)
        self.residuals = nn.SequentialCell([ResidualBlock(dim * 2)])
        self.up = ConvNormReLU(dim * 2, dim, 3, 2, 0, transpose=True)
        self.pad = nn.ReflectionPad2d(3)
        self.conv_out = nn.Conv2d(dim, 3, kernel_size=7, stride=1, pad_mode="pad")

    def construct(self, x):
        x = self.up(self.residuals(self.down(self.conv_in(x))))
        return ops.tanh(self.conv_out(self.pad(x)))


class Discriminator(nn.Cell):
    def __init__(self, dim=8):
        super().__init__()
        self.features = nn.SequentialCell(
            ConvNormReLU(3, dim, norm=None), ConvNormReLU(dim, dim * 2),
            nn.Conv2d(dim * 2, 1, 4, 1, pad_mode="pad", padding=1))

    def construct(self, x):
        return self.features(x)


def init_weights(net, gain=0.05):
    for _, cell in net.cells_and_names():
        if isinstance(cell, (nn.Conv2d, nn.Conv2dTranspose)):
            cell.weight.set_data(initializer(Normal(gain), cell.weight.shape))


write_images()
dataset = GeneratorDataset(Unaligned(), ["image_A", "image_B"], shuffle=False)
for column in dataset.get_col_names():
    dataset = dataset.map([vision.Rescale(1 / 127.5, -1.0), vision.HWC2CHW()], column)
dataset = dataset.batch(4)
batches = [(d["image_A"], d["image_B"]) for d in dataset.create_dict_iterator()]
assert batches[0][0].shape == (4, 3, SIDE, SIDE) and abs(batches[0][1]).max() <= 1

net_rg_a, net_rg_b, net_d_a, net_d_b = (
    ResNetGenerator(), ResNetGenerator(), Discriminator(), Discriminator())
for name, net in ("rg_a", net_rg_a), ("rg_b", net_rg_b), ("d_a", net_d_a), ("d_b", net_d_b):
    init_weights(net)
    net.update_parameters_name(f"net_{name}.")

# the layers against their definitions
image = batches[0][0]
padded = nn.Pad(((0, 0), (0, 0), (3, 3), (3, 3)), mode="REFLECT")(image).asnumpy()
wanted = np.pad(image.asnumpy(), ((0, 0), (0, 0), (3, 3), (3, 3)), mode="reflect")
assert np.array_equal(padded, wanted)
assert np.array_equal(nn.ReflectionPad2d(3)(image).asnumpy(), wanted)
pixels = image.asnumpy().astype(np.float64)
mean, var = pixels.mean((2, 3), keepdims=True), pixels.var((2, 3), keepdims=True)
np.testing.assert_allclose(nn.InstanceNorm2d(3, affine=False)(image).asnumpy(),
                           (pixels - mean) / np.sqrt(var + 1e-5), rtol=1e-4, atol=1e-5)

rates = nn.piecewise_constant_lr([8, 10**6], [0.002, 0.001])
assert rates[7] == 0.002 and rates[8] == 0.001
optimizer_rg = nn.Adam(
    net_rg_a.trainable_params() + net_rg_b.trainable_params(), learning_rate=0.004, beta1=0.5)
optimizer_d = nn.Adam(
    net_d_a.trainable_params() + net_d_b.trainable_params(), learning_rate=0.001, beta1=0.5)
mse_loss, l1_loss = nn.MSELoss("mean"), nn.L1Loss("mean")


def gan_loss(predict, target):
    return mse_loss(predict, ops.ones_like(predict) * target)


def generator(img_a, img_b):
    fake_a, fake_b = net_rg_b(img_b), net_rg_a(img_a)
    loss_g = gan_loss(net_d_b(fake_b), 1.0) + gan_loss(net_d_a(fake_a), 1.0)
    loss_c = l1_loss(net_rg_b(fake_b), img_a) + l1_loss(net_rg_a(fake_a), img_b)
    loss_idt = l1_loss(net_rg_b(img_a), img_a) + l1_loss(net_rg_a(img_b), img_b)
    return fake_a, fake_b, loss_g + 5 * loss_c + 2.5 * loss_idt, loss_c


def generator_forward(img_a, img_b):
    *_, loss, loss_c = generator(img_a, img_b)
    return loss, loss_c


def discriminator_forward(img_a, img_b, fake_a, fake_b):
    loss_a = gan_loss(net_d_a(img_a), 1.0) + gan_loss(net_d_a(fake_a), 0.0)
    loss_b = gan_loss(net_d_b(img_b), 1.0) + gan_loss(net_d_b(fake_b), 0.0)
    return (loss_a + loss_b) * 0.5


grad_g = ms.value_and_grad(generator_forward, None, optimizer_rg.parameters, has_aux=True)
grad_d = ms.value_and_grad(discriminator_forward, None, optimizer_d.parameters)


def train_step_g(img_a, img_b):
    net_d_a.set_grad(False)
    net_d_b.set_grad(False)
    fake_a, fake_b, *_ = generator(img_a, img_b)
    (loss, loss_c), grads = grad_g(img_a, img_b)
    optimizer_rg(grads)
    return fake_a, fake_b, loss, loss_c


def train_step_d(img_a, img_b, fake_a, fake_b):
    net_d_a.set_grad(True)
    net_d_b.set_grad(True)
    loss, grads = grad_d(img_a, img_b, fake_a, fake_b)
    optimizer_d(grads)
    return loss


for net in net_rg_a, net_rg_b, net_d_a, net_d_b:
    net.set_train()
(loss, _), grads = grad_g(*batches[0])
(compiled, _), compiled_grads = ms.jit(grad_g)(*batches[0])
np.testing.assert_allclose(loss.asnumpy(), compiled.asnumpy(), rtol=1e-4)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-2, atol=1e-3)

history, compiled_d = [], ms.jit(discriminator_forward)
for _ in range(15):
    for img_a, img_b in batches:
        fake_a, fake_b, _, loss_c = train_step_g(img_a, img_b)
        expected = compiled_d(img_a, img_b, fake_a, fake_b)
        loss_d = train_step_d(img_a, img_b, fake_a, fake_b)
        np.testing.assert_allclose(loss_d.asnumpy(), expected.asnumpy(), rtol=1e-3, atol=1e-5)
        history.append(float(loss_c))
assert history[-1] < 0.6 * history[0], history
assert float(loss_d) < 1

names = [p.name for p in net_d_a.get_parameters()]
assert all(name.startswith("net_d_a.") for name in names)
ms.save_checkpoint(net_rg_a, "g_a.ckpt")
again = ResNetGenerator()
again.update_parameters_name("net_rg_a.")
ms.load_param_into_net(again, ms.load_checkpoint("g_a.ckpt"))
np.testing.assert_allclose(again.set_train()(image).asnumpy(), net_rg_a(image).asnumpy(), atol=1e-6)
