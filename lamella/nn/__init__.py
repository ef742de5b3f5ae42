"""Cells: layers, containers, losses, optimizers, and wrappers around networks."""

import importlib as _importlib

from ..compat.missing import name_of as _name_of
from ..tensors.parameter import no_init_parameters as no_init_parameters
from .activation import *
from .adaptive_pooling import *
from .basic import *
from .cell import Cell as Cell
from .class_loss import *
from .combined import *
from .container import CellDict as CellDict
from .container import CellList as CellList
from .container import SequentialCell as SequentialCell
from .convolution import *
from .dense import *
from .dropout import *
from .dynamic_lr import *
from .embedding import *
from .graph_cell import GraphCell as GraphCell
from .image import *
from .int8 import *
from .learning_rate_schedule import *
from .likelihood_loss import *
from .lora import *
from .loss import *
from .margin_loss import *
from .math import *
from .matrix import *
from .moving_average import *
from .normalization import *
from .optim import *
from .optim.functional import *
from .padding import *
from .pooling import *
from .rectifier import *
from .recurrent import *
from .sparse import *
from .sync_normalization import *
from .transformer import *
from .wrap import *


def __getattr__(name: str) -> object:
    if name == "probability":  # imported when first named, as few programs need it
        return _importlib.import_module(f"{__name__}.{name}")
    raise _name_of(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "probability"})
