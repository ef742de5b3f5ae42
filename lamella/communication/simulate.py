"""`simulate`: runs one process of many, and counts the exchanges and the memory of the program.

The processes of a world run one after the other in this one, by torch's ``fake`` backend. Data from
other processes are missing, so numbers mean nothing, but shapes, bytes and the order of exchanges
are those of the real program. The sequences of the processes of each group are compared: if they
differ, the real program would deadlock or raise an error.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from ..tensors.tensor import Tensor
from . import exchange, groups, joining
from .exchange import Exchange

__all__ = ["Costs", "Simulation", "fitted_costs", "simulate"]

_ALL = 16  # up to so many processes, all are run


class Costs(NamedTuple):
    """The cost model of a message: ``latency + bytes / bandwidth`` (Hockney 1994).

    Attributes:
        latency: seconds.
        bandwidth: bytes a second.
    """

    latency: float
    bandwidth: float


def fitted_costs(nbytes: Sequence[float], seconds: Sequence[float]) -> Costs:
    """The costs that fit measured messages best, by least squares.

    Args:
        nbytes: the sizes of messages.
        seconds: how long each took.

    Raises:
        ValueError: unless there are two sizes or more, and larger messages take longer.

    Examples:
        >>> from lamella.communication.simulate import fitted_costs
        >>> costs = fitted_costs([0.0, 1e6, 2e6], [1e-4, 2e-4, 3e-4])
        >>> print(f"{costs.latency:.6f} s, {costs.bandwidth:.3g} bytes a second")
        0.000100 s, 1e+10 bytes a second
    """
    if len(nbytes) != len(seconds) or len(set(nbytes)) < 2:
        raise ValueError(f"For 'fitted_costs', there must be a time for each message, and messages "
                         f"of two sizes, but got {list(nbytes)} and {list(seconds)}.")
    sizes = torch.tensor([[1.0, n] for n in nbytes], dtype=torch.float64)
    times = torch.tensor(seconds, dtype=torch.float64).unsqueeze(1)
    latency, slope = torch.linalg.lstsq(sizes, times).solution.flatten().tolist()
    if slope <= 0:
        raise ValueError("For 'fitted_costs', larger messages must take longer, but those that "
                         "were measured don't.")
    return Costs(max(latency, 0.0), 1 / slope)


class Simulation:
    """The result of a simulation: what processes of a world would send and hold.

    Attributes:
        size: the number of processes of the world.
        exchanges: by rank, the exchanges in their order.
        held: by rank, the bytes of the Parameters in what the program returned.
    """

    def __init__(self, size: int):
        self.size = size
        self.exchanges: dict[int, list[Exchange]] = {}
        self.held: dict[int, int] = {}

    def sent(self, rank: int = 0) -> dict[str, float]:
        """The bytes that a process sends, by kind of exchange, where rings are used.

        Of a tensor of P bytes among N processes ``all_reduce`` sends 2 P (N-1) / N, a process's
        part of P bytes in ``all_gather`` goes to N-1 others, ``all_to_all`` and
        ``reduce_scatter`` keep 1 / N.
        """
        found: dict[str, float] = defaultdict(float)
        for each in self.exchanges[rank]:
            found[each.kind] += _sent(each)
        return dict(found)

    def predicted_seconds(self, costs: Costs, rank: int = 0) -> float:
        """A prediction of the time of a process's exchanges, one after the other.

        It ignores computation, shared links and overlap.
        """
        return sum(_steps(each) * costs.latency + _sent(each) / costs.bandwidth
                   for each in self.exchanges[rank])

    def check(self) -> None:
        """Check that the processes of each group make the same exchanges in the same order.

        Raises:
            RuntimeError: if they don't.
        """
        sequences: dict[tuple[str, tuple[int, ...]], dict[int, list[Exchange]]] = {}
        for rank, exchanges in self.exchanges.items():
            for each in exchanges:
                group = sequences.setdefault((each.group.name, tuple(each.group.ranks)), {})
                group.setdefault(rank, []).append(each)
        for (name, ranks), found in sequences.items():
            members = [rank for rank in ranks if rank in self.exchanges]
            first = [each for each in found.get(members[0], []) if each.kind != "message"]
            for rank in members[1:]:
                theirs = [each for each in found.get(rank, []) if each.kind != "message"]
                _compare(name, members[0], first, rank, theirs)
        self._check_messages()

    def _check_messages(self) -> None:
        """Check that what is sent is received: as many messages of each size and type."""
        sent: Counter[tuple[str, int, int, str]] = Counter()
        for rank, exchanges in self.exchanges.items():
            for each in exchanges:
                if each.kind == "message":
                    where, _, form = each.what.partition(" of ")
                    way, other = where.split("(")[1].rstrip(")").split()
                    if int(other) in self.exchanges:
                        source, target = ((rank, int(other)) if way == "to"
                                          else (int(other), rank))
                        sent[each.group.name, source, target, form] += 1 if way == "to" else -1
        for (name, source, target, form), count in sent.items():
            if count:
                what = "sends" if count > 0 else "does not send"
                raise RuntimeError(f"In group {name!r}, process {source} {what} {abs(count)} "
                                   f"messages of {form} that process {target} "
                                   f"{'does not receive' if count > 0 else 'waits for'}.")


def _sent(each: Exchange) -> float:
    size = each.group.size
    share = {"all_reduce": 2 * (size - 1) / size, "all_gather": size - 1,
             "all_to_all": (size - 1) / size, "reduce_scatter": (size - 1) / size}
    return each.nbytes * share.get(each.kind, 1)


def _steps(each: Exchange) -> int:
    size = each.group.size
    return {"all_reduce": 2 * (size - 1), "message": 1}.get(each.kind, size - 1)


def _compare(name: str, one: int, first: list[Exchange], rank: int,
             second: list[Exchange]) -> None:
    for number in range(max(len(first), len(second))):
        one_makes, other_makes = (
            f"{each[number].what} for '{each[number].name}'" if number < len(each) else "nothing"
            for each in (first, second))
        if one_makes.split(" for ")[0] != other_makes.split(" for ")[0]:
            raise RuntimeError(f"In group {name!r}, exchange {number + 1} of process {one} is "
                               f"{one_makes}, but that of process {rank} is {other_makes}: they "
                               f"would wait for each other.")


def simulate(program: Callable[[], Any], size: int,
             ranks: Iterable[int] | None = None) -> Simulation:
    """Run a program as processes of a simulated world, one after the other.

    Args:
        program: a function that calls `communication.init` and does the work of a process, such as
            one step of training. Parameters of the Cells that it returns are counted.
        size: the number of processes of the world.
        ranks: which of them to run; default: all up to 16, else the first two, the middle one and
            the last.

    Returns:
        Their exchanges and memory; the sequences have been compared.

    Raises:
        ValueError: if `size` is no positive int, or a rank isn't one of the world's.
        RuntimeError: if processes have been joined already, or sequences of exchanges differ.

    Examples:
        >>> import lamella as ms
        >>> from lamella.communication import init
        >>> from lamella.communication.simulate import simulate
        >>> def program():
        ...     init()
        ...     return ms.ops.AllReduce()(ms.ops.ones(1000))
        >>> simulate(program, 4).sent()
        {'all_reduce': 6000.0}
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"For 'simulate', 'size' must be a positive int, but got {size!r}.")
    chosen = list(ranks) if ranks is not None else list(range(size)) if size <= _ALL else [
        0, 1, size // 2, size - 1]
    for rank in chosen:
        if not isinstance(rank, int) or not 0 <= rank < size:
            raise ValueError(f"For 'simulate', 'ranks' must be in [0, {size}), but got {rank!r}.")
    found = Simulation(size)
    for rank in chosen:
        with _world(rank, size), _watched() as exchanges:
            found.held[rank] = _held(program())
        found.exchanges[rank] = exchanges
    found.check()
    return found


@contextlib.contextmanager
def _world(rank: int, size: int) -> Iterator[None]:
    """Act as a process of a simulated world."""
    if groups.GlobalComm.INITED or dist.is_initialized():
        raise RuntimeError("For 'simulate', processes have been joined already; call "
                           "'communication.release' first.")
    joining.join_simulated(rank, size)
    try:
        yield
    finally:
        groups.release()
        if dist.is_initialized():
            dist.destroy_process_group()


@contextlib.contextmanager
def _watched() -> Iterator[list[Exchange]]:
    seen: list[Exchange] = []
    before, exchange.watcher = exchange.watcher, seen.append
    try:
        yield seen
    finally:
        exchange.watcher = before


def _held(result: Any) -> int:
    """The bytes of the Parameters in a structure of Cells and Tensors."""
    if isinstance(result, (tuple, list)):
        return sum(map(_held, result))
    if hasattr(result, "get_parameters"):
        return sum(parameter._data.nbytes for parameter in result.get_parameters()
                   if not parameter._data.is_meta)  # those of other stages of a pipeline
    return result._raw.nbytes if isinstance(result, Tensor) else 0
