"""The compiled functions of one object, kept in its attributes."""

from __future__ import annotations


class CompiledMethods(dict):
    """The compiled functions of one object; its copies and pickles start without any."""

    def __copy__(self) -> CompiledMethods:
        return CompiledMethods()

    def __deepcopy__(self, memo: dict) -> CompiledMethods:
        return CompiledMethods()

    def __reduce__(self) -> tuple:
        return CompiledMethods, ()
