"""Python's own `multiprocessing`: Tensors travel between processes by being pickled."""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as __all__
