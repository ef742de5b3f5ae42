"""Operations on images: of OpenCV for arrays, of Pillow for its images, as in MindSpore."""

from ..transforms.transforms import not_random
from . import utils
from .augment import (
    AutoAugment,
    RandAugment,
    RandomSelectSubpolicy,
    TrivialAugmentWide,
    UniformAugment,
)
from .boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from .color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    Equalize,
    GaussianBlur,
    Invert,
    Posterize,
    Solarize,
)
from .conversion import (
    HWC2CHW,
    ConvertColor,
    Decode,
    DecodeVideo,
    Grayscale,
    HsvToRgb,
    LinearTransformation,
    Normalize,
    NormalizePad,
    Rescale,
    RgbToHsv,
    ToNumpy,
    ToPIL,
    ToTensor,
    ToType,
)
from .enums import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from .geometry import (
    Affine,
    CenterCrop,
    Crop,
    FiveCrop,
    HorizontalFlip,
    Pad,
    PadToSize,
    Perspective,
    Resize,
    ResizedCrop,
    Rotate,
    SlicePatches,
    TenCrop,
    VerticalFlip,
)
from .mixing import CutMixBatch, CutOut, Erase, MixUp, MixUpBatch, RandomErasing
from .random_color import (
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomLighting,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
)
from .random_geometry import (
    RandomAffine,
    RandomCrop,
    RandomCropDecodeResize,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from .utils import (
    encode_jpeg,
    encode_png,
    get_image_num_channels,
    get_image_size,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from .video import read_video, read_video_timestamps
