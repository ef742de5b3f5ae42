"""`common.dtype`: the data types of `lamella.dtype`."""

from ..core.dtype import *  # noqa: F403
