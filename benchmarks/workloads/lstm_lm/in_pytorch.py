"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from . import LAYERS, VOCABULARY, WIDTH


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            nn.LSTM(WIDTH, WIDTH, batch_first=True) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)[0]
        return self.head(x)


model = Language


def loss(net, tokens, following):
    return F.cross_entropy(net(tokens).flatten(0, 1), following.flatten())


def optimizer(parameters):
    return torch.optim.Adam(parameters, 1e-3, fused=True)
