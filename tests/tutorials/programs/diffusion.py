"""Denoising diffusion: a noise schedule, a small U-Net with attention, and sampling."""

import math
import struct
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore import dataset as ds
from mindspore.common.initializer import initializer
from mindspore.dataset.transforms import Compose
from mindspore.dataset.vision import Inter, RandomHorizontalFlip, Resize, ToTensor

ms.set_seed(0)
SIDE, TIMESTEPS, DIM = 16, 32, 8

# the schedule: a little noise at first, then more, until nothing else is left
betas = np.linspace(0.0001, 0.3, TIMESTEPS).astype(np.float32)
alphas = 1.0 - betas
alphas_cumprod = np.cumprod(alphas, axis=0)
alphas_cumprod_prev = np.pad(alphas_cumprod[:-1], (1, 0), constant_values=1)
sqrt_recip_alphas = Tensor(np.sqrt(1.0 / alphas))
sqrt_alphas_cumprod = Tensor(np.sqrt(alphas_cumprod))
sqrt_one_minus_alphas_cumprod = Tensor(np.sqrt(1.0 - alphas_cumprod))
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)
np.testing.assert_allclose(
    ops.cumprod(Tensor(alphas), 0).asnumpy(), alphas_cumprod, rtol=1e-5)
assert alphas_cumprod[-1] < 0.01


def extract(a, t, x_shape):
    b = t.shape[0]
    out = Tensor(a).gather(t, -1)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


def q_sample(x_start, t, noise):
    return (extract(sqrt_alphas_cumprod, t, x_start.shape) * x_start
            + extract(sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise)


class SinusoidalPositionEmbeddings(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        half_dim = dim // 2
        emb = np.exp(np.arange(half_dim) * -(math.log(10000) / (half_dim - 1)))
        self.emb = Tensor(emb, ms.float32)

    def construct(self, x):
        emb = x[:, None] * self.emb[None, :]
        return ops.concat((ops.sin(emb), ops.cos(emb)), axis=-1)


class Block(nn.Cell):
    def __init__(self, dim, dim_out, groups=4):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, pad_mode="pad", padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()

    def construct(self, x, scale_shift=None):
        x = self.norm(self.proj(x))
        if scale_shift is not None:
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)


class ConvNextBlock(nn.Cell):
    def __init__(self, dim, dim_out, time_emb_dim, mult=2):
        super().__init__()
        self.mlp = nn.SequentialCell(nn.GELU(), nn.Dense(time_emb_dim, dim))
        self.ds_conv = nn.Conv2d(dim, dim, 7, padding=3, group=dim, pad_mode="pad")
        self.net = nn.SequentialCell(
            nn.GroupNorm(1, dim), Block(dim, dim_out * mult),
            nn.Conv2d(dim_out * mult, dim_out, 3, padding=1, pad_mode="pad"))
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def construct(self, x, time_emb=None):
        h = self.ds_conv(x)
        if time_emb is not None:
            condition = self.mlp(time_emb)
            h = h + condition.expand_dims(-1).expand_dims(-1)
        return self.net(h) + self.res_conv(x)


class Attention(nn.Cell):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        self.scale, self.heads = dim_head**-0.5, heads
        self.to_qkv = nn.Conv2d(dim, heads * dim_head * 3, 1, pad_mode="valid", has_bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, dim, 1, pad_mode="valid", has_bias=True)

    def construct(self, x):
        b, _, h, w = x.shape
        q, k, v = (t.reshape(b * self.heads, -1, h * w) for t in self.to_qkv(x).chunk(3, 1))
        sim = ops.bmm(q.swapaxes(1, 2) * self.scale, k)
        attn = ops.softmax(sim - sim.max(-1, keepdims=True), axis=-1)
        out = ops.bmm(attn, v.swapaxes(1, 2)).swapaxes(1, 2)
        return self.to_out(out.reshape(b, -1, h, w))


class LayerNorm(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        self.g = Parameter(initializer("ones", (1, dim, 1, 1)), name="g")

    def construct(self, x):
        var, mean = x.var(1, keepdims=True), x.mean(1, keep_dims=True)
        return (x - mean) / ops.sqrt(var + 1e-5) * self.g


class Residual(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.fn = LayerNorm(dim), Attention(dim)

    def construct(self, x):
        return self.fn(self.norm(x)) + x


class Unet(nn.Cell):
    def __init__(self, dim, channels=1):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, dim, 7, padding=3, pad_mode="pad", has_bias=True)
        self.time_mlp = nn.SequentialCell(
            SinusoidalPositionEmbeddings(dim), nn.Dense(dim, dim * 4), nn.GELU(),
            nn.Dense(dim * 4, dim * 4))
        downs, ups = [], []
        for d_in, d_out in (dim, dim), (dim, dim * 2):
            downs.append(nn.CellList([
                ConvNextBlock(d_in, d_out, dim * 4), Residual(d_out),
                nn.Conv2d(d_out, d_out, 4, 2, pad_mode="pad", padding=1)]))
            ups.insert(0, nn.CellList([
                nn.Conv2dTranspose(d_out, d_out, 4, 2, pad_mode="pad", padding=1),
                ConvNextBlock(d_out * 2, d_in, dim * 4)]))
        self.downs, self.ups = nn.CellList(downs), nn.CellList(ups)
        self.mid = ConvNextBlock(dim * 2, dim * 2, dim * 4)
        self.final_conv = nn.Conv2d(dim, channels, 1, has_bias=True)

    def construct(self, x, time):
        x, t, h = self.init_conv(x), self.time_mlp(time), []
        for block, attention, down in self.downs:
            x = attention(block(x, t))
            h.append(x)
            x = down(x)
        x = self.mid(x, t)
        for i, (up, block) in enumerate(self.ups):
            x = block(ops.concat((up(x), h[-1 - i]), 1), t)
        return self.final_conv(x)


def write_fashion_mnist(root, count=48):
    """Bright discs of one size on a dark field, in the idx files of Fashion-MNIST."""
    y, x = np.mgrid[:28, :28]
    disc = np.where((y - 13.5) ** 2 + (x - 13.5) ** 2 < 80, 255, 0).astype(np.uint8)
    Path(root).mkdir()
    with open(f"{root}/train-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4i", 2051, count, 28, 28) + disc.tobytes() * count)
    with open(f"{root}/train-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2i", 2049, count) + bytes(count))


write_fashion_mnist("fashion")
transforms = Compose([Resize([SIDE, SIDE], Inter.BILINEAR), ToTensor(), RandomHorizontalFlip(),
                      lambda t: (t * 2) - 1])
dataset = ds.FashionMnistDataset("fashion", usage="train", shuffle=False)
dataset = dataset.project("image").map(transforms, "image").batch(16, drop_remainder=True)
x = next(dataset.create_dict_iterator())["image"]
assert x.shape == (16, 1, SIDE, SIDE) and float(x.max()) == 1 and float(x.min()) == -1

# noising: the mean and the spread that the schedule promises
noise = ops.randn_like(ops.zeros((400, 1, SIDE, SIDE)))
t = ops.full((400,), 20, dtype=ms.int32)
noisy = q_sample(ops.ones((400, 1, SIDE, SIDE)), t, noise).asnumpy()
assert abs(noisy.mean() - alphas_cumprod[20] ** 0.5) < 0.02
assert abs(noisy.std() - (1 - alphas_cumprod[20]) ** 0.5) < 0.02

unet_model = Unet(DIM)
names = [p.name for p in unet_model.get_parameters()]
assert len(set(names)) == len(names)


def p_losses(x_start, t, noise):
    predicted_noise = unet_model(q_sample(x_start, t, noise), t)
    return ops.smooth_l1_loss(predicted_noise, noise, reduction="mean")


steps = 42
rates = nn.cosine_decay_lr(1e-4, 0.01, total_step=steps, step_per_epoch=3, decay_epoch=14)
optimizer = nn.Adam(unet_model.trainable_params(), learning_rate=rates)
grad_fn = ms.value_and_grad(p_losses, None, optimizer.parameters)


@ms.jit
def train_step(data, t, noise):
    loss, grads = grad_fn(data, t, noise)
    optimizer(grads)
    return loss


t, noise = Tensor(np.arange(16) * 2, ms.int32), ops.standard_normal((16, 1, SIDE, SIDE))
unet_model.set_train()
loss, grads = grad_fn(x, t, noise)
compiled, compiled_grads = ms.jit(grad_fn)(x, t, noise)
np.testing.assert_allclose(loss.asnumpy(), compiled.asnumpy(), rtol=1e-4)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-2, atol=1e-4)

for _ in range(14):
    for batch in dataset.create_tuple_iterator(num_epochs=1):
        t = ops.randint(0, TIMESTEPS, (16,), dtype=ms.int32)
        last = train_step(batch[0], t, ops.randn_like(batch[0]))
unet_model.set_train(False)
after = float(p_losses(x, Tensor(np.arange(16) * 2, ms.int32), noise))
assert after < 0.4 * float(loss), (loss, after)


def p_sample(x, t, t_index):
    model_mean = extract(sqrt_recip_alphas, t, x.shape) * (
        x - extract(Tensor(betas), t, x.shape) * unet_model(x, t)
        / extract(sqrt_one_minus_alphas_cumprod, t, x.shape))
    if t_index == 0:
        return model_mean
    return model_mean + math.sqrt(posterior_variance[t_index]) * ops.randn_like(x)


# from noise alone the discs come back
image = ops.randn((4, 1, SIDE, SIDE))
for i in reversed(range(TIMESTEPS)):
    image = p_sample(image, ops.fill(ms.int32, (4,), i), i)
likeness = np.corrcoef(np.stack([im.ravel() for im in (*image.asnumpy(), x[0].asnumpy())]))
assert likeness[-1, :-1].min() > 0.4, likeness[-1]
