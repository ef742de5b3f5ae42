"""Data pipelines: a source of rows, operations on them, and iterators that give Tensors."""

from . import config
from .node import Dataset, zip
from .samplers import (
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from .sources import GeneratorDataset, NumpySlicesDataset
