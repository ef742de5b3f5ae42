"""Training in two processes beside PyTorch's DistributedDataParallel and FSDP2, in the same run.

    python -m benchmarks.distributed [--steps 40] [--width 1024] [--batch 64]

All contestants live in the same two processes and take turns, step by step, between barriers, every
other round in the opposite order; a step's time is that of the slower process. What is said beside
PyTorch is the median of the rounds' ratios, and its quartiles: other programs on the machine, which
come and go, slow both steps of a round. Bytes are what the
processes' TCP connections have sent; memory is what a process holds of weights, gradients and
states between the backward pass and the update.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

_BYTES_SENT = 200  # where Linux keeps it in `struct tcp_info`


def sent_bytes() -> int | None:
    """What the TCP connections of this process have sent, as the kernel counts; None where it
    doesn't."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError, struct.error):
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                if connection.type == socket.SOCK_STREAM and connection.family in (
                        socket.AF_INET, socket.AF_INET6):
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    total += struct.unpack_from("=Q", info, _BYTES_SENT)[0]
    return total or None


class Contestant:
    """One way to train the network: a step, and what it holds."""

    def __init__(self, name: str, step: Callable[[], float], held: Callable[[], int]):
        self.name, self.step, self.held = name, step, held
        self.times: list[float] = []
        self.losses: list[float] = []
        self.sent: int | None = None


def weights_of(width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    sizes = [256, width, width, width, 16]
    return [(rng.standard_normal((n, m)) / m**0.5).astype(np.float32)
            for m, n in zip(sizes, sizes[1:], strict=False)]


def _data(batch: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets; each input comes twice, with different targets, so no network fits them
    and no number becomes so small that it takes the processor longer."""
    rng = np.random.default_rng(rank)
    inputs = np.resize(rng.standard_normal(((batch + 1) // 2, 256)), (batch, 256))
    return inputs.astype(np.float32), rng.standard_normal((batch, 16)).astype(np.float32)


def torch_contestant(name: str, width: int, batch: int, rank: int) -> Contestant:
    import torch
    from torch import nn

    layers: list[Any] = []
    for weight in weights_of(width):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data.copy_(torch.from_numpy(weight))
        layer.bias.data.zero_()
        layers += [layer, nn.ReLU()]
    net: Any = nn.Sequential(*layers[:-1])
    if name == "DDP":
        net = nn.parallel.DistributedDataParallel(net)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        for layer in net:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh, reshard_after_forward=False)
        fully_shard(net, mesh=mesh, reshard_after_forward=False)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    x, y = map(torch.from_numpy, _data(batch, rank))
    counted = 0

    def nbytes(tensor: Any) -> int:
        return getattr(tensor, "_local_tensor", tensor).nbytes

    def step() -> float:
        nonlocal counted
        optimizer.zero_grad(set_to_none=True)
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        counted = sum(nbytes(p) + nbytes(p.grad) for p in net.parameters())
        optimizer.step()
        return float(loss.detach())

    def held() -> int:
        return counted + sum(nbytes(v) for state in optimizer.state.values()
                             for v in state.values() if v.dim())

    return Contestant(name, step, held)


def lamella_contestant(name: str, width: int, batch: int, rank: int) -> Contestant:
    import lamella as ms
    from lamella import Tensor, nn

    ms.set_auto_parallel_context(
        parallel_mode="data_parallel", gradients_mean=True,
        enable_parallel_optimizer=name == "Lamella, in parts",
        parallel_optimizer_config={"parallel_optimizer_threshold": 0})
    layers: list[Any] = []
    for weight in weights_of(width):
        layers += [nn.Dense(weight.shape[1], weight.shape[0], weight_init=Tensor(weight),
                            bias_init="zeros"), nn.ReLU()]
    net: Any = nn.SequentialCell(*layers[:-1])
    if name == "Lamella, wrapped":
        from lamella.parallel.distributed import DistributedDataParallel

        net = DistributedDataParallel(net)
    loss = nn.WithLossCell(net, nn.MSELoss())
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    train = nn.TrainOneStepCell(loss, optimizer)
    x, y = map(Tensor, _data(batch, rank))
    update, counted = optimizer.construct, 0

    def counting(gradients: Any) -> Any:
        nonlocal counted
        counted = sum(getattr(g._raw, "_local_tensor", g._raw).nbytes for g in gradients)
        return update(gradients)

    object.__setattr__(optimizer, "construct", counting)

    def held() -> int:
        return counted + sum(p._data.nbytes for p in train.get_parameters() if p._data.dim())

    if name != "Lamella, wrapped":
        return Contestant(name, lambda: float(train(x, y)), held)
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    def step() -> float:
        value, gradients = gradient(x, y)
        optimizer(gradients)
        net.zero_grad()
        return float(value)

    return Contestant(name, step, held)


NAMES = ("DDP", "Lamella, data parallel", "Lamella, wrapped", "FSDP2", "Lamella, in parts")


def _turns(contestants: list[Contestant], steps: int) -> Iterator[tuple[Contestant, float]]:
    """Let the contestants take turns; the time of each step, of the slower process."""
    import torch
    import torch.distributed as dist

    for number in range(steps):
        for each in contestants if number % 2 == 0 else reversed(contestants):
            dist.barrier()
            before = sent_bytes()
            start = time.perf_counter()
            each.losses.append(each.step())
            taken = torch.tensor(time.perf_counter() - start, dtype=torch.float64)
            after = sent_bytes()
            if before is not None and after is not None:
                each.sent = after - before
            dist.all_reduce(taken, dist.ReduceOp.MAX)
            yield each, float(taken)


def work(given: argparse.Namespace) -> None:
    """What each of the two processes does."""
    warnings.simplefilter("ignore")
    from lamella import communication

    communication.init()
    rank = communication.get_rank()
    contestants = []
    for name in NAMES:
        make = lamella_contestant if name.startswith("Lamella") else torch_contestant
        contestants.append(make(name, given.width, given.batch, rank))
    for _ in _turns(contestants, 3):
        pass  # warm up
    for each, seconds in _turns(contestants, given.steps):
        each.times.append(seconds)
    if rank:
        return
    size = sum(weight.nbytes + 4 * len(weight) for weight in weights_of(given.width))
    print(f"Parameters: {size / 1e6:.2f} MB. Least that a process has to send in a step, "
          f"2 P (N-1) / N: {size / 1e6:.2f} MB.\n")
    print("| | ms a step | to PyTorch's | quartiles | MB sent | MB held | last loss |")
    print("|---|---|---|---|---|---|---|")
    beside = contestants[0]
    for each in contestants:
        if not each.name.startswith("Lamella"):
            beside = each
        ratios = [mine / theirs for mine, theirs in zip(each.times, beside.times, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        sent = "" if each.sent is None else f"{each.sent / 1e6:.2f}"
        print(f"| {each.name} | {statistics.median(each.times) * 1e3:.1f} | {middle:.2f} "
              f"| {low:.2f} to {high:.2f} | {sent} | {each.held() / 1e6:.2f} "
              f"| {each.losses[-1]:.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    if "RANK" in os.environ:
        work(given)
    else:
        start_processes("benchmarks.distributed", 2)


def start_processes(module: str, count: int) -> NoReturn:
    """Run a module, with the arguments of this program, as several processes, and end with them."""
    from torch.distributed import TCPStore

    # kept here, where it has chosen its port itself: no other program can take that
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    processes = [subprocess.Popen(
        [sys.executable, "-m", module, *sys.argv[1:]],
        env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True",
             "OMP_NUM_THREADS": "1"}) for rank in range(count)]
    sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    main()
