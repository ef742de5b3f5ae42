"""Forward derivatives of backward kernels: products with Hessians beside finite differences."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff.forward_rules import load_rules

X = np.random.default_rng(0).standard_normal((4, 3, 5))
LABELS = Tensor(np.random.default_rng(1).integers(0, 3, (4, 5)), ms.int32)
WEIGHT = Tensor([0.5, 2.0, 1.0], ms.float64)


def batch_norm(training, pictures):
    net = (nn.BatchNorm2d if pictures else nn.BatchNorm1d)(3, gamma_init="ones")
    net.set_train(training)
    for p in net.get_parameters():
        p.set_data(Tensor(np.linspace(0.5, 1.5, 3), ms.float32))

    def loss(x):
        rows = x.reshape(4, 3, 1, 5) if pictures else x.transpose(0, 2, 1).reshape(20, 3)
        return ops.sin(net(rows.astype(ms.float32))).sum()

    return loss


LOSSES = {
    "softmax": lambda x: (ops.softmax(x, 1) ** 2).sum(),
    "log_softmax": lambda x: (ops.log_softmax(x, 1) ** 3).sum(),
    "logsigmoid": lambda x: (ops.logsigmoid(x) ** 2).sum(),
    "trace": lambda x: ops.trace(x[0] @ x[1].T) ** 3,
    "cross_entropy": lambda x: ops.cross_entropy(x.reshape(4, 15), LABELS[:, 0]),
    "weighted": lambda x: ops.cross_entropy(x[:, :, 0], LABELS[:, 0], WEIGHT, label_smoothing=0.1),
    "ignored": lambda x: ops.cross_entropy(x[:, :, 0] ** 2, LABELS[:, 0], ignore_index=1),
    "summed": lambda x: ops.nll_loss(x[:, :, 0] ** 3, LABELS[:, 0], WEIGHT, reduction="sum"),
    "none": lambda x: (ops.nll_loss(x[:, :, 0] ** 3, LABELS[:, 0], reduction="none") ** 2).sum(),
    "layer_norm": lambda x: (ops.layer_norm(x, (5,), Tensor(np.arange(5.0)),
                                            Tensor(np.ones(5))) ** 3).sum(),
    "layer_norm of all": lambda x: (ops.layer_norm(x[0], (3, 5)) ** 3).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_hessian_products(name):
    loss, v = LOSSES[name], np.random.default_rng(2).standard_normal(X.shape)
    product = ms.hvp(loss, Tensor(X), Tensor(v))[1].asnumpy()
    step = 1e-5
    gradient = ms.grad(loss)
    want = (gradient(Tensor(X + step * v)) - gradient(Tensor(X - step * v))).asnumpy() / (2 * step)
    np.testing.assert_allclose(product, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated")  # of torch.func.jvp
@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2, 5)])
def test_batch_norm_of_torch_modules(training, shape):
    """PyTorch's own function, as wrapped modules call it, takes the rule, too."""
    load_rules()
    mean, variance, weight = torch.rand(3, 3, dtype=torch.float64)
    x, v = torch.randn(2, *shape, dtype=torch.float64)

    def loss(x):
        return torch.nn.functional.batch_norm(x, mean.clone(), variance.clone(), weight, None,
                                              training).sin().sum()

    product = torch.func.jvp(torch.func.grad(loss), (x,), (v,))[1]
    want = torch.func.grad(lambda x: (torch.func.grad(loss)(x) * v).sum())(x)
    np.testing.assert_allclose(product, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pictures", [False, True])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training, pictures):
    """By reverse over reverse mode, whose formulas are others."""
    loss = batch_norm(training, pictures)
    v = Tensor(np.random.default_rng(2).standard_normal(X.shape))
    product = ms.hvp(loss, Tensor(X), v)[1].asnumpy()
    want = ms.grad(lambda x: (ms.grad(loss)(x) * v).sum())(Tensor(X)).asnumpy()
    np.testing.assert_allclose(product, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("by_weight", ["gamma", "beta"])
def test_by_the_weights_of_a_normalization(by_weight):
    net = nn.LayerNorm((5,), gamma_init="ones")
    w = getattr(net, by_weight)

    def by_x(x):
        return (ms.grad(lambda x: (net(x) ** 2).sum(), None, w)(x) ** 2).sum()

    x, v = Tensor(X, ms.float32), Tensor(np.ones_like(X), ms.float32) * 0.1
    v[0, 0, 0] = 1.0
    found = ms.jvp(by_x, x, v)[1]
    np.testing.assert_allclose(float(found), float((ms.grad(by_x)(x) * v).sum()), rtol=1e-3,
                               atol=1e-3)


SHAPES = [((3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((4, 1, 3), (2, 1))]
KINDS = [torch.float32, torch.float64, torch.complex64]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("kinds", [(a, b) for a in KINDS for b in KINDS])
def test_zeros_without_memory_are_zeros(shapes, kinds):
    load_rules()
    zero = torch._efficientzerotensor(shapes[0], dtype=kinds[0])
    plain = torch.zeros(shapes[0], dtype=kinds[0])
    other = torch.full(shapes[1], 2.0, dtype=kinds[1])
    for fn in (torch.add, torch.sub, torch.mul, torch.div, lambda a, b: torch.add(b, a, alpha=3),
               lambda a, b: torch.sub(a, b, alpha=2), lambda a, b: b * a, lambda a, b: b - a,
               lambda a, b: a + 2.5, lambda a, b: a * 3, lambda a, b: 1 - a, lambda a, b: a / 2):
        found, want = fn(zero, other), fn(plain, other)
        assert found.dtype is want.dtype and torch.equal(found + 0 * want, want)
    both = torch._efficientzerotensor(shapes[1], dtype=kinds[1])
    for fn in (torch.add, torch.sub, torch.mul):
        found = fn(zero, both)
        assert found._is_zerotensor() and found.shape == (plain + other).shape
    assert (other / torch._efficientzerotensor(shapes[0])).isinf().all() or kinds[1].is_complex
    assert (zero / both).isnan().all()


@pytest.mark.parametrize("epsilon", [1e-5, 0.7])
@pytest.mark.parametrize("shape, axes", [((4, 3), 1), ((2, 3, 5), 2), ((2, 3, 4), 1), ((3, 4), 2)])
@pytest.mark.parametrize("given", [("weight", "bias"), ("weight",), ()])
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated")  # of torch.func.jvp
def test_layer_norm_of_torch_modules(epsilon, shape, axes, given):
    """By all that it is given, one after another and together; reverse over reverse is right."""
    load_rules()
    draw = np.random.default_rng(3).standard_normal
    inner = shape[-axes:]
    values, moves = ([torch.from_numpy(draw(shape)), *(torch.from_numpy(draw(inner))
                                                       for _ in given)] for _ in range(2))

    def loss(x, *more):
        named = dict(zip(given, more, strict=True))
        normal = torch.nn.functional.layer_norm(x, inner, named.get("weight"), named.get("bias"),
                                                epsilon)
        return (normal.sin() * torch.arange(1.0, 1 + x.numel()).reshape(shape)).sum()

    every = tuple(range(len(values)))
    # the Hessian is symmetric: its product is the gradient of the gradient's product
    product = torch.func.grad(lambda *leaves: sum((s * m).sum() for s, m in zip(
        torch.func.grad(loss, every)(*leaves), moves, strict=True)), every)(*values)
    for by in {(0,), every, every[1:]} - {()}:
        found = torch.func.jvp(torch.func.grad(loss, by), tuple(values), tuple(moves))[1]
        torch.testing.assert_close(found, tuple(product[i] for i in by))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 4, 5)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated")
def test_nll_loss_of_torch_modules(reduction, shape, weighted):
    load_rules()
    rng = np.random.default_rng(4)
    x, v = (torch.from_numpy(rng.standard_normal(shape)) for _ in range(2))
    labels = torch.from_numpy(rng.integers(0, 3, shape[:1] + shape[2:] if len(shape) > 1 else ()))
    if labels.dim():
        labels.view(-1)[1] = 2
    weight = torch.tensor([0.5, 2.0, 1.5], dtype=torch.float64) if weighted else None
    ignored = 1 if labels.dim() else -100

    def loss(x):
        losses = torch.nn.functional.nll_loss(x ** 3, labels, weight, ignore_index=ignored,
                                              reduction=reduction)
        return (losses ** 2 * torch.arange(1.0, 1 + losses.numel()).reshape(losses.shape)).sum()

    product = torch.func.jvp(torch.func.grad(loss), (x,), (v,))[1]
    want = torch.func.grad(lambda x: (torch.func.grad(loss)(x) * v).sum())(x)
    torch.testing.assert_close(product, want)
