"""`mindspore.numpy`: NumPy's names for Lamella's functions.

They call `ops`; their arguments and type promotion (`types.py`) are those of MindSpore's.
"""

import builtins as _builtins
from typing import Any as _Any

from ..compat.missing import name_of as _name_of
from . import fft
from .arithmetic import *
from .calculus import *
from .creation import *
from .elementary import *
from .elementary import around as _around
from .grids import *
from .histograms import *
from .join import *
from .logic import *
from .matrices import *
from .padding import *
from .polynomials import *
from .products import *
from .reduce import *
from .select import *
from .sets import *
from .shape import *
from .statistics import *
from .text import *
from .types import *
from .types import raise_value_error as _raise_value_error
from .types import to_tensors as _to_tensor


def __getattr__(name: str) -> _Any:
    if name == "round":  # not among the names that `import *` gives: it would hide Python's own
        return _around
    raise _name_of(__name__, name)


def __dir__() -> list[str]:
    return _builtins.sorted({*globals(), "round"})
