"""Optimizers over groups of parameters, each a dict with its own settings, as in PyTorch."""

from . import lr_scheduler
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .descent import ASGD, SGD, Rprop
from .muon import Muon
from .optimizer import Optimizer as Optimizer
from .scaled import Adadelta, Adagrad, RMSprop

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "SGD"]
