"""The base of layers that are a function of `functional` with its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn import Cell
from ...tensors.tensor import Tensor


class FunctionLayer(Cell):
    """A layer that calls `function` with its input and its settings, which are attributes."""

    function: Callable[..., Any]

    def __init__(self, **settings: Any):
        super().__init__()
        self._names = tuple(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def construct(self, input: Tensor) -> Any:
        return type(self).function(input, **self._settings())


class FunctionLoss(FunctionLayer):
    """A loss that calls `function` with its input, its target and its settings."""

    def construct(self, input: Tensor, target: Tensor) -> Any:  # type: ignore[override]
        return type(self).function(input, target, **self._settings())
