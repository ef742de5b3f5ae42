"""Primitives that ran on GPUs alone: they can be imported, but not made."""

from __future__ import annotations

from typing import Any

from ..ops.primitive import Primitive

__all__ = ["EnvCreate", "EnvReset", "EnvStep", "MuxReceive", "MuxSend"]


class _Elsewhere(Primitive):
    """A Primitive that says what to use instead when it is made."""

    instead = "give the environment as Python to ops.PyFunc"

    def __init__(self, *args: Any, **kwargs: Any):
        name = type(self).__name__
        raise NotImplementedError(f"'{name}' was a kernel for GPUs in older versions of MindSpore, "
                                  f"and is no part of Lamella; {self.instead}.")


class EnvCreate(_Elsewhere):
    """Made an environment that was built into MindSpore for GPUs."""


class EnvReset(_Elsewhere):
    """Began an episode of such an environment."""


class EnvStep(_Elsewhere):
    """Took a step in such an environment."""


class MuxSend(_Elsewhere):
    """Sent several Tensors to a process, or to the one that was received from last."""

    instead = "use ops.Send for each Tensor"


class MuxReceive(_Elsewhere):
    """Received several Tensors from whichever process sent some."""

    instead = "use ops.Receive for each Tensor"
