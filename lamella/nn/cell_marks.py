"""Marks that programs set on a Cell: its phase, its type, its sharding over processes."""

from __future__ import annotations

import enum
from typing import Any

from ..core.require import of_type, one_of
from ..core.spreading import spreading
from .cell_tree import CellTree


def _number(name: str, what: str) -> property:
    """A number that a program sets on a Cell; without it, reading it is an AttributeError."""
    def get(self: Any) -> int:
        try:
            return self.__dict__[f"_{name}"]
        except KeyError:
            raise AttributeError(f"The '{type(self).__name__}' object has no attribute "
                                 f"'{name}'.") from None

    def put(self: Any, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"For 'Cell', the property '{name}' must be int type, but got type : "
                            f"{type(value)}")
        if value < 0:
            raise ValueError(f"For 'Cell', the property '{name}' can not be less than 0, but got "
                             f"{value}")
        self.__dict__[f"_{name}"] = value

    return property(get, put, doc=what)


class MixedPrecisionType(enum.IntEnum):
    """The floating types in which a Cell may compute."""

    NOTSET = 0
    FP16 = 1
    FP32 = 2
    BF16 = 3


class CellMarks(CellTree):
    """Settings of a Cell that don't change what it computes.

    Attributes:
        phase: ``"train"``; after `set_train` ``"train"`` or ``"predict"``; or what was assigned.
        cell_type: what `update_cell_type` was given.
    """

    phase: str = "train"
    cell_type: Any = None

    @property
    def parameter_layout_dict(self) -> dict[str, Any]:
        """The layouts of Parameters by name; filled by programs, not by Lamella."""
        return self.__dict__.setdefault("_parameter_layout_dict", {})

    @parameter_layout_dict.setter
    def parameter_layout_dict(self, value: dict[str, Any]) -> None:
        of_type(value, dict, "parameter_layout_dict", "Cell")
        self.__dict__["_parameter_layout_dict"] = value

    @property
    def bprop_debug(self) -> bool:
        """Whether MindSpore would run a `bprop` as Python inside of graphs; here it always is.

        Raises:
            TypeError: if it is set to another value than a bool.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.ReLU()
            >>> net.bprop_debug = True
            >>> net.bprop_debug
            True
        """
        return self.__dict__.get("_bprop_debug", False)

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        of_type(value, bool, "bprop_debug", "Cell")
        self.__dict__["_bprop_debug"] = value

    def generate_scope(self) -> None:
        """Name each Cell below by its path, which `get_scope` then gives.

        Examples:
            >>> from lamella import nn
            >>> net = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())
            >>> net.generate_scope()
            >>> [cell.get_scope() for cell in net.cells()]
            ['Default/0-Dense', 'Default/1-ReLU']
        """
        self._name_below("Default")

    def _name_below(self, path: str) -> None:
        for name, cell in self.name_cells().items():
            here = f"{path}/{name}-{type(cell).__name__}"
            cell.__dict__.setdefault("_scope", here)
            cell._name_below(here)

    def get_scope(self) -> str | None:
        """The path that `generate_scope` gave; None before, and for the Cell that it was called on.
        """
        return self.__dict__.get("_scope")

    def set_boost(self, boost_type: str) -> CellMarks:
        """Set the flag of an algorithm of ``boost`` on this Cell and those below it.

        Args:
            boost_type: ``"less_bn"``, the only one.

        Raises:
            ValueError: for any other.

        Examples:
            >>> from lamella import nn
            >>> nn.ReLU().set_boost("less_bn").get_flags()["less_bn"]
            True
        """
        one_of(boost_type, ("less_bn",), "boost_type", "set_boost")
        return self.add_flags_recursive(less_bn=True)  # type: ignore[attr-defined]

    def set_mixed_precision_type(self, mixed_type: MixedPrecisionType,
                                 recursive: bool = True) -> None:
        """Compute in another floating type, as `to_float`.

        Args:
            mixed_type: which one; ``NOTSET`` changes nothing.
            recursive: whether the Cells below do, too.

        Raises:
            TypeError: if `mixed_type` is no `MixedPrecisionType`.

        Examples:
            >>> from lamella import nn
            >>> from lamella.nn.cell_marks import MixedPrecisionType
            >>> net = nn.Dense(3, 2)
            >>> net.set_mixed_precision_type(MixedPrecisionType.BF16)
            >>> net.get_mixed_precision_type().name
            'BF16'
        """
        of_type(mixed_type, MixedPrecisionType, "mixed_type", "set_mixed_precision_type")
        if mixed_type:
            flags = {t.name.lower(): t is mixed_type for t in MixedPrecisionType if t}
            add: Any = self.add_flags_recursive if recursive else self.add_flags  # type: ignore
            add(**flags)

    def get_mixed_precision_type(self) -> MixedPrecisionType:
        """The floating type in which this Cell computes; ``NOTSET`` where it is that of its inputs.
        """
        for kind in MixedPrecisionType:
            if kind and self.__dict__.get(kind.name.lower()):
                return kind
        return MixedPrecisionType.NOTSET

    pipeline_stage: Any = _number("pipeline_stage", "The stage of a pipeline that runs the Cell.")
    pipeline_segment: Any = _number(
        "pipeline_segment", "With the scheduler ``\"zero_bubble_v\"``: 0 on the way from the first "
        "stage to the last, 1 on the path back.")

    @property
    def cell_init_args(self) -> str:
        """What the Cell was made with, as text, where `cell_attr_register` keeps it."""
        try:
            return self.__dict__["_cell_init_args"]
        except KeyError:
            raise AttributeError(f"The '{type(self).__name__}' object has no attribute "
                                 f"'cell_init_args'.") from None

    @cell_init_args.setter
    def cell_init_args(self, value: str) -> None:
        self.__dict__["_cell_init_args"] = value

    def update_cell_type(self, cell_type: Any) -> None:
        """Set `cell_type`."""
        self.cell_type = cell_type

    def shard(self, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None) -> None:
        """Set how inputs, outputs and Parameters are sharded over processes.

        As in MindSpore, it takes effect in the modes ``"semi_auto_parallel"`` and
        ``"auto_parallel"`` only. It decides which process computes what; results are the same.

        Args:
            in_strategy: for each input a tuple with the number of shards of each dimension, or a
                `Layout`, or None.
            out_strategy: the same for each output, or None.
            parameter_plan: the same for Parameters, by name, or None.

        Raises:
            TypeError: if an argument is of the wrong type.
            ValueError: if there is no Parameter of a name.
        """
        for name, value, kind in (("in_strategy", in_strategy, tuple),
                                  ("out_strategy", out_strategy, (tuple, type(None))),
                                  ("parameter_plan", parameter_plan, (dict, type(None)))):
            if not isinstance(value, kind):
                raise TypeError(f"For 'Cell.shard', '{name}' must be a "
                                f"{'dict' if name == 'parameter_plan' else 'tuple'}, "
                                f"but got {type(value).__name__}.")
        self.__dict__["_strategies"] = in_strategy, out_strategy, parameter_plan
        spreading().shard_cell(self, parameter_plan or {})
