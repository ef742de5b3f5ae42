"""What works on this machine's accelerator: a part of ``python -m lamella doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ..communication.joining import library_of
from ..core import context
from ..device import kinds
from ..graph.runtime.capture import Captured

__all__ = ["Outcome", "check_device"]

STEPS = 4
# how far products of each type may be from those in float64, relative to the largest element
TYPES = {torch.float64: 1e-10, torch.float32: 5e-3, torch.float16: 2e-2, torch.bfloat16: 5e-2}
LOSSES = 5e-3  # how far losses may be from the CPU's, relatively: float32 may be rounded to tf32


class Outcome(NamedTuple):
    """What a check found.

    Attributes:
        what: what was tried.
        works: whether the device did it, and right.
        text: what was seen, or why it doesn't work.
    """

    what: str
    works: bool
    text: str


class _Wrong(Exception):
    """A result that isn't what it should be."""


def check_device() -> list[Outcome]:
    """Try on the current device what programs need: products, training steps, graphs, exchanges.

    Examples:
        >>> from lamella.commands.device_check import check_device
        >>> for outcome in check_device():  # doctest: +SKIP
        ...     print(outcome.what, outcome.works, outcome.text)
        product in float32 True within 2e-07 of float64
    """
    device = context.current_device()
    tries: dict[str, Callable[[], str]] = {
        f"product in {str(kind).removeprefix('torch.')}": lambda kind=kind: _product(device, kind)
        for kind in TYPES}
    tries["training step"] = lambda: _training(compiled=False)
    tries["compiled training step"] = lambda: _training(compiled=True)
    tries["captured step"] = lambda: _captured(device)
    tries["exchange between processes"] = lambda: _exchanged(device)
    return [_outcome(what, attempt) for what, attempt in tries.items()]


def _outcome(what: str, attempt: Callable[[], str]) -> Outcome:
    try:
        return Outcome(what, True, attempt())
    except Exception as reason:  # noqa: BLE001  (of any library; the report names it)
        text = (str(reason).strip().splitlines() or [""])[0]
        name = "" if isinstance(reason, _Wrong) else f"{type(reason).__name__}: "
        return Outcome(what, False, f"{name}{text}"[:200])


def _product(device: torch.device, kind: torch.dtype) -> str:
    stream = torch.Generator().manual_seed(0)
    a, b = (torch.randn(96, 96, generator=stream, dtype=torch.float64) for _ in range(2))
    found = (a.to(device, kind) @ b.to(device, kind)).cpu().double()
    return _near(found, a.to(kind).double() @ b.to(kind).double(), TYPES[kind], "of float64")


def _near(found: torch.Tensor, wanted: torch.Tensor, most: float, of: str) -> str:
    off = float((found - wanted).abs().max() / wanted.abs().max())
    if not off <= most:
        raise _Wrong(f"it is {off:.0e} from what it should be")
    return f"within {max(off, 1e-16):.0e} {of}"


@contextmanager
def _on_the_cpu() -> Iterator[None]:
    """A block in which the program's device is the CPU."""
    before = context.get_context("device_target"), context.current_device().index or 0
    context.set_device("CPU", 0)
    try:
        yield
    finally:
        context.set_device(*before)


def _training(compiled: bool) -> str:
    found = _losses(compiled)
    with _on_the_cpu():
        wanted = _losses(compiled=False)
    if not wanted[-1] < wanted[0]:
        raise _Wrong("the CPU's loss doesn't fall")
    return _near(torch.tensor(found), torch.tensor(wanted), LOSSES, "of the CPU's losses")


def _losses(compiled: bool) -> list[float]:
    import lamella as ms  # as programs do
    from lamella import nn, ops  # as programs do

    ms.set_seed(0)
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3, pad_mode="same"), nn.BatchNorm2d(4), nn.ReLU(),
                            nn.Flatten(), nn.Dense(256, 5))
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    gradient: Any = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None,
                                      optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    run = ms.jit(step) if compiled else step
    x = ms.Tensor(torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(1)).numpy())
    y = ms.Tensor([i % 5 for i in range(8)], ms.int32)
    return [float(run(x, y)) for _ in range(STEPS)]


def _captured(device: torch.device) -> str:
    if kinds.graphs_of(device) is None:
        raise _Wrong("the device has no captured graphs")
    weight = torch.arange(16.0).reshape(4, 4).to(device)

    def run(values: list[torch.Tensor]) -> list[torch.Tensor]:
        return [(values[0] @ values[1]).relu()]

    captured = Captured(run, [torch.ones(4, 4, device=device), weight], [False, True])
    for number in (2.0, -3.0):
        x = torch.full((4, 4), number, device=device)
        _near(captured([x, weight])[0].cpu() + 1, run([x, weight])[0].cpu() + 1, 1e-4, "")
    return "replays give what its kernels give"


def _exchanged(device: torch.device) -> str:
    import torch.distributed as dist

    if not dist.is_available() or dist.is_initialized():
        raise _Wrong("this process is in a world of others already" if dist.is_available()
                     else "PyTorch was built without it")
    library = library_of(device.type)
    store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
    dist.init_process_group(library, store=store, rank=0, world_size=1)
    try:
        x = torch.arange(4.0, device=device)
        dist.all_reduce(x)
        if x.tolist() != [0.0, 1.0, 2.0, 3.0]:
            raise _Wrong(f"the sum over one process is {x.tolist()}")
    finally:
        dist.destroy_process_group()
    return f"by {library}, in a world of one process"
