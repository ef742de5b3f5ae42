"""Boxes, colours, crops, detection and sequences of classes."""

from ..spec import many

CASES = [
    *many(
        """
        ops.iou(x, y)
        ops.iou(x, y, 'iof')
        ops.iou(x, y, 'other')
        P.IOU()(x, y)
        P.IOU('iof')(x, y)
        ops.bounding_box_encode(x, y, (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))
        P.BoundingBoxEncode((0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 1.0))(x, y)
        ops.bounding_box_decode(x, y, (768, 1280))
        P.BoundingBoxDecode((768, 1280), (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0), 0.016)(x, y)
        ops.check_valid(x, y[0, :3])
        P.CheckValid()(x, y[0, :3])
        P.NMSWithMask(0.5)(ops.concat((x, y[:, :1]), 1))
        P.ROIAlign(2, 2, 0.5, 2)(z, ops.concat((x[:, :1] * 0, x), 1))
        P.ROIAlign(2, 3, 1.0, 2, 0)(z, ops.concat((x[:, :1] * 0, x), 1))
        P.ROIAlign(2, 2, 1.0, 1, 1)(z, ops.concat((x[:, :1] * 0, x), 1))
        ops.crop_and_resize(z.transpose(0, 2, 3, 1), x / 4, Tensor([0, 1, 0], ms.int32), (2, 3))
        P.CropAndResize('nearest', 0.5)(z, x / 4, Tensor([0, 1, 0], ms.int32), (2, 3))
        P.HSVToRGB()(z[..., :3] / 16)
        P.RGBToHSV()(z[..., :3] / 16)
        P.AdjustHue()(z[..., :3] / 4, Tensor(0.2, ms.float32))
        P.AdjustSaturation()(z[..., :3] / 4, Tensor(2.0, ms.float32))
        ops.deformable_conv2d(z, z[..., :2, :2], o, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0))
        """,
        ("float32", "float16", "int32"),
        grad=True,
        x="[3,4]+",
        y="[3,4]+",
        z="[2,2,4,4]+",
        o="[2,12,3,3]",
    ),
    *many(
        """
        ops.ctc_greedy_decoder(x, n)
        ops.ctc_greedy_decoder(x, n, False)
        P.CTCGreedyDecoder()(x, n)
        ops.ctc_loss(x, t, n, n - 1)
        ops.ctc_loss(x, t, n, n - 1, 0, 'none', True)
        ops.ctc_loss(x, t, n, n - 1, 3, 'sum')
        ops.ctc_loss(x, t, n, n - 1, 9)
        P.CTCLossV2()(x, t, n, n - 1)
        P.CTCLoss()(x, Tensor([[0, 0], [0, 1], [1, 0]]), Tensor([1, 2, 0], ms.int32), n)
        nn.CTCLoss()(x, t, n, n - 1)
        nn.CTCLoss(1, 'none')(x, t * 0 + 2, n, n - 1)
        P.MultilabelMarginLoss()(x[0], t * 0 - 1)
        ops.multilabel_margin_loss(x[0], t * 0 + 1)
        nn.MultilabelMarginLoss('sum')(x[0], t * 0 + 1)
        """,
        ("float32", "float64", "float16"),
        grad=True,
        x="[3,2,4]",
        t="int32[2,4]=1,2,2,1,1,1,2,3",
        n="int32[2]=3,2",
    ),
]
