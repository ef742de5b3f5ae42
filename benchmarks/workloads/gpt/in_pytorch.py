"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import DEPTH, HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH


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
        qkv = self.qkv(self.norm1(x)).view(-1, LENGTH, 3, HEADS, DEPTH)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("places", torch.arange(LENGTH))

    def forward(self, tokens):
        x = self.token(tokens) + self.place(self.places)
        return self.head(self.norm(self.blocks(x)))


model = GPT


def forward(net, tokens):
    return net(tokens)


def loss(net, tokens, following):
    return F.cross_entropy(net(tokens).flatten(0, 1), following.flatten())


def curvature(net, tokens, following):
    """The Hessian of the loss times the weights: the fused attention has no second derivative."""
    def of(weights):
        out = torch.func.functional_call(net, weights, (tokens,))
        return F.cross_entropy(out.flatten(0, 1), following.flatten())

    weights = {name: p.detach() for name, p in net.named_parameters()}
    with sdpa_kernel(SDPBackend.MATH):
        return torch.func.jvp(torch.func.grad(of), (weights,), (weights,))[1]


def optimizer(parameters):
    return torch.optim.AdamW(parameters, 3e-4, weight_decay=0.01, fused=True)
