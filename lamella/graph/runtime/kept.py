"""The compiled functions of one object, kept in its attributes."""

from __future__ import annotations


class Kept(dict):
    """The compiled functions of one object; its copies and pickles start without any."""

    def __copy__(self) -> Kept:
        return Kept()

    def __deepcopy__(self, memo: dict) -> Kept:
        return Kept()

    def __reduce__(self) -> tuple:
        return Kept, ()
