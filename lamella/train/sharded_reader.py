"""Reading torch's distributed checkpoints without executing anything from them."""

from __future__ import annotations

import pickle
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta, TensorStorageMetadata

__all__ = ["Reader"]

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
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise ValueError(f"The checkpoint's file '{path}' can't be read: {error}.") from error
        if not isinstance(found, Metadata):
            raise ValueError(f"The checkpoint's file '{path}' has no metadata.")
        found.storage_meta = found.storage_meta or StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found
