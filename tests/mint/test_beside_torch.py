"""Calls beside PyTorch's: layers and functions with each option, lengths that all differ.

Each call is made twice: with PyTorch and its tensors, and with `lamella.mint` and Tensors.
"""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import mint
from tests.numpy.test_beside_numpy import leaves

from ..limits import check_limits

RNG = np.random.default_rng(31)
ARRAYS = {
    "x1": RNG.standard_normal((2, 4, 9)), "x2": RNG.standard_normal((2, 4, 7, 9)),
    "x3": RNG.standard_normal((2, 4, 5, 6, 7)), "m": RNG.standard_normal((3, 5)),
    "p": np.abs(RNG.standard_normal((3, 5))) + 0.1, "v": np.float64([0.5, -1.5, 2.0, 4.0, -0.25]),
    "w1": RNG.standard_normal((6, 2, 3)), "w2": RNG.standard_normal((6, 2, 3, 2)),
    "w3": RNG.standard_normal((6, 2, 3, 2, 1)), "c6": RNG.standard_normal(6),
    "g": RNG.uniform(-1.2, 1.2, (2, 3, 5, 2)), "sign": np.float64([1, -1, -1]),
    "u": RNG.standard_normal((2, 6, 3, 4)), "q": RNG.standard_normal((2, 3, 5, 4)),
    "kv": RNG.standard_normal((2, 3, 6, 4)),
}
ARRAYS = {name: value.astype("float32") for name, value in ARRAYS.items()}
ARRAYS |= {"i": np.int64([[5, -2, 7], [0, 3, -4]]), "label": np.int64([4, 0, 2]),
           "b": np.array([[True, False, True], [False, False, True]])}

FUNCTIONS = [
    "F.conv1d(x1, w1, None, 2, 1, 2, 2)", "F.conv1d(x1, w1, c6, padding='same', groups=2)",
    "F.conv1d(x1[0], w1, c6, padding='valid', groups=2)",
    "F.conv2d(x2, w2, c6, (2, 3), (1, 2), (2, 1), 2)", "F.conv2d(x2[0], w2, groups=2)",
    "F.conv2d(x2, w2, c6, (1, 1), 'same', (1, 2), 2)", "F.conv2d(x2, w2, c6, [1, 1], 'same', 1, 2)",
    "F.conv3d(x3, w3, c6, (1, 2, 3), (2, 1, 0), 1, 2)", "F.conv3d(x3[1], w3, groups=2)",
    "F.conv3d(x3, w3, padding='valid', groups=2)",
    "F.avg_pool1d(x1, 2)", "F.avg_pool1d(x1[0], 3, 2, 1, True, False)", "F.avg_pool2d(x2, (2, 3))",
    "F.avg_pool2d(x2[0], 3, 2, 1, True, False, 5)", "F.avg_pool3d(x3, 2)",
    "F.avg_pool3d(x3[0], 3, 2, 1, True, False)", "F.avg_pool3d(x3, 2, 1, 0, False, True, 3)",
    "F.adaptive_max_pool1d(x1, 4)", "F.adaptive_max_pool1d(x1, 4, True)",
    "F.adaptive_max_pool1d(x1, (5,), True)", "F.adaptive_avg_pool1d(x1, 4)",
    "F.interpolate(x1, 5)", "F.interpolate(x1, 5, mode='linear')", "F.interpolate(x2, (3, 4))",
    "F.interpolate(x2, scale_factor=1.5, mode='bilinear')",
    "F.interpolate(x2, (9, 8), mode='bilinear', align_corners=True)",
    "F.interpolate(x2, (9, 8), mode='bicubic')", "F.interpolate(x2, (3, 4), mode='area')",
    "F.interpolate(x3, (3, 4, 5), mode='trilinear')",
    "F.interpolate(x2, scale_factor=(1.3, 1.7), mode='bilinear', recompute_scale_factor=True)",
    "F.kl_div(m, p)", "F.kl_div(m, p, reduction='sum')", "F.kl_div(m, p, reduction='batchmean')",
    "F.kl_div(m, p, reduction='none')", "F.kl_div(m, p, reduction='batchmean', log_target=True)",
    "F.kl_div(m, m * 2, reduction='none', log_target=True)", "F.normalize(m)",
    "F.normalize(x1, 1, 2)", "F.normalize(m, 3.0, 0)", "F.normalize(m * 1e-6, eps=0.01)",
    "F.one_hot(label)", "F.one_hot(label, 7)", "F.softmax(m, 0)", "F.softmax(v, 0)",
    "F.log_softmax(x1, 2)", "F.log_softmax(m, 1, dtype=None)",
    "F.elu(v, 0.7)", "F.hardtanh(v, -0.3, 1.5)", "F.relu6(v * 3)", "F.silu(v)",
    "F.threshold(v, 0.5, 9)", "F.threshold(v, -1.5, 9)", "F.gelu(v)",
    "F.gelu(v, approximate='tanh')", "F.glu(x1[:, :, :8])", "F.glu(x1, 1)", "F.leaky_relu(v)",
    "F.leaky_relu(v, 0.3)", "F.mish(v)", "F.selu(v)", "F.logsigmoid(v)", "F.hardshrink(v, 0.6)",
    "F.softshrink(v, 0.6)", "F.softplus(v, 2, 1)", "F.prelu(x1, v[:4])", "F.hardsigmoid(v)",
    "F.hardswish(v)", "F.pad(m, (1, 2))", "F.pad(x2, (1, 2, 3, 0), 'reflect')",
    "F.pad(x2, (1, 2, 3, 0), 'circular')", "F.pad(m, (1, 0, 2, 1), value=3)",
    "F.smooth_l1_loss(m, p, beta=0.5)", "F.smooth_l1_loss(m, p, reduction='sum')",
    "F.cosine_embedding_loss(m, p, sign, 0.3)", "F.l1_loss(m, p, reduction='none')",
    "F.cosine_embedding_loss(m, p, sign, reduction='none')", "F.mse_loss(m, p, reduction='sum')",
    "F.cross_entropy(m, label, v.abs(), ignore_index=2, label_smoothing=0.2)",
    "F.nll_loss(m, label, v.abs(), ignore_index=0)", "F.soft_margin_loss(v, v.sign())",
    "F.binary_cross_entropy(p.sigmoid(), p.tanh(), p)",
    "F.binary_cross_entropy_with_logits(m, p.tanh(), p, pos_weight=v.abs())",
    "F.layer_norm(x2, (7, 9), eps=0.1)", "F.group_norm(x2, 2, v[:4], v[1:], 0.1)",
    "F.batch_norm(x2, v[:4], v[1:].abs(), v[:4], v[1:], False, 0.1, 0.2)",
    "F.max_pool2d(x2, 3, 2, 1, 2)", "F.max_pool2d(x2, (2, 3), ceil_mode=True)",
    "F.max_pool2d(x2, 2, return_indices=True)", "F.pixel_shuffle(x2, 2)",
    "F.unfold(x2, (2, 3), 2, 1, (1, 2))", "F.fold(F.unfold(x2, 2), (7, 9), 2)",
    "F.grid_sample(u, g, align_corners=False)", "F.linear(m, m)", "F.linear(m, m, v[:3])",
    "F.grid_sample(u, g, 'nearest', 'border', True)", "F.embedding(label, m.T)",
    "F.scaled_dot_product_attention(q, kv, kv)", "F.conv_transpose2d(x2, w2[:4], None, 2, 1, 1)",
    "F.scaled_dot_product_attention(q, kv, kv, is_causal=True)",
    "F.scaled_dot_product_attention(q, kv, kv, scale=0.3)",
    "F.scaled_dot_product_attention(q, kv, kv, q[..., :1] + kv[..., 0].unsqueeze(-2))",
    # reductions
    "T.max(m)", "T.max(m, 1)", "T.max(m, 0, keepdim=True)", "T.max(m, p[:3])", "T.min(m)",
    "T.min(m, 0)", "T.min(m, p)", "T.min(m, 1, True)", "T.median(m)", "T.median(m, 0)",
    "T.median(m, 1, True)", "T.mean(m, 0)", "T.mean(m, (0, 1), True)", "T.cumsum(m, 1)",
    "T.cumsum(i, 0)", "T.cumsum(b, 1)", "T.cummin(m, 1)", "T.cummax(m, 0)", "T.sort(m, dim=0)",
    "T.sort(m, descending=True)", "T.argsort(m)", "T.argsort(m, 0, True)", "T.topk(m, 2)",
    "T.topk(m, 2, 0)", "T.topk(m, 2, largest=False)", "T.norm(m)", "T.norm(m, 1, 1)",
    "T.norm(m, 3, 0, True)", "T.norm(m, 'nuc')", "T.norm(m, 'fro', (0, 1))", "T.argmin(m)",
    "T.argmin(m, 0)", "T.argmin(m, 1, True)", "T.argmax(m, 1)", "T.bincount(label)",
    "T.bincount(label, v[:3], 7)", "T.bincount(label, minlength=7)", "T.count_nonzero(i)",
    "T.count_nonzero(i, 0)", "T.std(m, 1)", "T.std(m, 1, correction=0)",
    "T.var(m, 0, keepdim=True)", "T.var_mean(m, 1)", "T.std_mean(m, 0, correction=2)",
    "T.amax(x1, (0, 2))", "T.amin(x1, 1)",
    "T.all(b, 1)", "T.any(b, 0)", "T.prod(m, 1)", "T.nansum(m, 0)", "T.kthvalue(m, 2)",
    "T.kthvalue(m, 3, 0, True)", "T.unique(i % 3)",
    # shapes
    "T.cat((m, i[:, :1].expand(2, 5)))", "T.cat((m, p), 1)", "T.cat((i, b), -1)", "T.diag(m)",
    "T.diag(v, 1)", "T.diag(m, -1)", "T.index_add(m, 1, label, p[:, :3], alpha=2)",
    "T.index_add(i, 0, label[1:2], i[:1])", "T.meshgrid(v, sign)",
    "T.meshgrid(v, sign, indexing='xy')", "T.repeat_interleave(m, 2)",
    "T.repeat_interleave(m, 2, 0)", "T.repeat_interleave(m, label, 0)",
    "T.scatter_add(m, 1, i % 5, p[1:, 1:4])", "T.select(x1, 1, -1)", "T.select(x1, 2, 3)",
    "T.narrow(x1, 2, 3, 4)", "T.chunk(x1, 2, 2)", "T.split(x1, (2, 7), 2)", "T.split(x1, 3, 1)",
    "T.diff(m, 2)", "T.diff(m, 1, 0)", "T.flatten(x3, 1, 2)", "T.flatten(x3)",
    "T.gather(m, 1, label.unsqueeze(1))", "T.index_select(x1, 2, label)",
    "T.permute(x1, (2, 0, 1))",
    "T.transpose(x1, 0, 2)", "T.stack((m, p), 1)", "T.squeeze(x1[:1], 0)", "T.mv(m, v)",
    "T.baddbmm(x1[:, :, :3], x1[:, :, :5], x1[:, :, :5].new_ones((2, 5, 3)), beta=2, alpha=0.5)",
    "T.bmm(x1, x1.transpose(1, 2))", "T.conv_tbc(x1, w1[:4].transpose(0, 2)[:2, :, :1].repeat(1, 1,"
    " 1)[:, :2].new_ones((2, 9, 5)), v, 1)",
]

LAYERS = [
    ("Conv1d(4, 6, 3, 2, 1, 2, 2)", "x1"), ("Conv1d(4, 6, 2, padding='same')", "x1"),
    ("Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (1, 2), 2)", "x2"), ("Conv2d(4, 6, 3)", "x2"),
    ("Conv2d(4, 6, (4, 3), padding='same', dilation=(1, 2))", "x2"),
    ("Conv2d(4, 6, 3, padding='valid', bias=False)", "x2"), ("Conv2d(4, 6, 3)", "x2[0]"),
    ("Conv2d(4, 6, (4, 3), padding='same', padding_mode='reflect')", "x2"),
    ("Conv2d(4, 6, 3, padding=(1, 2), padding_mode='circular')", "x2"),
    ("Conv2d(4, 6, 3, padding=(2, 1), padding_mode='replicate')", "x2"),
    ("Conv1d(4, 6, 3, padding=2, padding_mode='reflect')", "x1"),
    ("Conv3d(4, 6, (3, 2, 1), (1, 2, 3), (2, 1, 0), groups=2)", "x3"),
    ("Conv3d(4, 2, 2, padding=(1, 0, 2), padding_mode='replicate')", "x3"),
    ("ConvTranspose2d(4, 6, (3, 2), (2, 3), (1, 0), (1, 2), 2)", "x2"),
    ("ConvTranspose2d(4, 2, 3, 2, dilation=2, bias=False)", "x2"),
    ("BatchNorm1d(4)", "x1"), ("BatchNorm1d(5, 0.1, 0.3)", "m"), ("BatchNorm2d(4)", "x2"),
    ("BatchNorm2d(4, momentum=None)", "x2"), ("BatchNorm2d(4, affine=False)", "x2"),
    ("BatchNorm2d(4, track_running_stats=False)", "x2"), ("BatchNorm3d(4, 0.5)", "x3"),
    ("GroupNorm(2, 4, 0.1)", "x2"), ("LayerNorm((7, 9), 0.1)", "x2"),
    ("ELU(0.7)", "v"), ("GELU()", "v"), ("GELU('tanh')", "v"), ("GLU(1)", "x1"),
    ("Hardtanh(-0.3, 1.5)", "v"), ("ReLU6()", "v * 3"), ("SELU()", "v"), ("SiLU()", "v"),
    ("Threshold(0.5, 9)", "v"), ("Upsample((3, 4))", "x2"), ("UpsamplingNearest2d(scale_factor=2)",
                                                            "x2"),
    ("Upsample(scale_factor=2, mode='bilinear', align_corners=True)", "x2"),
    ("UpsamplingBilinear2d((9, 5))", "x2"), ("AdaptiveAvgPool1d(4)", "x1"),
    ("AdaptiveAvgPool2d((3, 4))", "x2"), ("AdaptiveAvgPool3d((3, 4, 5))", "x3"),
    ("AdaptiveMaxPool1d(4)", "x1"), ("AdaptiveMaxPool1d(4, True)", "x1"),
    ("ConstantPad1d((1, 2), 3)", "x1"), ("ZeroPad2d((1, 2, 0, 3))", "x2"), ("ZeroPad3d(1)", "x3"),
    ("ReflectionPad2d((1, 2, 0, 3))", "x2"), ("ReplicationPad3d((1, 2, 0, 3, 4, 1))", "x3"),
    ("BCELoss(reduction='sum')", "p.sigmoid(), p.tanh()"),
    ("KLDivLoss(reduction='batchmean', log_target=True)", "m, p"),
    ("KLDivLoss(reduction='sum')", "m, p"),
    ("CosineEmbeddingLoss(0.3, reduction='none')", "m, p, sign"),
    ("CrossEntropyLoss(ignore_index=2, label_smoothing=0.2)", "m, label"),
    ("NLLLoss(ignore_index=2, reduction='sum')", "m, label"), ("MSELoss(reduction='sum')", "m, p"),
    ("SmoothL1Loss(beta=0.5)", "m, p"), ("BCEWithLogitsLoss(reduction='none')", "m, p.tanh()"),
]


def scope(mine):
    """The arrays and modules of one side."""
    if mine:
        return {"F": mint.nn.functional, "T": mint,
                **{name: ms.Tensor(value) for name, value in ARRAYS.items()}}
    return {"F": torch.nn.functional, "T": torch,
            **{name: torch.from_numpy(value) for name, value in ARRAYS.items()}}


def close(got, want):
    got = leaves(got)
    want = leaves(want) if isinstance(want, tuple) else [want]
    want = [w.detach().numpy() if isinstance(w, torch.Tensor) else w for w in want]
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, of 'mean' in kl_div
@pytest.mark.parametrize("call", FUNCTIONS)
def test_function(call):
    want = eval(call, scope(False))
    close(eval(call, scope(True)), tuple(want) if isinstance(want, (tuple, list)) else want)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("layer", "inputs"), LAYERS)
def test_layer(layer, inputs):
    theirs = eval(f"torch.nn.{layer}", {"torch": torch})
    mine = eval(f"mint.nn.{layer}", {"mint": mint})
    state = theirs.state_dict()
    parameters = {p.name: p for p in mine.get_parameters()}
    for name, parameter in parameters.items():
        if name in state:  # what isn't affine has a frozen weight here
            parameter.set_data(ms.Tensor(state[name].numpy()).astype(parameter.dtype))
    assert set(state) <= set(parameters)
    mine.set_train(True)
    for train in (True, True, False):
        theirs.train(train)
        mine.set_train(train)
        close(mine(*eval(f"({inputs},)", scope(True))), theirs(*eval(f"({inputs},)", scope(False))))
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(parameters[name].asnumpy(), value.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("extra", [(0, 0), (1, 2), (1, 0)])
def test_a_transposed_convolution_of_a_given_size(extra):
    theirs = torch.nn.ConvTranspose2d(4, 2, (3, 2), (2, 3), (1, 0), dilation=(2, 1))
    mine = mint.nn.ConvTranspose2d(4, 2, (3, 2), (2, 3), (1, 0), dilation=(2, 1))
    for parameter in mine.get_parameters():
        parameter.set_data(ms.Tensor(theirs.state_dict()[parameter.name].numpy()))
    x, least = torch.from_numpy(ARRAYS["x2"]), (15, 26)
    size = [least[0] + extra[0], least[1] + extra[1]]
    close(mine(ms.Tensor(ARRAYS["x2"]), size), theirs(x, size))
    for outside in ((14, 26), (17, 26), (15, 25), (15, 29)):
        with pytest.raises(ValueError, match="output_size"):
            mine(ms.Tensor(ARRAYS["x2"]), outside)


def ones(rank):
    return mint.ones((4,) * rank)


LIMITS = {
    "conv1d": (lambda n: mint.nn.functional.conv1d(ones(n), ones(3)), (2, 3), (1, 4)),
    "conv2d": (lambda n: mint.nn.functional.conv2d(ones(n), ones(4)), (3, 4), (2, 5)),
    "conv3d": (lambda n: mint.nn.functional.conv3d(ones(n), ones(5)), (4, 5), (3, 6)),
    "avg_pool2d": (lambda n: mint.nn.functional.avg_pool2d(ones(n), 2), (3, 4), (2, 5)),
    "stride of same": (lambda s: mint.nn.functional.conv2d(ones(4), ones(4), None, s, "same"),
                       (1, (1, 1), [1, 1]), (2, (1, 2), (2, 1))),
    "sizes": (lambda p: mint.nn.functional.interpolate(ones(4), *p), ((2,), (None, 2.0)),
              ((), (2, 2.0))),
    "rank of sizes": (lambda n: mint.nn.functional.interpolate(ones(n), 2), (3, 4, 5), (2, 6)),
    "BatchNorm1d": (lambda n: mint.nn.BatchNorm1d(4)(ones(n)), (2, 3), (1, 4)),
    "BatchNorm2d": (lambda n: mint.nn.BatchNorm2d(4)(ones(n)), (4,), (3, 5)),
    "BatchNorm3d": (lambda n: mint.nn.BatchNorm3d(4)(ones(n)), (5,), (4, 6)),
    "SyncBatchNorm": (lambda n: mint.nn.SyncBatchNorm(4)(ones(n)), (2, 3, 4, 5), (1, 6)),
    "features": (lambda n: mint.nn.BatchNorm2d(n), (1,), (0,)),
    "groups": (lambda n: mint.nn.GroupNorm(n, 6), (1, 3, 6), (0, 4, 12)),
    "channels": (lambda n: mint.nn.Conv2d(n, 1, 1), (1,), (0,)),
    "groups of channels": (lambda n: mint.nn.Conv2d(4, 6, 1, groups=n), (1, 2), (0, 3, 4)),
    "padding of Conv2d": (lambda p: mint.nn.Conv2d(1, 1, 1, padding=p), (0, (1, 0), "same"),
                          (-1, (1, 1, 1), (0, -1), 0.5, (0, 1.5), "full")),
    "same of Conv2d": (lambda s: mint.nn.Conv2d(1, 1, 1, s, "same"), (1, (1, 1)), (2, (1, 2))),
    "padding of ConvTranspose2d": (lambda p: mint.nn.ConvTranspose2d(1, 1, 1, padding=p), (0,),
                                   ("same",)),
    "mode of ConvTranspose2d": (lambda m: mint.nn.ConvTranspose2d(1, 1, 1, padding_mode=m),
                                ("zeros",), ("reflect",)),
    "ConstantPad1d": (lambda p: mint.nn.ConstantPad1d(p, 1), (0, -1, (1, -1), [1, 2]),
                      ((1,), (1, 2, 3, 4), 0.5, (1, 0.5))),
    "ReflectionPad1d": (lambda p: mint.nn.ReflectionPad1d(p), (1, (0, 1), [0, 0]),
                        (0, (0, -1), (1,), (1, 1, 1, 1))),
    "causal": (lambda mask: mint.nn.functional.scaled_dot_product_attention(
        ones(4), ones(4), ones(4), mask, is_causal=True), (None,), (ones(2),)),
    "randint": (lambda p: mint.randint(*p), ((3, (2,)), (1, 3, (2,))), ((3,), (1, 2, (2,), 4))),
    "reduction": (lambda r: mint.nn.functional.kl_div(ones(2), ones(2), r),
                  ("mean", "sum", "none", "batchmean"), ("all",)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("call", [
    lambda x: mint.nn.functional.elu(x, 0.7, True), lambda x: mint.nn.functional.elu_(x, 0.7),
    lambda x: mint.nn.functional.hardtanh(x, -1, 1, True), mint.nn.functional.hardtanh_,
    lambda x: mint.nn.functional.relu6(x, True), lambda x: mint.nn.functional.silu(x, True),
    lambda x: mint.nn.functional.threshold(x, 0.5, 3, True),
    lambda x: mint.nn.functional.threshold_(x, 0.5, 3),
    lambda x: mint.nn.functional.dropout(x, 1, True, True)])
def test_in_place(call, train):
    x = ms.Tensor(ARRAYS["v"])
    out = call(x)
    np.testing.assert_array_equal(x.asnumpy(), out.asnumpy())
    assert not np.array_equal(x.asnumpy(), ARRAYS["v"])


@pytest.mark.parametrize("name", ["elu", "hardtanh", "relu6", "silu", "dropout", "dropout2d"])
def test_not_in_place(name):
    x = ms.Tensor(ARRAYS["x2"])
    getattr(mint.nn.functional, name)(x)
    np.testing.assert_array_equal(x.asnumpy(), ARRAYS["x2"])
    if name.startswith("dropout"):
        assert (getattr(mint.nn.functional, name)(x, 0.5, True, True) == x).all()
        assert (x.asnumpy() != ARRAYS["x2"]).any()


def test_dropout_outside_training():
    x = ms.Tensor(ARRAYS["x2"])
    for function in (mint.nn.functional.dropout, mint.nn.functional.dropout2d):
        np.testing.assert_array_equal(function(x, 0.5, False, True).asnumpy(), ARRAYS["x2"])
    assert (mint.nn.functional.dropout(x, 1) == 0).all()


@pytest.mark.parametrize(("rank", "axis"), [(0, 0), (1, 0), (2, 1), (3, 0), (4, 1)])
def test_the_axis_of_the_classes(rank, axis):
    x = ms.Tensor(np.float32(RNG.standard_normal((3, 4, 5, 2)[:rank])))
    for function in (mint.nn.functional.softmax, mint.nn.functional.log_softmax):
        np.testing.assert_array_equal(function(x).asnumpy(), function(x, axis).asnumpy())
