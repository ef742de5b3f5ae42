"""The names of this package; `make stubs` writes this file."""

from lamella.dataset.transforms import compound as compound
from lamella.dataset.transforms import operation as operation
from lamella.dataset.transforms import transforms as transforms
from lamella.dataset import vision as vision
from lamella.dataset.transforms.compound import (
    Compose as Compose, RandomApply as RandomApply, RandomChoice as RandomChoice,
    RandomOrder as RandomOrder,
)
from lamella.dataset.transforms.transforms import (
    Concatenate as Concatenate, Duplicate as Duplicate, Fill as Fill, Mask as Mask,
    OneHot as OneHot, PadEnd as PadEnd, Plugin as Plugin, Relational as Relational,
    Slice as Slice, TypeCast as TypeCast, Unique as Unique, not_random as not_random,
)
