"""Operations on colours, of images of each type and of one and three channels."""

from ..spec import case

TYPES = ("uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "float16", "float32",
         "float64", "bool")
SHAPES = ("(5, 6, 3)", "(5, 6, 1)", "(5, 6)")
OPERATIONS = """
    vision.AdjustGamma(2.0)
    vision.AdjustGamma(0.5, 2.0)
    vision.AdjustSharpness(2.0)
    vision.AdjustSharpness(0.5)
    vision.AdjustSharpness(0)
    vision.RandomAdjustSharpness(2.0, 1.0)
    vision.RandomSharpness((2.0, 2.0))
    vision.RandomColor((2.0, 2.0))
    vision.RandomColor((0.0, 0.0))
    vision.RandomColorAdjust((2.0, 2.0))
    vision.RandomColorAdjust(contrast=(0.5, 0.5))
    vision.RandomColorAdjust(saturation=(0.5, 0.5))
    vision.RandomLighting(0.0)
    vision.AdjustBrightness(2.0)
    vision.AdjustContrast(0.5)
    vision.AdjustContrast(0.0)
    vision.AdjustSaturation(0.5)
    vision.Invert()
    vision.RandomInvert(1.0)
    vision.Equalize()
    vision.AutoContrast()
    vision.RandomAutoContrast(prob=1.0)
    vision.Posterize(3)
    vision.Solarize((20, 100))
    """
HEAD = "x = np.random.RandomState({}).randint(0, 256, {}).astype('{}')\n" \
       "y = {}(x)\nreturn [str(y.dtype), y.shape, y.ravel().astype('float64').tolist()]"
OPS = list(filter(None, map(str.strip, OPERATIONS.splitlines())))
CASES = [
    *(case(HEAD.format(3, shape, kind, op)) for op in OPS for kind in TYPES for shape in SHAPES),
    # means of grays that end in a half
    *(case(HEAD.format(seed, shape, "uint8", "vision.AdjustContrast(0.0)"))
      for seed in range(12) for shape in ("(2, 3, 3)", "(2, 2, 3)")),
]
