"""Cells: layers, containers, losses, optimizers, and wrappers around networks."""

from ..parameter import no_init_parameters
from .cell import Cell
from .container import CellDict, CellList, SequentialCell
from .activation import *
from .basic import *
from .convolution import *
from .dynamic_lr import *
from .image import *
from .learning_rate_schedule import *
from .loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .recurrent import *
from .transformer import *
from .wrap import *
from .optim import *
