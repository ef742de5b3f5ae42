"""Python's own `multiprocessing`, under MindSpore's path; Tensors are pickled."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as __all__
