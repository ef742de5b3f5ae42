"""Small decoders in the forms of GPT-2 and Llama, and what they write without a cache."""

from __future__ import annotations

import lamella as ms
from lamella import nn, ops
from lamella.generation import WholeSequence

LETTERS, WIDTH = 61, 32


class GPTBlock(nn.Cell):
    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.mlp = nn.SequentialCell(nn.Dense(WIDTH, 64), nn.GELU(), nn.Dense(64, WIDTH),
                                     nn.Dropout(p=0.5))

    def construct(self, x, cache):
        b, t, _ = x.shape
        q, k, v = (part.reshape(b, t, self.heads, -1)
                   for part in ops.split(self.qkv(self.norm1(x)), WIDTH, axis=2))
        x = x + self.out(cache.attention(q, k, v).reshape(b, t, -1))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Cell):
    """Learned positions, and scores of every token of a prompt (`cache.last` isn't used)."""

    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(LETTERS, WIDTH), nn.Embedding(128, WIDTH)
        self.blocks = nn.CellList([GPTBlock(4), GPTBlock(4)])
        self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, LETTERS)

    def construct(self, tokens, cache=None):
        cache = cache or WholeSequence(tokens)
        x = self.token(tokens) + self.place(cache.positions)
        for block in self.blocks:
            x = block(x, cache)
        return self.head(self.norm(x))


class LlamaBlock(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm([WIDTH]), nn.RMSNorm([WIDTH])
        self.q, self.out = (nn.Dense(WIDTH, WIDTH, has_bias=False) for _ in range(2))
        self.k, self.v = (nn.Dense(WIDTH, 16, has_bias=False) for _ in range(2))
        self.gate, self.up = (nn.Dense(WIDTH, 48, has_bias=False) for _ in range(2))
        self.down = nn.Dense(48, WIDTH, has_bias=False)

    def construct(self, x, cache, cos, sin):
        b, t, _ = x.shape
        y = self.norm1(x)
        q, k, v = (part.reshape(b, t, -1, 8) for part in (self.q(y), self.k(y), self.v(y)))
        q, k = (ops.rotary_position_embedding(part, cos, sin) for part in (q, k))
        x = x + self.out(cache.attention(q, k, v).reshape(b, t, -1))
        y = self.norm2(x)
        return x + self.down(ops.silu(self.gate(y)) * self.up(y))


class Llama(nn.Cell):
    """Rotary positions, and two heads for each key."""

    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(LETTERS, WIDTH)
        self.blocks = nn.CellList([LlamaBlock(), LlamaBlock()])
        self.norm, self.head = nn.RMSNorm([WIDTH]), nn.Dense(WIDTH, LETTERS, has_bias=False)
        self.rates = ms.Tensor([[1.0, 0.3, 0.1, 0.03] * 2])

    def construct(self, tokens, cache=None):
        cache = cache or WholeSequence(tokens)
        angles = cache.positions.astype(ms.float32).expand_dims(-1) * self.rates
        cos, sin = ops.cos(angles).expand_dims(2), ops.sin(angles).expand_dims(2)
        x = self.token(tokens)
        for block in self.blocks:
            x = block(x, cache, cos, sin)
        return self.head(self.norm(cache.last(x)))


def made(kind: type[nn.Cell], seed: int = 5) -> nn.Cell:
    """A decoder with random weights, large enough for scores that differ."""
    ms.set_seed(seed)
    net = kind()
    for weight in net.get_parameters():
        if weight.ndim == 2:
            weight.set_data(ms.Tensor(ops.standard_normal(weight.shape).asnumpy() * 0.3))
    return net


def followers(net: nn.Cell, prompt: list[int], count: int) -> list[int]:
    """The tokens after a prompt, greedily, from whole forward passes without a cache."""
    net.set_train(False)
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(net(ms.Tensor([tokens]))[0, -1].argmax()))
    return tokens[len(prompt):]
