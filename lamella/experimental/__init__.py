"""What MindSpore calls experimental."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from . import optim as optim
from .map_parameter import MapParameter as MapParameter
