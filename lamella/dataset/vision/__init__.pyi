"""The names of this package; `make stubs` writes this file."""

from lamella.dataset.vision import augment as augment
from lamella.dataset.vision import boxes as boxes
from lamella.dataset.vision import color as color
from lamella.dataset.vision import conversion as conversion
from lamella.dataset.vision import enums as enums
from lamella.dataset.vision import geometry as geometry
from lamella.dataset.vision import image as image
from lamella.dataset.vision import kernels as kernels
from lamella.dataset.vision import mixing as mixing
from lamella.dataset.vision import random_color as random_color
from lamella.dataset.vision import random_geometry as random_geometry
from lamella.dataset.vision import utils as utils
from lamella.dataset.vision import video as video
from lamella.dataset.transforms.transforms import not_random as not_random
from lamella.dataset.vision.augment import (
    AutoAugment as AutoAugment, RandAugment as RandAugment,
    RandomSelectSubpolicy as RandomSelectSubpolicy, TrivialAugmentWide as TrivialAugmentWide,
    UniformAugment as UniformAugment,
)
from lamella.dataset.vision.boxes import (
    BoundingBoxAugment as BoundingBoxAugment, RandomCropWithBBox as RandomCropWithBBox,
    RandomHorizontalFlipWithBBox as RandomHorizontalFlipWithBBox,
    RandomResizeWithBBox as RandomResizeWithBBox,
    RandomResizedCropWithBBox as RandomResizedCropWithBBox,
    RandomVerticalFlipWithBBox as RandomVerticalFlipWithBBox, ResizeWithBBox as ResizeWithBBox,
)
from lamella.dataset.vision.color import (
    AdjustBrightness as AdjustBrightness, AdjustContrast as AdjustContrast,
    AdjustGamma as AdjustGamma, AdjustHue as AdjustHue, AdjustSaturation as AdjustSaturation,
    AdjustSharpness as AdjustSharpness, AutoContrast as AutoContrast, Equalize as Equalize,
    GaussianBlur as GaussianBlur, Invert as Invert, Posterize as Posterize,
    Solarize as Solarize,
)
from lamella.dataset.vision.conversion import (
    ConvertColor as ConvertColor, Decode as Decode, DecodeVideo as DecodeVideo,
    Grayscale as Grayscale, HWC2CHW as HWC2CHW, HsvToRgb as HsvToRgb,
    LinearTransformation as LinearTransformation, Normalize as Normalize,
    NormalizePad as NormalizePad, Rescale as Rescale, RgbToHsv as RgbToHsv, ToNumpy as ToNumpy,
    ToPIL as ToPIL, ToTensor as ToTensor, ToType as ToType,
)
from lamella.dataset.vision.enums import (
    AutoAugmentPolicy as AutoAugmentPolicy, Border as Border, ConvertMode as ConvertMode,
    ImageBatchFormat as ImageBatchFormat, ImageReadMode as ImageReadMode, Inter as Inter,
    SliceMode as SliceMode,
)
from lamella.dataset.vision.geometry import (
    Affine as Affine, CenterCrop as CenterCrop, Crop as Crop, FiveCrop as FiveCrop,
    HorizontalFlip as HorizontalFlip, Pad as Pad, PadToSize as PadToSize,
    Perspective as Perspective, Resize as Resize, ResizedCrop as ResizedCrop, Rotate as Rotate,
    SlicePatches as SlicePatches, TenCrop as TenCrop, VerticalFlip as VerticalFlip,
)
from lamella.dataset.vision.mixing import (
    CutMixBatch as CutMixBatch, CutOut as CutOut, Erase as Erase, MixUp as MixUp,
    MixUpBatch as MixUpBatch, RandomErasing as RandomErasing,
)
from lamella.dataset.vision.random_color import (
    RandomAdjustSharpness as RandomAdjustSharpness, RandomAutoContrast as RandomAutoContrast,
    RandomColor as RandomColor, RandomColorAdjust as RandomColorAdjust,
    RandomEqualize as RandomEqualize, RandomGrayscale as RandomGrayscale,
    RandomInvert as RandomInvert, RandomLighting as RandomLighting,
    RandomPosterize as RandomPosterize, RandomSharpness as RandomSharpness,
    RandomSolarize as RandomSolarize,
)
from lamella.dataset.vision.random_geometry import (
    RandomAffine as RandomAffine, RandomCrop as RandomCrop,
    RandomCropDecodeResize as RandomCropDecodeResize,
    RandomHorizontalFlip as RandomHorizontalFlip, RandomPerspective as RandomPerspective,
    RandomResize as RandomResize, RandomResizedCrop as RandomResizedCrop,
    RandomRotation as RandomRotation, RandomVerticalFlip as RandomVerticalFlip,
)
from lamella.dataset.vision.utils import (
    encode_jpeg as encode_jpeg, encode_png as encode_png,
    get_image_num_channels as get_image_num_channels, get_image_size as get_image_size,
    read_file as read_file, read_image as read_image, write_file as write_file,
    write_jpeg as write_jpeg, write_png as write_png,
)
from lamella.dataset.vision.video import (
    read_video as read_video, read_video_timestamps as read_video_timestamps,
)
