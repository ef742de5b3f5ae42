"""The sizes in which arguments come, and when one graph should stand for many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

KINDS = 3  # of sizes, the last of which is recorded with symbols; one less where sizes are declared
OFTEN = 64  # calls with the same sizes, after which these get a graph of their own


class Sizes:
    """Of arguments that differ in nothing but sizes.

    Args:
        dynamic: for each argument the declared form (`config.declared`); empty if sizes are only
            said to vary, None if nothing was said.

    Attributes:
        expected: whether it was said that sizes vary.
        declared: for each declared Tensor, the dimensions whose size varies.
        seen: the last kinds of sizes that have come.
        refused: why no graph can stand for several sizes; empty if that isn't known.
    """

    def __init__(self, dynamic: list[Any] | None):
        self.declared = list(_declared(dynamic))
        self.expected = dynamic is not None
        self.seen: list[list[torch.Size]] = []
        self.calls: Counter[Any] = Counter()
        self.refused = ""

    @property
    def are_varying(self) -> bool:
        """Whether one graph may soon have to stand for several of them."""
        return len(self.seen) > 1 - self.expected

    def note(self, shapes: list[torch.Size]) -> list[set[int]] | None:
        """The dimensions to use symbols for, now that these sizes have come; None for none."""
        if shapes not in self.seen:
            self.seen.append(shapes)
            del self.seen[:-KINDS]
        if self.refused or len(self.seen) < KINDS - self.expected:
            return None
        varying = [{d for d, sizes in enumerate(zip(*kinds, strict=True)) if len(set(sizes)) > 1}
                   for kinds in zip(*self.seen, strict=True)]
        if len(self.declared) == len(varying):
            varying = [v | d for v, d in zip(varying, self.declared, strict=True)]
        least = min((shape[d] for shape, dims in zip(shapes, varying, strict=True) for d in dims),
                    default=0)
        return varying if least > 1 else None

    def is_frequent(self, key: Any) -> bool:
        """Whether one kind of sizes comes so often that it deserves a graph of its own."""
        self.calls[key] += 1
        return self.calls[key] > OFTEN


def _declared(form: Any) -> Iterator[set[int]]:
    if isinstance(form, tuple):
        yield {d for d, size in enumerate(form) if size is None}
    for part in form if isinstance(form, list) else ():
        yield from _declared(part)
