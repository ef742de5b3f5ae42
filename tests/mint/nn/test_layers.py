"""Layers of `mint.nn` against those of PyTorch that they are named after, with its weights."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint

LAYERS = [  # class, arguments, the input's shape
    ("AdaptiveAvgPool1d", (2,), {}, (2, 3, 5)), ("AdaptiveAvgPool2d", ((2, 3),), {}, (1, 2, 5, 6)),
    ("AdaptiveAvgPool3d", (2,), {}, (1, 2, 4, 4, 4)), ("AdaptiveMaxPool1d", (2,), {}, (2, 3, 5)),
    ("AdaptiveMaxPool2d", (2,), {}, (1, 2, 5, 6)), ("AvgPool1d", (2,), {}, (1, 2, 6)),
    ("AvgPool2d", (2, 1, 1), {}, (1, 2, 4, 4)), ("AvgPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("BatchNorm1d", (3,), {}, (4, 3)), ("BatchNorm1d", (3, 1e-3, 0.3), {}, (4, 3, 5)),
    ("BatchNorm2d", (3,), {}, (2, 3, 4, 4)), ("BatchNorm2d", (3,), {"affine": False}, (2, 3, 2, 2)),
    ("BatchNorm2d", (3,), {"momentum": None}, (2, 3, 2, 2)),
    ("BatchNorm2d", (3,), {"track_running_stats": False}, (2, 3, 2, 2)),
    ("BatchNorm3d", (3,), {}, (2, 3, 2, 2, 2)), ("ConstantPad1d", (1, 2.5), {}, (1, 2, 3)),
    ("ConstantPad2d", ((1, 2, 0, 1), 2.5), {}, (1, 2, 3, 3)),
    ("ConstantPad3d", (1, 2.5), {}, (1, 1, 2, 2, 2)), ("Conv1d", (2, 4, 3), {}, (2, 2, 8)),
    ("Conv1d", (2, 4, 3), {"padding": "same"}, (2, 8)),
    ("Conv2d", (2, 4, 3), {"stride": 2, "padding": 1}, (1, 2, 8, 8)),
    ("Conv2d", (2, 4, 3), {"groups": 2, "bias": False, "dilation": 2}, (1, 2, 8, 8)),
    ("Conv2d", (2, 4, (3, 5)), {"padding": (1, 2), "padding_mode": "reflect"}, (1, 2, 8, 8)),
    ("Conv2d", (2, 4, 3), {"padding": "same", "padding_mode": "circular"}, (1, 2, 6, 6)),
    ("Conv3d", (2, 3, 2), {"padding": 1}, (1, 2, 4, 4, 4)),
    ("ConvTranspose2d", (2, 4, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (1, 2, 4, 4)),
    ("ConvTranspose2d", (2, 4, 3), {"groups": 2, "bias": False}, (1, 2, 4, 4)),
    ("Dropout", (), {}, (2, 3)), ("Dropout2d", (), {}, (1, 2, 3, 3)), ("ELU", (2.0,), {}, (2, 3)),
    ("Flatten", (), {}, (2, 3, 4)), ("Fold", ((3, 3), 2), {}, (1, 8, 4)), ("GELU", (), {}, (2, 3)),
    ("GELU", ("tanh",), {}, (2, 3)), ("GLU", (), {}, (2, 4)), ("GroupNorm", (2, 4), {}, (2, 4, 3)),
    ("Hardshrink", (), {}, (2, 3)), ("Hardsigmoid", (), {}, (2, 3)), ("Hardswish", (), {}, (2, 3)),
    ("Hardtanh", (-0.5, 0.5), {}, (2, 3)), ("Identity", (), {}, (2, 3)),
    ("LayerNorm", (4,), {}, (2, 4)), ("LayerNorm", ((3, 4),), {"bias": False}, (2, 3, 4)),
    ("Linear", (3, 5), {}, (2, 3)), ("Linear", (3, 5), {"bias": False}, (2, 4, 3)),
    ("LogSigmoid", (), {}, (2, 3)), ("LogSoftmax", (1,), {}, (2, 3)),
    ("MaxPool2d", (2,), {}, (1, 2, 4, 4)), ("MaxPool2d", (3, 1, 1), {}, (1, 2, 4, 4)),
    ("Mish", (), {}, (2, 3)), ("PReLU", (), {}, (2, 3)), ("PReLU", (3,), {}, (2, 3)),
    ("PixelShuffle", (2,), {}, (1, 4, 2, 2)), ("ReLU", (), {}, (2, 3)), ("ReLU6", (), {}, (2, 3)),
    ("RMSNorm", (4,), {}, (2, 4)), ("RMSNorm", ((3, 4), 1e-3), {}, (2, 3, 4)),
    ("RMSNorm", (4,), {"elementwise_affine": False}, (2, 4)),
    ("ReflectionPad1d", (1,), {}, (1, 2, 4)), ("ReflectionPad2d", (1,), {}, (1, 2, 4, 4)),
    ("ReflectionPad3d", (1,), {}, (1, 2, 3, 3, 3)), ("ReplicationPad1d", (2,), {}, (1, 2, 4)),
    ("ReplicationPad2d", (1,), {}, (1, 2, 4, 4)), ("ReplicationPad3d", (1,), {}, (1, 2, 2, 2, 2)),
    ("SELU", (), {}, (2, 3)), ("SiLU", (), {}, (2, 3)), ("Sigmoid", (), {}, (2, 3)),
    ("Softmax", (1,), {}, (2, 3)), ("Softshrink", (), {}, (2, 3)), ("Tanh", (), {}, (2, 3)),
    ("Threshold", (0.1, 5.0), {}, (2, 3)), ("Unfold", (2,), {"padding": 1}, (1, 2, 3, 3)),
    ("Upsample", (), {"scale_factor": 2}, (1, 2, 2, 3)),
    ("Upsample", ((3, 4),), {"mode": "bilinear"}, (1, 2, 2, 3)),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2}, (1, 2, 2, 3)),
    ("AvgPool1d", (3, 2, 1, True, False), {}, (1, 2, 6)),
    ("AvgPool2d", ((2, 3), (1, 2), (1, 0), True, False), {}, (2, 3, 5, 6)),
    ("AvgPool2d", ((2, 3),), {"divisor_override": 5}, (2, 3, 5, 6)),
    ("AvgPool3d", ((2, 1, 3), (1, 2, 2), (1, 0, 1), True, False), {}, (2, 3, 4, 5, 6)),
    ("MaxPool2d", ((2, 3), (1, 2), (1, 1), (2, 1)), {"ceil_mode": True}, (2, 3, 5, 6)),
    ("Conv1d", (4, 6, 3, 2, 1, 2, 2, False), {"padding_mode": "replicate"}, (2, 4, 9)),
    ("Conv3d", (4, 2, (2, 1, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), 2, False), {}, (2, 4, 3, 4, 6)),
    ("ConvTranspose2d", (4, 6, (2, 3), (2, 1), (1, 0), (1, 0), 2, False, (1, 2)), {}, (2, 4, 3, 5)),
    ("Fold", ((4, 5), (2, 3), 1, (1, 0), (1, 2)), {}, (2, 12, 10)),
    ("Unfold", ((2, 3), (1, 2), (1, 0), (2, 1)), {}, (2, 3, 5, 6)),
    ("GLU", (1,), {}, (2, 4, 3)), ("Softmax", (0,), {}, (2, 3)),
    ("Hardshrink", (0.9,), {}, (3, 5)), ("Softshrink", (0.9,), {}, (3, 5)),
    ("AdaptiveAvgPool3d", ((2, None, 3),), {}, (2, 3, 5, 4, 7)),
    ("PixelShuffle", (3,), {}, (2, 9, 2, 3)), ("Flatten", (0, 1), {}, (2, 3, 4)),
    ("Upsample", ((3, 4),), {"mode": "bicubic"}, (2, 3, 5, 2)),
    ("Upsample", (), {"size": (4, 3, 5), "mode": "trilinear", "align_corners": True},
     (2, 3, 2, 5, 3)), ("ConstantPad3d", ((1, 2, 0, 1, 3, 0), 2.5), {}, (1, 2, 3, 4, 5)),
    ("UpsamplingNearest2d", ((4, 6),), {}, (1, 2, 2, 3)), ("ZeroPad1d", (1,), {}, (1, 2, 3)),
    ("ZeroPad2d", (1,), {}, (1, 2, 3, 3)), ("ZeroPad3d", (1,), {}, (1, 1, 2, 2, 2)),
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(LAYERS)]


def drawn(shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def both(name, args, named):
    """The layer and PyTorch's, with the same weights, which are called the same."""
    reference = getattr(torch.nn, name)(*args, **named)
    net = getattr(mint.nn, name)(*args, **named)
    weights = reference.state_dict()
    draw = np.random.default_rng(7)
    for value in weights.values():  # the first ones are ones and zeros in part
        if value.is_floating_point():
            value += torch.from_numpy(draw.uniform(0.1, 0.9, value.shape))
    ours = net.parameters_dict()
    assert set(ours) == set(weights)
    for key, value in weights.items():
        assert tuple(value.shape) == ours[key].shape
        ms.ops.assign(ours[key], Tensor(value.numpy()))
    return net, reference


@pytest.mark.parametrize(("name", "args", "named", "shape"), LAYERS, ids=IDS)
def test_as_pytorch(name, args, named, shape):
    net, reference = both(name, args, named)
    x = drawn(shape)
    expected = reference.eval()(torch.tensor(x)).detach().numpy()
    given = net.set_train(False)(Tensor(x))
    np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "args", "named", "shape"),
                         [row for row in LAYERS if "Norm" in row[0] or "Conv" in row[0]],
                         ids=[i for i in IDS if "Norm" in i or "Conv" in i])
def test_training_as_pytorch(name, args, named, shape):
    """Outputs, gradients by the weights and running statistics, of two steps."""
    net, reference = both(name, args, named)
    net.set_train()
    x = drawn(shape)
    weights = net.trainable_params()
    step = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, weights)
    for _ in range(2):
        reference.zero_grad()
        loss = (reference(torch.tensor(x)) ** 2).sum()
        if weights:
            loss.backward()
            value, gradients = step(Tensor(x))
            assert float(value) == pytest.approx(loss.item(), rel=1e-4)
            for weight, gradient in zip(weights, gradients, strict=True):
                expected = dict(reference.named_parameters())[weight.name].grad.numpy()
                np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-3, atol=1e-3)
        else:
            assert float((net(Tensor(x)) ** 2).sum()) == pytest.approx(loss.item(), rel=1e-4)
    for key, value in reference.state_dict().items():
        ours = net.parameters_dict()[key]
        np.testing.assert_allclose(ours.asnumpy(), value.numpy(), rtol=1e-5, atol=1e-6)


LOSSES = [
    ("BCELoss", {}, "p", "p"), ("BCELoss", {"reduction": "sum"}, "p", "p"),
    ("BCEWithLogitsLoss", {}, "x", "p"), ("CrossEntropyLoss", {}, "x", "c"),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 1}, "x", "c"),
    ("KLDivLoss", {"reduction": "batchmean"}, "x", "p"), ("KLDivLoss", {"log_target": True},
                                                          "x", "x"),
    ("L1Loss", {}, "x", "p"), ("MSELoss", {"reduction": "none"}, "x", "p"),
    ("NLLLoss", {}, "x", "c"), ("SmoothL1Loss", {"beta": 0.5}, "x", "p"),
    ("SoftMarginLoss", {}, "x", "p"),
]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize(("name", "named", "first", "second"), LOSSES,
                         ids=[f"{row[0]}-{i}" for i, row in enumerate(LOSSES)])
def test_losses(name, named, first, second):
    x = drawn((4, 3))
    arrays = {"x": x, "p": 1 / (1 + np.exp(-x)), "c": np.array([0, 2, 1, 2])}
    a, b = arrays[first], arrays[second]
    expected = getattr(torch.nn, name)(**named)(torch.tensor(a), torch.tensor(b)).numpy()
    given = getattr(mint.nn, name)(**named)(Tensor(a), Tensor(b))
    np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_cosine_embedding_loss():
    a, b, sides = drawn((4, 3)), drawn((4, 3)) + 1, np.array([1, -1, 1, -1])
    expected = torch.nn.CosineEmbeddingLoss(0.2)(*map(torch.tensor, (a, b, sides))).item()
    assert float(mint.nn.CosineEmbeddingLoss(0.2)(*map(Tensor, (a, b, sides)))) == pytest.approx(
        expected, rel=1e-5)


def test_max_unpool():
    x = drawn((1, 2, 4, 4))
    values, places = mint.nn.MaxPool2d(2, return_indices=True)(Tensor(x))
    raw, where = torch.nn.MaxPool2d(2, return_indices=True)(torch.tensor(x))
    np.testing.assert_array_equal(mint.nn.MaxUnpool2d(2)(values, places).asnumpy(),
                                  torch.nn.MaxUnpool2d(2)(raw, where).numpy())


def test_embedding():
    net = mint.nn.Embedding(5, 3, padding_idx=1)
    assert not net.weight.asnumpy()[1].any()
    assert net(Tensor([[0, 1]])).shape == (1, 2, 3)


def test_transposed_to_a_size():
    net = mint.nn.ConvTranspose2d(2, 3, 3, stride=2)
    x = mint.ones((1, 2, 4, 4))
    assert net(x, (10, 9)).shape == (1, 3, 10, 9)
    with pytest.raises(ValueError, match="'output_size' must lie in"):
        net(x, (12, 9))


@pytest.mark.parametrize("name", ["ELU", "ReLU6", "SiLU", "Hardtanh"])
def test_in_place(name):
    x = Tensor([-2.0, 8.0])
    out = getattr(mint.nn, name)(inplace=True)(x)
    assert out is x
    np.testing.assert_array_equal(x.asnumpy(), getattr(mint.nn, name)()(
        Tensor([-2.0, 8.0])).asnumpy())


def test_gradient_through_change_in_place():
    def loss(x):
        y = x * 2
        mint.nn.functional.silu(y, inplace=True)
        return y.sum()

    x = torch.tensor([0.5, -1.0], requires_grad=True)
    torch.nn.functional.silu(x * 2).sum().backward()
    np.testing.assert_allclose(ms.grad(loss)(Tensor([0.5, -1.0])).asnumpy(), x.grad.numpy(),
                               rtol=1e-6)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: mint.nn.Conv2d(3, 4, 3, groups=2), "'in_channels' must be divisible by 'groups'"),
    (lambda: mint.nn.Conv2d(3, 4, 3, padding="full"), "'padding' must be one of"),
    (lambda: mint.nn.Conv2d(3, 4, 3, stride=2, padding="same"), "the stride must be 1"),
    (lambda: mint.nn.Conv2d(3, 4, 3, padding=(1, 2, 3)), "'padding' must be an int of 0 or more"),
    (lambda: mint.nn.Conv2d(3, 4, 3, padding_mode="edge"), "'padding_mode' must be one of"),
    (lambda: mint.nn.ConvTranspose2d(3, 4, 3, padding="same"), "'padding' must be ints"),
    (lambda: mint.nn.GroupNorm(2, 3), "'num_channels' must be divisible"),
    (lambda: mint.nn.BatchNorm2d(3)(mint.ones((2, 3))), "'input' must have 4 dimensions"),
    (lambda: mint.nn.functional.conv2d(mint.ones((2, 3)), mint.ones((1, 1, 1, 1))),
     "'input' must have 3 or 4 dimensions"),
    (lambda: mint.nn.functional.interpolate(mint.ones((1, 1, 2, 2)), mode="cubic"),
     "'mode' must be one of"),
    (lambda: mint.nn.functional.interpolate(mint.ones((1, 1, 2, 2))), "one of 'size' and"),
], ids=["groups", "word", "same", "count", "mode", "transposed", "norm", "rank", "conv_rank",
        "resize", "no_size"])
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("net", "text"), [
    (lambda: mint.nn.Conv2d(2, 4, 3, padding="same", bias=False),
     "Conv2d(input_channels=2, output_channels=4, kernel_size=(3, 3), stride=(1, 1), padding=same, "
     "dilation=(1, 1), groups=1, bias=False)"),
    (lambda: mint.nn.GELU(), "GELU()"), (lambda: mint.nn.MSELoss(), "MSELoss()"),
    (lambda: mint.nn.AdaptiveAvgPool1d(2), "AdaptiveAvgPool1d(output_size=2)"),
    (lambda: mint.nn.BatchNorm1d(2),
     "BatchNorm1d(num_features=2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"),
], ids=["conv", "gelu", "loss", "pool", "norm"])
def test_printed_form(net, text):
    assert repr(net()) == text


@pytest.mark.parametrize("name, args", [
    ("elu", (2.0,)), ("hardtanh", (-0.3, 0.4)), ("relu", ()), ("relu6", ()), ("silu", ()),
    ("threshold", (0.1, 5.0)), ("leaky_relu", (0.3,))])
def test_functions_in_place(name, args):
    """By the flag and by the function whose name ends with a line, if there are these."""
    plain = getattr(mint.nn.functional, name)
    wanted = plain(Tensor(drawn((3, 4))), *args).asnumpy()
    for function, options in ((plain, {"inplace": True}),
                              (getattr(mint.nn.functional, name + "_", None), {})):
        x = Tensor(drawn((3, 4)))
        if function is None or options and name == "leaky_relu":
            continue
        out = function(x, *args, **options)
        np.testing.assert_array_equal(out.asnumpy(), wanted)
        np.testing.assert_array_equal(x.asnumpy(), wanted)
    x = Tensor(drawn((3, 4)))
    plain(x, *args)
    np.testing.assert_array_equal(x.asnumpy(), drawn((3, 4)))


def test_parts_of_batch_normalization():
    x = drawn((4, 3, 5))
    mean, inverse = mint.batch_norm_stats(Tensor(x), 0.1)
    np.testing.assert_allclose(mean.asnumpy(), x.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(inverse.asnumpy(), (x.var((0, 2)) + 0.1) ** -0.5, rtol=1e-5)
    weight, bias = drawn((3,)) + 2, drawn((3,))
    found = mint.batch_norm_elemt(Tensor(x), Tensor(weight), Tensor(bias), mean, inverse)
    wanted = torch.nn.functional.batch_norm(
        torch.tensor(x), None, None, torch.tensor(weight), torch.tensor(bias), True, 0.1, 0.1)
    np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    parts = [mint.batch_norm_stats(Tensor(x[rows]), 0.1) for rows in (slice(1), slice(1, 4))]
    whole = mint.batch_norm_gather_stats_with_counts(
        Tensor(x), *(ms.ops.stack([part[i] for part in parts]) for i in (0, 1)), eps=0.1,
        counts=Tensor([5.0, 15.0]))
    for one, other in zip(whole, (mean, inverse), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)
