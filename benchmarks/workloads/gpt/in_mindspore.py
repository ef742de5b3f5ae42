"""In MindSpore and Lamella.

MindSpore has the fused kernel of attention for Ascend only, so its programs for the CPU spell
attention out. Lamella has the kernel everywhere.
"""

import math

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from . import DEPTH, HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH

SCALE = 1 / math.sqrt(DEPTH)


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        later = np.triu(np.ones((LENGTH, LENGTH), np.float32), 1)
        self.mask = ms.Tensor(later * -1e9)

    def construct(self, q, k, v):
        scores = ops.matmul(q * SCALE, k.swapaxes(2, 3)) + self.mask
        return ops.matmul(ops.softmax(scores, -1), v)


class FusedAttention(nn.Cell):
    def construct(self, q, k, v):
        return ops.flash_attention_score(q, k, v, HEADS, scalar_value=SCALE, input_layout="BNSD",
                                         sparse_mode=2)  # causal


class Block(nn.Cell):
    def __init__(self, attention):
        super().__init__()
        self.norm1 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.qkv = nn.Dense(WIDTH, 3 * WIDTH)
        self.attention = attention()
        self.out = nn.Dense(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.up = nn.Dense(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU(approximate=False)
        self.down = nn.Dense(4 * WIDTH, WIDTH)

    def construct(self, x):
        qkv = self.qkv(self.norm1(x)).reshape(-1, LENGTH, 3, HEADS, DEPTH)
        qkv = qkv.transpose(2, 0, 3, 1, 4)  # q, k and v are (B, heads, T, depth)
        mixed = self.attention(qkv[0], qkv[1], qkv[2])
        x = x + self.out(mixed.transpose(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class GPT(nn.Cell):
    def __init__(self, attention=Attention):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.SequentialCell(*[Block(attention) for _ in range(LAYERS)])
        self.norm = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.head = nn.Dense(WIDTH, VOCABULARY, has_bias=False)
        self.places = ms.Tensor(np.arange(LENGTH), ms.int32)

    def construct(self, tokens):
        x = self.token(tokens) + self.place(self.places)
        return self.head(self.norm(self.blocks(x)))


model = GPT


def model_for_lamella():
    return GPT(FusedAttention)


def forward(net):
    return net


def loss(net, tokens, following):
    return ops.cross_entropy(net(tokens).reshape(-1, VOCABULARY), following.reshape(-1))


def curvature(net):
    """The Hessian of the loss times the weights, by differentiating a product with the gradient."""
    weights = net.trainable_params()
    fixed = [ms.Tensor(w.asnumpy()) for w in weights]

    def of(tokens, following):
        return loss(net, tokens, following)

    gradient = ms.grad(of, None, weights)

    def along(tokens, following):
        total = 0.0
        for g, v in zip(gradient(tokens, following), fixed):  # noqa: B905 - MindSpore has no strict
            total = total + (g * v).sum()
        return total

    return ms.grad(along, None, weights)


def optimizer(parameters):
    return nn.AdamWeightDecay(parameters, 3e-4, weight_decay=0.01)
