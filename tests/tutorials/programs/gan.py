"""Generator and discriminator play against each other: MNIST's files, two optimizers, one step."""

import struct
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_seed(4)
LATENT, SIDE = 16, 28


def write_mnist(root, count=256):
    """Bright crosses on a dark field, as the idx files of MNIST."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 30, (count, SIDE, SIDE), dtype=np.uint8)
    images[:, 12:16] = images[:, :, 12:16] = 250
    Path(root).mkdir()
    with open(f"{root}/train-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4i", 2051, count, SIDE, SIDE) + images.tobytes())
    with open(f"{root}/train-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2i", 2049, count) + bytes(count))


def data_load(root, batch_size):
    data = ds.MnistDataset(root, usage="train", shuffle=True)
    draw = np.random.default_rng(1)

    def transform(image):
        noise = draw.normal(size=LATENT).astype(np.float32)
        return (image / 127.5 - 1).astype(np.float32), noise

    data = data.project("image")
    data = data.map(transform, input_columns="image", output_columns=["image", "latent_code"])
    return data.batch(batch_size, drop_remainder=True)


class Generator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.model = nn.SequentialCell()
        self.model.append(nn.SequentialCell(nn.Dense(LATENT, 64), nn.ReLU()))
        self.model.append(nn.SequentialCell(nn.Dense(64, 128), nn.BatchNorm1d(128), nn.ReLU()))
        self.model.append(nn.SequentialCell(nn.Dense(128, SIDE * SIDE), nn.Tanh()))

    def construct(self, x):
        return ops.reshape(self.model(x), (-1, 1, SIDE, SIDE))


class Discriminator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.model = nn.SequentialCell(
            nn.Dense(SIDE * SIDE, 64), nn.LeakyReLU(), nn.Dense(64, 1), nn.Sigmoid())

    def construct(self, x):
        return self.model(self.flatten(x))


def build():
    ms.set_seed(4)
    net_g, net_d = Generator(), Discriminator()
    net_g.update_parameters_name("generator")
    net_d.update_parameters_name("discriminator")
    optimizer_g = nn.Adam(net_g.trainable_params(), learning_rate=0.001, beta1=0.5, beta2=0.999)
    optimizer_d = nn.Adam(net_d.trainable_params(), learning_rate=0.0002, beta1=0.5, beta2=0.999)
    adversarial_loss = nn.BCELoss(reduction="mean")

    def generator_forward(z):
        fake = net_g(z)
        score = net_d(fake)
        return adversarial_loss(score, ops.ones_like(score)), fake

    def discriminator_forward(real, fake):
        real_score, fake_score = net_d(real), net_d(fake)
        return (adversarial_loss(real_score, ops.ones_like(real_score))
                + adversarial_loss(fake_score, ops.zeros_like(fake_score))) / 2

    grad_g = ms.value_and_grad(generator_forward, None, optimizer_g.parameters, has_aux=True)
    grad_d = ms.value_and_grad(discriminator_forward, None, optimizer_d.parameters)

    def train_step(images, noise):
        (g_loss, fake), g_grads = grad_g(noise)
        optimizer_g(g_grads)
        d_loss, d_grads = grad_d(images, ops.stop_gradient(fake))
        optimizer_d(d_grads)
        return g_loss, d_loss, fake

    net_g.set_train()
    net_d.set_train()
    return net_g, net_d, train_step


write_mnist("MNIST")
dataset = data_load("MNIST", 32)
assert dataset.get_col_names() == ["image", "latent_code"] and dataset.get_dataset_size() == 8
batches = [(row["image"].transpose(0, 3, 1, 2), row["latent_code"])
           for row in dataset.create_dict_iterator()]
assert batches[0][0].shape == (32, 1, SIDE, SIDE) and batches[0][1].shape == (32, LATENT)

# an untrained judge is undecided, and a game that starts the same way goes the same way
net_g, net_d, step = build()
again_g, again_d, eager_step = build()
compiled_step = ms.jit(step)
for images, noise in batches[:3]:
    eager, compiled = eager_step(images, noise), compiled_step(images, noise)
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)
assert abs(float(eager[1]) - np.log(2)) < 0.1
for a, b in zip(again_d.get_parameters(), net_d.get_parameters(), strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)

noise = Tensor(np.random.default_rng(2).normal(size=(16, LATENT)), ms.float32)
target = batches[0][0].asnumpy().mean(0)


def distance():
    return float(np.abs(net_g(noise).asnumpy().mean(0) - target).mean())


before = distance()
for _ in range(25):
    for images, z in batches:
        g_loss, d_loss, _ = compiled_step(images, z)
assert np.isfinite(float(g_loss)) and distance() < 0.5 * before, (before, distance())

ms.save_checkpoint(net_g, "Generator.ckpt")
restored = Generator()
restored.update_parameters_name("generator")
ms.load_param_into_net(restored, ms.load_checkpoint("Generator.ckpt"))
for net in restored, net_g:
    net.set_train(False)
assert np.array_equal(restored(noise).asnumpy(), net_g(noise).asnumpy())
