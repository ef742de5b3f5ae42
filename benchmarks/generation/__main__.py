"""Generation beside others: ``python -m benchmarks.generation [--tiny] [--rows 1,8]``.

Each framework writes tokens with the same decoder (random weights of GPT-2's and Llama's shapes) in
a process of its own; the processes take turns. Tokens have to agree in float32. In int8 the weights
of dense layers have a scale for each group, and the rest is bfloat16; the others, which have that
by other packages only, are left out then, as they are if they aren't installed. The limit is the
time in which the weights are read from memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import NamedTuple

import torch

from ..answering import Answering
from .decoders import SHAPES, in_lamella

PROMPT, TOKENS, WARM = 128, 16, 24
FRAMEWORKS = ("lamella", "transformers", "transformers compiled", "jax")


def worker_of(*arguments: str, threads: int) -> Answering:
    """A process that answers requests (`worker.py`)."""
    return Answering(f"{__package__}.worker", *arguments, quiet=True,
                     env={**os.environ, "OMP_NUM_THREADS": str(threads)})


class Result(NamedTuple):
    """What one framework takes: seconds to the first token and of one step, and bytes."""

    first: float
    step: float
    memory: int
    tokens: list[int]


def compared(shape: str, dtype: str, rows: int, given: argparse.Namespace) -> dict[str, Result]:
    """The results of each framework, which take turns."""
    workers, failed = {}, []
    for framework in given.frameworks.split(","):
        if framework != "lamella" and (dtype == "int8" or importlib.util.find_spec(
                framework.split()[0]) is None):
            continue
        try:
            workers[framework] = worker_of(framework, shape, dtype, str(rows),
                                           threads=given.threads)
            workers[framework].ask(f"prefill {PROMPT}")
            workers[framework].ask(f"decode {WARM}")
        except RuntimeError as error:
            failed.append(f"{framework}: {error}")
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in workers}
    for _ in range(given.rounds):
        for name, worker in workers.items():
            times[name][0].append(worker.ask(f"prefill {PROMPT}"))
            times[name][1].append(worker.ask(f"decode {TOKENS}") / TOKENS)
    found = {name: Result(min(times[name][0]), min(times[name][1]), worker.ask("memory"),
                          worker.ask("tokens")) for name, worker in workers.items()}
    for worker in workers.values():
        worker.end()
    print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
    return found


def bytes_of(shape: str, dtype: str) -> int:
    """What one token reads of the weights: all but tables of which it needs a row.

    It grows by as much with each layer and each token of the vocabulary, so small decoders tell.
    """
    tables, its, few = {"embed_tokens.embedding_table", "wpe.embedding_table"}, SHAPES[shape], 64

    def size(layers: int, vocabulary: int) -> int:
        net = in_lamella(its._replace(layers=layers, vocabulary=vocabulary), dtype)
        return sum(p.nbytes for p in net.get_parameters() if p.name not in tables)

    one = size(1, few)
    return one + (its.layers - 1) * (size(2, few) - one) + (
        its.vocabulary // few - 1) * (size(1, 2 * few) - one)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="small shapes, to see that it works")
    parser.add_argument("--only", default="", help="shapes that contain this")
    parser.add_argument("--dtypes", default="float32,bfloat16,int8")
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS), help="which of them")
    parser.add_argument("--rows", default="1", help="sequences at once, such as 1,8")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    memory = worker_of("memory", "", "", "0", threads=given.threads)
    shapes = [s for s in SHAPES if s.endswith("tiny") == given.tiny and given.only in s]
    print(f"{given.threads} threads, prompts of {PROMPT} tokens, PyTorch {torch.__version__}; "
          "the least of each framework's rounds.\n")
    print("| decoder | type | rows | framework | first token | a step | tokens/s "
          "| GB/s of weights | step / limit | peak memory |\n" + "| --- " * 4 + "| ---: " * 6 + "|")
    for shape in shapes:
        for dtype in given.dtypes.split(","):
            for rows in map(int, given.rows.split(",")):
                found = compared(shape, dtype, rows, given)
                speed, read = memory.ask("bandwidth"), bytes_of(shape, dtype)
                for name, result in found.items():
                    print(f"| {shape} | {dtype} | {rows} | {name} | {1e3 * result.first:.0f} ms | "
                          f"{1e3 * result.step:.2f} ms | {rows / result.step:.1f} | "
                          f"{read / result.step / 1e9:.1f} | {result.step * speed / read:.2f} | "
                          f"{result.memory / 2**20:.0f} MiB |", flush=True)
                if dtype == "float32":
                    count = min(len(r.tokens) for r in found.values())
                    assert len({tuple(r.tokens[:count]) for r in found.values()}) == 1, found
                print(f"| {shape} | {dtype} | {rows} | reading the weights, {speed / 1e9:.1f} GB/s "
                      f"| | {1e3 * read / speed:.2f} ms | {rows * speed / read:.1f} | | 1.00 | |",
                      flush=True)
    memory.end()


if __name__ == "__main__":
    main()
