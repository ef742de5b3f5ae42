"""The names that a file may use to describe a pipeline; all others are refused.

A file that describes a pipeline names sources, operations, samplers and enumerations. A name that
isn't in these tables is refused, whatever module has it. Left out on purpose are those that run
functions of Python's, load libraries, or read from a network.
"""

from __future__ import annotations

import importlib
from typing import Any

SOURCES = frozenset("""
    AGNewsDataset AmazonReviewDataset CLUEDataset CMUArcticDataset CSVDataset Caltech101Dataset
    Caltech256Dataset CelebADataset Cifar100Dataset Cifar10Dataset CityscapesDataset
    CoNLL2000Dataset CocoDataset DBpediaDataset DIV2KDataset EMnistDataset EnWik9Dataset
    FakeImageDataset FashionMnistDataset FlickrDataset Flowers102Dataset Food101Dataset
    GTZANDataset IMDBDataset IWSLT2016Dataset IWSLT2017Dataset ImageFolderDataset KITTIDataset
    KMnistDataset LFWDataset LJSpeechDataset LSUNDataset LibriTTSDataset ManifestDataset
    MindDataset MnistDataset Multi30kDataset OmniglotDataset PennTreebankDataset PhotoTourDataset
    Places365Dataset QMnistDataset RandomDataset RenderedSST2Dataset SBDataset SBUDataset
    SQuADDataset SST2Dataset STL10Dataset SUN397Dataset SVHNDataset SemeionDataset
    SogouNewsDataset SpeechCommandsDataset TFRecordDataset TedliumDataset TextFileDataset
    UDPOSDataset USPSDataset VOCDataset WIDERFaceDataset WikiTextDataset YahooAnswersDataset
    YelpReviewDataset YesNoDataset""".split())

NODES = frozenset("""
    Batch BucketBatchByLength Concat Map PaddedBatch Project Rename Repeat Shuffle Skip Take
    Transfer Zip""".split())

SAMPLERS = frozenset("""
    DistributedSampler PKSampler RandomSampler SequentialSampler SubsetRandomSampler SubsetSampler
    WeightedRandomSampler""".split())

OPERATIONS = {room: frozenset(names.split()) for room, names in {
    "transforms": """
        Compose Concatenate Duplicate Fill Mask OneHot PadEnd RandomApply RandomChoice RandomOrder
        Slice TypeCast Unique""",
    "vision": """
        AdjustBrightness AdjustContrast AdjustGamma AdjustHue AdjustSaturation AdjustSharpness
        Affine AutoAugment AutoContrast BoundingBoxAugment CenterCrop ConvertColor Crop CutMixBatch
        CutOut Decode DecodeVideo Equalize Erase FiveCrop GaussianBlur Grayscale HWC2CHW
        HorizontalFlip HsvToRgb Invert LinearTransformation MixUp MixUpBatch Normalize NormalizePad
        Pad PadToSize Perspective Posterize RandAugment RandomAdjustSharpness RandomAffine
        RandomAutoContrast RandomColor RandomColorAdjust RandomCrop RandomCropDecodeResize
        RandomCropWithBBox RandomEqualize RandomErasing RandomGrayscale RandomHorizontalFlip
        RandomHorizontalFlipWithBBox RandomInvert RandomLighting RandomPerspective RandomPosterize
        RandomResize RandomResizeWithBBox RandomResizedCrop RandomResizedCropWithBBox
        RandomRotation RandomSelectSubpolicy RandomSharpness RandomSolarize RandomVerticalFlip
        RandomVerticalFlipWithBBox Rescale Resize ResizeWithBBox ResizedCrop RgbToHsv Rotate
        SlicePatches Solarize TenCrop ToNumpy ToPIL ToTensor ToType TrivialAugmentWide
        UniformAugment VerticalFlip""",
    "text": """
        AddToken BasicTokenizer BertTokenizer CaseFold FilterWikipediaXML JiebaTokenizer Lookup
        Ngram NormalizeUTF8 RegexReplace RegexTokenizer SentencePieceTokenizer SlidingWindow
        ToNumber ToVectors Truncate TruncateSequencePair UnicodeCharTokenizer
        UnicodeScriptTokenizer WhitespaceTokenizer WordpieceTokenizer""",
    "audio": """
        AllpassBiquad AmplitudeToDB Angle BandBiquad BandpassBiquad BandrejectBiquad BassBiquad
        Biquad ComplexNorm ComputeDeltas Contrast DBToAmplitude DCShift DeemphBiquad
        DetectPitchFrequency Dither EqualizerBiquad Fade Filtfilt Flanger FrequencyMasking Gain
        GriffinLim HighpassBiquad InverseMelScale InverseSpectrogram LFCC LFilter LowpassBiquad
        MFCC Magphase MaskAlongAxis MaskAlongAxisIID MelScale MelSpectrogram MuLawDecoding
        MuLawEncoding Overdrive PhaseVocoder Phaser PitchShift Resample RiaaBiquad SlidingWindowCmn
        SpectralCentroid Spectrogram TimeMasking TimeStretch TrebleBiquad Vad Vol"""}.items()}

ENUMERATIONS = {room: frozenset(names.split()) for room, names in {
    "": "Shuffle",
    "transforms": "Relational",
    "vision": """
        AutoAugmentPolicy Border ConvertMode ImageBatchFormat ImageReadMode Inter SliceMode""",
    "text": "JiebaMode NormalizeForm SPieceTokenizerLoadType SPieceTokenizerOutType",
    "audio": """
        BorderType DensityFunction FadeShape GainType Interpolation MelType Modulation NormMode
        NormType ResampleMethod ScaleType WindowType"""}.items()}


def public(name: str, room: str = "") -> Any:
    """What has a public name in `lamella.dataset`, or in one of its rooms.

    The caller has looked the name up in one of the tables.
    """
    place = importlib.import_module(f".{room}" if room else ".", __package__)
    return getattr(place, name)


def place_of(kind: type, tables: dict[str, frozenset[str]]) -> list[str] | None:
    """The room and the name of a class, or None if it isn't in the tables."""
    for room, names in tables.items():
        if kind.__name__ in names and public(kind.__name__, room) is kind:
            return [room, kind.__name__]
    return None
