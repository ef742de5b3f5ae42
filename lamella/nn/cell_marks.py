"""What programs set on a Cell: its phase, its type, its sharding over processes."""

from __future__ import annotations

from typing import Any

from ..core.require import of_type
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

    pipeline_stage: Any = _number("pipeline_stage", "The stage of a pipeline that runs the Cell.")
    pipeline_segment: Any = _number(
        "pipeline_segment", "With the scheduler ``\"zero_bubble_v\"``: 0 on the way from the first "
        "stage to the last, 1 on the path back.")

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
