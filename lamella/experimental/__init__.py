"""What MindSpore calls experimental."""

from . import optim as optim
