"""Checkpoints of many processes as one of wholes: a folder of safetensors files with an index.

The files are ``part0.safetensors``, ``part1.safetensors``, ...; ``param_name_map.json`` says which
Parameter is in which, and ``hyper_param.safetensors`` has what is no Parameter.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any

import torch

from ..communication import settings
from ..core.reading import read_json, reading
from ..core.require import of_type
from ..nn.cell import Cell
from ..parallel.parameter_layout import ParameterLayout
from ..tensors.parameter import parameter_around
from ..tensors.tensor import wrap
from .atomic_file import replacing
from .checkpoint import save_checkpoint
from .checkpoint_net import load_param_into_net
from .renaming import one_for_each
from .resharding import cut_slice, files_by_rank, joined, place_of, stage_size
from .safetensors_format import read_safetensors, write_safetensors
from .strategy_files import layouts_of

__all__ = ["load_unified", "unified_safetensors"]

_LARGEST = 3 << 30  # bytes of wholes in a file
_INDEX, _OTHERS = "param_name_map.json", "hyper_param.safetensors"


def unified_safetensors(src_dir: str, src_strategy_file: str, dst_dir: str,
                        merge_with_redundancy: bool = True, file_suffix: str | None = None,
                        max_process_num: int = 64,
                        choice_func: Callable[[str], str | bool] | None = None,
                        split_dst_file: tuple[int, ...] = ()) -> None:
    """Join the safetensors files of all processes to wholes.

    Args:
        src_dir: has a folder ``rank_0``, ``rank_1``, ... for each process.
        src_strategy_file: how the processes cut Parameters.
        dst_dir: where to write files of up to 3 GB of Parameters, and an index of them.
        merge_with_redundancy: accepted as MindSpore does: a slice is taken from a file that has it.
        file_suffix: only files whose names end so are read; default: all. Of several, the last.
        max_process_num: accepted as MindSpore does; one process does it all.
        choice_func: gives for a Parameter's name another name, or False to leave it out.
        split_dst_file: ``(i, n)``: write the i-th of n equal shares of the files; default: all.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `src_dir` is a file, or a process's file or a slice is missing.
    """
    of_type(dst_dir, str, "dst_dir", "unified_safetensors")
    if os.path.isfile(src_dir):
        raise ValueError("For 'unified_safetensors', the 'src_dir' can not be a file.")
    files = files_by_rank(src_dir, f"{file_suffix or ''}.safetensors")
    layouts = layouts_of(src_strategy_file) or {}
    stages = {stage for layout in layouts.values() for stage in layout.stages}
    size = stage_size(layouts)
    for rank in range(size * len(stages)):
        if rank not in files:
            raise ValueError(f"The safetensor file of rank{rank} is needed for converting rank0's "
                             f"safetensor, but it is missing.")
    sizes: dict[str, int] = {}
    for rank, file in files.items():
        for name, raw in read_safetensors(file).items():
            if name in layouts and isinstance(raw, torch.Tensor):
                sizes[name] = raw.nbytes * math.prod(layouts[name].cell(rank % size)[0])
    named = one_for_each("unified_safetensors", lambda name: _chosen(name, choice_func) or None)
    names = {name: new for name in sorted(sizes)
             if not name.startswith("accu_grads") and (new := named(name))}
    parts = _parts({name: sizes[name] for name in names})
    os.makedirs(dst_dir, exist_ok=True)
    for number in _share(len(parts), split_dst_file):
        wholes = _wholes(parts[number], files, layouts)
        write_safetensors(os.path.join(dst_dir, f"part{number}.safetensors"),
                          {names[name]: raw for name, raw in wholes.items()})
    if not split_dst_file or split_dst_file[0] == 1:
        others = read_safetensors(files[0], lambda name: None if name in layouts else name)
        if others:
            write_safetensors(os.path.join(dst_dir, _OTHERS), others)
        index = {names[name]: f"part{number}.safetensors"
                 for number, part in enumerate(parts) for name in part}
        metadata = {"total_size": sum(sizes[name] for part in parts for name in part)}
        with replacing(os.path.join(dst_dir, _INDEX)) as path, open(path, "w") as file:
            json.dump({"metadata": metadata, "weight_map": index}, file, indent=4)


def _chosen(name: str, choice_func: Callable[[str], str | bool] | None) -> str:
    """The name that a Parameter is written under, an empty one for none."""
    chosen = True if choice_func is None else choice_func(name)
    if not isinstance(chosen, (str, bool)):
        raise TypeError(f"For 'unified_safetensors', 'choice_func' must give a str or a bool, but "
                        f"got {chosen!r} for {name!r}.")
    return (name if chosen else "") if isinstance(chosen, bool) else chosen


def _parts(sizes: dict[str, int]) -> list[list[str]]:
    """Which Parameters go into which file."""
    found: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if not found or size > room:
            found.append([])
            room = _LARGEST
        found[-1].append(name)
        room -= size
    return found


def _share(count: int, split: tuple[int, ...]) -> range:
    """The numbers of the files that are to be written."""
    if not split:
        return range(count)
    if len(split) != 2 or not 1 <= split[0] <= split[1]:
        raise ValueError(f"For 'unified_safetensors', 'split_dst_file' must be (i, n) with i from "
                         f"1 to n, but got {split}.")
    number, of = split
    return range(count * (number - 1) // of, count * number // of)


def _wholes(names: list[str], files: dict[int, str], layouts: dict[str, ParameterLayout]
            ) -> dict[str, torch.Tensor]:
    """Parameters put together from the slices in all files."""
    slices: dict[str, dict[tuple[int, ...], Any]] = {name: {} for name in names}
    size = stage_size(layouts)
    for rank, file in files.items():
        for name, raw in read_safetensors(file, lambda n: n if n in slices else None).items():
            slices[name].setdefault(layouts[name].cell(rank % size)[1], raw)
    return {name: joined(name, of, layouts[name].cell(0)[0]) for name, of in slices.items()}


def load_unified(network: Cell | None, folder: str, strategy: Any, dst_dir: str | None,
                 rank_id: int | None, output_format: str, name_map: dict[str, str] | None,
                 return_param_dict: bool) -> Any:
    """What `load_distributed_checkpoint` does with files of `unified_safetensors`.

    Returns:
        What was not loaded, as `load_param_into_net` gives it, or the Parameters by name; None
        where files are written.
    """
    function, layouts = "load_distributed_checkpoint", layouts_of(strategy)
    if network is not None:
        rank = settings._get_global_rank() if rank_id is None else rank_id
        found = {name: parameter_around(raw, name) for name, raw
                 in _slices_of(folder, layouts, rank, name_map or {}).items()}
        return found if return_param_dict else load_param_into_net(network, found)
    if dst_dir is None:
        raise ValueError(f"For '{function}', 'dst_safetensors_dir' must be given where 'network' "
                         f"is None.")
    stages = {stage for layout in (layouts or {}).values() for stage in layout.stages}
    count = stage_size(layouts) * (len(stages) or 1)
    for rank in range(count) if rank_id is None else [rank_id]:
        where = os.path.join(dst_dir, f"rank_{rank}")
        os.makedirs(where, exist_ok=True)
        found = _slices_of(folder, layouts, rank, name_map or {})
        save_checkpoint([{"name": name, "data": wrap(raw)} for name, raw in found.items()],
                        os.path.join(where, f"net.{output_format}"), format=output_format)
    return None


def _slices_of(folder: str, layouts: dict[str, ParameterLayout] | None, rank: int,
               name_map: dict[str, str]) -> dict[str, torch.Tensor]:
    """One process's slices of the wholes in a folder.

    Args:
        name_map: by the name of a Parameter, the one that it has in the files.
    """
    own_names = {there: name for name, there in name_map.items()}
    stage, local = place_of(rank, layouts)
    found: dict[str, torch.Tensor] = {}
    for file in _files_in(folder):
        for there, raw in read_safetensors(os.path.join(folder, file)).items():
            name = own_names.get(there, there)
            layout = (layouts or {}).get(name)
            if not isinstance(raw, torch.Tensor) or layout is not None and (
                    stage not in layout.stages):
                continue
            if layout is not None:
                raw = cut_slice(name, raw, layout, local)
            elif layouts is not None and file != _OTHERS:
                continue
            found[name] = raw
    return found


def _files_in(folder: str) -> list[str]:
    """The files of a folder that `unified_safetensors` wrote, or the only one."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors"))
    index = os.path.join(folder, _INDEX)
    if os.path.isfile(index):
        content = read_json("load_distributed_checkpoint", index)
        with reading("load_distributed_checkpoint", index):
            used = set(content.get("weight_map", content).values())
        return [name for name in names if name in used or name == _OTHERS]
    if len([name for name in names if name != _OTHERS]) != 1:
        raise ValueError(f"For 'load_distributed_checkpoint', the folder '{folder}' must have one "
                         f"safetensors file, or the index '{_INDEX}'.")
    return names
