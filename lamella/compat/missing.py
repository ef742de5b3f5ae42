"""Errors about names that are not there: what they are here, or which name is the nearest."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .absent import is_mindspores, nearest

_ROOMS = ("lamella", *(f"lamella.{room}" for room in "nn ops train dataset amp mint".split()))
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


class MissingAttribute(AttributeError):
    """An attribute that isn't there; what to use instead is looked up only when it is shown."""

    def __init__(self, text: str, name: str, kinds: tuple[str, ...], holder: Any):
        super().__init__(text, name=name)
        self.kinds = kinds
        self.holder = holder

    def __str__(self) -> str:
        return self.args[0] + _hint(self.kinds, self.name or "", self.holder)

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


# the last line of a traceback calls it what it is to the user
MissingAttribute.__module__, MissingAttribute.__qualname__ = "builtins", "AttributeError"


def attribute_of(holder: Any, kinds: Iterable[str], name: str, text: str) -> AttributeError:
    """The error for an attribute that an object doesn't have.

    Args:
        holder: the object.
        kinds: the names of its classes, the nearest first.
        name: the attribute.
        text: what the error says first.
    """
    if name.startswith("_"):
        return AttributeError(text, name=name, obj=holder)
    return MissingAttribute(text, name, tuple(kinds), holder)


def name_of(module: str, name: str) -> Exception:
    """The error for a name that a module doesn't have, to be raised by its ``__getattr__``.

    In a statement ``from module import name``, which hides the text of an AttributeError, it is an
    ImportError.
    """
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text, name=name)
    holder = sys.modules[module]
    if is_from_import(sys._getframe(2)):
        return ImportError(f"cannot import name {name!r} from {module!r}"
                           f"{_hint((), name, holder)}", name=module, path=holder.__file__)
    return MissingAttribute(text, name, (), holder)


def getattr_of(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has nothing to import later."""
    def __getattr__(name: str) -> Any:  # noqa: N807
        raise name_of(module, name)

    return __getattr__


def is_from_import(frame: FrameType) -> bool:
    """Whether `frame` stands at ``from module import name``, which hides AttributeError's text."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def _hint(kinds: tuple[str, ...], name: str, holder: Any) -> str:
    """What an error says besides: a remedy, or the nearest name."""
    from . import foreign_names  # some hundred names, for an error alone

    module = getattr(holder, "__name__", "")
    if kinds:
        owners = [f"mindspore.{'' if kind in ('Tensor', 'Parameter') else 'nn.'}{kind}"
                  for kind in kinds]
        foreign = foreign_names.in_class(kinds, name)
    else:
        owners = ["mindspore" + module.removeprefix("lamella")]
        foreign = foreign_names.in_module(module, name)
    if any(is_mindspores(owner, name) for owner in owners):
        return "; MindSpore 2.10's has, Lamella's has not yet"
    if foreign is not None:
        return f" ({foreign.framework}'s '{foreign.name}'): {foreign.remedy}"
    rooms = [room for room in _ROOMS if hasattr(sys.modules.get(room), name)]
    if not kinds and rooms:
        return f"; it is {rooms[0]}.{name}"
    near = nearest(name, [n for n in dir(holder) if not n.startswith("_")])
    return "" if near is None else f"; did you mean '{near}'?"
