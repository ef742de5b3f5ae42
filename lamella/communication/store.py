"""`TCPStore`: values by key that processes share, kept by one of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from torch._C import _distributed_c10d as c10d

__all__ = ["TCPStore"]


class TCPStore:
    """Values by key that one process keeps, and others read and write over the network.

    Args:
        host_name: the name or address of the machine where the process that keeps them runs.
        port: where that process listens; 0 has it choose one, which `port` then tells.
        world_size: how many processes use the store; only the one that keeps it needs to know.
        is_master: whether this process keeps the values.
        timeout: how long to wait for the other processes, and for a value that isn't there yet.
        wait_for_workers: whether the one that keeps them first waits for the `world_size` others.
        multi_tenant, master_listen_fd, use_libuv: have no effect.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if there is no such port, or `world_size` isn't above 0.
        RuntimeError: if the processes don't find each other in time.

    Examples:
        >>> from lamella.communication.store import TCPStore
        >>> store = TCPStore("127.0.0.1", 0, is_master=True)
        >>> store.set("first", "value")
        >>> store.get("first"), store.add("count", 2), store.delete_key("first")
        (b'value', 2, True)
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None,
                 is_master: bool = False, timeout: timedelta = timedelta(seconds=300),
                 wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True):
        size = 1 if world_size is None else world_size
        for argument, value, kind in (
                ("host_name", host_name, str), ("port", port, int), ("is_master", is_master, bool),
                ("timeout", timeout, timedelta), ("wait_for_workers", wait_for_workers, bool),
                ("world_size", size, int)):
            _check("TCPStore", argument, value, (kind,))
        if not 0 <= port <= 65535:
            raise ValueError(f"For 'TCPStore', 'port' must be in [0, 65535], but got {port}.")
        if size <= 0:
            raise ValueError(f"For 'TCPStore', 'world_size' must be above 0, but got {size}.")
        self.host = host_name
        try:
            self.store: Any = c10d.TCPStore(host_name, port, world_size, is_master, timeout,
                                       wait_for_workers and world_size is not None)
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(f"For 'TCPStore', {host_name}:{port} could not be "
                               f"{'opened' if is_master else 'reached'}: {error}") from error
        self.port = self.store.port

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, which begins at 0; the sum."""
        _check("TCPStore.add", "key", key, (str,))
        _check("TCPStore.add", "amount", amount, (int,))
        return self.store.add(key, amount)

    def set(self, key: str, value: bytes | str) -> None:
        """Give a key a value, in place of any that it has."""
        _check("TCPStore.set", "key", key, (str,))
        _check("TCPStore.set", "value", value, (str, bytes))
        self.store.set(key, value)

    def get(self, key: str) -> bytes:
        """The value of a key; waits for one as long as the store's timeout says.

        Raises:
            RuntimeError: if there is none by then.
        """
        _check("TCPStore.get", "key", key, (str,))
        return self.store.get(key)

    def delete_key(self, key: str) -> bool:
        """Take away a key and its value; whether there was one."""
        _check("TCPStore.delete_key", "key", key, (str,))
        return self.store.delete_key(key)


def _check(function: str, argument: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"For '{function}', the argument '{argument}' must be type of {wanted}, "
                        f"but got '{argument}' type : {type(value)}.")
