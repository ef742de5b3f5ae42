"""Python's own `multiprocessing`: Tensors travel between processes by being pickled."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as __all__
