"""GPT-2 and Llama in JAX: a static cache, and one function for prompts and for single tokens.

What is compiled holds for a number of tokens and a reach of the cache, a power of two, so that
short sequences don't read a long cache. The cache's memory is given to its successor. Weights of
dense layers are (in, out), as JAX's own libraries keep them: XLA would transpose others each step.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import torch
from jax import numpy as jnp

from .decoders import POSITIONS, Shape, canonical, in_lamella

Weights = dict[str, jax.Array]
EMBEDDINGS = "wte.weight", "wpe.weight", "embed_tokens.weight"
Cache = list[tuple[jax.Array, jax.Array]]  # of each layer: (rows, heads, POSITIONS, D)


def weights_of(shape: Shape, dtype: str) -> Weights:
    """The same weights, in memory of JAX's; those that give the scores as `scores`."""
    found = {}
    for parameter in in_lamella(shape, dtype).get_parameters():
        name, raw = canonical(parameter.name), parameter.to_torch().detach()
        if raw.ndim == 2 and name not in EMBEDDINGS:
            raw = raw.T.contiguous()
        found[name] = array(raw)
    if shape.kind == "gpt2":
        found["scores"] = found["wte.weight"].T.copy()
    else:
        found["scores"] = found.pop("lm_head.weight")
    return found


def array(raw: torch.Tensor) -> jax.Array:
    """A copy of a tensor."""
    return jnp.from_dlpack(raw).copy()


def cache_of(shape: Shape, dtype: str, rows: int) -> Cache:
    """An empty cache."""
    form = (rows, shape.key_heads, POSITIONS, shape.width // shape.heads)
    return [(jnp.zeros(form, dtype), jnp.zeros(form, dtype)) for _ in range(shape.layers)]


@functools.partial(jax.jit, static_argnames=("shape", "reach"), donate_argnames="cache")
def advance(weights: Weights, cache: Cache, tokens: jax.Array, place: jax.Array, *, shape: Shape,
            reach: int) -> tuple[jax.Array, Cache]:
    """The token after those given, (rows, T), which stand at `place`; `reach` is above all."""
    positions = place + jnp.arange(tokens.shape[1])
    visible = jnp.arange(reach) <= positions[:, None]
    block = gpt_block if shape.kind == "gpt2" else llama_block
    if shape.kind == "gpt2":
        x = weights["wte.weight"][tokens] + weights["wpe.weight"][positions]
        layers = "h"
    else:
        x = weights["embed_tokens.weight"][tokens]
        layers = "layers"
    kept = []
    for at, held in enumerate(cache):
        def attention(q: jax.Array, k: jax.Array, v: jax.Array,
                      held: tuple[jax.Array, jax.Array] = held) -> jax.Array:
            heads_first = (new.swapaxes(1, 2) for new in (k, v))
            keys, values = (jax.lax.dynamic_update_slice(old, new, (0, 0, place, 0))
                            for old, new in zip(held, heads_first, strict=True))
            kept.append((keys, values))
            return attended(q, keys[:, :, :reach], values[:, :, :reach], visible)

        x = block(Part(weights, f"{layers}.{at}."), x, positions, shape, attention)
    ends = Part(weights, "")
    x = layer_norm(ends, "ln_f", x[:, -1]) if shape.kind == "gpt2" else rms_norm(
        ends, "norm", x[:, -1])
    return (x @ weights["scores"]).argmax(-1), kept


class Part:
    """The weights whose names begin so."""

    def __init__(self, weights: Weights, prefix: str):
        self._weights, self._prefix = weights, prefix

    def __getitem__(self, name: str) -> jax.Array:
        return self._weights[self._prefix + name]

    def dense(self, name: str, x: jax.Array) -> jax.Array:
        """A dense layer."""
        y = x @ self[name + ".weight"]
        bias = self._weights.get(f"{self._prefix}{name}.bias")
        return y if bias is None else y + bias


def attended(q: jax.Array, keys: jax.Array, values: jax.Array, visible: jax.Array) -> jax.Array:
    """Attention of (rows, T, heads, D) to (rows, G, reach, D); heads in a row share keys."""
    rows, length, heads, width = q.shape
    q = q.reshape(rows, length, keys.shape[1], -1, width)
    scores = jnp.einsum("btghd,bgsd->bghts", q, keys,
                        preferred_element_type=jnp.float32) * width**-0.5
    chances = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf)).astype(q.dtype)
    return jnp.einsum("bghts,bgsd->btghd", chances, values).reshape(rows, length, heads * width)


def gpt_block(part: Part, x: jax.Array, positions: jax.Array, shape: Shape, attention: Any
              ) -> jax.Array:
    """Attention and two dense layers, each after a normalization."""
    qkv = part.dense("c_attn", layer_norm(part, "ln_1", x))
    q, k, v = (y.reshape(*y.shape[:2], shape.heads, -1) for y in jnp.split(qkv, 3, axis=-1))
    x = x + part.dense("c_proj", attention(q, k, v))
    inner = jax.nn.gelu(part.dense("c_fc", layer_norm(part, "ln_2", x)), approximate=True)
    return x + part.dense("c_out", inner)


def llama_block(part: Part, x: jax.Array, positions: jax.Array, shape: Shape, attention: Any
                ) -> jax.Array:
    """Attention with rotary positions, and a gated dense layer."""
    y = rms_norm(part, "input_layernorm", x)
    q, k, v = (part.dense(name, y) for name in ("q_proj", "k_proj", "v_proj"))
    q, k, v = (z.reshape(*z.shape[:2], -1, shape.width // shape.heads) for z in (q, k, v))
    x = x + part.dense("o_proj", attention(turned(q, positions), turned(k, positions), v))
    y = rms_norm(part, "post_attention_layernorm", x)
    return x + part.dense("down_proj", jax.nn.silu(part.dense("gate_proj", y))
                          * part.dense("up_proj", y))


def turned(x: jax.Array, positions: jax.Array) -> jax.Array:
    """Rotary positions; x has the shape (rows, T, heads, D)."""
    width = x.shape[-1]
    rates = 10000.0 ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)
    angles = jnp.tile(positions[:, None] * rates, 2)[:, None]
    first, second = jnp.split(x, 2, axis=-1)
    return x * jnp.cos(angles).astype(x.dtype) + (
        jnp.concatenate([-second, first], -1) * jnp.sin(angles).astype(x.dtype))


def layer_norm(part: Part, name: str, x: jax.Array) -> jax.Array:
    """In float32, as PyTorch's kernel computes it."""
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * part[name + ".weight"] + part[name + ".bias"]


def rms_norm(part: Part, name: str, x: jax.Array) -> jax.Array:
    """In float32, as PyTorch's kernel computes it."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)
    return y.astype(x.dtype) * part[name + ".weight"]
