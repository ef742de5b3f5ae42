"""Operations on Pillow's images, drawn by Python's generator, and on stacks of images.

What fills the rest is 0: MindSpore 2.10 fills with nothing else if Pillow's version is 10 or later.
"""

from ..spec import case

FIXED = [
    "AdjustBrightness(1.7)", "AdjustContrast(0.4)", "AdjustGamma(2.2, 0.9)", "AdjustHue(0.2)",
    "AdjustSaturation(1.7)", "AdjustSharpness(0.4)", "AutoContrast(20.0, [25])", "CenterCrop(5)",
    "CenterCrop((9, 4))", "CenterCrop((4, 12))", "CenterCrop((20, 25))", "Crop((1, 2), (3, 4))",
    "Equalize()", "Grayscale()", "Grayscale(3)", "HorizontalFlip()", "VerticalFlip()", "Invert()",
    "Affine(15, (0.1, -0.2), 1.2, (5, 3), vision.Inter.LINEAR, 9)", "Posterize(3)",
    "Rotate(30, vision.Inter.LINEAR, True)", "Solarize((50, 150))", "GaussianBlur((3, 5), 1.5)",
    "ResizedCrop(1, 2, 3, 4, (5, 6))", "FiveCrop((3, 5))", "FiveCrop(7)", "TenCrop((3, 5))",
    "TenCrop((7, 4), True)", "ToTensor()", "ToTensor(np.float16)", "RgbToHsv()", "HsvToRgb()",
    *(f"Pad({size}, {fill}, vision.Border.{border})" for size, fill, border in (
        (2, 0, "CONSTANT"), ((1, 2), 0, "CONSTANT"), ((1, 2), 0, "EDGE"),
        ((1, 2, 3, 4), 0, "REFLECT"), ((0, 1, 2, 0), 0, "SYMMETRIC"))),
    *(f"Resize({size}, vision.Inter.{kind})" for size, kind in (
        (4, "LINEAR"), (11, "CUBIC"), ((4, 9), "NEAREST"), ((12, 3), "CUBIC"),
        ((5, 6), "ANTIALIAS"), ((15, 7), "BILINEAR"))),
]
RANDOM = [
    "RandomAdjustSharpness(2.0, 0.5)", "RandomAutoContrast(5.0, [9], 0.5)", "RandomEqualize(0.5)",
    "RandomInvert(0.5)", "RandomColor((0.2, 1.5))", "RandomColorAdjust((0.5, 1.5), 0.4, 0.4, 0.2)",
    "RandomColorAdjust(0, (1, 1), (0.2, 0.9))", "RandomColorAdjust(hue=(0.1, 0.3))",
    "RandomCrop(5)", "RandomCrop((5, 9), (1, 2, 3, 4), True)", "RandomCrop((4, 6), 1)",
    "RandomCrop((12, 17), 1, True, (7, 8, 9), vision.Border.EDGE)", "RandomCrop((3, 13), (2, 1))",
    "RandomCrop((14, 14), None, True)", "RandomGrayscale(0.5)", "RandomHorizontalFlip(0.5)",
    "RandomVerticalFlip(0.5)", "RandomLighting(0.5)", "RandomResizedCrop((6, 5))",
    "RandomResizedCrop(4, (0.5, 1.0), (2.0, 3.0), vision.Inter.NEAREST)",
    "RandomResizedCrop(4, (9.0, 9.5), (0.1, 0.2), vision.Inter.NEAREST, 2)",
    "RandomResizedCrop(4, (9.0, 9.5), (4.0, 5.0), vision.Inter.NEAREST, 2)",
    "RandomResizedCrop((3, 5), (9.0, 9.5), (0.5, 2.0), vision.Inter.CUBIC, 2)",
    "RandomRotation(30)", "RandomRotation((10, 80), vision.Inter.LINEAR, True)",
    "RandomRotation((10, 80), vision.Inter.NEAREST, False, (2, 3), (4, 5, 6))",
    "RandomSharpness((0.2, 1.9))", "RandomAffine(20)", "RandomAffine((5, 20), (0.1, 0.2))",
    "RandomAffine(9, None, (0.8, 1.2), (1, 5), vision.Inter.BILINEAR)",
    "RandomAffine(0, (0.3, 0.2), (0.5, 0.6), (1, 5, 8, 20), vision.Inter.NEAREST)",
    "RandomAffine(0, None, None, 30)", "RandomPosterize((1, 8))", "RandomSolarize((10, 200))",
]
ERASING = [
    "RandomErasing(0.5)", "RandomErasing(1.0, (0.1, 0.2), (0.5, 2.0), 7)",
    "RandomErasing(1.0, (0.1, 0.2), (0.2, 0.5), (1, 2, 3), True)",
    "RandomErasing(1.0, (0.1, 0.2), (2.0, 4.0), 'random', True)",
    "RandomErasing(1.0, (1.0, 1.0), (9.0, 9.0), 5, False, 3)",
]
STACKS = [
    "AdjustBrightness(1.7)", "CenterCrop((4, 5))", "Crop((1, 2), (3, 4))", "Erase(1, 2, 3, 4, 9)",
    "GaussianBlur((3, 5))", "HorizontalFlip()", "VerticalFlip()", "Invert()", "HWC2CHW()",
    "Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])", "Pad((1, 2, 3, 4), 5)", "Resize((4, 9))",
    "PadToSize((13, 15), (1, 2), 3)", "RandomCrop((3, 5))", "RandomCrop((9, 14), 2)",
    "RandomHorizontalFlip(0.5)", "RandomVerticalFlip(0.5)", "RandomResizedCrop((4, 5))",
    "RandomColorAdjust(0.4, 0.4, 0.4, 0.1)", "RandomAffine(20, (0.1, 0.2))", "RandomRotation(30)",
    "Rotate(30, vision.Inter.LINEAR, True)", "Solarize((50, 150))", "Posterize(3)",
    "ResizedCrop(1, 2, 3, 4, (5, 6))", "RandomInvert(0.5)", "RandomSharpness((0.2, 1.9))",
]
BODY = """import random
from PIL import Image
random.seed({seed})
np.random.seed({seed})
ms.dataset.config.set_seed({seed})
x = np.random.RandomState(5).randint(0, 256, {shape}).astype(np.uint8)
y = {of}
y = y if isinstance(y, tuple) else (y,)
return [Tensor(np.array(one)) for one in y]"""
PILLOW, FLOAT = "vision.{}(Image.fromarray(x))", "vision.{}(vision.ToTensor()(x))"


def _bodies(operations: list[str], of: str, seeds: tuple[int, ...], shape: str) -> list:
    return [case(BODY.format(seed=seed, shape=shape, of=of.format(one)))
            for one in operations for seed in seeds]


CASES = [
    *_bodies(FIXED, PILLOW, (0,), "(8, 11, 3)"),
    *_bodies([one for one in FIXED if one.startswith(("Center", "Crop", "Pad(", "Resize", "Five"))],
             PILLOW, (0,), "(9, 7)"),
    *_bodies(RANDOM, PILLOW, (1, 2, 3), "(8, 11, 3)"),
    *_bodies(ERASING, FLOAT, (1, 2, 3), "(8, 11, 3)"),
    *_bodies(STACKS, "vision.{}(x)", (1, 2), "(3, 8, 11, 3)"),
]
