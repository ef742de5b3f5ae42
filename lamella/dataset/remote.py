"""Classes that need a server or Huawei's cloud: their error says what to use instead."""

from __future__ import annotations

from typing import Any

from .sources.records import MindDataset


class DatasetCache:
    """MindSpore's client of a cache server, which does not exist here.

    Raises:
        RuntimeError: always.
    """

    def __init__(self, session_id: int, size: int = 0, spilling: bool = False,
                 hostname: str | None = None, port: int | None = None,
                 num_connections: int | None = None, prefetch_size: int | None = None):
        raise RuntimeError(
            "'DatasetCache' needs MindSpore's cache server, which Lamella does not have. Write the "
            "rows once with 'Dataset.save' and read them with 'MindDataset', or keep arrays that "
            "fit in memory in a 'NumpySlicesDataset'.")


class OBSMindDataset(MindDataset):
    """mindrecord files in Huawei's object storage, which is not reached from here.

    Raises:
        RuntimeError: always.
    """

    def __init__(self, dataset_files: Any, server: str, ak: str, sk: str, sync_obs_path: str,
                 *args: Any, **kwargs: Any):
        raise RuntimeError("'OBSMindDataset' reads Huawei's object storage, which Lamella does not "
                           "reach. Copy the files to a disk and read them with 'MindDataset'.")


__all__ = ["DatasetCache", "OBSMindDataset"]
