"""The Primitive class that looks up rows of an embedding in a cache, and evicts others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..arguments import require
from ..assign import assign
from ..primitive import primitive

__all__ = ["MapCacheIdx"]

_KEY, _VALUE, _STEP, _TAG = range(4)  # of a row; a tag of 0 is an empty row


class _Map(NamedTuple):
    """A hash map in rows: each key stands at its place, or behind it; its tag says how far."""

    rows: list[list[int]]

    def place(self, key: int) -> int:
        """Where a key belongs: multiplicative hashing (Knuth, 1973)."""
        part = 0.6180339 * key
        return int((part - math.floor(part)) * len(self.rows))

    def find(self, key: int | None, start: int) -> tuple[int, int]:
        """The first row from `start` that is empty or has the key, and how many were looked at."""
        for count in range(len(self.rows)):
            row = (start + count) % len(self.rows)
            if self.rows[row][_TAG] == 0 or self.rows[row][_KEY] == key:
                return row, count + 1
        raise RuntimeError("For 'MapCacheIdx', 'hashmap' has no empty row left.")

    def oldest(self, row: int, step: int) -> int:
        """The next row behind that was in use neither in this step nor in the last one."""
        for count in range(1, len(self.rows) + 1):
            found = (row + count) % len(self.rows)
            if self.rows[found][_TAG] and self.rows[found][_STEP] < step - 1:
                return found
        raise RuntimeError("For 'MapCacheIdx', all rows of 'hashmap' are in use: the cache is too "
                           "small for the indices of two steps.")

    def remove(self, row: int) -> None:
        """Empty a row, and move those behind it nearer to their places."""
        self.rows[row][_TAG] = 0
        gap, distance, place = row, 1, (row + 1) % len(self.rows)
        while self.rows[place][_TAG]:
            if self.rows[place][_TAG] > distance:
                key, value, step, tag = self.rows[place]
                self.rows[gap][:] = key, value, step, tag - distance
                self.rows[place][_TAG] = 0
                gap, distance = place, 0
            place, distance = (place + 1) % len(self.rows), distance + 1


def _int(value: Any) -> int:
    return int(value.item() if isinstance(value, Tensor) else value)


@op
def _map_cache_idx(hashmap: Tensor, indices: Tensor, step: Any, emb_max_num: Any, offset: Any
                   ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The rows of a cache that hold rows of an embedding; missing ones take the place of old ones.

    Args:
        hashmap: Parameter (rows, 4) of key, row of the cache, step of the last use, and tag.
        indices: rows of the embedding, of any shape.
        step: the number of this step.
        emb_max_num: indices from here on belong to others.
        offset: taken from the indices.

    Returns:
        The rows of the cache, -1 for those of others; of those that were missing, the rows of the
        embedding that had to go, the new ones, and their rows of the cache.

    Raises:
        ValueError: if `hashmap` isn't of four columns.
        RuntimeError: if the cache is too small.
    """
    require(hashmap.ndim == 2 and hashmap.shape[1] == 4, ValueError,
            f"For 'MapCacheIdx', 'hashmap' must have the shape (rows, 4), but got {hashmap.shape}.")
    table, now, limit, begin = _Map(hashmap._raw.tolist()), *map(_int, (step, emb_max_num, offset))
    found, missing = [], {}
    for position, index in enumerate(indices._raw.reshape(-1).tolist()):
        key = index - begin
        if not 0 <= key < limit:
            found.append(-1)
            continue
        row, _ = table.find(key, table.place(key))
        if table.rows[row][_TAG] == 0:
            missing[position] = key
        else:
            table.rows[row][_STEP] = now
        found.append(table.rows[row][_VALUE])
    old, new = [], []
    for position, key in missing.items():
        row, tag = table.find(None, table.place(key))
        table.rows[row][_KEY], table.rows[row][_STEP], table.rows[row][_TAG] = key, now, tag
        gone = table.oldest(row, now)
        old.append(table.rows[gone][_KEY])
        new.append(table.rows[gone][_VALUE])
        found[position] = table.rows[row][_VALUE] = new[-1]
        table.remove(gone)
    kind = hashmap._raw.dtype
    assign(hashmap, wrap(torch.tensor(table.rows, dtype=kind)))
    whole = torch.tensor(found, dtype=kind).reshape(indices._raw.shape)
    rest = [wrap(torch.tensor(each, dtype=kind)) for each in (old, list(missing.values()), new)]
    return wrap(whole), rest[0], rest[1], rest[2]


MapCacheIdx = primitive("MapCacheIdx", _map_cache_idx)
