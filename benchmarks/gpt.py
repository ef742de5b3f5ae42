"""A training step of a GPT: 4 layers, width 256, 8 heads, 8 sequences of 128 tokens, AdamW.

Each side is written as programs for it are: PyTorch's attention is `scaled_dot_product_attention`,
Lamella's is spelled out, as in MindSpore programs for the CPU. MindSpore's AdamWeightDecay has no
bias correction, so only the losses before the first update are compared.
"""

import math

import numpy as np
import torch
from torch.nn import functional as F

import lamella as ms
from lamella import nn, ops

from .harness import Step, Workload, classes, copy_weights, lamella_step, torch_step, use_device

LAYERS, WIDTH, HEADS, BATCH, LENGTH, VOCABULARY = 4, 256, 8, 8, 128, 1024
DEPTH = WIDTH // HEADS


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.qkv = nn.Dense(WIDTH, 3 * WIDTH)
        self.out = nn.Dense(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.up = nn.Dense(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU(approximate=False)
        self.down = nn.Dense(4 * WIDTH, WIDTH)

    def construct(self, x):
        qkv = self.qkv(self.norm1(x)).reshape(BATCH, LENGTH, 3, HEADS, DEPTH)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)  # each (B, heads, T, depth)
        mixed = ops.flash_attention_score(q, k, v, HEADS, scalar_value=1 / math.sqrt(DEPTH),
                                          input_layout="BNSD", sparse_mode=2)  # causal
        x = x + self.out(mixed.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class GPT(nn.Cell):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.SequentialCell(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.head = nn.Dense(WIDTH, VOCABULARY, has_bias=False)
        self.places = ms.Tensor(np.arange(LENGTH))

    def construct(self, tokens):
        x = self.token(tokens) + self.place(self.places)
        return self.head(self.norm(self.blocks(x)))


class TorchBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.qkv(self.norm1(x)).view(BATCH, LENGTH, 3, HEADS, DEPTH)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class TorchGPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.token = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.place = torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.Sequential(*[TorchBlock() for _ in range(LAYERS)])
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("places", torch.arange(LENGTH))

    def forward(self, tokens):
        x = self.token(tokens) + self.place(self.places)
        return self.head(self.norm(self.blocks(x)))


def make(device: str) -> dict[str, Step]:
    use_device(device)
    torch.manual_seed(0)
    tokens = classes(BATCH * LENGTH, VOCABULARY).reshape(BATCH, LENGTH)
    following = classes(BATCH * LENGTH, VOCABULARY, seed=1)
    model = TorchGPT().to(device)
    net = GPT()
    copy_weights(model, net)
    a, b = torch.from_numpy(tokens).to(device), torch.from_numpy(following).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, weight_decay=0.01, fused=True)
    return {
        "PyTorch": torch_step(model, lambda: F.cross_entropy(model(a).flatten(0, 1), b), optimizer),
        "Lamella": lamella_step(
            net, lambda x, y: criterion(net(x).reshape(-1, VOCABULARY), y),
            nn.AdamWeightDecay(net.trainable_params(), 3e-4, weight_decay=0.01),
            ms.Tensor(tokens), ms.Tensor(following)),
    }


WORKLOAD = Workload("gpt", "GPT, 4 layers of 256, batch 8 x 128 tokens, AdamW", make, warmup=1)
