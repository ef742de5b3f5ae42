"""Settings of one kind of device each: `cpu`, `gpu`, `ascend`."""

from . import ascend, cpu, gpu

__all__ = ["ascend", "cpu", "gpu"]
