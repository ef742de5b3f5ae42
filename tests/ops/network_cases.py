"""Calls of network operators whose results were recorded from MindSpore 2.10.

`run(ms, record)` makes every call on any package with MindSpore's names; each call's random inputs
depend on its name only. The results of MindSpore 2.10 lie in recorded_network.json.
"""

import itertools
import zlib

import numpy as np


def run(ms, record):
    """Call ``record(name, function)`` for each case, the generator seeded by the name."""
    random = np.random.RandomState(0)

    def case(name, function):
        random.seed(zlib.crc32(name.encode()))
        record(name, function)

    def normal(*shape):
        return ms.Tensor(random.randn(*shape).astype(np.float32))

    def uniform(*shape):
        return ms.Tensor(random.rand(*shape).astype(np.float32))

    def signs(*shape):
        return ms.Tensor(np.sign(random.randn(*shape)).astype(np.float32))

    for group in (activations, convolutions, pools, norms, losses, borders, images, boxes, codes):
        group(ms, ms.ops, case, normal, uniform, signs)


def activations(ms, ops, case, normal, uniform, signs):
    special = np.array([-7, -3, -1, -0.5, 0.0, 0.5, 1, 3, 6], np.float32)
    functions = {
        "relu": ops.relu, "relu6": ops.relu6, "leaky_relu": ops.leaky_relu, "elu": ops.elu,
        "celu": ops.celu, "gelu": ops.gelu, "gelu tanh": lambda x: ops.gelu(x, approximate="tanh"),
        "silu": ops.silu, "sigmoid": ops.sigmoid, "tanh": ops.tanh, "softsign": ops.softsign,
        "softplus": ops.softplus, "hardsigmoid": ops.hardsigmoid, "hardswish": ops.hardswish,
        "logsigmoid": ops.logsigmoid, "hardshrink": ops.hardshrink, "softshrink": ops.softshrink,
        "fast_gelu": ops.fast_gelu, "hardtanh": ops.hardtanh, "mish": ops.mish,
        "threshold": lambda x: ops.threshold(x, 0.5, 20.0), "ReLU": ops.ReLU(),
        "GeLU": ops.GeLU(), "HSwish": ops.HSwish(), "Softplus": ops.Softplus(), "Elu": ops.Elu(),
        "softplus 2": lambda x: ops.softplus(x, 2, 20), "softmin": lambda x: ops.softmin(x, 0),
        "softmax": lambda x: ops.softmax(x), "log_softmax": ops.log_softmax,
    }
    for name, function in functions.items():
        case(f"{name} special", lambda f=function: f(ms.Tensor(special)))
        if "softm" not in name and name != "log_softmax":
            case(f"{name} gradient", lambda f=function: ms.grad(lambda x: f(x))(
                ms.Tensor(special)))
    case("selu", lambda: ops.selu(ms.Tensor(special)))
    case("selu gradient at 0", lambda: ms.grad(ops.selu)(ms.Tensor(np.zeros(1, np.float32))))
    whole = np.array([0, 1, 2, 1], np.int32)
    for name in ("relu", "leaky_relu", "hardswish", "hardsigmoid", "threshold", "hardtanh"):
        case(f"{name} int32", lambda n=name: functions[n](ms.Tensor(whole)))
    case("glu", lambda: ops.glu(normal(2, 4), 1))
    case("prelu", lambda: ops.prelu(normal(2, 3), uniform(3)))
    case("prelu one", lambda: ops.prelu(normal(2, 3), uniform(1)))


def convolutions(ms, ops, case, normal, uniform, signs):
    for mode, stride in itertools.product(("same", "valid", "pad"), (1, 2, 3)):
        def padded(value, mode=mode):
            return value if mode == "pad" else 0
        case(f"conv1d {mode} {stride}", lambda m=mode, s=stride, p=padded: ops.conv1d(
            normal(1, 2, 9), normal(2, 2, 3), normal(2), s, m, p((1,)), 2))
        case(f"conv2d {mode} {stride}", lambda m=mode, s=stride, p=padded: ops.conv2d(
            normal(1, 2, 6, 7), normal(2, 1, 3, 2), None, s, m, p((1, 2)), (1, 2), 2))
        case(f"conv3d {mode} {stride}", lambda m=mode, s=stride, p=padded: ops.conv3d(
            normal(1, 1, 3, 5, 4), normal(2, 1, 2, 3, 3), None, s, m, p((1, 1, 1))))
        case(f"conv3d_transpose {mode} {stride}", lambda m=mode, s=stride, p=padded:
             ops.conv3d_transpose(normal(1, 1, 2, 2, 2), normal(1, 1, 2, 3, 3), m, p(1), s, 1, 1,
                                  p(int(s > 1))))
    for mode, size in (("same", 4), ("valid", 5), ("pad", 4)):
        case(f"Conv2DTranspose {mode}", lambda m=mode, n=size: ops.Conv2DTranspose(
            3, (3, 3), m, stride=2, pad=(1, 0, 1, 0) if m == "pad" else 0)(
                normal(1, 3, 2, 2), normal(3, 2, 3, 3), (1, 2, n, n)))
    case("Conv2D", lambda: ops.Conv2D(4, (3, 2), pad_mode="pad", pad=(1, 2, 0, 1))(
        normal(1, 2, 4, 4), normal(4, 2, 3, 2)))
    case("deformable_conv2d", lambda: ops.deformable_conv2d(
        normal(1, 2, 3, 4), normal(3, 2, 2, 2), normal(1, 12, 2, 3), (2, 2), (1, 1, 1, 1),
        (0, 0, 0, 0)))
    case("bidense", lambda: ops.bidense(normal(2, 3), normal(2, 4), normal(5, 3, 4), normal(5)))
    case("dense", lambda: ops.dense(normal(2, 3), normal(4, 3), normal(4)))
    case("bias_add", lambda: ops.bias_add(normal(2, 3, 4), normal(3)))


def pools(ms, ops, case, normal, uniform, signs):
    for mode, kernel, stride in itertools.product(("same", "valid"), (2, 3), (1, 2, 3)):
        for name in ("MaxPool", "AvgPool"):
            case(f"{name} {mode} {kernel} {stride}", lambda n=name, m=mode, k=kernel, s=stride:
                 getattr(ops, n)(k, s, m)(normal(1, 1, 5, 6)))
    for mode, stride in itertools.product(("same", "valid", "pad"), (1, 2, 3)):
        pad = (0, 0, 1, 1, 1, 1) if mode == "pad" else 0
        case(f"MaxPool3D {mode} {stride}", lambda m=mode, s=stride, p=pad: ops.MaxPool3D(
            (1, 3, 3), (1, s, s), m, p)(normal(1, 1, 1, 4, 4)))
        for count in (True, False):
            case(f"AvgPool3D {mode} {stride} {count}", lambda m=mode, s=stride, p=pad, c=count:
                 ops.AvgPool3D((1, 3, 3), (1, s, s), m, p, count_include_pad=c)(
                     normal(1, 1, 1, 4, 4)))
    case("max_pool2d", lambda: ops.max_pool2d(normal(1, 1, 4, 4), 3, 2, 1, 1, True, True))
    case("max_pool2d tie", lambda: ms.grad(lambda x: ops.max_pool2d(x, 2))(
        ms.Tensor(np.zeros((1, 1, 4, 4), np.float32))))
    case("MaxPool same tie", lambda: ms.grad(lambda x: ops.MaxPool(3, 2, "same")(x))(
        ms.Tensor(np.zeros((1, 1, 4, 4), np.float32))))
    case("max_pool3d", lambda: ops.max_pool3d(normal(1, 1, 3, 4, 4), 2, 2, 1, 1, False, True))
    case("avg_pool1d", lambda: ops.avg_pool1d(normal(1, 2, 9), 4, 2, 1))
    case("avg_pool2d", lambda: ops.avg_pool2d(normal(1, 1, 4, 4), 3, 2, 1, True, False))
    case("avg_pool2d divisor", lambda: ops.avg_pool2d(normal(1, 1, 4, 4), 3, 2, 1, True, True, 5))
    case("avg_pool2d four", lambda: ops.avg_pool2d(normal(1, 1, 4, 4), 3, 2, (1, 0, 1, 0)))
    case("avg_pool3d", lambda: ops.avg_pool3d(normal(1, 1, 3, 4, 4), 2, 2, (1, 1, 0, 0, 1, 1)))
    case("adaptive_avg_pool1d", lambda: ops.adaptive_avg_pool1d(normal(1, 2, 6), 3))
    case("adaptive_avg_pool2d", lambda: ops.adaptive_avg_pool2d(normal(1, 2, 5, 4), (None, 3)))
    case("adaptive_max_pool2d", lambda: ops.adaptive_max_pool2d(
        normal(1, 2, 5, 4), (3, None), True))
    case("adaptive_max_pool3d", lambda: ops.adaptive_max_pool3d(normal(1, 1, 3, 4, 4), 2, True))
    case("lp_pool1d", lambda: ops.lp_pool1d(normal(1, 2, 9), 2, 3))
    case("lp_pool2d", lambda: ops.lp_pool2d(normal(1, 1, 4, 4), 2, 3, 2, True))
    half = np.full((1, 1, 2), 0.5, np.float32)
    case("fractional_max_pool2d", lambda: ops.fractional_max_pool2d(
        normal(1, 1, 5, 5), 2, (2, 2), None, True, ms.Tensor(half)))

    def unpool():
        out, places = ops.max_pool2d(normal(1, 1, 4, 4), 2, return_indices=True)
        return ops.max_unpool2d(out, places, 2)
    case("max_unpool2d", unpool)


def norms(ms, ops, case, normal, uniform, signs):
    def running():
        return (ms.Parameter(uniform(3), name="mean"), ms.Parameter(uniform(3), name="variance"))

    def batch_norm(training):
        mean, variance = running()
        weight = (ms.Parameter(uniform(3), name="w"), ms.Parameter(uniform(3), name="b"))
        out = ops.batch_norm(normal(2, 3, 2, 2), mean, variance, *weight, training, 0.2, 1e-3)
        return out, mean.value(), variance.value()
    case("batch_norm training", lambda: batch_norm(True))
    case("batch_norm", lambda: batch_norm(False))

    def primitive(training):
        mean, variance = running()
        weight = (ms.Parameter(uniform(3), name="w"), ms.Parameter(uniform(3), name="b"))
        out = ops.BatchNorm(training, 1e-3, 0.2)(normal(2, 3, 2, 2), *weight, mean, variance)
        return out[0], out[3], out[4]
    case("BatchNorm training", lambda: primitive(True))
    case("LayerNorm", lambda: ops.LayerNorm(1, 1, 1e-5)(normal(2, 3, 2), uniform(3, 2),
                                                        uniform(3, 2)))
    case("LayerNorm -1", lambda: ops.LayerNorm(-1, -1)(normal(2, 3, 2), uniform(2), uniform(2)))
    case("LayerNorm 1 2", lambda: ops.LayerNorm(1, 2)(normal(2, 3, 2), uniform(2), uniform(2)))
    case("group_norm", lambda: ops.group_norm(normal(2, 4, 2), 2, uniform(4), uniform(4)))
    case("lrn", lambda: ops.lrn(normal(1, 4, 2, 2), 1, 1.0, 0.5, 0.75))


def losses(ms, ops, case, normal, uniform, signs):
    classes = np.array([1, 0, -100, 2], np.int32)
    for red in ("none", "mean", "sum"):
        for smooth in (0.0, 0.1):
            case(f"cross_entropy {red} {smooth}", lambda r=red, s=smooth: ops.cross_entropy(
                normal(4, 5), ms.Tensor(classes), uniform(5), -100, r, s))
            case(f"cross_entropy of probabilities {red} {smooth}", lambda r=red, s=smooth:
                 ops.cross_entropy(normal(4, 5), uniform(4, 5), uniform(5), -100, r, s))
            case(f"nll_loss {red} {smooth}", lambda r=red, s=smooth: ops.nll_loss(
                normal(4, 5), ms.Tensor(classes), uniform(5), -100, r, s))
            case(f"cross_entropy of images {red} {smooth}", lambda r=red, s=smooth:
                 ops.cross_entropy(normal(4, 3, 1, 2), ms.Tensor(np.tile(classes[:, None, None],
                                                                         (1, 1, 2))), None, -100,
                                   r, s))
        two = {"mse_loss": (), "l1_loss": (), "huber_loss": (red, 0.7)}
        for name, more in two.items():
            case(f"{name} {red}", lambda n=name, m=more, r=red: getattr(ops, n)(
                normal(3, 4), normal(3, 4), *(m or (r,))))
        case(f"smooth_l1_loss {red}", lambda r=red: ops.smooth_l1_loss(normal(3, 4), normal(3, 4),
                                                                       0.5, r))
        case(f"binary_cross_entropy {red}", lambda r=red: ops.binary_cross_entropy(
            uniform(3, 4), uniform(3, 4), uniform(3, 4), r))
        case(f"with logits {red}", lambda r=red: ops.binary_cross_entropy_with_logits(
            normal(3, 4), uniform(3, 4), uniform(3, 4), uniform(4), r))
        case(f"kl_div {red}", lambda r=red: ops.kl_div(normal(3, 4), uniform(3, 4), r))
        case(f"cosine_embedding_loss {red}", lambda r=red: ops.cosine_embedding_loss(
            normal(3, 4), normal(3, 4), ms.Tensor(np.array([1, -1, 1], np.int32)), 0.1, r))
        case(f"margin_ranking_loss {red}", lambda r=red: ops.margin_ranking_loss(
            normal(3, 4), normal(3, 4), signs(3, 4), 0.1, r))
        case(f"hinge_embedding_loss {red}", lambda r=red: ops.hinge_embedding_loss(
            normal(3, 4), signs(3, 4), 1.0, r))
        case(f"gaussian_nll_loss {red}", lambda r=red: ops.gaussian_nll_loss(
            normal(3, 4), normal(3, 4), uniform(3, 4), True, 1e-6, r))
        case(f"multilabel_soft_margin_loss {red}", lambda r=red: ops.multilabel_soft_margin_loss(
            normal(3, 4), uniform(3, 4), uniform(4), r))
        case(f"NLLLoss {red}", lambda r=red: ops.NLLLoss(r)(
            normal(3, 4), ms.Tensor(np.array([0, 3, 1], np.int32)), uniform(4)))
        case(f"ctc_loss {red}", lambda r=red: ops.ctc_loss(
            ops.log_softmax(normal(6, 2, 4), -1),
            ms.Tensor(np.array([[1, 2, 2], [3, 1, 0]], np.int32)),
            ms.Tensor(np.array([6, 5], np.int32)), ms.Tensor(np.array([3, 2], np.int32)), 0, r)[0])
    edge, label = np.array([0, 1, 0, 1.0], np.float32), np.array([0, 1, 1, 0.0], np.float32)
    case("binary_cross_entropy at 0 and 1", lambda: ops.binary_cross_entropy(
        ms.Tensor(edge), ms.Tensor(label), None, "none"))
    case("binary_cross_entropy gradient", lambda: ms.grad(lambda p: ops.binary_cross_entropy(
        p, ms.Tensor(label), None, "sum"))(ms.Tensor(edge)))
    case("SoftmaxCrossEntropyWithLogits", lambda: ops.SoftmaxCrossEntropyWithLogits()(
        normal(3, 4), uniform(3, 4)))

    def dense_gradient():
        x, y = normal(3, 4), uniform(3, 4)
        return ms.grad(lambda a: ops.SoftmaxCrossEntropyWithLogits()(a, y)[0])(x)
    case("SoftmaxCrossEntropyWithLogits gradient", dense_gradient)
    for is_grad in (False, True):
        case(f"Sparse {is_grad}", lambda g=is_grad: ops.SparseSoftmaxCrossEntropyWithLogits(g)(
            normal(3, 4), ms.Tensor(np.array([0, 3, 1], np.int32))))
    case("SigmoidCrossEntropyWithLogits", lambda: ops.SigmoidCrossEntropyWithLogits()(
        normal(3, 4), uniform(3, 4)))
    case("L2Loss", lambda: ops.L2Loss()(normal(3, 4)))
    case("CTCLoss", lambda: ops.CTCLoss()(
        normal(6, 2, 4), ms.Tensor(np.array([[0, 0], [1, 0]])),
        ms.Tensor(np.array([2, 1], np.int32)), ms.Tensor(np.array([6, 5], np.int32))))
    case("ctc_greedy_decoder", lambda: ops.ctc_greedy_decoder(
        normal(3, 2, 4), ms.Tensor(np.array([3, 2], np.int32))))


def borders(ms, ops, case, normal, uniform, signs):
    for mode in ("constant", "reflect", "replicate", "circular"):
        case(f"pad {mode}", lambda m=mode: ops.pad(normal(1, 1, 3, 4), (1, 2, 0, 1), m))
        case(f"pad without batch {mode}", lambda m=mode: ops.pad(normal(2, 3, 4), (1, 2, 0, 1), m))
    case("pad value", lambda: ops.pad(normal(2, 3), (1, 0), "constant", 5.0))
    case("pad int", lambda: ops.pad(ms.Tensor(np.arange(3)), (1, 1)))
    case("pad negative", lambda: ops.pad(normal(2, 3), (-1, 1)))
    case("Pad", lambda: ops.Pad(((1, 1), (0, 2)))(normal(2, 3)))
    for mode in ("REFLECT", "SYMMETRIC"):
        case(f"MirrorPad {mode}", lambda m=mode: ops.MirrorPad(m)(
            normal(3, 4), ms.Tensor([[1, 1], [1, 2]])))
    case("PadV3", lambda: ops.PadV3("constant", False)(normal(2, 3, 4), (1, 2, 0, 1), 0.0))


def images(ms, ops, case, normal, uniform, signs):
    modes = [("nearest", 3), ("linear", 3), ("nearest", 4), ("bilinear", 4), ("bicubic", 4),
             ("area", 4), ("nearest-exact", 4), ("nearest", 5), ("trilinear", 5)]
    for (mode, rank), small in itertools.product(modes, (False, True)):
        size = ((2, 3, 2) if small else (5, 7, 4))[: rank - 2]
        for align in (None, True) if "linear" in mode or "cubic" in mode else (None,):
            name = f"interpolate {mode} {rank} {size} {align}"
            case(name, lambda m=mode, k=rank, s=size, a=align: ops.interpolate(
                normal(1, 1, *(3, 4, 3)[: k - 2]), s, None, m, a))
    case("interpolate recomputed", lambda: ops.interpolate(
        normal(1, 1, 3, 4), None, 1.7, "bilinear", None, True))
    for align, half in ((False, False), (True, False), (False, True)):
        for name in ("ResizeBilinearV2", "ResizeNearestNeighborV2", "ResizeBicubic"):
            case(f"{name} {align} {half}", lambda n=name, a=align, h=half: getattr(ops, n)(a, h)(
                normal(1, 1, 3, 4), (5, 7)))
        case(f"ResizeNearestNeighbor {align} {half}", lambda a=align, h=half:
             ops.ResizeNearestNeighbor((5, 3), a, h)(normal(1, 1, 3, 4)))
    for mode, padding, align in itertools.product(("bilinear", "nearest"),
                                                  ("zeros", "border", "reflection"), (None, True)):
        case(f"grid_sample {mode} {padding} {align}", lambda m=mode, p=padding, a=align:
             ops.grid_sample(normal(1, 2, 3, 4), uniform(1, 2, 3, 2) * 3 - 1.5, m, p, a))
    case("affine_grid", lambda: ops.affine_grid(normal(1, 2, 3), (1, 1, 2, 3)))
    case("pixel_shuffle", lambda: ops.pixel_shuffle(normal(1, 4, 2, 2), 2))
    case("pixel_unshuffle", lambda: ops.pixel_unshuffle(normal(1, 1, 4, 4), 2))
    case("channel_shuffle", lambda: ops.channel_shuffle(normal(1, 4, 2, 2), 2))
    case("DepthToSpace", lambda: ops.DepthToSpace(2)(normal(1, 8, 2, 2)))
    case("SpaceToDepth", lambda: ops.SpaceToDepth(2)(normal(1, 2, 4, 4)))
    case("unfold", lambda: ops.unfold(normal(1, 2, 3, 4), (3, 2), (1, 2), (1, 0), 2))
    box = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.8, 1.2], [0.5, 0.9, 0.1, 0.2]], np.float32)
    for mode in ("bilinear", "nearest", "bilinear_v2"):
        case(f"crop_and_resize {mode}", lambda m=mode: ops.crop_and_resize(
            uniform(2, 4, 4, 1), ms.Tensor(box), ms.Tensor(np.array([0, 1, 1], np.int32)),
            (3, 4), m, 0.5))


def boxes(ms, ops, case, normal, uniform, signs):
    a = np.array([[0, 0, 10, 10], [5, 5, 20, 20]], np.float32)
    b = np.array([[1, 1, 9, 9], [4, 6, 18, 22]], np.float32)
    scale = (0.1, 0.1, 0.2, 0.2)
    for mode in ("iou", "iof"):
        case(f"iou {mode}", lambda m=mode: ops.iou(ms.Tensor(a), ms.Tensor(b), m))
    case("check_valid", lambda: ops.check_valid(ms.Tensor(a), ms.Tensor(np.array([15, 15, 1.0],
                                                                              np.float32))))
    case("bounding_box_encode", lambda: ops.bounding_box_encode(
        ms.Tensor(a), ms.Tensor(b), (0.0, 0.0, 0.0, 0.0), scale))
    case("bounding_box_decode", lambda: ops.bounding_box_decode(
        ms.Tensor(a), ms.Tensor(b * 0.05), (16, 16), (0.0, 0.0, 0.0, 0.0), scale))
    scored = np.array([[0, 0, 10, 10, 0.9], [1, 1, 10, 10, 0.8], [20, 20, 30, 30, 0.95],
                       [5, 5, 5, 5, 0.1]], np.float32)
    case("NMSWithMask", lambda: ops.NMSWithMask(0.5)(ms.Tensor(scored)))
    rois = np.array([[0, 1, 2, 10, 12], [1, 0, 0, 35, 15.0]], np.float32)
    for end, samples in ((0, 2), (1, 2), (1, 3)):
        case(f"ROIAlign {end} {samples}", lambda e=end, n=samples: ops.ROIAlign(3, 2, 0.25, n, e)(
            normal(2, 1, 8, 8), ms.Tensor(rois)))


def codes(ms, ops, case, normal, uniform, signs):
    case("one_hot", lambda: ops.one_hot(ms.Tensor(np.array([0, 2, 5, -1])), 3, 1, 0))
    case("one_hot floats", lambda: ops.one_hot(ms.Tensor(np.array([0, 2])), 3,
                                               ms.Tensor(1.0, ms.float32),
                                               ms.Tensor(0.0, ms.float32), 0))
    case("OneHot", lambda: ops.OneHot(1)(ms.Tensor(np.array([[0, 2]])), 3,
                                         ms.Tensor(2.0, ms.float32),
                                         ms.Tensor(-1.0, ms.float32)))
    case("intopk", lambda: ops.intopk(normal(3, 4), ms.Tensor(np.array([0, 1, 2], np.int32)), 2))
    case("EmbeddingLookup", lambda: ops.EmbeddingLookup()(
        normal(4, 2), ms.Tensor(np.array([1, 5, 2], np.int32)), 1))
