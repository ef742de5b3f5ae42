"""What a process holds and sends in training by several processes, beside what formulas say.

    python -m benchmarks.distributed_memory [--processes 4] [--width 1024]

Measured in real processes: the memory behind weights, gradients (between the backward pass and the
update) and Adam's states; the most memory that tensors took at a time in one step; and what the
process's TCP connections have sent. P is the bytes of the weights.
"""

from __future__ import annotations

import argparse
import os
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.parallel.auto_parallel import AutoParallel

from .distributed import sent_bytes, start_processes, weights_of

WAYS = ("data parallel", "parts, level 1", "parts, level 2", "parts, level 3", "tensor parallel")
ROWS = 16  # of each process; few, so that activations are small


def storage(raw: Any) -> torch.UntypedStorage:
    """The memory behind a tensor, of a DTensor that behind this process's part."""
    return getattr(raw, "_local_tensor", raw).untyped_storage()


def nbytes(raws: Iterable[torch.Tensor]) -> int:
    """The bytes behind tensors: all of what a view is of."""
    return sum({each._cdata: each.nbytes() for each in map(storage, raws)}.values())


class Alive(TorchDispatchMode):
    """Counts the memory of the tensors that operations make, as long as it is there."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.known: weakref.WeakSet[Any] = weakref.WeakSet()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note what it made."""
        for raw in tree_leaves((args, kwargs)):
            if isinstance(raw, torch.Tensor):
                self.known.add(storage(raw))  # was there before, or has been counted
        found = func(*args, **(kwargs or {}))
        for raw in tree_leaves(found):
            if isinstance(raw, torch.Tensor) and (made := storage(raw)) not in self.known:
                self.known.add(made)
                self.now += made.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(made, self._gone, made.nbytes())
        return found

    def _gone(self, count: int) -> None:
        self.now -= count


class Net(nn.Cell):
    """Products without biases; cut by columns and rows in turn where operators are spread."""

    def __init__(self, width: int, spread_over: int):
        super().__init__()
        self.weights = ms.ParameterTuple(ms.Parameter(Tensor(w.T.copy()), name=f"w{i}")
                                         for i, w in enumerate(weights_of(width)))
        self.products: list[Any] = [ops.MatMul() for _ in self.weights]  # type: ignore[call-arg]
        for i, product in enumerate(self.products if spread_over > 1 else ()):
            product.shard(((1, 1), (1, spread_over)) if i % 2 == 0 else
                          ((1, spread_over), (spread_over, 1)))

    def construct(self, x: Tensor) -> Tensor:
        """The mean square of the last layer."""
        for product, weight in zip(self.products, self.weights, strict=True):
            x = ops.tanh(product(x, weight))
        return (x * x).mean()


def measured(way: str, width: int, size: int) -> dict[str, int]:
    """Train three steps in one way; the bytes of what is held and sent in the last."""
    ms.reset_auto_parallel_context()
    net: Any = Net(width, size if way == "tensor parallel" else 1)
    if way == "tensor parallel":
        net = AutoParallel(net)
        net.dataset_strategy("full_batch")
    else:
        ms.set_auto_parallel_context(
            parallel_mode="data_parallel", gradients_mean=True,
            enable_parallel_optimizer=way.startswith("parts"))
    if way.startswith("parts"):
        ms.set_auto_parallel_context(parallel_optimizer_config={
            "optimizer_level": f"level{way[-1]}", "parallel_optimizer_threshold": 0})
    weights = net.trainable_params()
    optimizer = nn.Adam(weights, 1e-3)
    step, found = nn.TrainOneStepCell(net, optimizer), {}
    update: Callable[[Any], Any] = optimizer.construct

    def noting(gradients: Any) -> Any:
        found["gradients"] = nbytes(gradient._raw for gradient in gradients)
        return update(gradients)

    object.__setattr__(optimizer, "construct", noting)
    x = ops.ones((ROWS, 256))
    for _ in range(2):
        step(x)
    before = sent_bytes() or 0
    step(x)
    found["sent"] = (sent_bytes() or 0) - before
    found["weights"] = nbytes(weight._data for weight in weights)
    states = [optimizer.moment1, optimizer.moment2]
    found["states"] = nbytes(state._data for each in states for state in each)
    if way != "tensor parallel":  # where operations are torch's own, on this process's slices
        with Alive() as alive:
            step(x)
        found["most"] = alive.most + found["weights"] + found["states"]
    return found


def expected(way: str, width: int, size: int) -> dict[str, float]:
    """The same by the formulas."""
    whole = sum(weight.nbytes for weight in weights_of(width))
    part = whole if way == "data parallel" else whole / size
    # sums over processes: what two products give, and the gradient by what one is given
    summed = 4 * ROWS * (width + 16 + width)
    sent = {"tensor parallel": 2 * summed, "parts, level 3": 3 * whole}.get(way, 2 * whole)
    return {"weights": part, "states": 2 * part, "gradients": part,
            "sent": sent * (size - 1) / size}


def work(given: argparse.Namespace) -> None:
    """What each process does; the first prints the table."""
    warnings.simplefilter("ignore")
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    whole = sum(weight.nbytes for weight in weights_of(given.width))
    lines = [f"{size} processes, P = {whole / 1e6:.2f} MB\n",
             "| MB of a process | weights | states | gradients | by the formulas | most at a time "
             "| sent | by the formula |", "|---" * 8 + "|"]
    for way in WAYS:
        found, want = measured(way, given.width, size), expected(way, given.width, size)
        held = [found[name] for name in ("weights", "states", "gradients")]
        formula = sum(want[name] for name in ("weights", "states", "gradients"))
        numbers = [*held, formula, found.get("most"), found["sent"], want["sent"]]
        texts = ["" if number is None else f"{number / 1e6:.2f}" for number in numbers]
        lines.append(f"| {way} | {' | '.join(texts)} |")
        apart = abs(sum(held) / formula - 1)
        if apart > 0.05:
            raise SystemExit(f"{way}: what is held is {apart:.1%} from the formulas")
    if rank == 0:
        print("\n".join(lines))


def main() -> None:
    """Start the processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--width", type=int, default=1024)
    given = parser.parse_args()
    if "RANK" in os.environ:
        work(given)
    else:
        start_processes("benchmarks.distributed_memory", given.processes)


if __name__ == "__main__":
    main()
