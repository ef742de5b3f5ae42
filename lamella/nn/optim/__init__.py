"""Optimizers: called with the gradients, they update the parameters of a network."""

from .ada_grad import Adagrad
from .adadelta import Adadelta
from .adafactor import AdaFactor
from .adam import Adam, AdamOffload, AdamWeightDecay
from .adamax import AdaMax
from .adasum import AdaSumByDeltaWeightWrapCell, AdaSumByGradWrapCell
from .asgd import ASGD
from .ftrl import FTRL
from .lamb import Lamb
from .lars import LARS
from .lazyadam import LazyAdam
from .momentum import Momentum
from .optimizer import Optimizer
from .proximal_ada_grad import ProximalAdagrad
from .rmsprop import RMSProp
from .rprop import Rprop
from .sgd import SGD

__all__ = ["Optimizer", "Momentum", "LARS", "Adam", "AdamWeightDecay", "LazyAdam", "AdamOffload",
           "Lamb", "SGD", "ASGD", "Rprop", "FTRL", "RMSProp", "ProximalAdagrad", "Adagrad",
           "AdaFactor", "AdaMax", "Adadelta", "AdaSumByDeltaWeightWrapCell", "AdaSumByGradWrapCell"]
