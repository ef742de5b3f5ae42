"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from . import DROPOUT, HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        qkv = self.qkv(x).view(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT)
        mixed = self.out(mixed.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
        x = self.norm1(x + self.dropout(mixed))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("places", torch.arange(LENGTH))

    def forward(self, tokens):
        x = self.norm(self.token(tokens) + self.place(self.places))
        return self.head(self.blocks(self.dropout(x)))


model = Bert


def loss(net, tokens, following):
    return F.cross_entropy(net(tokens).flatten(0, 1), following.flatten())


def optimizer(parameters):
    return torch.optim.AdamW(parameters, 1e-4, weight_decay=0.01, fused=True)
