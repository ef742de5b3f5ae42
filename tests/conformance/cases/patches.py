"""Windows of images and volumes: patches, deformed windows, pooling in cells of unlike size."""

from ..spec import many

_RATIO = "[1.0, 3.0, 2.0, 1.0]"

CASES = [
    *many(
        """
        P.ExtractVolumePatches(2, 2, 'VALID')(x)
        P.ExtractVolumePatches((1, 1, 2, 1, 3), (1, 1, 1, 2, 1), 'SAME')(x)
        P.ExtractVolumePatches(2, 1, 'same')(x)
        P.ExtractVolumePatches(5, 1, 'VALID')(x)
        P.ExtractVolumePatches(2, 1, 'VALID')(x[0])
        P.ExtractVolumePatches(0, 1, 'VALID')
        P.ExtractVolumePatches((2, 2), 1, 'VALID')
        P.ExtractVolumePatches(2, 1, 'other')
        """,
        ("float32", "float16", "float64", "int32", "uint8"),
        grad=True,
        graph=True,
        x="[1,2,3,4,3]",
    ),
    *many(
        """
        P.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (2, 2))(x, o)
        P.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (2, 2), modulated=False)
        P.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (2, 2))(x, o[:, :6])
        """,
        ("float32", "float16"),
        grad=True,
        x="[2,2,4,4]+",
        o="[2,12,3,3]",
    ),
    *many(
        f"""
        P.FractionalMaxPool({_RATIO})(x)
        P.FractionalAvgPool({_RATIO})(x)
        P.FractionalMaxPool({_RATIO}, False, True)(x)
        P.FractionalAvgPool({_RATIO}, False, True)(x)
        P.FractionalAvgPool({_RATIO}, True, False, True, 1)(x)
        P.FractionalMaxPool([1.0, 1.4, 1.7, 1.0])(x)[0].shape
        P.FractionalMaxPool({_RATIO})(x[0])
        P.FractionalMaxPool((1.0, 2.0, 2.5, 1.0))
        P.FractionalMaxPool([1.0, 2.0, 2.5])(x)
        P.FractionalAvgPool([1.0, 0.5, 2.5, 1.0])(x)
        P.FractionalAvgPool([2.0, 1.5, 2.5, 1.0])(x)
        P.FractionalAvgPool([1, 2, 2, 1])
        P.FractionalAvgPool({_RATIO}, 1)
        """,
        ("float32", "float64", "int32", "int64", "float16"),
        x="[2,6,4,2]",
    ),
    *many(
        f"""
        P.FractionalAvgPool({_RATIO})(x)[0]
        P.FractionalAvgPool({_RATIO}, False, True)(x)[0]
        """,
        (),
        grad=True,
        x="[2,6,4,2]",
    ),
    *many(
        """
        P.FractionalMaxPoolWithFixedKsize(2, 3)(x, r)
        P.FractionalMaxPoolWithFixedKsize((2, 1), (3, 2))(x, r)
        P.FractionalMaxPoolWithFixedKsize(2, 9)(x, r)
        P.FractionalMaxPoolWithFixedKsize(2, 3)(x, r[:1])
        P.FractionalMaxPoolWithFixedKsize(2, 3)(x, r[:, :, :1])
        P.FractionalMaxPoolWithFixedKsize(2, 3)(x[0], r)
        P.FractionalMaxPoolWithFixedKsize(0, 3)
        P.FractionalMaxPoolWithFixedKsize(2, 3, 'NHWC')
        """,
        ("float32", "float64", "float16", "int32", "int64"),
        x="[2,2,6,5]+",
        r="float32[2,2,2]=0.1,0.5,0.9,0.3,0.2,0.7,0.6,0.4",
    ),
    *many(
        """
        P.FractionalMaxPool3DWithFixedKsize(2, 2)(x, r)
        P.FractionalMaxPool3DWithFixedKsize((1, 2, 1), (2, 1, 3))(x, r)
        P.FractionalMaxPool3DWithFixedKsize(2, 9)(x, r)
        P.FractionalMaxPool3DWithFixedKsize(2, 2)(x, r[:, :1])
        P.FractionalMaxPool3DWithFixedKsize(0, 2)
        P.FractionalMaxPool3DWithFixedKsize(2, 2, 'NCHW')
        P.MaxUnpool3D(2)(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D(2, 1, 0)(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D(2, 0, 0, (1, 2, 3, 5, 5))(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D(2, 0, 0, (1, 2, 5, 9, 9))(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D(2, 2, 1)(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D(2)(x[:, :, :2, :2, :2], i)
        P.MaxUnpool3D(2)(x[:, :, :1, :2, :2], i.astype(ms.float32))
        P.MaxUnpool3D(2)(x[0, :, :1, :2, :2], i)
        P.MaxUnpool3D(2, data_format='NDHWC')(x[:, :, :1, :2, :2], i)
        P.MaxUnpool3D((2, 2))
        P.MaxUnpool3D(2, -1)
        P.MaxUnpool3D(2, data_format='other')
        """,
        ("float32", "float64", "float16", "int32"),
        x="[1,2,4,3,4]",
        r="float32[1,2,3]=0.1,0.5,0.9,0.3,0.2,0.7",
        i="int64[1,2,1,2,2]=0,3,1,6,2,3,7,5",
    ),
]
