"""Pictures drawn from plans: a U-Net against a discriminator of patches, on a mindrecord file."""

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore.common import initializer as init
from mindspore.mindrecord import FileWriter

ms.set_seed(4)
SIDE, COUNT, L1_WEIGHT = 16, 8, 10.0


def write_pairs(path):
    """Plans, squares of one of two colours, and pictures, the same brightened at the top."""
    rng = np.random.default_rng(0)
    writer = FileWriter(path, shard_num=1)
    writer.add_schema({"input_images": {"type": "float32", "shape": [3, SIDE, SIDE]},
                       "target_images": {"type": "float32", "shape": [3, SIDE, SIDE]}}, "pairs")
    rows = []
    for i in range(COUNT):
        plan = np.full((3, SIDE, SIDE), -0.5, np.float32)
        top, left = rng.integers(0, SIDE // 2, 2)
        plan[i % 2, top:top + 8, left:left + 8] = 0.8
        picture = np.clip(plan + np.linspace(0.6, -0.6, SIDE, dtype=np.float32)[:, None], -1, 1)
        rows.append({"input_images": plan, "target_images": picture})
    writer.write_raw_data(rows)
    writer.commit()


def block(layers):
    return nn.SequentialCell(layers)


class UNetSkip(nn.Cell):
    """A halving and a doubling, with another such pair inside; its input joins its output."""

    def __init__(self, outer, inner, channels=None, inside=None, outermost=False, dropout=False):
        super().__init__()
        channels = outer if channels is None else channels
        down_norm, up_norm = nn.BatchNorm2d(inner), nn.BatchNorm2d(outer)
        down = nn.Conv2d(channels, inner, 4, 2, padding=1, pad_mode="pad",
                         has_bias=inside is None or outermost)
        from_inside = inner if inside is None else inner * 2
        up = nn.Conv2dTranspose(from_inside, outer, 4, 2, padding=1, pad_mode="pad",
                                has_bias=outermost)
        if outermost:
            layers = [down, inside, nn.ReLU(), up, nn.Tanh()]
        elif inside is None:
            layers = [nn.LeakyReLU(0.2), down, nn.ReLU(), up, up_norm]
        else:
            layers = [nn.LeakyReLU(0.2), down, down_norm, inside, nn.ReLU(), up, up_norm]
        if dropout:
            layers.append(nn.Dropout(p=0.5))
        self.model, self.skip = block(layers), not outermost

    def construct(self, x):
        out = self.model(x)
        return ops.concat((out, x), axis=1) if self.skip else out


class Generator(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        innermost = UNetSkip(width * 2, width * 4)
        middle = UNetSkip(width, width * 2, inside=innermost, dropout=True)
        self.model = UNetSkip(3, width, channels=3, inside=middle, outermost=True)

    def construct(self, x):
        return self.model(x)


class Discriminator(nn.Cell):
    """Whether each patch of a picture belongs to its plan."""

    def __init__(self, width=8):
        super().__init__()
        self.features = block([
            nn.Conv2d(6, width, 4, 2, pad_mode="pad", padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 4, 2, pad_mode="pad", padding=1, has_bias=False),
            nn.BatchNorm2d(width * 2), nn.LeakyReLU(0.2),
            nn.Conv2d(width * 2, 1, 4, 1, pad_mode="pad", padding=1)])

    def construct(self, plan, picture):
        return self.features(ops.concat((plan, picture), axis=1))


def init_weights(net):
    for _, cell in net.cells_and_names():
        if isinstance(cell, (nn.Conv2d, nn.Conv2dTranspose)):
            cell.weight.set_data(init.initializer(init.Normal(0.1), cell.weight.shape))
        elif isinstance(cell, nn.BatchNorm2d):
            cell.gamma.set_data(init.initializer("ones", cell.gamma.shape))
            cell.beta.set_data(init.initializer("zeros", cell.beta.shape))


write_pairs("train.mindrecord")
dataset = ds.MindDataset("train.mindrecord", columns_list=["input_images", "target_images"],
                         shuffle=True).batch(4)
assert dataset.get_dataset_size() == 2
plan, picture = next(dataset.create_tuple_iterator())
assert plan.shape == picture.shape == (4, 3, SIDE, SIDE)

net_generator, net_discriminator = Generator(), Discriminator()
init_weights(net_generator)
init_weights(net_discriminator)
assert net_generator(plan).shape == picture.shape
assert net_discriminator(plan, picture).shape == (4, 1, 3, 3)

loss_f, l1_loss = nn.BCEWithLogitsLoss(), nn.L1Loss()


def forward_dis(reala, realb):
    fakeb = ops.stop_gradient(net_generator(reala))
    predictions = net_discriminator(reala, fakeb), net_discriminator(reala, realb)
    return 0.5 * (loss_f(predictions[0], ops.zeros_like(predictions[0]))
                  + loss_f(predictions[1], ops.ones_like(predictions[1])))


def forward_gan(reala, realb):
    fakeb = net_generator(reala)
    prediction = net_discriminator(reala, fakeb)
    distance = l1_loss(fakeb, realb)
    return loss_f(prediction, ops.ones_like(prediction)) + L1_WEIGHT * distance, distance


rates = [0.004] * 30 + [0.004 * (1 - step / 30) for step in range(30)]
d_opt = nn.Adam(net_discriminator.trainable_params(), learning_rate=rates, beta1=0.5, beta2=0.999)
g_opt = nn.Adam(net_generator.trainable_params(), learning_rate=rates, beta1=0.5, beta2=0.999)
d_opt.update_parameters_name("optim_d.")
g_opt.update_parameters_name("optim_g.")
grad_d = ms.value_and_grad(forward_dis, None, net_discriminator.trainable_params())
grad_g = ms.value_and_grad(forward_gan, None, net_generator.trainable_params(), has_aux=True)

# without dropout, whose numbers differ from call to call, both ways to run a step agree
net_generator.set_train(False)
net_discriminator.set_train(False)
for gradient in grad_d, grad_g:
    values, grads = gradient(plan, picture)
    compiled_values, compiled_grads = ms.jit(gradient)(plan, picture)
    pairs = [(values, compiled_values)] if gradient is grad_d else zip(
        values, compiled_values, strict=True)
    for a, b in [*pairs, *zip(grads, compiled_grads, strict=True)]:
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)
net_generator.set_train()
net_discriminator.set_train()


@ms.jit
def train_step(reala, realb):
    loss_dis, d_grads = grad_d(reala, realb)
    (loss_gan, distance), g_grads = grad_g(reala, realb)
    d_opt(d_grads)
    g_opt(g_grads)
    return loss_dis, loss_gan, distance


history = [[float(loss) for loss in train_step(reala, realb)]
           for _ in range(30) for reala, realb in dataset.create_tuple_iterator(num_epochs=1)]
distances = [step[2] for step in history]
assert np.mean(distances[-4:]) < 0.5 * np.mean(distances[:4]), distances
assert np.isfinite(history).all()
# at first the discriminator can't tell; ln 2 is what guessing costs
assert abs(history[0][0] - np.log(2)) < 0.3, history[0]

ms.save_checkpoint(net_generator, "Generator.ckpt")
again = Generator()
missing, _ = ms.load_param_into_net(again, ms.load_checkpoint("Generator.ckpt"))
assert not missing
np.testing.assert_allclose(again.set_train(False)(plan).asnumpy(),
                           net_generator.set_train(False)(plan).asnumpy(), atol=1e-6)
