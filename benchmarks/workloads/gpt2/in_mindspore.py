"""In MindSpore and Lamella."""

import math

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from .. import LARGE
from . import HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH

DEPTH = WIDTH // HEADS


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.qkv = nn.Dense(WIDTH, 3 * WIDTH)
        self.out = nn.Dense(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.up = nn.Dense(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU()
        self.down = nn.Dense(4 * WIDTH, WIDTH)
        self.mask = ms.Tensor(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))

    def construct(self, x):
        qkv = self.qkv(self.norm1(x)).reshape(-1, LENGTH, 3, HEADS, DEPTH)
        qkv = qkv.transpose(2, 0, 3, 1, 4)
        if LARGE:  # as large models are written for accelerators
            mixed = ops.flash_attention_score(
                *qkv, HEADS, input_layout="BNSD", scalar_value=DEPTH**-0.5, sparse_mode=2)
        else:
            scores = ops.matmul(qkv[0], qkv[1].swapaxes(2, 3)) / math.sqrt(DEPTH) + self.mask
            mixed = ops.matmul(ops.softmax(scores, -1), qkv[2])
        x = x + self.out(mixed.transpose(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class GPT2(nn.Cell):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.SequentialCell(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.places = ms.Tensor(np.arange(LENGTH), ms.int32)

    def construct(self, tokens):
        x = self.norm(self.blocks(self.token(tokens) + self.place(self.places)))
        return ops.matmul(x, self.token.embedding_table.swapaxes(0, 1))


model = GPT2


def loss(net, tokens, following):
    return ops.cross_entropy(net(tokens).reshape(-1, VOCABULARY), following.reshape(-1))


def optimizer(parameters):
    return nn.AdamWeightDecay(parameters, 3e-4, weight_decay=0.01)
