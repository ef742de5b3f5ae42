"""One framework with one decoder, in a process of its own, which answers requests.

    python -m benchmarks.generation.worker FRAMEWORK SHAPE DTYPE ROWS

Each line of the input is a request; the answer is a line of JSON:
``prefill N``: seconds from a prompt of N tokens to the first token; ``decode N``: seconds of N more
tokens for each row; ``tokens``: what has been written so far; ``memory``: bytes at most.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np
import torch

from lamella.generation.steps import SMALLEST, size_class

from .decoders import POSITIONS, SHAPES, Shape, canonical, in_lamella, weight


def prompts(rows: int, length: int, vocabulary: int) -> list[list[int]]:
    """Prompts of so many tokens."""
    return [[(7 * row + 3 * at + at * at) % vocabulary for at in range(length)]
            for row in range(rows)]


class InLamella:
    """`lamella.generation`."""

    def __init__(self, shape: Shape, dtype: str, rows: int):
        from lamella.generation import Generator

        self.shape, self.rows = shape, rows
        self.generator = Generator(in_lamella(shape, dtype), capacity=POSITIONS, slots=rows)
        self.requests: list[Any] = []

    def prefill(self, length: int) -> float:
        for request in self.requests:
            request.cancel()
        self.generator.step()
        start = time.perf_counter()
        times: list[float] = []  # at which tokens are there; a step goes on with the next ones
        self.requests = [self.generator.submit(
            p, POSITIONS, on_token=lambda _: times.append(time.perf_counter())) for p in prompts(
                self.rows, length, self.shape.vocabulary)]
        while not all(r.tokens for r in self.requests):
            self.generator.step()
        return times[0] - start

    def decode(self, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            self.generator.step()
        return time.perf_counter() - start

    def tokens(self) -> list[int]:
        return self.requests[0].tokens


class InTransformers:
    """Hugging Face's transformers on PyTorch, with the loop of `generate` and nothing around it."""

    def __init__(self, shape: Shape, dtype: str, rows: int, compiled: bool):
        self.shape, self.rows, self.compiled = shape, rows, compiled
        self.dtype = getattr(torch, dtype)
        self.model = model_of(shape).to(self.dtype).eval()
        self.call = torch.compile(self.model.forward) if compiled else self.model.forward
        self.cache: Any = None
        self.written: list[torch.Tensor] = []

    def prefill(self, length: int) -> float:
        from transformers import DynamicCache, StaticCache

        ids = torch.tensor(prompts(self.rows, length, self.shape.vocabulary))
        if not self.compiled:
            self.cache = DynamicCache()
        elif self.cache is None:
            self.cache = StaticCache(config=self.model.config, max_batch_size=self.rows,
                                     max_cache_len=POSITIONS)
        else:
            self.cache.reset()
        start = time.perf_counter()
        self.place, self.written = 0, []
        self._advance(self.model.forward, ids, length)
        return time.perf_counter() - start

    def decode(self, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            self._advance(self.call, self.written[-1][:, None], 1)
            self.written[-1].tolist()  # as they are streamed
        return time.perf_counter() - start

    def _advance(self, call: Any, ids: torch.Tensor, count: int) -> None:
        with torch.no_grad():
            out = call(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1,
                       cache_position=torch.arange(self.place, self.place + count))
        self.place += count
        self.written.append(out.logits[:, -1].argmax(-1))

    def tokens(self) -> list[int]:
        return [int(t[0]) for t in self.written]


class InJAX:
    """JAX, compiled by XLA, with a static cache."""

    def __init__(self, shape: Shape, dtype: str, rows: int):
        from . import in_jax

        self.shape, self.rows = shape, rows
        self.weights = in_jax.weights_of(shape, dtype)
        self.cache = in_jax.cache_of(shape, dtype, rows)
        self.call = in_jax.advance
        self.written: list[Any] = []

    def prefill(self, length: int) -> float:
        ids = np.array(prompts(self.rows, length, self.shape.vocabulary), np.int32)
        start = time.perf_counter()
        self.place, self.written = 0, []
        self._advance(ids)
        return time.perf_counter() - start

    def decode(self, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            self._advance(self.written[-1][:, None])
        return time.perf_counter() - start

    def _advance(self, ids: np.ndarray) -> None:
        place, self.place = self.place, self.place + ids.shape[1]
        reach = size_class(self.place, 4 * SMALLEST, POSITIONS)
        token, self.cache = self.call(self.weights, self.cache, ids, place, shape=self.shape,
                                      reach=reach)
        self.written.append(np.asarray(token))  # as they are streamed

    def tokens(self) -> list[int]:
        return [int(t[0]) for t in self.written]


def model_of(shape: Shape) -> torch.nn.Module:
    """The decoder of transformers, with the same weights."""
    import transformers

    if shape.kind == "gpt2":
        model: Any = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=shape.vocabulary, n_embd=shape.width, n_inner=shape.inner,
            n_layer=shape.layers, n_head=shape.heads, n_positions=POSITIONS))
    else:
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=shape.vocabulary, hidden_size=shape.width, num_hidden_layers=shape.layers,
            intermediate_size=shape.inner, num_attention_heads=shape.heads,
            num_key_value_heads=shape.key_heads, tie_word_embeddings=False, rms_norm_eps=1e-6,
            max_position_embeddings=POSITIONS))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            turned = shape.kind == "gpt2" and parameter.dim() == 2 and ".c_" in name
            form = tuple(parameter.shape[::-1] if turned else parameter.shape)
            raw = weight(canonical(name), form)
            parameter.copy_(raw.t() if turned else raw)
    return model


def bandwidth() -> float:
    """Bytes a second that are read from memory."""
    block = torch.ones(2**26)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        block.sum()
        best = min(best, time.perf_counter() - start)
    return 4 * 2**26 / best


def main() -> None:
    """Answer requests until the input ends."""
    framework, name, dtype, rows = sys.argv[1:]
    if framework == "memory":
        run: Any = None
    elif framework == "jax":
        run = InJAX(SHAPES[name], dtype, int(rows))
    elif framework == "lamella":
        run = InLamella(SHAPES[name], dtype, int(rows))
    else:
        run = InTransformers(SHAPES[name], dtype, int(rows), framework.endswith("compiled"))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        kind, *given = line.split()
        if kind == "bandwidth":
            answer: Any = bandwidth()
        elif kind == "memory":
            answer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        else:
            answer = getattr(run, kind)(*map(int, given))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
