"""What is compiled for an object and kept in its attributes."""

from __future__ import annotations


class Kept(dict):
    """The compiled forms that belong to one object; its copies and pickles begin without."""

    def __copy__(self) -> Kept:
        return Kept()

    def __deepcopy__(self, memo: dict) -> Kept:
        return Kept()

    def __reduce__(self) -> tuple:
        return Kept, ()
