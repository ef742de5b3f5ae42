"""Operations on rows of a pipeline: images of several shapes and types, texts and arrays."""

from ..spec import many

KINDS = ("uint8",)
IMAGES = [
    "AdjustBrightness(1.7)", "AdjustContrast(0.4)", "AdjustGamma(2.2, 0.9)", "AdjustHue(0.2)",
    "AdjustSaturation(1.7)", "AdjustSharpness(0.4)", "AutoContrast()", "AutoContrast(20.0, [25])",
    "Affine(15, (0.1, -0.2), 1.2, (5, 3), vision.Inter.LINEAR, 9)", "CenterCrop((4, 5))",
    "CenterCrop((9, 8))", "Crop((1, 2), (3, 4))", "Crop((4, 4), (9, 9))",
    "Equalize()", "Erase(1, 2, 3, 4, (1, 2, 3))", "Erase(4, 5, 9, 9, 7)", "GaussianBlur((3, 5))",
    "GaussianBlur(3, 1.5)", "HorizontalFlip()", "VerticalFlip()", "HWC2CHW()", "Invert()",
    "Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])", "Normalize([1.0], [4.0])",
    "Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], False)",
    "NormalizePad([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 'float32', False)",
    *(f"Pad({size}, {fill}, vision.Border.{border})" for size, fill, border in (
        (2, (9, 8, 7), "CONSTANT"), ((1, 2), 5, "EDGE"), ((1, 2, 3, 4), 0, "REFLECT"),
        ((0, 1, 2, 0), 0, "SYMMETRIC"))),
    "PadToSize((9, 11), (1, 2), (3, 4, 5))", "PadToSize(9, None, 3, vision.Border.EDGE)",
    "PadToSize((9, 11), 1, 3, vision.Border.REFLECT)", "PadToSize((5, 9))",
    "PadToSize((7, 9), (2, 0))",
    "Perspective([[0, 0], [5, 0], [5, 5], [0, 5]], [[1, 0], [5, 1], [4, 5], [0, 4]])",
    "Posterize(3)", "Posterize(0)", "Posterize(8)", "Rescale(0.5, 3.0)",
    "ResizedCrop(1, 2, 3, 4, 5)",
    "ResizedCrop(1, 1, 4, 5, (3, 2), vision.Inter.AREA)", "ResizedCrop(3, 3, 9, 9, 4)",
    "RgbToHsv(True)", "RgbToHsv()", "HsvToRgb(True)", "Rotate(30, vision.Inter.LINEAR, True)",
    "Rotate(90, vision.Inter.NEAREST, False, (1, 2), 7)", "Rotate(-400)",
    "SlicePatches(2, 2)", "SlicePatches(2, 3, vision.SliceMode.DROP)",
    "SlicePatches(4, 4, vision.SliceMode.PAD, 9)", "SlicePatches(9, 1)",
    "Solarize((50, 150))", "Solarize(100)", "ToTensor()", "ToTensor(np.float16)",
    "ToType(np.float32)", "ToNumpy()", "ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)",
    *(f"Resize({size}, vision.Inter.{kind})" for size, kind in (
        (4, "LINEAR"), ((4, 9), "NEAREST"), ((12, 3), "CUBIC"), ((3, 3), "AREA"),
        ((9, 11), "PILCUBIC"), ((5, 5), "ANTIALIAS"), ((6, 7), "LINEAR"))),
    *(f"ConvertColor(vision.ConvertMode.{mode})" for mode in (
        "COLOR_BGR2BGRA", "COLOR_RGB2BGRA", "COLOR_BGR2RGB", "COLOR_RGB2RGBA", "COLOR_BGR2GRAY")),
]
GRAY = [one for one in IMAGES if not one.startswith("ConvertColor")] + [
    f"ConvertColor(vision.ConvertMode.COLOR_{mode})" for mode in ("GRAY2BGR", "GRAY2RGBA")]
FOUR = [one for one in IMAGES if one.startswith(
    ("Crop", "CenterCrop", "Flip", "HWC", "Pad", "Resize", "Rotate", "Slice", "ToType"))] + [
    f"ConvertColor(vision.ConvertMode.COLOR_{mode})" for mode in (
        "BGRA2BGR", "RGBA2BGR", "BGRA2GRAY", "RGBA2RGB", "RGBA2GRAY", "BGRA2RGBA")]
RANDOM = [
    "CutOut(2)", "CutOut(2, 3)", "CutOut(9)",
    "RandomAdjustSharpness(2.0, 0.9)", "RandomAffine(20, (0.1, 0.2), (0.8, 1.2), (1, 5))",
    "RandomAffine((5, 20), None, None, 5, vision.Inter.BILINEAR, 7)", "RandomAutoContrast(1.0)",
    "RandomColor((0.2, 1.5))", "RandomColorAdjust((0.5, 1.5), 0.4, 0.4, 0.2)",
    "RandomColorAdjust(hue=0.3)", "RandomCrop(3)", "RandomCrop((5, 9), (1, 2, 3, 4), True)",
    "RandomCrop((9, 9), 1, True, 7, vision.Border.EDGE)", "RandomCrop(9)", "RandomEqualize(0.9)",
    "RandomHorizontalFlip(0.9)", "RandomVerticalFlip(0.9)", "RandomInvert(0.9)",
    "RandomLighting(1.0)", "RandomPosterize((1, 8))", "RandomPosterize(4)", "RandomResize(4)",
    "RandomResizedCrop((4, 5))", "RandomResizedCrop(4, (0.5, 1.0), (2.0, 3.0))",
    "RandomResizedCrop(4, (9.0, 9.5), (0.1, 0.2), vision.Inter.NEAREST, 2)",
    "RandomResizedCrop(4, (9.0, 9.5), (4.0, 5.0), vision.Inter.NEAREST, 2)",
    "RandomRotation(30)", "RandomRotation((10, 80), vision.Inter.LINEAR, True)",
    "RandomSharpness((0.2, 1.9))", "RandomSolarize((10, 200))",
    "RandomSelectSubpolicy([[(vision.HorizontalFlip(), 0.5), (vision.Invert(), 0.5)]])",
]
BOXES = [
    "BoundingBoxAugment(vision.RandomInvert(1.0), 0.9)", "RandomCropWithBBox(4)",
    "BoundingBoxAugment(vision.RandomCrop(1), 1.0)",
    "RandomCropWithBBox((9, 9), 2, True)", "RandomHorizontalFlipWithBBox(1.0)",
    "RandomVerticalFlipWithBBox(1.0)", "RandomResizeWithBBox(4)", "ResizeWithBBox((4, 9))",
    "RandomResizedCropWithBBox(4, (0.5, 1.0), (0.8, 1.2))",
]
BATCHES = [
    "CutMixBatch(vision.ImageBatchFormat.NHWC, 1.0, 0.0)",
    "CutMixBatch(vision.ImageBatchFormat.NCHW, 0.5, 0.0)", "MixUpBatch(0.9)", "MixUpBatch(3.0)",
]
ARRAYS = [
    "Concatenate(0, np.array([1], x.asnumpy().dtype))",
    "Concatenate(append=np.array([1, 2], x.asnumpy().dtype))", "Fill(3)", "Fill(2.7)",
    *(f"Mask(transforms.Relational.{name}, {value})" for name, value in (
        ("EQ", 3), ("NE", 3), ("LT", 3), ("LE", 3), ("GT", 2.5), ("GE", 3))),
    "Mask(transforms.Relational.GT, 3, ms.int16)",
    "Slice(2)",
    "Slice([0, 2])", "Slice(slice(1, 4))", "Slice(slice(None, None, 2))", "Slice(9)",
    "Slice(slice(4, 1, -1))", "Slice(slice(0, 2), slice(1, 3))", "Slice(Ellipsis)", "Slice(-1)",
    "TypeCast(ms.float16)", "TypeCast(ms.int8)", "TypeCast(ms.bool_)", "TypeCast(ms.uint64)",
    "Compose([transforms.Slice(slice(0, 3)), transforms.Fill(1)])",
]
SIZES = ["PadEnd([7])", "PadEnd([2])", "PadEnd([2, 9], 5)", "PadEnd([None, 9], 5)",
         "PadEnd([7], 1.5)", "PadEnd([3, 3, 3])"]
WORDS = "np.array(['Hello World', 'it\\'s 中文 words, ok', '', ' a  b '])"
TOKENIZERS = [
    "BasicTokenizer()", "BasicTokenizer(True)", "BasicTokenizer(False, True)",
    "BasicTokenizer(True, True, text.NormalizeForm.NFKC)", "UnicodeCharTokenizer()",
    "UnicodeScriptTokenizer()", "UnicodeScriptTokenizer(True)", "WhitespaceTokenizer()",
    "RegexTokenizer(r'\\s+', '')", "RegexTokenizer(r'\\s+', r'\\s+')",
    "RegexTokenizer(r'[a-m]', 'b')",
    "BertTokenizer(VOCAB)", "BertTokenizer(VOCAB, '##', 100, '[UNK]', True, True)",
    "BertTokenizer(VOCAB, '', 3, '')", "CaseFold()", "FilterWikipediaXML()", "NormalizeUTF8()",
    "NormalizeUTF8(text.NormalizeForm.NFD)", "RegexReplace('o', 'XX')",
    "RegexReplace('[lo]', '<$0>', False)", "RegexReplace('(l)(o)', '$2$1')",
]
VOCAB = ("text.Vocab.from_list(['hello', 'wor', '##ld', 'it', '\\'', 's', '中', '文', 'words', "
         "'a', '[UNK]'], ['<pad>'], True)")
TOKENS = [
    "AddToken('x')", "AddToken('x', False)", "Lookup(VOCAB, '[UNK]')",
    "Lookup(VOCAB)", "Lookup(VOCAB, '<pad>', ms.float32)", "Ngram(2)", "Ngram([1, 3])",
    "Ngram(3, ('_', 2), ('*', 1), '-')", "SlidingWindow(2)", "SlidingWindow(5)", "Truncate(2)",
    "Truncate(9)", "WordpieceTokenizer(VOCAB)", "WordpieceTokenizer(VOCAB, '##', 3, '')",
]


def _images(operations: list[str], shape: str) -> list:
    return many("\n".join(f"Tensor(np.array(vision.{one}(x.asnumpy() * 25)))"
                          for one in operations), KINDS, x=shape)


def _seeded(operations: list[str], shape: str) -> list:
    return many("\n".join(
        f"(ms.dataset.config.set_seed({seed}), "
        f"Tensor(np.array(vision.{one}(x.asnumpy() * 25))))[1]"
        for one in operations for seed in (3, 8)), KINDS, x=shape)


def _of_texts(operations: list[str], texts: str) -> list:
    return many("\n".join(f"[np.array(text.{one}(w)).tolist() for w in {texts}]".replace(
        "VOCAB", VOCAB) for one in operations))


CASES = [
    *_images(IMAGES, "[6,7,3]"), *_images(GRAY, "[6,7]"), *_images(GRAY, "[6,7,1]"),
    *_images(IMAGES, "[2,6,7,3]"), *_images(FOUR, "[6,7,4]"), *_images(IMAGES, "[5]"),
    *many("\n".join(f"Tensor(np.array(vision.{one}(x.asnumpy() / 4 + 0.5)))" for one in IMAGES
                    if not one.startswith(("AdjustHue", "AdjustSharpness"))), x="[6,7,3]"),
    *_seeded(RANDOM, "[6,7,3]"), *_seeded(RANDOM, "[6,7]"), *_seeded(RANDOM, "[2,6,7,3]"),
    *many("\n".join(
        f"[Tensor(np.array(v)) for v in (ms.dataset.config.set_seed({seed}), "
        f"vision.{one}(x.asnumpy() * 25, {boxes}))[1]]" for one in BOXES for seed in (3, 8)
        for boxes in ("np.array([[1, 1, 3, 4], [0, 2, 2, 2]], np.float32)",
                      "np.array([[1, 1, 9, 9]], np.float32)",
                      "np.array([[-1, 1, 3, 3]], np.float32)",
                      "np.array([1, 1, 3, 3], np.float32)", "np.ones((1, 3), np.float32)")),
        KINDS, x="[6,7,3]"),
    *many("\n".join(
        f"[Tensor(np.array(v)) for v in (ms.dataset.config.set_seed(3), "
        f"vision.{one}(x.asnumpy() * 25, {labels}))[1]]" for one in BATCHES
        for labels in ("np.eye(3, dtype=np.int32)", "np.eye(3, dtype=np.float32)[:2]",
                       "np.arange(3)", "np.eye(3, dtype=np.int32)[:, None]")), KINDS,
          x="[3,4,5,3]"),
    *many("\n".join(f"Tensor(np.array(transforms.{one}(x.asnumpy())))" for one in ARRAYS),
          ("int32", "float32", "uint8"), x="[5]"),
    *many("\n".join(f"Tensor(np.array(transforms.{one}(x.asnumpy())))" for one in ARRAYS + SIZES),
          ("int64",), x="[2,4]+"),
    *many("\n".join(f"Tensor(np.array(transforms.{one}(x.asnumpy())))" for one in SIZES),
          ("float32", "bool"), x="[5]"),
    *many("\n".join(f"Tensor(transforms.OneHot({number})(x.asnumpy()))" for number in (9, 12, 40)),
          ("int32", "uint8", "float32"), x="[5]+"),
    *many("\n".join(f"Tensor(transforms.OneHot(12, 0.25)(x.asnumpy()[{place}]))"
                    for place in ("0", "1:2", "None, 1:2")), ("int32", "int64"), x="[5]+"),
    *many("\n".join(f"Tensor(np.array(transforms.{one}(x.asnumpy())))" for one in ARRAYS),
          ("int32",), x="[]"),
    *many("[Tensor(v) for v in transforms.Unique()(x.asnumpy())]\n"
          "[Tensor(v) for v in transforms.Duplicate()(x.asnumpy())]\n"
          "Tensor(transforms.Unique()(x.asnumpy(), x.asnumpy()))",
          ("int32", "float32", "uint8"), x="[2,5]"),
    *_of_texts(TOKENIZERS, WORDS),
    *_of_texts([f"{one[:-1]}, with_offsets=True)".replace("(,", "(") for one in TOKENIZERS
                if "Tokenizer" in one], WORDS),
    *_of_texts(TOKENS, "np.array([['hello', 'a', 'words'], ['none', '', 'it']])"),
    *_of_texts(["Truncate(1)", "AddToken('y')", "Ngram(1)", "SlidingWindow(1)"],
               "np.array([[['a', 'b'], ['c', 'd']]])"),
    *[one for texts in ("['12', '-3']", "['300', '7']", "['x', '2']") for one in _of_texts(
        [f"ToNumber(ms.{kind})" for kind in ("int32", "int8", "float32", "uint16", "bool_")],
        f"[np.array({texts})]")],
    *_of_texts(["ToNumber(ms.float32)", "ToNumber(ms.float16)"], "[np.array(['1.5', '1e3'])]"),
    *many("\n".join(f"[v.tolist() for v in text.TruncateSequencePair({length})("
                    f"np.array([1, 2, 3]), np.array([4, 5]))]" for length in (3, 1, 0, 9))),
]
