"""`reshard`, under the path that it has in MindSpore."""

from .auto_parallel import reshard

__all__ = ["reshard"]
