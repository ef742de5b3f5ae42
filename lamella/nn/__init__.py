"""Cells: layers, containers, losses, optimizers, and wrappers around networks."""

from ..parameter import no_init_parameters
from .cell import Cell
from .container import CellDict, CellList, SequentialCell
from .activation import *
from .adaptive_pooling import *
from .basic import *
from .class_loss import *
from .combined import *
from .convolution import *
from .dense import *
from .dropout import *
from .dynamic_lr import *
from .embedding import *
from .image import *
from .learning_rate_schedule import *
from .loss import *
from .math import *
from .normalization import *
from .padding import *
from .pooling import *
from .recurrent import *
from .transformer import *
from .wrap import *
from .optim import *
