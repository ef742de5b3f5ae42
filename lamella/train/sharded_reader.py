"""Reading torch's distributed checkpoints without executing anything from them."""

from __future__ import annotations

import os
import pickle
import zlib
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader, _StorageInfo
from torch.distributed.checkpoint.metadata import (
    Metadata,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

__all__ = ["Planner", "Reader", "check_files", "checksum"]

_METADATA = "torch.distributed.checkpoint.metadata"
_KNOWN = {(_METADATA, name) for name in (
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata", "_MEM_FORMAT_ENCODING")}
_KNOWN |= {("torch.distributed.checkpoint.filesystem", "_StorageInfo"), ("torch", "Size"),
           ("torch.serialization", "_get_layout"), ("pathlib", "PosixPath"),
           ("pathlib._local", "PosixPath")}


class _Unpickler(pickle.Unpickler):
    """Knows what the metadata of a checkpoint is made of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or type of a name."""
        if (module, name) in _KNOWN:
            return super().find_class(module, name)
        if module == "torch" and isinstance(found := getattr(torch, name, None), torch.dtype):
            return found
        raise pickle.UnpicklingError(f"it has '{module}.{name}', which no checkpoint needs")


def _problem(found: Any) -> str:
    """What is wrong with the metadata of a checkpoint, if anything is."""
    if not isinstance(found, Metadata):
        return "it has no metadata"
    entries, places = found.state_dict_metadata, found.storage_data
    if not isinstance(entries, dict) or not isinstance(places, dict):
        return "it doesn't say what is where"
    for name, entry in entries.items():
        if not isinstance(name, str) or not isinstance(entry, TensorStorageMetadata):
            return f"{str(name)[:80]!r} is no tensor"
        if not isinstance(entry.size, torch.Size) or not isinstance(
                entry.properties, TensorProperties):
            return f"{name[:80]!r} has no size or no type"
    for place in places.values():
        file = getattr(place, "relative_path", None)
        if not isinstance(place, _StorageInfo) or not isinstance(file, str) or (
                os.path.basename(file) != file or file in ("", ".", "..")):
            return f"an entry is in {str(file)[:80]!r}, which is no file of the folder"
        if getattr(place, "transform_descriptors", None):
            return "an entry is compressed, which 'save_sharded' never does"
    return ""


def checksum(path: str) -> int:
    """The CRC-32 of a file."""
    found = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return found


def check_files(folder: str, sums: Any) -> None:
    """Compare the checksums of files.

    Raises:
        ValueError: if one differs, or isn't there.
    """
    if not isinstance(sums, dict):
        raise ValueError(f"For 'load_sharded', the checksums in '{folder}' are damaged.")
    for name, wanted in sums.items():
        path = os.path.join(folder, os.path.basename(name))
        if not os.path.isfile(path) or checksum(path) != wanted:
            raise ValueError(f"For 'load_sharded', the file '{path}' is damaged: its checksum "
                             f"differs.")


class Planner(DefaultLoadPlanner):
    """Reads tensors only; torch's own would unpickle what isn't one."""

    def load_bytes(self, read_item: Any, value: Any) -> None:
        """Refuse it."""
        raise ValueError(f"{read_item.dest_index.fqn!r} is no tensor")


class Reader(FileSystemReader):
    """Reads a checkpoint of many processes.

    Attributes:
        tensors: by name, the shape and type of the wholes.

    Raises:
        ValueError: if its metadata are missing or damaged.
    """

    def __init__(self, folder: str):
        super().__init__(folder)
        described = self.read_metadata().state_dict_metadata
        self.tensors = {name: (tuple(entry.size), entry.properties.dtype)
                        for name, entry in described.items()
                        if isinstance(entry, TensorStorageMetadata)}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What torch's reader gives, of names that are known."""
        path = self._get_metadata_path(kwargs.get("rank"))
        try:
            with open(path, "rb") as file:
                found = _Unpickler(file).load()
        except (OSError, EOFError, pickle.UnpicklingError, ValueError, TypeError, LookupError,
                AttributeError, ImportError, OverflowError, MemoryError, RecursionError) as error:
            raise ValueError(f"The checkpoint's file '{path}' can't be read: {error}.") from error
        problem = _problem(found)
        if problem:
            raise ValueError(f"The checkpoint's file '{path}' is damaged: {problem}.")
        found.storage_meta = found.storage_meta or StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found
