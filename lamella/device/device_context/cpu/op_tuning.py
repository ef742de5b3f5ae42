"""How many threads compute on the CPU."""

from ...runtime import dispatch_threads_num

__all__ = ["threads_num"]


def threads_num(num: int) -> None:
    """As `runtime.dispatch_threads_num`."""
    dispatch_threads_num(num)
