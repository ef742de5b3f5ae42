"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from . import HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.qkv(self.norm1(x)).view(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("places", torch.arange(LENGTH))
        for weights in (self.token.weight, self.place.weight):
            nn.init.normal_(weights, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(self.places)
        return F.linear(self.norm(self.blocks(x)), self.token.weight)


model = GPT2


def loss(net, tokens, following):
    return F.cross_entropy(net(tokens).flatten(0, 1), following.flatten())


def optimizer(parameters):
    return torch.optim.AdamW(parameters, 3e-4, weight_decay=0.01, fused=True)
