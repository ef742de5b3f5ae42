"""MindSpore's `param_info`: what is known about a Parameter besides its data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class ParamInfo:
    """What is known about a Parameter besides its data; reads and sets the Parameter's own.

    Args:
        obj: the Parameter; None: what a new one has, until it is set as one's `param_info`.
    """

    def __init__(self, obj: Any = None):
        if obj is None:
            obj = SimpleNamespace(name="Parameter", cache_shape=[], **_OF_A_NEW_ONE)
        self.__dict__["obj"] = obj

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.__dict__["obj"].shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["obj"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["obj"], name, value)

    def clone(self) -> ParamInfo:
        """A copy that belongs to no Parameter until it is set as one's `param_info`."""
        return ParamInfo(SimpleNamespace(**self.as_dict()))

    def as_dict(self) -> dict[str, Any]:
        """What is known, without the data and the shape."""
        return {name: getattr(self, name) for name in _KNOWN}


_KNOWN = ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer",
          "parallel_optimizer_comm_recompute", "comm_fusion", "storage_format", "cache_enable",
          "cache_shape", "key", "requires_aggr", "is_pipeline_shared_param", "is_param_init")
_OF_A_NEW_ONE = {
    "requires_grad": True, "layerwise_parallel": False, "parallel_optimizer": True,
    "parallel_optimizer_comm_recompute": False, "comm_fusion": 1, "storage_format": "", "key": -1,
    "cache_enable": False, "requires_aggr": True, "is_pipeline_shared_param": False,
    "is_param_init": False}
