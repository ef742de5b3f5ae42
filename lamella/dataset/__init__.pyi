"""The names of this package; `make stubs` writes this file."""

from typing import Any

from lamella.dataset import ahead as ahead
from lamella.dataset import argument_rules as argument_rules
from lamella.dataset import arguments as arguments
from lamella.dataset import audio as audio
from lamella.dataset import autotune as autotune
from lamella.dataset import batching as batching
from lamella.dataset import callback as callback
from lamella.dataset import checks as checks
from lamella.dataset import config as config
from lamella.dataset import dataloader as dataloader
from lamella.dataset import described as described
from lamella.dataset import deserializing as deserializing
from lamella.dataset import errors as errors
from lamella.dataset import inputs as inputs
from lamella.dataset import iterators as iterators
from lamella.dataset import makeable as makeable
from lamella.dataset import map_runs as map_runs
from lamella.dataset import mapping as mapping
from lamella.dataset import mindrecord as mindrecord
from lamella.dataset import mindspore_json as mindspore_json
from lamella.dataset import moving as moving
from lamella.dataset import node as node
from lamella.dataset import offload as offload
from lamella.dataset import offloaded_operations as offloaded_operations
from lamella.dataset import order as order
from lamella.dataset import processes as processes
from lamella.dataset import profiling as profiling
from lamella.dataset import rows as rows
from lamella.dataset import samplers as samplers
from lamella.dataset import schema as schema
from lamella.dataset import serializing as serializing
from lamella.dataset import source as source
from lamella.dataset import source_arguments as source_arguments
from lamella.dataset import sources as sources
from lamella.dataset import state as state
from lamella.dataset import text as text
from lamella.dataset import threads as threads
from lamella.dataset import transforms as transforms
from lamella.dataset import user_samplers as user_samplers
from lamella.dataset import vision as vision
from lamella.dataset import waiting as waiting
from lamella.dataset.batching import (
    BatchDataset as BatchDataset, BatchInfo as BatchInfo,
    BucketBatchByLengthDataset as BucketBatchByLengthDataset,
    PaddedBatchDataset as PaddedBatchDataset,
)
from lamella.dataset.callback import DSCallback as DSCallback
from lamella.dataset.config import ErrorSamplesMode as ErrorSamplesMode, set_seed as set_seed
from lamella.dataset.deserializing import deserialize as deserialize
from lamella.dataset.iterators import DictIterator as DictIterator, TupleIterator as TupleIterator
from lamella.dataset.line_reader import LineReader as LineReader
from lamella.dataset.mapping import FilterDataset as FilterDataset, MapDataset as MapDataset
from lamella.dataset.moving import (
    ConcatDataset as ConcatDataset, ProjectDataset as ProjectDataset,
    RenameDataset as RenameDataset, RepeatDataset as RepeatDataset,
    ShuffleDataset as ShuffleDataset, SkipDataset as SkipDataset, TakeDataset as TakeDataset,
    ZipDataset as ZipDataset,
)
from lamella.dataset.node import Dataset as Dataset
from lamella.dataset.remote import DatasetCache as DatasetCache, OBSMindDataset as OBSMindDataset
from lamella.dataset.samplers import (
    BuiltinSampler as BuiltinSampler, DistributedSampler as DistributedSampler,
    PKSampler as PKSampler, RandomSampler as RandomSampler,
    SequentialSampler as SequentialSampler, Shuffle as Shuffle,
    SubsetRandomSampler as SubsetRandomSampler, SubsetSampler as SubsetSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
from lamella.dataset.schema import Schema as Schema
from lamella.dataset.serializing import compare as compare, serialize as serialize, show as show
from lamella.dataset.source import (
    MappableDataset as MappableDataset, SourceDataset as SourceDataset,
)
from lamella.dataset.source_kinds import (
    AudioBaseDataset as AudioBaseDataset, TextBaseDataset as TextBaseDataset,
    VisionBaseDataset as VisionBaseDataset,
)
from lamella.dataset.sources.arrow import (
    ArrowDataset as ArrowDataset, ParquetDataset as ParquetDataset,
)
from lamella.dataset.sources.captioned import (
    FlickrDataset as FlickrDataset, SBUDataset as SBUDataset,
)
from lamella.dataset.sources.cifar import (
    Cifar100Dataset as Cifar100Dataset, Cifar10Dataset as Cifar10Dataset,
    FakeImageDataset as FakeImageDataset, RandomDataset as RandomDataset,
    STL10Dataset as STL10Dataset, SVHNDataset as SVHNDataset, SemeionDataset as SemeionDataset,
    USPSDataset as USPSDataset,
)
from lamella.dataset.sources.corpora import (
    AGNewsDataset as AGNewsDataset, AmazonReviewDataset as AmazonReviewDataset,
    CoNLL2000Dataset as CoNLL2000Dataset, DBpediaDataset as DBpediaDataset,
    EnWik9Dataset as EnWik9Dataset, IMDBDataset as IMDBDataset,
    Multi30kDataset as Multi30kDataset, PennTreebankDataset as PennTreebankDataset,
    SQuADDataset as SQuADDataset, SST2Dataset as SST2Dataset,
    SogouNewsDataset as SogouNewsDataset, UDPOSDataset as UDPOSDataset,
    WikiTextDataset as WikiTextDataset, YahooAnswersDataset as YahooAnswersDataset,
    YelpReviewDataset as YelpReviewDataset,
)
from lamella.dataset.sources.detection import CocoDataset as CocoDataset, VOCDataset as VOCDataset
from lamella.dataset.sources.div2k import DIV2KDataset as DIV2KDataset
from lamella.dataset.sources.faces import (
    LFWDataset as LFWDataset, WIDERFaceDataset as WIDERFaceDataset,
)
from lamella.dataset.sources.generator import GeneratorDataset as GeneratorDataset
from lamella.dataset.sources.hugging_face import HuggingFaceDataset as HuggingFaceDataset
from lamella.dataset.sources.images import (
    Caltech256Dataset as Caltech256Dataset, CelebADataset as CelebADataset,
    Food101Dataset as Food101Dataset, ImageFolderDataset as ImageFolderDataset,
    ManifestDataset as ManifestDataset, OmniglotDataset as OmniglotDataset,
    RenderedSST2Dataset as RenderedSST2Dataset, SUN397Dataset as SUN397Dataset,
)
from lamella.dataset.sources.kitti import KITTIDataset as KITTIDataset
from lamella.dataset.sources.mnist import (
    EMnistDataset as EMnistDataset, FashionMnistDataset as FashionMnistDataset,
    KMnistDataset as KMnistDataset, MnistDataset as MnistDataset,
    QMnistDataset as QMnistDataset,
)
from lamella.dataset.sources.patches import PhotoTourDataset as PhotoTourDataset
from lamella.dataset.sources.photographs import (
    Caltech101Dataset as Caltech101Dataset, Flowers102Dataset as Flowers102Dataset,
    LSUNDataset as LSUNDataset, Places365Dataset as Places365Dataset,
)
from lamella.dataset.sources.records import MindDataset as MindDataset
from lamella.dataset.sources.segmented import (
    CityscapesDataset as CityscapesDataset, SBDataset as SBDataset,
)
from lamella.dataset.sources.slices import (
    NumpySlicesDataset as NumpySlicesDataset, PaddedDataset as PaddedDataset,
)
from lamella.dataset.sources.sounds import (
    GTZANDataset as GTZANDataset, LJSpeechDataset as LJSpeechDataset,
    SpeechCommandsDataset as SpeechCommandsDataset, YesNoDataset as YesNoDataset,
)
from lamella.dataset.sources.speech import (
    CMUArcticDataset as CMUArcticDataset, LibriTTSDataset as LibriTTSDataset,
    TedliumDataset as TedliumDataset,
)
from lamella.dataset.sources.text_files import (
    CSVDataset as CSVDataset, TextFileDataset as TextFileDataset,
)
from lamella.dataset.sources.tfrecord import TFRecordDataset as TFRecordDataset
from lamella.dataset.sources.translation import (
    IWSLT2016Dataset as IWSLT2016Dataset, IWSLT2017Dataset as IWSLT2017Dataset,
)
from lamella.dataset.sources.understanding import CLUEDataset as CLUEDataset
from lamella.dataset.sources.webdataset import WebDataset as WebDataset
from lamella.dataset.transforms.operation import Implementation as Implementation
from lamella.dataset.user_samplers import IterSampler as IterSampler, Sampler as Sampler
from lamella.dataset.waited_callback import WaitedDSCallback as WaitedDSCallback
from lamella.dataset.waiting import (
    SyncWaitDataset as SyncWaitDataset, TransferDataset as TransferDataset,
)

zip: Any
