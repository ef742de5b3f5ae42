"""What older versions asked of processes that were parameter servers: there are none here."""

from __future__ import annotations

__all__ = ["_is_role_pserver", "_is_role_worker"]


def _is_role_pserver() -> bool:
    """Whether this process is a parameter server: False.

    Examples:
        >>> from lamella.legacy import parameter_servers
        >>> parameter_servers._is_role_pserver()
        False
    """
    return False


def _is_role_worker() -> bool:
    """Whether this process works with parameter servers: False.

    Examples:
        >>> from lamella.legacy import parameter_servers
        >>> parameter_servers._is_role_worker()
        False
    """
    return False
