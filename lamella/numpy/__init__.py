"""`mindspore.numpy`: NumPy's names for Lamella's functions.

Faces of `ops`: their rules of types (`types.py`) and their arguments are MindSpore's.
"""

from . import fft
from .arithmetic import *
from .calculus import *
from .creation import *
from .elementary import *
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
