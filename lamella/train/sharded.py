"""A training run in many processes as one checkpoint, of which each process writes what it holds.

By torch's distributed checkpoint: Parameters that are cut in parts are written as parts, by each
process its own, those of a stage of a pipeline by its first process, and others by process 0. A
world of any size, with any sharding, reads them. Beside them lies what `save_run` keeps: random
generators and numbers in Python, of each process.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..communication import exchange
from ..communication.groups import Group, group_of
from ..nn.cell import Cell
from ..nn.checks import of_type
from ..parallel.parts import PartParameter
from ..tensors.parameter import Parameter
from ..tensors.tensor import wrap
from .atomic_file import replacing
from .resume import check_names, put_back, run_state, state_in

__all__ = ["load_sharded", "save_sharded"]

_CURRENT = "current"  # the file that names the folder with the newest complete checkpoint
# what a checkpoint's folder holds, and a file of it that is still being written
_OURS = re.compile(r"__\d+_\d+\.distcp|\.metadata(\.tmp)?|process_\d+\.json"
                   r"|\.process_\d+\.json\..*\.tmp")


def save_sharded(folder: str, network: Cell, rows: Any = None, **more: Any) -> None:
    """Write a run's whole state; every process calls this, and writes what it holds.

    The new checkpoint takes the place of an old one when all processes have written: whoever is
    killed before leaves the old one.

    Args:
        folder: where; a file system that all processes see. It is made if it isn't there.
        network: the Cell of a training step, with its optimizer.
        rows: the iterator over this process's data, which has a ``state_dict``.
        **more: numbers, texts, arrays, and lists, tuples and dicts of them, of this process.

    Raises:
        TypeError: if `folder` is no path, `network` no Cell, or `more` holds something else.
        ValueError: if two Parameters have one name.
        OSError: if the folder can't be written.
        RuntimeError: if another process couldn't write, or has ended.

    Examples:
        >>> import tempfile
        >>> import lamella as ms
        >>> from lamella.train.sharded import load_sharded, save_sharded
        >>> folder, net = tempfile.mkdtemp(), ms.nn.Dense(2, 2)
        >>> save_sharded(folder, net, step=7)
        >>> load_sharded(folder, net)
        {'step': 7}
    """
    from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    from .sharded_reader import checksum  # which needs them too

    _check("save_sharded", folder, network)
    group = group_of(None, "save_sharded")
    held = {name: _held(p, p._data) for name, p in _parameters("save_sharded", network).items()
            if not p._data.is_meta}
    state = run_state(rows, more)
    old, number = _begin(folder) if group.rank == 0 else (0, 0)
    number = _agreed(number, group)
    new = os.path.join(folder, str(number))
    with _as_errors("save_sharded", folder):
        save(held, storage_writer=FileSystemWriter(new), process_group=group.process_group,
             no_dist=group.size == 1, planner=DefaultSavePlanner(dedup_save_to_lowest_rank=True))
    sums = {name: checksum(os.path.join(new, name)) for name in os.listdir(new)
            if name.startswith(f"__{group.rank}_") or not group.rank and name == ".metadata"}
    with replacing(_state_file(new, group.rank)) as path, open(path, "w", encoding="utf-8") as file:
        json.dump({"size": group.size, "state": state, "files": sums,
                   "crc": zlib.crc32(state.encode())}, file)
    exchange.barrier("save_sharded", group)
    if group.rank == 0:
        with replacing(os.path.join(folder, _CURRENT)) as path, open(path, "w") as file:
            file.write(str(number))
        if old:
            shutil.rmtree(os.path.join(folder, str(old)), ignore_errors=True)
    exchange.barrier("save_sharded", group)


def load_sharded(folder: str, network: Cell, rows: Any = None) -> dict[str, Any]:
    """Put everything back as `save_sharded` found it; every process calls this.

    In a world of as many processes, random generators and `rows` go on where they were; in another
    one, only Parameters are put back.

    Args:
        folder: where `save_sharded` has written.
        network: a Cell as the one that was saved; its Parameters may be cut in other parts.
        rows: a new iterator over the same data.

    Returns:
        What this process gave `save_sharded` as ``more``; what process 0 did, in a world of another
        size.

    Raises:
        TypeError: if `folder` is no path, or `network` no Cell.
        ValueError: if there is no complete checkpoint, or `rows` are given in a world of another
            size.
        RuntimeError: if the network has other Parameters, or the checkpoint is damaged; in some
            processes ValueError, which names the file.
    """
    from torch.distributed.checkpoint.state_dict_loader import load

    from .sharded_reader import Planner, Reader, check_files  # which needs them too

    _check("load_sharded", folder, network)
    group = group_of(None, "load_sharded")
    number = _current(folder)
    if number == 0:
        raise ValueError(f"For 'load_sharded', there is no complete checkpoint in '{folder}'.")
    where = os.path.join(folder, str(number))
    size, state = _state(where, 0)
    if size == group.size:
        size, state = _state(where, group.rank)
    elif rows is not None:
        raise ValueError(f"For 'load_sharded', '{folder}' was written by {size} processes: it has "
                         f"no place in the 'rows' of one of {group.size}.")
    problem = None
    try:  # each process looks at its share of the files
        for rank in range(group.rank, size, group.size):
            check_files(where, _described(where, rank).get("files", {}))
    except (ValueError, OSError) as error:
        problem = error
    exchange.raise_in_all("load_sharded", problem, group)
    parameters, reader = _parameters("load_sharded", network), Reader(where)
    check_names("load_sharded", folder, set(parameters), set(reader.tensors))
    for name, parameter in parameters.items():
        kind = parameter.shape, parameter._data.dtype
        if reader.tensors[name] != kind:
            raise RuntimeError(f"For 'load_sharded', Parameter {name!r} is {kind} in the network, "
                               f"but {reader.tensors[name]} in '{folder}'.")
    found = {name: torch.empty_like(p._data) for name, p in parameters.items()
             if not p._data.is_meta}
    with _as_errors("load_sharded", folder):
        load({name: _held(parameters[name], raw) for name, raw in found.items()},
             storage_reader=reader, planner=Planner(), process_group=group.process_group,
             no_dist=group.size == 1)
    for name, raw in found.items():
        parameters[name].set_data(wrap(raw), slice_shape=True)
    return put_back(state, rows) if size == group.size else state["more"]


def _check(function: str, folder: Any, network: Any) -> None:
    of_type(folder, (str, os.PathLike), "folder", function)
    of_type(network, Cell, "network", function)


def _parameters(function: str, network: Cell) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for _, parameter in network.parameters_and_names():
        if found.setdefault(parameter.name, parameter.init_data()) is not parameter:
            raise ValueError(f"For '{function}', two Parameters have the name "
                             f"{parameter.name!r}. Give each a name of its own.")
    return found


def _held(parameter: Parameter, raw: torch.Tensor) -> torch.Tensor:
    """What this process holds, as torch's checkpoints know it: a part as a DTensor."""
    return parameter.placement.around(raw) if isinstance(parameter, PartParameter) else raw


def _begin(folder: str) -> tuple[int, int]:
    """Make the folder for a new checkpoint, and remove those that were left unfinished.

    Folders with other files are the user's, whatever their names.

    Returns:
        The number of the last checkpoint, 0 if there is none, and that of the new one.
    """
    os.makedirs(folder, exist_ok=True)
    current = _current(folder)
    for entry in os.scandir(folder):
        if entry.name.isdecimal() and entry.is_dir() and int(entry.name) != current and all(
                _OURS.fullmatch(name) for name in os.listdir(entry)):
            shutil.rmtree(entry)
    new = next(n for n in itertools.count(current + 1)
               if not os.path.lexists(os.path.join(folder, str(n))))
    os.mkdir(os.path.join(folder, str(new)))
    return current, new


def _current(folder: str) -> int:
    """The number of the newest complete checkpoint; 0 if there is none."""
    path = os.path.join(folder, _CURRENT)
    if not os.path.isfile(path):
        return 0
    with open(path, "rb") as file:
        text = file.read(40)
    if not text.isdigit() or len(text) > 18:
        raise ValueError(f"The file '{path}' must hold the number of a checkpoint, but has "
                         f"{text!r}.")
    return int(text)


def _agreed(number: int, group: Group) -> int:
    """The number that process 0 has."""
    return int(exchange.broadcast("save_sharded", torch.tensor(number), group.ranks[0], group))


def _state_file(folder: str, rank: int) -> str:
    return os.path.join(folder, f"process_{rank}.json")


def _state(folder: str, rank: int) -> tuple[int, dict[str, Any]]:
    """How many processes wrote a checkpoint, and the state of one of them."""
    found = _described(folder, rank)
    try:
        state = state_in(found["state"])
        return int(found["size"]), state
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _damaged(_state_file(folder, rank), repr(error)) from error


def _described(folder: str, rank: int) -> dict[str, Any]:
    """What one of the processes wrote down; `crc` is a checksum of its state."""
    path = _state_file(folder, rank)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if not 0 < found["size"] < 1 << 20:
            raise ValueError(f"it says that there were {found['size']} processes")
        if found.get("crc", 0) and found["crc"] != zlib.crc32(found["state"].encode()):
            raise ValueError("its checksum differs")
        return found
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, why: str) -> ValueError:
    return ValueError(f"For 'load_sharded', the file '{path}' is damaged: {why}.")


@contextmanager
def _as_errors(function: str, folder: str) -> Iterator[None]:
    """Name the function in errors; torch's own no ``except Exception`` would catch."""
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")
            yield
    except CheckpointException as error:
        causes = {str(cause[0]) for cause in error.failures.values()}
        raise RuntimeError(f"For '{function}', the checkpoint in '{folder}' failed in processes "
                           f"{sorted(error.failures)}: {'; '.join(sorted(causes))}") from error
    except RuntimeError as error:  # as when another process has ended
        raise RuntimeError(f"For '{function}', the checkpoint in '{folder}' failed: "
                           f"{error}") from error
