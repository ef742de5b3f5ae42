"""Data pipelines: a source of rows, operations on them, and iterators that give Tensors.

Sources by format, `vision`, `text` and `audio` are imported when they are first named.
"""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import importlib
from typing import Any

from ..compat.missing import name_of as _name_of
from . import config, transforms
from .batching import (
    BatchDataset,
    BatchInfo,
    BucketBatchByLengthDataset,
    PaddedBatchDataset,
)
from .callback import DSCallback
from .config import ErrorSamplesMode
from .config import set_seed as set_seed
from .deserializing import deserialize
from .iterators import DictIterator, TupleIterator
from .mapping import FilterDataset, MapDataset
from .moving import (
    ConcatDataset,
    ProjectDataset,
    RenameDataset,
    RepeatDataset,
    ShuffleDataset,
    SkipDataset,
    TakeDataset,
    ZipDataset,
)
from .node import Dataset
from .samplers import (
    BuiltinSampler,
    DistributedSampler,
    PKSampler,
    RandomSampler,
    SequentialSampler,
    Shuffle,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from .schema import Schema
from .serializing import compare, serialize, show
from .source import MappableDataset, SourceDataset
from .sources.generator import GeneratorDataset
from .sources.slices import NumpySlicesDataset, PaddedDataset
from .transforms.operation import Implementation as Implementation
from .user_samplers import IterSampler, Sampler
from .waiting import SyncWaitDataset, TransferDataset

_ROOMS: tuple[str, ...] = ("audio", "dataloader", "text", "vision")
_FILES = {  # a file in `sources` -> the sources in it
    "arrow": "ArrowDataset ParquetDataset",
    "captioned": "FlickrDataset SBUDataset",
    "cifar": """
        Cifar10Dataset Cifar100Dataset STL10Dataset SVHNDataset SemeionDataset USPSDataset
        RandomDataset FakeImageDataset""",
    "corpora": """
        AGNewsDataset AmazonReviewDataset DBpediaDataset YahooAnswersDataset YelpReviewDataset
        SogouNewsDataset PennTreebankDataset WikiTextDataset EnWik9Dataset SST2Dataset
        CoNLL2000Dataset UDPOSDataset SQuADDataset Multi30kDataset IMDBDataset""",
    "div2k": "DIV2KDataset",
    "faces": "LFWDataset WIDERFaceDataset",
    "detection": "VOCDataset CocoDataset",
    "hugging_face": "HuggingFaceDataset",
    "images": """
        ImageFolderDataset Caltech256Dataset OmniglotDataset RenderedSST2Dataset SUN397Dataset
        Food101Dataset CelebADataset ManifestDataset""",
    "kitti": "KITTIDataset",
    "mnist": """
        MnistDataset FashionMnistDataset KMnistDataset EMnistDataset QMnistDataset""",
    "patches": "PhotoTourDataset",
    "photographs": "Caltech101Dataset Flowers102Dataset LSUNDataset Places365Dataset",
    "records": "MindDataset",
    "segmented": "CityscapesDataset SBDataset",
    "sounds": """
        GTZANDataset YesNoDataset LJSpeechDataset SpeechCommandsDataset""",
    "speech": "CMUArcticDataset LibriTTSDataset TedliumDataset",
    "text_files": "TextFileDataset CSVDataset",
    "tfrecord": "TFRecordDataset",
    "translation": "IWSLT2016Dataset IWSLT2017Dataset",
    "understanding": "CLUEDataset",
    "webdataset": "WebDataset",
}
_WHEN_NAMED = {name: f"sources.{file}" for file, names in _FILES.items() for name in names.split()}
_WHEN_NAMED |= {"LineReader": "line_reader", "WaitedDSCallback": "waited_callback"}
_WHEN_NAMED |= {name: "remote" for name in ("DatasetCache", "OBSMindDataset")}
_WHEN_NAMED |= {f"{kind}BaseDataset": "source_kinds" for kind in ("Audio", "Text", "Vision")}


def zip(datasets: tuple[Dataset, ...]) -> ZipDataset:
    """Rows of several datasets side by side, up to the shortest.

    Examples:
        >>> import lamella.dataset as ds
        >>> a = ds.NumpySlicesDataset({"a": [1, 2]}, shuffle=False)
        >>> b = ds.NumpySlicesDataset({"b": [3, 4]}, shuffle=False)
        >>> [[int(v) for v in row] for row in ds.zip((a, b))]
        [[1, 3], [2, 4]]
    """
    return ZipDataset(datasets)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in _WHEN_NAMED:
        return getattr(importlib.import_module(f".{_WHEN_NAMED[name]}", __name__), name)
    raise _name_of(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_WHEN_NAMED})
