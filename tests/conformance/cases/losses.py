"""Loss functions."""

from ..spec import FLOATS, each, many

PAIRS = """
    ops.mse_loss(x, y)
    ops.mse_loss(x, y, 'sum')
    ops.mse_loss(x, y, 'none')
    ops.mse_loss(x, y, 'x')
    ops.l1_loss(x, y)
    ops.l1_loss(x, y, 'none')
    ops.l1_loss(x, y, 1)
    ops.smooth_l1_loss(x, y)
    ops.smooth_l1_loss(x, y, 0.5, 'mean')
    ops.smooth_l1_loss(x, y, 0.0)
    ops.huber_loss(x, y)
    ops.huber_loss(x, y, 'none', 0.5)
    ops.huber_loss(x, y, 'none', -1.0)
    ops.kl_div(x, y)
    ops.kl_div(x, y, 'none')
    ops.kl_div(x, y, 'batchmean')
    ops.kl_div(x, y, 'sum')
    ops.kl_div(x, y, 'x')
    ops.binary_cross_entropy(ops.sigmoid(x), ops.sigmoid(y))
    ops.binary_cross_entropy(ops.sigmoid(x), ops.sigmoid(y), reduction='none')
    ops.binary_cross_entropy_with_logits(x, y)
    ops.binary_cross_entropy_with_logits(x, y, reduction='none')
    ops.soft_margin_loss(x, y)
    ops.hinge_embedding_loss(x, y)
    ops.hinge_embedding_loss(x, y, 2.0, 'sum')
    ops.gaussian_nll_loss(x, y, ops.exp(y))
    ops.gaussian_nll_loss(x, y, ops.exp(y), True, 1e-3, 'none')
    ops.margin_ranking_loss(x, y, ops.sign(y))
    ops.cosine_embedding_loss(x, y, ms.Tensor([1, -1]))
    ops.triplet_margin_loss(x, y, x + 1)
    ops.multilabel_soft_margin_loss(x, y)
    ops.cross_entropy(x, y)
    ops.cross_entropy(x, y, reduction='none', label_smoothing=0.1)
    nn.MSELoss()(x, y)
    nn.L1Loss('sum')(x, y)
    nn.SmoothL1Loss(0.5)(x, y)
    nn.HuberLoss()(x, y)
    nn.BCEWithLogitsLoss()(x, y)
    nn.KLDivLoss()(x, y)
    nn.SoftMarginLoss()(x, y)
    nn.RMSELoss()(x, y)
    nn.MAELoss()(x, y)
    nn.CosineEmbeddingLoss()(x, y, ms.Tensor([1, -1]))
    nn.DiceLoss()(ops.sigmoid(x), ops.sigmoid(y))
    nn.HingeEmbeddingLoss()(x, y)
    nn.GaussianNLLLoss()(x, y, ops.exp(y))
    nn.TripletMarginLoss()(x, y, x + 1)
    nn.MarginRankingLoss()(x, y, ops.sign(y))
    P.L2Loss()(x)
    P.SmoothL1Loss()(x, y)
    P.SigmoidCrossEntropyWithLogits()(x, y)
    P.SoftMarginLoss()(x, y)
    P.SoftmaxCrossEntropyWithLogits()(x, y)
    """
CLASSES = """
    ops.cross_entropy(x, t)
    ops.cross_entropy(x, t, reduction='sum')
    ops.cross_entropy(x, t, reduction='none')
    ops.cross_entropy(x, t, reduction='x')
    ops.cross_entropy(x, t, ignore_index=1)
    ops.cross_entropy(x, t, w)
    ops.cross_entropy(x, t, w, label_smoothing=0.2)
    ops.nll_loss(x, t)
    ops.nll_loss(x, t, w)
    ops.nll_loss(x, t, w, 1, 'sum')
    ops.nll_loss(x, t, reduction='x')
    ops.nll_loss(x, t, reduction='none')
    ops.multi_margin_loss(x, t)
    ops.multi_margin_loss(x, t, 2, 0.5, w)
    nn.CrossEntropyLoss()(x, t)
    nn.CrossEntropyLoss(w, 1)(x, t)
    nn.NLLLoss()(x, t)
    nn.MultiMarginLoss()(x, t)
    nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, t)
    nn.SoftmaxCrossEntropyWithLogits(True, 'mean')(x, t)
    P.SparseSoftmaxCrossEntropyWithLogits()(x, t)
    P.NLLLoss()(x, t, w)
    """
LINES = [line.strip() for line in CLASSES.splitlines() if line.strip()]
CASES = [
    *many(
        PAIRS, (*FLOATS, "int32", "int64", "complex64"), grad=True, graph=True, x="[2,3]", y="[2,3]"
    ),
    *many(PAIRS, ("float32",), x="[2,3]", y="float16[2,3]"),
    *many(PAIRS, ("float16",), x="[2,3]", y="float32[2,3]"),
    *many(PAIRS, ("float32",), x="[2,3]", y="[3]"),
    *many(PAIRS, ("float32",), x="[2,3]", y="[2,4]"),
    *many(PAIRS, ("float32",), x="[2,3]", y="float32[2,3]=0,1,0,0,1,0.5"),
    *[
        c
        for line in LINES
        for t in (
            "int32[2]=0,2",
            "int64[2]=0,2",
            "int32[2]=0,3",
            "int32[2]=-1,1",
            "int32[2]=1,1",
            "float32[2]=0,1",
            "int32[3]=0,1,2",
        )
        for c in each(line, ("float32", "float16"), x="[2,3]", w="[3]+", t=t)
    ],
    *[
        c
        for line in LINES
        for mode in ("grad", "graph")
        for c in each(line, ("float32",), mode, x="[2,3]", w="[3]+", t="int32[2]=0,2")
    ],
]
for index, made in enumerate(CASES):  # an input that isn't mentioned is left out
    from ..spec import mentions

    CASES[index] = made._replace(
        inputs=tuple((n, t) for n, t in made.inputs if mentions(made.expression, n))
    )
