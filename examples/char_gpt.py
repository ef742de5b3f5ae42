"""A small GPT learns to write like the documentation of Python's standard library.

    python examples/char_gpt.py [--steps 600]

Reads the docstrings of the standard library's modules, character by character, trains a
transformer of four layers with one compiled step, and prints a text that it makes up and, as its
last line, the loss on text that it hasn't seen, in bits a character (untrained: about 6.5).
"""

import argparse
import importlib
import math

import numpy as np

import lamella as ms
from lamella import nn, ops

MODULES = """argparse ast asyncio bisect calendar collections configparser copy csv datetime decimal
    difflib dis email enum fractions functools gettext glob gzip heapq html http inspect io
    ipaddress itertools json logging mailbox math optparse os pathlib pickle platform pprint random
    re sched shutil socket sqlite3 ssl statistics string subprocess tarfile tempfile textwrap
    threading tokenize traceback unittest urllib.request uuid warnings weakref zipfile"""
CONTEXT = 64


def corpus():
    """All docstrings as one text."""
    parts = []
    for name in MODULES.split():
        module = importlib.import_module(name)
        parts.append(module.__doc__ or "")
        for value in vars(module).values():
            if getattr(value, "__module__", None) == name and isinstance(value.__doc__, str):
                parts.append(value.__doc__)
    return "".join(c for c in "\n\n".join(parts) if c == "\n" or " " <= c <= "~")


class Block(nn.Cell):
    """Attention to earlier characters, then two dense layers, each added to what comes in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.mlp = nn.SequentialCell(nn.Dense(width, 4 * width), nn.GELU(),
                                     nn.Dense(4 * width, width))
        self.hidden = ms.Tensor(np.triu(np.full((CONTEXT, CONTEXT), -1e9, np.float32), 1))

    def construct(self, x):
        batch, length, width = x.shape
        q, k, v = ops.split(self.qkv(self.norm1(x)), width, axis=2)
        q, k, v = (t.reshape(batch, length, self.heads, -1).swapaxes(1, 2) for t in (q, k, v))
        scores = q @ k.swapaxes(2, 3) / math.sqrt(width // self.heads)  # (B, heads, T, T)
        mixed = ops.softmax(scores + self.hidden[:length, :length]) @ v
        x = x + self.out(mixed.swapaxes(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Cell):
    """Characters (B, T) to scores of the next ones (B, T, letters)."""

    def __init__(self, letters, width, layers, heads):
        super().__init__()
        self.token = nn.Embedding(letters, width, embedding_table="normal")
        self.place = ms.Parameter(ms.ops.zeros((CONTEXT, width)), name="place")
        self.blocks = nn.SequentialCell([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, letters)

    def construct(self, x):
        x = self.token(x) + self.place[:x.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=4)
    given = parser.parse_args()
    ms.set_seed(2)
    text = corpus()
    letters = sorted(set(text))
    numbers = np.array([letters.index(c) for c in text], np.int32)
    cut = len(numbers) * 9 // 10
    rng = np.random.default_rng(0)

    def batch(part, count=32):
        starts = rng.integers(0, len(part) - CONTEXT - 1, count)
        rows = np.stack([part[s:s + CONTEXT + 1] for s in starts])
        return ms.Tensor(rows[:, :-1]), ms.Tensor(rows[:, 1:])

    net = GPT(len(letters), given.width, given.layers, 4)
    rate = nn.cosine_decay_lr(1e-4, 3e-3, given.steps, given.steps, 1)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), rate, beta2=0.99, weight_decay=0.01)

    def loss(x, y):
        return ops.cross_entropy(net(x).reshape(-1, len(letters)), y.reshape(-1))

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        value, gradients = gradient(x, y)
        optimizer(ops.clip_by_global_norm(gradients, 1.0))
        return value

    for number in range(1, given.steps + 1):
        value = step(*batch(numbers[:cut]))
        if number % 100 == 0:
            print(f"step {number}: {float(value) / math.log(2):.2f} bits a character")

    written = [letters.index("\n")]
    for _ in range(200):
        scores = net(ms.Tensor(np.array([written[-CONTEXT:]], np.int32)))[0, -1].asnumpy()
        chances = np.exp((scores - scores.max()) / 0.8)
        written.append(int(rng.choice(len(letters), p=chances / chances.sum())))
    print("".join(letters[n] for n in written))
    losses = [float(loss(*batch(numbers[cut:]))) for _ in range(10)]
    print(f"unseen text: {np.mean(losses) / math.log(2):.2f} bits a character")


if __name__ == "__main__":
    main()
