"""Settings of one kind of device each: `cpu`, `gpu`, `ascend`."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from . import ascend, cpu, gpu

__all__ = ["ascend", "cpu", "gpu"]
