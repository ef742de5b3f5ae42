"""The names of communication libraries and of their groups of all processes."""

from __future__ import annotations

__all__ = [
    "Backend", "GlobalComm", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP", "WORLD_NAMES",
]

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
WORLD_NAMES = {"hccl": HCCL_WORLD_COMM_GROUP, "nccl": NCCL_WORLD_COMM_GROUP,
               "mccl": MCCL_WORLD_COMM_GROUP}


class Backend(str):
    """The name of a communication library, checked; programs compare it.

    Raises:
        TypeError: if `name` is no str.
        ValueError: if MindSpore has no library of that name.

    Examples:
        >>> Backend("mccl") == Backend.MCCL
        True
    """

    UNDEFINED = "undefined"
    HCCL = "hccl"
    NCCL = "nccl"
    MCCL = "mccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise TypeError(f"For 'Backend', 'name' must be a str, but got {type(name)}.")
        if name.lower() not in WORLD_NAMES:
            raise ValueError(f"For 'Backend', 'name' must be one of 'hccl', 'nccl' and 'mccl', "
                             f"but got {name!r}.")
        return super().__new__(cls, name.lower())


class GlobalComm:
    """The state of the world of processes.

    Attributes:
        BACKEND: the name that the communication library goes by.
        WORLD_COMM_GROUP: the name of the group of all processes.
        INITED: whether `init` has been called.
        CHECK_ENVS: kept as MindSpore has it.
    """

    BACKEND: str = Backend.HCCL
    WORLD_COMM_GROUP: str = HCCL_WORLD_COMM_GROUP
    INITED: bool = False
    CHECK_ENVS: bool = True
