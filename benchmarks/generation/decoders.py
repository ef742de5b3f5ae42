"""GPT-2 and Llama in Lamella, with the names that their weights have in Hugging Face's files."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
import torch

import lamella as ms
from lamella import nn, ops
from lamella.generation import WholeSequence


class Shape(NamedTuple):
    """The sizes of a decoder."""

    kind: str
    vocabulary: int
    width: int
    inner: int
    layers: int
    heads: int
    key_heads: int


SHAPES = {
    "gpt2-124m": Shape("gpt2", 50257, 768, 3072, 12, 12, 12),
    "llama-0.5b": Shape("llama", 32000, 1024, 4096, 24, 16, 8),
    "gpt2-tiny": Shape("gpt2", 500, 64, 256, 2, 4, 4),
    "llama-tiny": Shape("llama", 500, 64, 192, 2, 4, 2),
}
POSITIONS = 1024
GROUP = 64  # weights of int8 that have one scale


class GPTBlock(nn.Cell):
    """Attention and two dense layers, each after a normalization."""

    def __init__(self, shape: Shape):
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.ln_1, self.ln_2 = (nn.LayerNorm((width,), epsilon=1e-5) for _ in range(2))
        self.c_attn, self.c_proj = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.c_fc, self.c_out = nn.Dense(width, shape.inner), nn.Dense(shape.inner, width)

    def construct(self, x, cache):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, self.heads, -1)
                   for part in ops.split(self.c_attn(self.ln_1(x)), width, axis=2))
        x = x + self.c_proj(cache.attention(q, k, v).reshape(batch, length, width))
        return x + self.c_out(ops.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Cell):
    """GPT-2 (Radford et al., 2019): learned positions, scores by the table of tokens."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.width)
        self.wpe = nn.Embedding(POSITIONS, shape.width)
        self.h = nn.CellList([GPTBlock(shape) for _ in range(shape.layers)])
        self.ln_f = nn.LayerNorm((shape.width,), epsilon=1e-5)

    def construct(self, tokens, cache=None):
        cache = cache or WholeSequence(tokens)
        x = self.wte(tokens) + self.wpe(cache.positions)
        for block in self.h:
            x = block(x, cache)
        return ops.dense(self.ln_f(cache.last(x)), self.wte.embedding_table)


class LlamaBlock(nn.Cell):
    """Attention with rotary positions, and a gated dense layer."""

    def __init__(self, shape: Shape):
        super().__init__()
        width, self.head = shape.width, shape.width // shape.heads
        keys = shape.key_heads * self.head
        self.input_layernorm, self.post_attention_layernorm = (
            nn.RMSNorm([width], eps=1e-6) for _ in range(2))
        self.q_proj, self.o_proj = (nn.Dense(width, width, has_bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Dense(width, keys, has_bias=False) for _ in range(2))
        self.gate_proj, self.up_proj = (nn.Dense(width, shape.inner, has_bias=False)
                                        for _ in range(2))
        self.down_proj = nn.Dense(shape.inner, width, has_bias=False)

    def construct(self, x, cache, cos, sin):
        batch, length, _ = x.shape
        y = self.input_layernorm(x)
        q, k, v = (layer(y).reshape(batch, length, -1, self.head)
                   for layer in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (ops.rotary_position_embedding(part, cos, sin) for part in (q, k))
        x = x + self.o_proj(cache.attention(q, k, v).reshape(batch, length, -1))
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(ops.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Cell):
    """Llama (Touvron et al., 2023) with grouped queries; scores by a matrix of their own."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.CellList([LlamaBlock(shape) for _ in range(shape.layers)])
        self.norm = nn.RMSNorm([shape.width], eps=1e-6)
        self.lm_head = nn.Dense(shape.width, shape.vocabulary, has_bias=False)
        head = shape.width // shape.heads
        rates = 10000.0 ** (-np.arange(0, head, 2, dtype=np.float32) / head)
        self.rates = ms.Tensor(np.concatenate([rates, rates]))

    def construct(self, tokens, cache=None):
        cache = cache or WholeSequence(tokens)
        x = self.embed_tokens(tokens)
        angles = cache.positions.astype(ms.float32).expand_dims(-1) * self.rates
        cos, sin = (part.astype(x.dtype).expand_dims(2) for part in (ops.cos(angles),
                                                                    ops.sin(angles)))
        for block in self.layers:
            x = block(x, cache, cos, sin)
        return self.lm_head(self.norm(cache.last(x)))


def canonical(name: str) -> str:
    """The name of a weight in both frameworks: Hugging Face's without what stands around it."""
    for old, new in ((".attn.c_", ".c_"), (".mlp.c_proj", ".c_out"), (".mlp.", "."),
                     (".self_attn.", "."), ("transformer.", ""), ("model.", ""),
                     (".embedding_table", ".weight"), (".gamma", ".weight"), (".beta", ".bias")):
        name = name.replace(old, new)
    return name


def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Random numbers that depend on a weight's name only; about 1 for factors."""
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))
    return 0.05 * numbers + (len(shape) == 1 and name.endswith("weight"))


def in_lamella(shape: Shape, dtype: str) -> nn.Cell:
    """The decoder with its weights; in int8 those of dense layers are, and the rest bfloat16."""
    if dtype == "int8":
        return nn.quantize_weights(in_lamella(shape, "bfloat16"), group=GROUP)
    net = (GPT2 if shape.kind == "gpt2" else Llama)(shape)
    for parameter in net.get_parameters():
        raw = weight(canonical(parameter.name), parameter.shape)
        parameter.set_dtype(getattr(ms, dtype))
        parameter.set_data(ms.Tensor.from_torch(raw.to(getattr(torch, dtype))))
    return net
