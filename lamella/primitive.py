"""Primitive: an operator as an object, built once with its attributes and called many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any


class Primitive:
    """An operator with attributes.

    Args:
        name: the operator's name.

    Examples:
        >>> import lamella as ms
        >>> add = ms.ops.Add()
        >>> print(add(ms.Tensor([1, 2]), ms.Tensor([3, 4])), add.name)
        [4 6] Add
    """

    if TYPE_CHECKING:  # the attributes that `add_prim_attr` sets
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, name: str):
        self.name = name
        self.attrs: dict[str, Any] = {}
        self.instance_name: str | None = None

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError(f"The primitive '{self.name}' defines no computation.")

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set attribute `name` of the operator; returns the operator."""
        self.__dict__[name] = value
        self.attrs[name] = value
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Take attribute `name` away; returns the operator."""
        self.__dict__.pop(name, None)
        self.attrs.pop(name, None)
        return self

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Give this object a name of its own; returns the operator."""
        self.instance_name = name
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Name the inputs and outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_device(self, device_target: str) -> Primitive:
        """Name the device to run on; the data's own device decides here. Returns the operator."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: int) -> Primitive:
        """Name the pipeline stage; returns the operator."""
        return self.add_prim_attr("stage", stage)

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Name how inputs and outputs are split over devices; returns the operator."""
        return self.add_prim_attr("in_strategy", in_strategy).add_prim_attr(
            "out_strategy", out_strategy)

    def recompute(self, mode: bool = True) -> Primitive:
        """Mark the operator to be computed again in the backward pass; returns the operator."""
        return self.add_prim_attr("recompute", mode)

    def __repr__(self) -> str:
        attrs = ", ".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"Prim[{self.name}]<{attrs}>" if attrs else f"Prim[{self.name}]"


def primitive(name: str, function: Callable[..., Any]) -> type[Primitive]:
    """A Primitive class without attributes that computes `function`."""

    class _Plain(Primitive):
        __doc__ = f"The operator `{function.__name__}` as an object without attributes."

        def __init__(self):
            super().__init__(name)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    _Plain.__name__ = _Plain.__qualname__ = name
    _Plain.__module__ = function.__module__
    return _Plain
