"""Turning `.ckpt` files into safetensors files and back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ..nn.checks import of_type
from .checkpoint import load_checkpoint, save_checkpoint

__all__ = ["ckpt_to_safetensors", "safetensors_to_ckpt"]


def ckpt_to_safetensors(file_path: str, save_path: str | None = None,
                        name_map: dict[str, str] | None = None, file_name_regex: str | None = None,
                        processes_num: int = 1) -> None:
    """Write the contents of `.ckpt` files to safetensors files of the same names.

    Args:
        file_path: a file, or a folder with folders ``rank*`` of files.
        save_path: the folder to write to; default: beside each file.
        name_map: new names of parameters by old ones; others keep theirs.
        file_name_regex: only files in whose path this is found.
        processes_num: accepted for MindSpore's sake; the disk sets the pace.

    Raises:
        ValueError: if a path is not what it must be or a file is broken.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> ms.save_checkpoint([ms.Parameter(1.0, name="w")], os.path.join(folder, "a.ckpt"))
        >>> ms.ckpt_to_safetensors(os.path.join(folder, "a.ckpt"), name_map={"w": "weight"})
        >>> ms.load_checkpoint(os.path.join(folder, "a.safetensors"), format="safetensors")
        {'weight': Parameter (name=weight, shape=(), dtype=Float32, requires_grad=True)}
    """
    _convert("ckpt_to_safetensors", ("ckpt", "safetensors"), file_path, save_path, name_map,
             file_name_regex)


def safetensors_to_ckpt(file_path: str, save_path: str | None = None,
                        name_map: dict[str, str] | None = None, file_name_regex: str | None = None,
                        processes_num: int = 1) -> None:
    """Write the contents of safetensors files to `.ckpt` files of the same names.

    Arguments and errors as for `ckpt_to_safetensors`.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> ms.save_checkpoint([ms.Parameter(1.0, name="w")], path, format="safetensors")
        >>> ms.safetensors_to_ckpt(path)
        >>> ms.load_checkpoint(path.replace(".safetensors", ".ckpt"))
        {'w': Parameter (name=w, shape=(), dtype=Float32, requires_grad=True)}
    """
    _convert("safetensors_to_ckpt", ("safetensors", "ckpt"), file_path, save_path, name_map,
             file_name_regex)


def _convert(function: str, formats: tuple[str, str], file_path: str, save_path: str | None,
             name_map: Any, pattern: str | None) -> None:
    source, target = formats
    if name_map is not None and not isinstance(name_map, dict):
        raise ValueError(f"For '{function}', 'name_map' must be a dict, but got {name_map!r}.")
    if save_path and os.path.splitext(save_path)[1]:
        raise ValueError(f"For '{function}', 'save_path' must be a folder, but got '{save_path}'.")
    names = name_map or {}
    for path, folder in _files(function, source, file_path, save_path):
        if pattern is not None and not re.search(pattern, path):
            continue
        values = load_checkpoint(path, choice_func=lambda name: names.get(name, name),
                                 format=source)
        os.makedirs(folder, exist_ok=True)
        base = os.path.basename(path)[:-len(source)]
        save_checkpoint(values, os.path.join(folder, base + target), format=target)


def _files(function: str, format: str, file_path: str,
           save_path: str | None) -> Iterator[tuple[str, str]]:
    """The files to convert, each with the folder that the new one goes to."""
    of_type(file_path, (str, os.PathLike), "file_path", function)
    if os.path.isfile(file_path):
        if not os.fspath(file_path).endswith(f".{format}"):
            raise ValueError(f"For '{function}', 'file_path' must be a .{format} file, "
                             f"but got '{file_path}'.")
        yield file_path, save_path or os.path.dirname(os.path.abspath(file_path))
        return
    if not os.path.isdir(file_path):
        raise ValueError(f"For '{function}', 'file_path' must be a file or a folder, "
                         f"but got '{file_path}'.")
    ranks = sorted(entry.name for entry in os.scandir(file_path)
                   if entry.is_dir() and entry.name.startswith("rank"))
    if not ranks:
        raise ValueError(f"For '{function}', the folder '{file_path}' has no folder 'rank*'.")
    for rank in ranks:
        for name in sorted(os.listdir(os.path.join(file_path, rank))):
            if name.endswith(f".{format}"):
                yield (os.path.join(file_path, rank, name),
                       os.path.join(save_path or file_path, rank))
