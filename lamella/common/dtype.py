"""`common.dtype`: the data types of `lamella.dtype`."""

from ..dtype import *  # noqa: F403
