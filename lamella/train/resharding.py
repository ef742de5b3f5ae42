"""Checkpoints of a job in many processes, made fit for another arrangement of processes.

Each Parameter is put together from the slices of the processes that have it, and cut anew; one
after the other, so that what is in memory is the slices of one process more than a whole.
"""

from __future__ import annotations

import glob
import math
import os
from typing import Any

import torch

from ..parallel.parameter_layout import ParameterLayout
from ..tensors.parameter import Parameter, parameter_around
from ..tensors.tensor import wrap
from .checkpoint import load_checkpoint, save_checkpoint
from .strategy_files import layouts_of

__all__ = ["convert_checkpoint_by_rank", "convert_checkpoints", "cut_slice", "files_by_rank",
           "joined", "merge_sliced_parameter", "merged", "place_of",
           "rank_list_for_convert", "rank_list_for_transform", "stage_size",
           "transform_checkpoint_by_rank", "transform_checkpoints"]


def _whole(dims: int) -> ParameterLayout:
    return ParameterLayout((1,), ((),) * dims)


def stage_size(layouts: dict[str, ParameterLayout] | None) -> int:
    """The number of processes of a stage."""
    return next(iter(layouts.values())).size if layouts else 1


def _overlaps(layout: ParameterLayout, rank: int, other: ParameterLayout, theirs: int) -> bool:
    """Whether two processes have elements of a Parameter in common."""
    counts, index = layout.cell(rank)
    others, place = other.cell(theirs)
    return all(i * d < (j + 1) * c and j * c < (i + 1) * d
               for c, i, d, j in zip(counts, index, others, place, strict=True))


def _both(src_strategy_file: Any, dst_strategy_file: Any) -> tuple[Any, Any]:
    for argument, given in (("src_strategy_file", src_strategy_file),
                            ("dst_strategy_file", dst_strategy_file)):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"The {argument} should be a str, but got {type(given)}.")
    return layouts_of(src_strategy_file), layouts_of(dst_strategy_file)


def rank_list_for_transform(rank_id: int, src_strategy_file: str | None = None,
                            dst_strategy_file: str | None = None) -> list[int]:
    """Whose checkpoints are needed to make that of one process in another arrangement.

    Args:
        rank_id: the process in the new arrangement.
        src_strategy_file: how the old one cuts Parameters; None: not at all.
        dst_strategy_file: how the new one does; None: not at all.

    Returns:
        The ranks in the old arrangement, descending.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a file isn't there, or has no layouts.
    """
    if not isinstance(rank_id, int) or isinstance(rank_id, bool):
        raise TypeError(f"The rank_id should be a int, but got {rank_id!r}.")
    return _needed_by(rank_id, *_both(src_strategy_file, dst_strategy_file))


def _needed_by(rank_id: int, source: dict[str, ParameterLayout] | None,
               target: dict[str, ParameterLayout] | None) -> list[int]:
    """The same, of layouts that have been read."""
    if source is None:
        return [0]
    if not source:
        raise ValueError("The src_strategy_file is empty.")
    size, stage, rank = stage_size(source), *place_of(rank_id, target)
    found: set[int] = set()
    for name, layout in source.items():
        wanted = target.get(name) if target is not None else _whole(len(layout.axes))
        if wanted is None or target is not None and stage not in wanted.stages:
            continue
        seen = set()  # of processes that hold the same, the first will do
        for theirs in range(size):
            cell = layout.cell(theirs)
            if cell not in seen and _overlaps(wanted, rank, layout, theirs):
                seen.add(cell)
                found.update(part * size + theirs for part in layout.stages)
    return sorted(found, reverse=True)


def place_of(rank_id: int, layouts: dict[str, ParameterLayout] | None) -> tuple[int, int]:
    """The stage of a process, and its rank there."""
    size = stage_size(layouts)
    return (rank_id // size, rank_id % size) if size > 1 else (rank_id if layouts else 0, 0)


def joined(name: str, slices: dict[tuple[int, ...], torch.Tensor],
            counts: tuple[int, ...]) -> torch.Tensor:
    """A whole from its slices, which are given by their places."""
    missing = math.prod(counts) - len(slices)
    if missing:
        raise ValueError(f"Of parameter {name!r}, which is cut in {math.prod(counts)} slices, "
                         f"{missing} are missing.")
    for dim in reversed(range(len(counts))):
        rows: dict[tuple[int, ...], list[torch.Tensor]] = {}
        for place in sorted(slices):
            rows.setdefault(place[:dim], []).append(slices[place])
        slices = {place: row[0] if len(row) == 1 else torch.cat(row, dim)
                  for place, row in rows.items()}
    return slices[()]


def cut_slice(name: str, whole: torch.Tensor, layout: ParameterLayout, rank: int) -> torch.Tensor:
    """A process's slice of a whole."""
    counts, index = layout.cell(rank)
    for dim, (count, place) in enumerate(zip(counts, index, strict=True)):
        if whole.shape[dim] % count:
            raise ValueError(f"Parameter {name!r} of shape {tuple(whole.shape)} can't be cut in "
                             f"{count} along dimension {dim}.")
        length = whole.shape[dim] // count
        whole = whole.narrow(dim, place * length, length)
    return whole.contiguous()


def transform_checkpoint_by_rank(rank_id: int, checkpoint_files_map: dict[int, str],
                                 save_checkpoint_file_name: str,
                                 src_strategy_file: str | None = None,
                                 dst_strategy_file: str | None = None) -> None:
    """Make the checkpoint of one process in another arrangement.

    Args:
        rank_id: the process in the new arrangement.
        checkpoint_files_map: by rank in the old one, the checkpoints; those of
            `rank_list_for_transform` suffice.
        save_checkpoint_file_name: where to save, with the suffix ``.ckpt``.
        src_strategy_file, dst_strategy_file: how the two cut Parameters; None: not at all.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a file or a slice is missing, or a Parameter can't be cut so.
    """
    if not isinstance(checkpoint_files_map, dict):
        raise TypeError("The checkpoint_files_map should be a dict.")
    if not isinstance(rank_id, int) or isinstance(rank_id, bool):
        raise TypeError("The rank_id should be a int.")
    if not isinstance(save_checkpoint_file_name, str):
        raise TypeError("The save_checkpoint_file_name should be a str.")
    if not save_checkpoint_file_name.endswith(".ckpt"):
        raise ValueError(f"The save_checkpoint_file_name {save_checkpoint_file_name} should end "
                         f"with .ckpt")
    _transform(rank_id, checkpoint_files_map, save_checkpoint_file_name, "ckpt",
               *_both(src_strategy_file, dst_strategy_file))


def _transform(rank_id: int, files: dict[int, str], path: str, form: str,
               source: dict[str, ParameterLayout] | None,
               target: dict[str, ParameterLayout] | None) -> None:
    for rank, file in files.items():
        if not os.path.exists(file):
            raise ValueError(f"Checkpoint file {file} in rank {rank} not exits.")
    loaded = {rank: {name: value for name, value in load_checkpoint(file, format=form).items()
                     if isinstance(value, Parameter)}  # texts belong to the run that wrote them
              for rank, file in files.items()}
    stage, local = place_of(rank_id, target)
    size = stage_size(source)
    made = []
    for name in dict.fromkeys(name for values in loaded.values() for name in values):
        dims = next(values[name].ndim for values in loaded.values() if name in values)
        old = _whole(dims) if source is None else source.get(name)
        new = _whole(dims) if target is None else target.get(name)
        if old is None or new is None or target is not None and stage not in new.stages:
            continue
        slices: dict[tuple[int, ...], Parameter] = {}
        for rank, values in loaded.items():
            if name in values:
                slices.setdefault(old.cell(rank % size)[1], values[name])
        made.append((name, _recut(name, old, new, local, slices, size)))
    save_checkpoint([{"name": name, "data": wrap(raw)} for name, raw in made], path,
                    format=form)


def _recut(name: str, old: ParameterLayout, new: ParameterLayout, local: int,
           slices: dict[tuple[int, ...], Parameter], size: int) -> torch.Tensor:
    """One process's slice of a Parameter, from the slices that it overlaps with."""
    counts = old.cell(0)[0]
    one = next(iter(slices.values()))._raw
    whole = one.new_empty([length * count for length, count in zip(one.shape, counts, strict=True)])
    needed = {old.cell(rank)[1] for rank in range(size) if _overlaps(new, local, old, rank)}
    for place in needed:
        if place not in slices:
            raise ValueError(f"The slice {place} of parameter {name!r}, which is cut in {counts}, "
                             f"is in none of the checkpoints that were given.")
        part = whole
        for dim, (at, length) in enumerate(zip(place, one.shape, strict=True)):
            part = part.narrow(dim, at * length, length)
        part.copy_(slices[place]._raw)
    return cut_slice(name, whole, new, local)


def transform_checkpoints(src_checkpoints_dir: str, dst_checkpoints_dir: str, ckpt_prefix: str,
                          src_strategy_file: str | None = None,
                          dst_strategy_file: str | None = None, process_num: int = 1,
                          output_format: str = "ckpt") -> None:
    """Make the checkpoints of all processes of another arrangement.

    Args:
        src_checkpoints_dir: has a folder ``rank_0``, ``rank_1``, ... for each process; the last
            checkpoint in it, by name, is taken.
        dst_checkpoints_dir: gets such folders, with ``<ckpt_prefix><rank>.ckpt``.
        ckpt_prefix: how the files' names begin.
        src_strategy_file, dst_strategy_file: how the two cut Parameters; None: not at all.
        process_num: accepted as MindSpore does; one process does it all.
        output_format: ``"ckpt"``; or ``"safetensors"``, if the checkpoints are.

    Raises:
        TypeError: if an argument is of the wrong type.
        NotADirectoryError: if `src_checkpoints_dir` is no folder.
        ValueError: if a checkpoint that is needed is missing.
    """
    if not isinstance(ckpt_prefix, str):
        raise TypeError("The ckpt_prefix should be a str.")
    if not os.path.isdir(src_checkpoints_dir):
        raise NotADirectoryError(f"src_checkpoints_dir {src_checkpoints_dir} is not a directory.")
    files = {form: files_by_rank(src_checkpoints_dir, f".{form}")
             for form in ("ckpt", "safetensors")}
    if bool(files["ckpt"]) == bool(files["safetensors"]):
        raise ValueError("For 'transform_checkpoints', the 'src_checkpoints_dir' must have "
                         "checkpoints of one format, ckpt or safetensors, in folders rank_0, ...")
    form = "ckpt" if files["ckpt"] else "safetensors"
    if output_format != form:
        raise ValueError(f"For 'transform_checkpoints', 'output_format' must be that of the "
                         f"checkpoints, {form!r}, but got {output_format!r}.")
    source, target = _both(src_strategy_file, dst_strategy_file)
    stages = {stage for layout in (target or {}).values() for stage in layout.stages} or {0}
    for rank in range(stage_size(target) * len(stages)):
        needed = _needed_by(rank, source, target)
        for each in needed:
            if each not in files[form]:
                raise ValueError(f"The checkpoint file of rank{each} is needed for converting "
                                 f"rank{rank}'s checkpoint, but it is missing.")
        folder = os.path.join(dst_checkpoints_dir, f"rank_{rank}")
        os.makedirs(folder, exist_ok=True)
        _transform(rank, {each: files[form][each] for each in needed},
                   os.path.join(folder, f"{ckpt_prefix}{rank}.{form}"), form, source, target)


def files_by_rank(folder: str, suffix: str) -> dict[int, str]:
    """By rank, the last file by name that ends in `suffix` in the rank's folder."""
    found = {}
    for path in glob.glob(os.path.join(glob.escape(folder), "rank_[0-9]*")):
        number = os.path.basename(path)[len("rank_"):]
        files = sorted(glob.glob(os.path.join(glob.escape(path), f"*{glob.escape(suffix)}")))
        if number.isdigit() and files:
            found[int(number)] = files[-1]
    return found


def merge_sliced_parameter(sliced_parameters: list[Parameter],
                           strategy: dict[str, Any] | None = None) -> Parameter:
    """One Parameter from the slices that processes have of it.

    Args:
        sliced_parameters: the slices, by rank.
        strategy: how Parameters are cut, as `build_searched_strategy` gives it; None: along their
            first dimension.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if there are no slices, or they don't fit together.
        KeyError: if `strategy` doesn't have the Parameter.

    Examples:
        >>> import lamella as ms
        >>> slices = [ms.Parameter(ms.Tensor([1.0, 2.0]), name="w"),
        ...           ms.Parameter(ms.Tensor([3.0]), name="w")]
        >>> print(ms.merge_sliced_parameter(slices).value())
        [1. 2. 3.]
    """
    name = "merge_sliced_parameter"
    if not isinstance(sliced_parameters, list):
        raise TypeError(f"For '{name}', the argument 'sliced_parameters' should be list, "
                        f"but got {type(sliced_parameters)}.")
    if not sliced_parameters:
        raise ValueError(f"For '{name}', the argument 'sliced_parameters' should not be empty.")
    if strategy and not isinstance(strategy, dict):
        raise TypeError(f"For '{name}', the argument 'strategy' should be dict, "
                        f"but got {type(strategy)}.")
    for index, each in enumerate(sliced_parameters):
        if not isinstance(each, Parameter):
            raise TypeError(f"For '{name}', the element in 'sliced_parameters' should be "
                            f"'Parameter', but got {type(each)} at index {index}.")
    first = sliced_parameters[0]
    for index, each in enumerate(sliced_parameters):
        if each.name != first.name or each.shape[1:] != first.shape[1:] or each.ndim != first.ndim:
            raise ValueError(f"For '{name}', the slices should have the same name and, but for "
                             f"dimension 0, shape: {first.name}, {first.shape}, but got "
                             f"{each.name}, {each.shape} at index {index}.")
    raws = [each._raw for each in sliced_parameters]
    if not strategy:
        raw = torch.cat(raws)
    elif first.name not in strategy:
        raise KeyError(f"For '{name}', the parameter name {first.name} should be a key in the "
                       f"'strategy'. Please check 'sliced_parameter' and 'strategy'.")
    else:
        layouts = layouts_of({first.name: strategy[first.name]})
        raw = merged(first.name, raws, next(iter((layouts or {}).values())))
    made = parameter_around(raw.clone(), first.name)
    made.requires_grad, made.layerwise_parallel = first.requires_grad, first.layerwise_parallel
    return made


def merged(name: str, raws: list[torch.Tensor], layout: ParameterLayout) -> torch.Tensor:
    if len(raws) != layout.size:
        raise ValueError(f"For 'merge_sliced_parameter', the length of 'sliced_parameters' should "
                         f"be equal to device_count, {layout.size}, but it is {len(raws)}.")
    slices = {layout.cell(rank)[1]: raw for rank, raw in reversed(list(enumerate(raws)))}
    return joined(name, slices, layout.cell(0)[0])


# other names that MindSpore has for them
rank_list_for_convert = rank_list_for_transform
convert_checkpoint_by_rank = transform_checkpoint_by_rank
convert_checkpoints = transform_checkpoints
