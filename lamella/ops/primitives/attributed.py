"""The base of primitives that keep their arguments as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..primitive import Primitive


class Attributed(Primitive):
    """A primitive named like its class that keeps its arguments as attributes."""

    def __init__(self, **attributes: Any):
        super().__init__(type(self).__name__)
        for name, value in attributes.items():
            self.add_prim_attr(name, value)

    if TYPE_CHECKING:  # the attributes
        def __getattr__(self, name: str) -> Any: ...
