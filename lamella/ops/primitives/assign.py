"""Primitive classes of assignment, dependence and printing."""

from __future__ import annotations

from ..assign import assign, assign_add, assign_sub, depend, print_
from ..primitive import primitive
from ..shape import deepcopy

__all__ = ["Assign", "AssignAdd", "AssignSub", "Depend", "Identity", "Print"]

Assign = primitive("Assign", assign)
AssignAdd = primitive("AssignAdd", assign_add)
AssignSub = primitive("AssignSub", assign_sub)
Depend = primitive("Depend", depend)
Identity = primitive("Identity", deepcopy)  # a new tensor, which `ops.identity` does not make
Print = primitive("Print", print_)
