"""Networks that are loaded from the checkpoints of many processes, or of several files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from typing import Any

from ..communication import settings
from ..nn.cell import Cell
from ..tensors.parameter import Parameter, parameter_around
from .checkpoint import load_checkpoint
from .checkpoint_net import load_param_into_net
from .renaming import one_for_each
from .resharding import cut_slice, merged, place_of, stage_size
from .strategy_files import layouts_of
from .unified import load_unified

__all__ = ["get_ckpt_path_with_strategy", "load_distributed_checkpoint",
           "load_segmented_checkpoints"]


def load_distributed_checkpoint(network: Cell | None,
                                checkpoint_filenames: Iterable[str] | None = None,
                                predict_strategy: Any = None,
                                train_strategy_filename: str | None = None,
                                strict_load: bool = False, dec_key: bytes | None = None,
                                dec_mode: str = "AES-GCM", format: str = "ckpt",
                                unified_safetensors_dir: str | None = None,
                                dst_safetensors_dir: str | None = None, rank_id: int | None = None,
                                output_format: str = "safetensors", name_map: Any = None,
                                max_process_num: int = 64, return_param_dict: bool = False) -> Any:
    """Load the checkpoints of all processes of a training job into a network.

    Args:
        network: the network.
        checkpoint_filenames: the checkpoints, by rank.
        predict_strategy: how the network's own Parameters are cut, a dict or a strategy file; None:
            not at all.
        train_strategy_filename: how those of the checkpoints are; default: the setting
            ``strategy_ckpt_load_file``.
        strict_load: as for `load_param_into_net`.
        dec_key, dec_mode: as for `load_checkpoint`.
        format: the checkpoints' format, ``"ckpt"`` or ``"safetensors"``.
        rank_id: which process this is, with `predict_strategy`; default: its rank.
        name_map: the names that Parameters of the checkpoints get; with `unified_safetensors_dir`
            those that the network's Parameters have in the files.
        return_param_dict: whether to give the merged Parameters by name.
        unified_safetensors_dir: a folder that `unified_safetensors` wrote, to load instead.
        dst_safetensors_dir: with that and without a network, the folder that gets, for each process
            of `predict_strategy` or that of `rank_id`, a folder ``rank_N`` with ``net`` and the
            suffix of `output_format`.
        output_format: ``"safetensors"`` or ``"ckpt"``.
        max_process_num: accepted as MindSpore does, without effect.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if checkpoints are missing, or don't fit.
    """
    function = "load_distributed_checkpoint"
    if unified_safetensors_dir is not None:
        return load_unified(network, unified_safetensors_dir, predict_strategy,
                            dst_safetensors_dir, rank_id, output_format, name_map,
                            return_param_dict)
    if not isinstance(network, Cell):
        raise TypeError(f"For '{function}', the argument 'network' must be a Cell, "
                        f"but got {type(network)}.")
    if not isinstance(checkpoint_filenames, (list, tuple)) or not checkpoint_filenames:
        raise TypeError(f"For '{function}', the argument 'checkpoint_filenames' must be a list of "
                        f"the checkpoints' names, but got {checkpoint_filenames!r}.")
    path = train_strategy_filename or settings.get_auto_parallel_context("strategy_ckpt_load_file")
    source = layouts_of(path) if path else {}
    loaded = [load_checkpoint(file, dec_key=dec_key, dec_mode=dec_mode, format=format)
              for file in checkpoint_filenames]
    target = layouts_of(predict_strategy)
    rank = settings._get_global_rank() if rank_id is None else rank_id
    names = name_map or {}
    named = one_for_each(function, lambda name: names.get(name, name))
    wholes: dict[str, Parameter] = {}
    for name, first in loaded[0].items():
        if not isinstance(first, Parameter):
            continue  # a text of the run that wrote it
        layout = (source or {}).get(name)
        raw = first._raw
        if layout is not None:
            raw = merged(name, [values[name]._raw for values in loaded], layout)
        if target is not None and name in target:
            raw = cut_slice(name, raw, target[name], place_of(rank, target)[1])
        new = str(named(name))
        wholes[new] = parameter_around(raw, new)
    load_param_into_net(network, wholes, strict_load)
    return wholes if return_param_dict else None


def load_segmented_checkpoints(ckpt_file_dir: str, net: Cell | None = None,
                               strict_load: bool = False, filter_prefix: Any = None,
                               dec_key: bytes | None = None, dec_mode: str = "AES-GCM",
                               specify_prefix: Any = None, choice_func: Any = None
                               ) -> dict[str, Any]:
    """Read all checkpoints of a folder, each of which has some of the Parameters.

    Args:
        ckpt_file_dir: the folder; of files of one name, the last by name counts.
        net: the network that gets the values, as by `load_param_into_net`.
        strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func: as for
            `load_checkpoint`.

    Returns:
        dict of Parameters, or str for a text, by name.

    Raises:
        TypeError: if the folder's name is no str.
        ValueError: if there is no such folder, or a file in it is broken.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("a", "b"):
        ...     w = ms.Parameter(1.0, name=name)
        ...     ms.save_checkpoint([w], os.path.join(folder, f"part_{name}.ckpt"))
        >>> list(ms.load_segmented_checkpoints(folder))
        ['a', 'b']
    """
    if not isinstance(ckpt_file_dir, str):
        raise TypeError("The ckpt_file_dir should be a str.")
    if not os.path.isdir(ckpt_file_dir):
        raise ValueError(f"For 'load_segmented_checkpoints', there is no folder '{ckpt_file_dir}'.")
    found: dict[str, Any] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(ckpt_file_dir), "*.ckpt"))):
        found.update(load_checkpoint(path, None, strict_load, filter_prefix, dec_key, dec_mode,
                                     specify_prefix, choice_func))
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def get_ckpt_path_with_strategy(cur_ckpt_path: str, cur_strategy_path: str) -> str | None:
    """This process's checkpoint, or that of a process that holds the same.

    Args:
        cur_ckpt_path: where this process's should be, with ``rank_N`` in it.
        cur_strategy_path: the strategy file, by which it is known who holds the same.

    Returns:
        The path of a file that is there; None if none is.

    Raises:
        TypeError, ValueError: if the strategy file isn't there, or isn't one.
    """
    if os.path.isfile(cur_ckpt_path):
        return cur_ckpt_path
    layouts, rank = layouts_of(cur_strategy_path) or {}, settings._get_global_rank()
    stage, mine = place_of(rank, layouts)
    size = stage_size(layouts)
    here = [layout for layout in layouts.values() if stage in layout.stages]
    for other in range(size):
        if all(layout.cell(other) == layout.cell(mine) for layout in here):
            path = re.sub(r"rank_\d+", f"rank_{stage * size + other}", cur_ckpt_path)
            if os.path.isfile(path):
                return path
    return None
