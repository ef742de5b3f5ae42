"""Imports JAX at its first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


class _Later:
    """A module that is imported when an attribute of it is read."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import jax as jax
    import jax.numpy as jnp
    from jax import lax as lax
else:
    jax, jnp, lax = _Later("jax"), _Later("jax.numpy"), _Later("jax.lax")
