"""The operators that Tensor's methods call, by name: a registry that programs ask."""

from __future__ import annotations

from typing import Any

from .. import ops

__all__ = ["Registry", "tensor_operator_registry"]


class Registry:
    """Operators by name; those of `ops` are all there.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tensor_operator_registry.get("abs")(ms.Tensor([-1.0])))
        [1.]
    """

    def register(self, obj_str: str, obj: Any) -> None:
        """Put an operator under a name, which must be a str."""
        if not isinstance(obj_str, str):
            raise TypeError(f"key for tensor registry must be string, but got {type(obj_str)}.")
        setattr(self, obj_str, obj)

    def get(self, obj_str: str) -> Any:
        """The operator of a name.

        Raises:
            TypeError: if the name is no str.
            AttributeError: if there is none.
        """
        if not isinstance(obj_str, str):
            raise TypeError(f"key for tensor registry must be string, but got {type(obj_str)}.")
        return getattr(self, obj_str)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(ops, name)


tensor_operator_registry = Registry()
