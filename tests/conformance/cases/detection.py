"""Boxes that are chosen among, parts of images, and images resized by cells and filters."""

from ..spec import many

_LIMITS = "Tensor(0.4, ms.float32), Tensor(0.2, ms.float32)"
_FIVE = "Tensor(5, ms.int32)"
_SCALED = (
    "Tensor([3, 4], ms.int32), Tensor([0.6, 1.3], ms.float32), Tensor([0.3, -0.4], ms.float32)"
)

CASES = [
    *many(
        f"""
        P.NonMaxSuppressionWithOverlaps()(x, s, {_FIVE}, {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x, s, Tensor(0, ms.int32), {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x, s, Tensor(-1, ms.int32), {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x, s, Tensor(5), {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x[:3], s, {_FIVE}, {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x, s[:3], {_FIVE}, {_LIMITS})
        P.NonMaxSuppressionWithOverlaps()(x[0], s, {_FIVE}, {_LIMITS})
        """,
        ("float32", "float64", "float16", "int32"),
        graph=True,
        x="[9,9]",
        s="[9]",
    ),
    *many(
        f"""
        P.CombinedNonMaxSuppression()(b, s, Tensor(3, ms.int32), {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression(True)(b, s, Tensor(2, ms.int32), {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression(False, False)(b, s, Tensor(9, ms.int32), {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression(True)(b[:, :, :1], s, {_FIVE}, Tensor(20, ms.int32), {_LIMITS})
        P.CombinedNonMaxSuppression()(b[0], s, {_FIVE}, {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s[0], {_FIVE}, {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s[:, :3], {_FIVE}, {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s, Tensor(0, ms.int32), {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s, {_FIVE}, Tensor(0, ms.int32), {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s, Tensor(5), {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression()(b, s, 5, {_FIVE}, {_LIMITS})
        P.CombinedNonMaxSuppression(1)
        """,
        ("float32", "float16"),
        b="[2,7,3,4]",
        s="[2,7,3]",
    ),
    *many(
        """
        P.ExtractGlimpse(False, False, False, 'zero')(x, Tensor([4, 3], ms.int32), o)
        P.ExtractGlimpse(True, False, False, 'zero')(x, Tensor([4, 3], ms.int32), o)
        P.ExtractGlimpse(False, True, False, 'zero')(x, Tensor([3, 6], ms.int32), o)
        P.ExtractGlimpse(True, True, False, 'zero')(x, Tensor([5, 2], ms.int32), o)
        P.ExtractGlimpse(False, True, False, 'zero')(x, Tensor([3, 6]), o)
        P.ExtractGlimpse(False, True, False, 'zero')(x, Tensor([0, 6], ms.int32), o)
        P.ExtractGlimpse(False, True, False, 'zero')(x[0], Tensor([3, 6], ms.int32), o)
        P.ExtractGlimpse(False, True, False, 'zero')(x, Tensor([3, 6], ms.int32), o[:1])
        P.ExtractGlimpse(1)
        P.ExtractGlimpse(False, False, True, 'zero')
        P.ExtractGlimpse(False, False, False, 'other')
        """,
        ("float32", "float16"),
        x="[2,5,6,2]",
        o="float32[2,2]",
    ),
    *many(
        """
        P.ResizeArea()(x, Tensor([3, 4], ms.int32))
        P.ResizeArea(True)(x, Tensor([3, 4], ms.int32))
        P.ResizeArea()(x, Tensor([8, 9], ms.int32))
        P.ResizeArea(True)(x, Tensor([8, 9], ms.int32))
        P.ResizeArea()(x, Tensor([1, 1], ms.int32))
        P.ResizeArea(True)(x, Tensor([2, 5], ms.int32))
        P.ResizeArea()(x, Tensor([0, 1], ms.int32))
        P.ResizeArea()(x, Tensor([1, 1]))
        P.ResizeArea()(x, Tensor([1, 1, 1], ms.int32))
        P.ResizeArea()(x[0], Tensor([1, 1], ms.int32))
        P.ResizeArea(1)
        """,
        ("float32", "float16", "float64", "int32", "uint8", "int64"),
        graph=True,
        x="[2,5,7,2]",
    ),
    *many(
        "\n".join(f"P.ScaleAndTranslate('{kernel}', {wide})(x, {_SCALED})"
                  for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle",
                                 "keyscubic", "mitchellcubic") for wide in (True, False)),
        ("float32", "int32"),
        grad=True,
        x="[2,4,5,2]",
    ),
    *many(
        f"""
        P.ScaleAndTranslate()(x, {_SCALED})
        P.ScaleAndTranslate()(x[0], {_SCALED})
        P.ScaleAndTranslate()(x, {_SCALED.replace("ms.int32", "ms.int64")})
        P.ScaleAndTranslate()(x, {_SCALED.replace("0.6", "0.0")})
        P.ScaleAndTranslate()(x, {_SCALED.replace("0.6", "-0.6")})
        P.ScaleAndTranslate()(x, {_SCALED.replace("3, 4", "3, 0")})
        P.ScaleAndTranslate('other')
        P.ScaleAndTranslate('box', 1)
        """,
        ("float64", "float16", "uint8"),
        x="[1,4,5,1]",
    ),
    *many(
        """
        P.ResizeLinear1D()(x, (6,))
        P.ResizeLinear1D('half_pixel')(x, (6,))
        P.ResizeLinear1D('half_pixel')(x, Tensor([2]))
        P.ResizeLinear1D()(x, [1])
        P.ResizeLinear1D()(x, (0,))
        P.ResizeLinear1D()(x, (2, 3))
        P.ResizeLinear1D()(x[0], (6,))
        P.ResizeLinear1D('other')
        """,
        ("float32", "float64", "float16", "int32"),
        grad=True,
        graph=True,
        x="[2,3,4]",
    ),
]
