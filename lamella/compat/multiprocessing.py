"""Python's own `multiprocessing`, under MindSpore's path; Tensors are pickled."""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as __all__
