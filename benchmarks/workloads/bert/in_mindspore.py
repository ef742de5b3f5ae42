"""In MindSpore and Lamella."""

import math

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from . import DROPOUT, HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH

DEPTH = WIDTH // HEADS


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Dense(WIDTH, 3 * WIDTH)
        self.out = nn.Dense(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.up = nn.Dense(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU(approximate=False)
        self.down = nn.Dense(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.dropout = nn.Dropout(p=DROPOUT)

    def construct(self, x):
        qkv = self.qkv(x).reshape(-1, LENGTH, 3, HEADS, DEPTH).transpose(2, 0, 3, 1, 4)
        scores = ops.matmul(qkv[0], qkv[1].swapaxes(2, 3)) / math.sqrt(DEPTH)
        mixed = ops.matmul(self.dropout(ops.softmax(scores, -1)), qkv[2])
        mixed = self.out(mixed.transpose(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH))
        x = self.norm1(x + self.dropout(mixed))
        return self.norm2(x + self.dropout(self.down(self.gelu(self.up(x)))))


class Bert(nn.Cell):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.dropout = nn.Dropout(p=DROPOUT)
        self.blocks = nn.SequentialCell(*[Block() for _ in range(LAYERS)])
        self.head = nn.Dense(WIDTH, VOCABULARY)
        self.places = ms.Tensor(np.arange(LENGTH), ms.int32)

    def construct(self, tokens):
        x = self.norm(self.token(tokens) + self.place(self.places))
        return self.head(self.blocks(self.dropout(x)))


model = Bert


def loss(net, tokens, following):
    return ops.cross_entropy(net(tokens).reshape(-1, VOCABULARY), following.reshape(-1))


def optimizer(parameters):
    return nn.AdamWeightDecay(parameters, 1e-4, weight_decay=0.01)
