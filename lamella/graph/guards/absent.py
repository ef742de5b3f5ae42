"""Guards on missing names: code looks for them, and a later call may find them."""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from .bytecode import facts_of
from .kinds import BY_NAME

if TYPE_CHECKING:
    from .reachable import Names

_ASKING = BY_NAME | {"hasattr", "globals", "eval", "exec"}


def sought_by(code: types.CodeType) -> frozenset[str]:
    """The names that a code object may look for and do without.

    These are all names of code that asks whether a name exists, or that handles exceptions, and
    none of other code. Installed packages have thousands of such names, and ask for them when they
    are imported or for other versions of what they use; their code is not looked at.
    """
    if "site-packages" in code.co_filename:
        return frozenset()
    facts = facts_of(code)
    return facts.names if facts.handles or not _ASKING.isdisjoint(facts.names) else frozenset()


def note_absent(found: Names, sought: Set[str], modules: Iterable[types.ModuleType],
                classes: Iterable[type]) -> None:
    """Add to the names in use those that may be there later.

    These are the names sought that modules and the built-in ones lack, and those that classes have
    or lack; and in each class the names that it inherits, which it may override.
    """
    if sought:
        for space in (*map(vars, modules), vars(builtins)):
            found.use(space, space, *[name for name in sought if name not in space])
        for cls in classes:
            found.use(cls, vars(cls), *sought)
    for owner, _, names in list(found.spaces.values()):
        if issubclass(type(owner), type):
            for cls in (*owner.__mro__[1:], *type(owner).__mro__):
                if id(cls) in found.spaces:
                    names.update(found.spaces[id(cls)][2])
