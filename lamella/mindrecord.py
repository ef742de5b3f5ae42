"""MindSpore's `mindrecord`: what `lamella.dataset.mindrecord` has."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

from .dataset.mindrecord import *  # noqa: F403
