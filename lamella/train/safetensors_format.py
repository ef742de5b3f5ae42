"""Checkpoints as safetensors files, through the `safetensors` package.

MindSpore's own marks are kept in the metadata: ``format`` is ``"ms"``, ``crc_num`` a CRC-32 over
names and contents. Text, which the format has no place for, goes to the metadata too, under
``lamella.text.NAME``.
"""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save_file

from ..core import log
from ..tensors.construction import flat_bytes
from .atomic_file import folder_for, put, replacing
from .checkpoint_format import NO_CHECKSUM, CheckpointFileError

__all__ = ["read_safetensors", "write_safetensors"]

_TEXT = "lamella.text."
_COUNTED = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16,
            torch.uint32, torch.uint64)


def write_safetensors(path: str, values: Mapping[str, torch.Tensor | str], crc: bool = False,
                      remove_redundancy: bool | None = None) -> None:
    """Write named tensors and texts to a safetensors file, which takes the place of an old one.

    Args:
        path: the file.
        values: raw tensors and strings by name.
        crc: whether to keep a checksum.
        remove_redundancy: kept in the metadata unless None.

    Raises:
        TypeError: if the format lacks a tensor's type.
        ValueError: if a tensor is called ``__metadata__``, which the format needs.

    Examples:
        >>> import os, tempfile, torch
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> write_safetensors(path, {"w": torch.ones(2), "note": "text"})
        >>> read_safetensors(path)
        {'w': tensor([1., 1.]), 'note': 'text'}
    """
    tensors: dict[str, torch.Tensor] = {}
    taken: set[int] = set()  # addresses of memory
    metadata = {"format": "ms"}
    if remove_redundancy is not None:
        metadata["remove_redundancy"] = str(remove_redundancy)
    checksum = 0
    for name in sorted(values):
        value = values[name]
        if isinstance(value, str):
            metadata[_TEXT + name] = value
            continue
        if name == "__metadata__":
            raise ValueError("For 'save_checkpoint', safetensors files can't hold a tensor of the "
                             "name '__metadata__'; use format='ckpt'.")
        if value.dtype is torch.complex128:
            raise TypeError(f"For 'save_checkpoint', safetensors files can't hold complex128, the "
                            f"type of '{name}'; use format='ckpt'.")
        tensors[name] = raw = _apart(value.detach().cpu().contiguous(), taken)
        if crc:
            checksum = _checksum(name, raw, checksum)
    if crc:
        metadata["crc_num"] = str(checksum)
    with replacing(path) as new:
        # safetensors writes a file of its own and renames it, and lets only the owner read it
        with folder_for(new) as folder:
            made = os.path.join(folder, "made")
            open(made, "wb").close()
            mode = os.stat(made).st_mode
            try:
                save_file(tensors, made, metadata=metadata)
            except SafetensorError as error:
                raise OSError(f"the file '{path}' can't be written: {error}") from error
            os.chmod(made, mode)
            put(made, new)


def read_safetensors(source: Any, keep: Callable[[str], str | None] = lambda name: name,
                     crc: bool = False) -> dict[str, torch.Tensor | str]:
    """The tensors and texts of a safetensors file by name.

    Args:
        source: a path, or an io.BytesIO that holds the whole file.
        keep: gives for the name of each value the name to return it under, or None to leave it out.
        crc: whether to compare the checksum, if the file has one.

    Raises:
        CheckpointFileError: a ValueError, if the file is broken.
    """
    if isinstance(source, io.BytesIO):
        with _errors_of("BytesIO"):
            found = load(source.getvalue())
        return _kept(found, keep)
    return _read_file(source, keep, crc)


@contextlib.contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Let errors about the content of a file name it."""
    try:
        yield
    except (SafetensorError, KeyError, RuntimeError, UnicodeDecodeError) as error:
        raise CheckpointFileError(name, str(error).rstrip(".")) from error
    except (TypeError, OverflowError) as error:
        raise CheckpointFileError(name, "it names a shape that no tensor can have") from error


def _read_file(path: str, keep: Callable[[str], str | None],
               crc: bool) -> dict[str, torch.Tensor | str]:
    values: dict[str, torch.Tensor | str] = {}
    with _errors_of(path), safe_open(path, framework="pt") as file:
        names, metadata = sorted(file.keys()), file.metadata() or {}
    renamed = {name: keep(name) for name in names}  # here, since its errors are the program's
    with _errors_of(path), safe_open(path, framework="pt") as file:
        checksum = 0
        for name, new in renamed.items():
            if new is None and not crc:
                continue
            raw = file.get_tensor(name)
            if crc:
                checksum = _checksum(name, raw, checksum)
            if new is not None:
                values[new] = raw.clone()  # apart from the file, which may change
    expected = metadata.get("crc_num")
    if crc and expected is None:
        log.warning(NO_CHECKSUM.format(path))
    if crc and expected is not None and expected != str(checksum):
        raise CheckpointFileError(path, "its checksum differs, so it is damaged")
    texts = {k[len(_TEXT):]: v for k, v in metadata.items() if k.startswith(_TEXT)}
    return values | _kept(texts, keep)


def _kept(values: Mapping[str, Any], keep: Callable[[str], str | None]) -> dict[str, Any]:
    renamed = ((keep(name), value) for name, value in values.items())
    return {name: value for name, value in renamed if name is not None}


def _checksum(name: str, raw: torch.Tensor, checksum: int) -> int:
    checksum = zlib.crc32(name.encode(), checksum)
    content = flat_bytes(raw.cpu()).numpy().data
    if raw.dim() == 0 and raw.dtype in _COUNTED and 0 <= raw.item() < 1 << 24:
        # MindSpore takes bytes(array), which for an integer n of rank 0 are n zeros
        content = bytes(int(raw))
    return zlib.crc32(content, checksum)


def _apart(raw: torch.Tensor, taken: set[int]) -> torch.Tensor:
    """The tensor, copied if it shares memory with another, which the format refuses."""
    storage = raw.untyped_storage()
    if storage.data_ptr() in taken or raw.nbytes != storage.nbytes():
        raw = raw.clone()
    taken.add(raw.untyped_storage().data_ptr())
    return raw
