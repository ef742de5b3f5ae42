"""Third derivatives of random compositions of operators and Cells, against JAX's of the same.

A program is a sequence of a few layers, each written for both. Transformations, drawn at
random with third order in all, are applied to both programs. JAX takes minutes for them, so what it
gives is recorded; ``python -m tests.autodiff.test_compositions_in_jax`` records it again.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

try:
    import jax
    from jax import lax
    from jax import numpy as jnp
except ImportError:
    jax = None

RECORDED = Path(__file__).with_name("recorded_third_derivatives.json")
PROGRAMS = 220

W, D = np.array([0.7, -1.3, 0.4]), np.array([-0.2, 0.9, 0.5])
MATRIX = np.array([[0.5, -0.3, 0.2], [0.1, 0.8, -0.4], [-0.6, 0.2, 0.3]])
RNG = np.random.default_rng(11)
WIDE, BACK = RNG.standard_normal((5, 3)) * 0.5, RNG.standard_normal((3, 5)) * 0.5
BIAS, SHIFT = RNG.standard_normal(5) * 0.3, RNG.standard_normal(3) * 0.3
TAPS = np.array([0.3, -0.5, 0.8])


def filled(cell, **values):
    """A Cell in double precision with these values in its Parameters."""
    cell.to(ms.float64)
    for name, parameter in cell.parameters_and_names():
        parameter.set_data(Tensor(values[name.replace(".", "_")]))
    return cell


class Residual(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = filled(nn.SequentialCell(nn.Dense(3, 5), nn.GELU(approximate=False),
                                              nn.Dense(5, 3)), **{
            "0_weight": WIDE, "0_bias": BIAS, "2_weight": BACK, "2_bias": SHIFT})

    def construct(self, x):
        return x + self.inner(x)


class Attention(nn.Cell):
    """Three tokens of one number attend to each other."""

    def __init__(self):
        super().__init__()
        self.q = Parameter(Tensor([[0.5, -0.8]], ms.float64), name="q")
        self.k = Parameter(Tensor([[1.1, 0.3]], ms.float64), name="k")

    def construct(self, x):
        tokens = x.reshape(3, 1)
        scores = ops.matmul(ops.matmul(tokens, self.q), ops.matmul(tokens, self.k).T)
        return ops.matmul(ops.softmax(scores, -1), tokens).reshape(3)


class Ruled(nn.Cell):
    """A rule that is the derivative."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(SHIFT), name="w")

    def construct(self, x):
        return ops.sin(x * self.w) * x

    def bprop(self, x, out, dout):
        return (ops.cos(x * self.w) * self.w * x + ops.sin(x * self.w)) * dout


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell = filled(nn.Dense(3, 3), weight=MATRIX, bias=SHIFT)
        self.cell.recompute()

    def construct(self, x):
        for _ in range(3):
            x = ops.tanh(self.cell(x)) + x * 0.5
        return x


class Smooth(ms._Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ops.log(1 + x * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x / (1 + x * x) * grad


def assigned(x):
    y = ops.zeros_like(x)
    y[0] = x[1] * x[2]
    y[1:] = x[:2] ** 2
    return y


def hooked(x):
    y = ops.sin(x)
    y.register_hook(lambda g: g.copy())
    return y * x


dense = filled(nn.Dense(3, 3), weight=MATRIX, bias=SHIFT)
norm = filled(nn.LayerNorm((3,), 0, 0, epsilon=1e-2), gamma=1 + SHIFT, beta=SHIFT)
insert = ops.InsertGradientOf(lambda g: ops.where(ops.isnan(g), 0.0, g))


def gelu(x):
    return 0.5 * x * (1 + lax.erf(x / np.sqrt(2)))


def plain_attention(x):
    scores = (x[:, None] @ np.array([[0.5, -0.8]])) @ (x[:, None] @ np.array([[1.1, 0.3]])).T
    return jax.nn.softmax(scores, -1) @ x


def plain_norm(x):
    return (x - x.mean()) * lax.rsqrt(x.var() + 1e-2) * (1 + SHIFT) + SHIFT


def plain_recurrent(x):
    for _ in range(3):
        x = jnp.tanh(MATRIX @ x + SHIFT) + x * 0.5
    return x


LAYERS = {  # each for us, and for JAX
    "sin": (lambda x: ops.sin(x) + x, lambda x: jnp.sin(x) + x),
    "tanh": (ops.tanh, lambda x: jnp.tanh(x)),
    "silu": (lambda x: ops.sigmoid(x) * x, lambda x: jax.nn.sigmoid(x) * x),
    "bell": (lambda x: ops.exp(-x * x), lambda x: jnp.exp(-x * x)),
    "sum": (lambda x: x * x.sum() * 0.3, lambda x: x * x.sum() * 0.3),
    "mean": (lambda x: (x - x.mean()) ** 2, lambda x: (x - x.mean()) ** 2),
    "matmul": (lambda x: ops.matmul(Tensor(MATRIX), x), lambda x: MATRIX @ x),
    "outer": (lambda x: (ops.outer(x, x) * Tensor(MATRIX)).sum(0),
              lambda x: (jnp.outer(x, x) * MATRIX).sum(0)),
    "einsum": (lambda x: ops.einsum("ij,j,i->j", Tensor(MATRIX), x, x),
               lambda x: jnp.einsum("ij,j,i->j", MATRIX, x, x)),
    "softmax": (lambda x: ops.softmax(x, -1), lambda x: jax.nn.softmax(x)),
    "log_softmax": (lambda x: ops.log_softmax(x, -1) * 0.3, lambda x: jax.nn.log_softmax(x) * 0.3),
    "logsumexp": (lambda x: x - ops.logsumexp(x, 0), lambda x: x - jax.nn.logsumexp(x)),
    "root": (lambda x: ops.sqrt(1 + x * x), lambda x: jnp.sqrt(1 + x * x)),
    "rational": (lambda x: x / (1 + x * x), lambda x: x / (1 + x * x)),
    "flip": (lambda x: x[::-1] * 0.5 + x, lambda x: x[::-1] * 0.5 + x),
    "concat": (lambda x: ops.concat((x[1:], x[:1])) * x,
               lambda x: jnp.concatenate((x[1:], x[:1])) * x),
    "roll": (lambda x: ops.roll(x, 1, 0) * x, lambda x: jnp.roll(x, 1) * x),
    "where": (lambda x: ops.where(x > 0, x * x, -x), lambda x: jnp.where(x > 0, x * x, -x)),
    "softplus": (lambda x: ops.log(1 + ops.exp(x)), lambda x: jnp.log(1 + jnp.exp(x))),
    "cumsum": (lambda x: ops.cumsum(x, 0) * 0.5, lambda x: jnp.cumsum(x) * 0.5),
    "prod": (lambda x: x + ops.prod(x), lambda x: x + jnp.prod(x)),
    "max": (lambda x: x * ops.max(x)[0] * 0.5, lambda x: x * x.max() * 0.5),
    "sort": (lambda x: ops.sort(x)[0] * x, lambda x: jnp.sort(x) * x),
    "gather": (lambda x: ops.gather(x * x, Tensor([2, 0, 0]), 0),
               lambda x: (x * x)[np.array([2, 0, 0])]),
    "power": (lambda x: ops.pow(1.5 + ops.tanh(x), 1.7), lambda x: (1.5 + jnp.tanh(x)) ** 1.7),
    "angle": (lambda x: ops.atan2(x, 2.0 + x * x), lambda x: jnp.arctan2(x, 2.0 + x * x)),
    "norm": (lambda x: x / ops.norm(x + 2.0), lambda x: x / jnp.linalg.norm(x + 2.0)),
    "pad": (lambda x: ops.pad(x * x, (1, 0))[:3] + x, lambda x: jnp.pad(x * x, (1, 0))[:3] + x),
    "conv": (lambda x: ops.conv1d(x.reshape(1, 1, 3), Tensor(TAPS).reshape(1, 1, 3),
                                  pad_mode="pad", padding=1).reshape(3),
             lambda x: jnp.convolve(x, TAPS[::-1], "same")),
    "clamped": (lambda x: ops.clamp(x, -0.6, 0.6) * x, lambda x: jnp.clip(x, -0.6, 0.6) * x),
    "stopped": (lambda x: ops.stop_gradient(x) * x, lambda x: lax.stop_gradient(x) * x),
    "assigned": (assigned, lambda x: jnp.concatenate((x[1:2] * x[2:], x[:2] ** 2))),
    "hook": (hooked, lambda x: jnp.sin(x) * x),
    "InsertGradientOf": (lambda x: insert(x * x), lambda x: x * x),
    "_Function": (Smooth.apply, lambda x: jnp.log(1 + x * x)),
    # Cells
    "Dense": (dense, lambda x: MATRIX @ x + SHIFT),
    "LayerNorm": (norm, plain_norm),
    "residual": (Residual(), lambda x: x + BACK @ gelu(WIDE @ x + BIAS) + SHIFT),
    "attention": (Attention(), plain_attention),
    "bprop": (Ruled(), lambda x: jnp.sin(x * SHIFT) * x),
    "recurrent, recomputed": (Recurrent(), plain_recurrent),
    "GELU": (nn.GELU(approximate=False), gelu),
    "mapped Cell": (lambda x: ms.vmap(dense)(ops.stack((x, x * x)))[1] * x,
                    lambda x: (MATRIX @ (x * x) + SHIFT) * x),
}
V, U = Tensor(D), Tensor(W)
TRANSFORMS = {  # each turns a function of three numbers into another one; and the order it adds
    "jvp": (1, lambda f: lambda x: ms.jvp(f, x, V)[1],
            lambda f: lambda x: jax.jvp(f, (x,), (D,))[1]),
    "linearize": (1, lambda f: lambda x: ops.linearize(f, x)[1](V),
                  lambda f: lambda x: jax.jvp(f, (x,), (D,))[1]),
    "vjp": (1, lambda f: lambda x: ms.vjp(f, x)[1](U)[0],
            lambda f: lambda x: jax.vjp(f, x)[1](jnp.asarray(W))[0]),
    "grad": (1, lambda f: ms.grad(lambda x: (f(x) * U).sum()),
             lambda f: jax.grad(lambda x: (f(x) * W).sum())),
    "jacfwd": (1, lambda f: lambda x: ops.matmul(ms.jacfwd(f)(x), V),
               lambda f: lambda x: jax.jacfwd(f)(x) @ D),
    "jacrev": (1, lambda f: lambda x: ops.matmul(ms.jacrev(f)(x), V),
               lambda f: lambda x: jax.jacrev(f)(x) @ D),
    "hessian": (2, lambda f: lambda x: ops.matmul(
        ms.autodiff.hessian(lambda x: (f(x) * U).sum())(x), V),
        lambda f: lambda x: jax.hessian(lambda x: (f(x) * W).sum())(x) @ D),
    "vmap": (0, lambda f: lambda x: ms.vmap(f)(ops.stack((x, x * 0.5))).sum(0),
             lambda f: lambda x: jax.vmap(f)(jnp.stack((x, x * 0.5))).sum(0)),
    "vmap over columns": (0, lambda f: lambda x: ms.vmap(f, 1, 1)(ops.stack((x, x), 1))[:, 0],
                          lambda f: lambda x: jax.vmap(f, 1, 1)(jnp.stack((x, x), 1))[:, 0]),
}
DERIVATIVES = sorted(name for name, (order, *_) in TRANSFORMS.items() if order)
MAPS = sorted(name for name, (order, *_) in TRANSFORMS.items() if not order)


def drawn(seed):
    """A random program: its layers, and transformations whose orders add up to three."""
    rng = np.random.default_rng(seed)
    layers = [str(n) for n in rng.choice(sorted(LAYERS), rng.integers(1, 4))]
    names, left = [], 3
    while left:
        names.append(str(rng.choice([n for n in DERIVATIVES if TRANSFORMS[n][0] <= left])))
        left -= TRANSFORMS[names[-1]][0]
    if rng.integers(2):
        names.insert(rng.integers(0, len(names) + 1), str(rng.choice(MAPS)))
    return layers, names


def program(layers, which):
    chosen = [LAYERS[layer][which] for layer in layers]

    def run(x):
        for layer in chosen:
            x = layer(x)
        return x

    return run


def third(layers, names, which):
    function = program(layers, which)
    for name in names:
        function = TRANSFORMS[name][1 + which](function)
    return function


def point(seed):
    return np.random.default_rng(seed).uniform(0.2, 1.2, 3) * np.array([1.0, -1.0, 1.0])


def in_jax(layers, names, seed):
    with jax.enable_x64(True):
        return np.asarray(third(layers, names, 1)(jnp.asarray(point(seed)))).tolist()


def record():
    """Record what JAX gives."""
    found = []
    for seed in range(PROGRAMS):
        layers, names = drawn(seed)
        found.append({"layers": layers, "names": names, "seed": seed,
                      "want": in_jax(layers, names, seed)})
    RECORDED.write_text("[" + ",\n".join(json.dumps(case) for case in found) + "]\n")


CASES = json.loads(RECORDED.read_text()) if RECORDED.exists() else []


def check(case, compiled=False):
    ours = third(case["layers"], case["names"], 0)
    got = (ms.jit(ours) if compiled else ours)(Tensor(point(case["seed"]))).asnumpy()
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, case["want"], rtol=1e-8,
                               atol=1e-9 * max(1.0, np.abs(case["want"]).max()))


# PyTorch maps some kernels one example at a time, and says so
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("group", range(10))
def test_third_derivatives_of_random_programs(group):
    assert len(CASES) == PROGRAMS
    for case in CASES[group::10]:
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"{case['layers']} {case['names']}") from error


def test_every_layer_and_transformation_is_among_them():
    assert {layer for case in CASES for layer in case["layers"]} == set(LAYERS)
    assert {name for case in CASES for name in case["names"]} == set(TRANSFORMS)
    for case in CASES:
        assert sum(TRANSFORMS[name][0] for name in case["names"]) == 3


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("case", CASES[::22], ids=lambda case: str(case["seed"]))
def test_compiled(case):
    check(case, compiled=True)


@pytest.mark.skipif(jax is None, reason="needs JAX, to compare what is recorded with")
def test_what_is_recorded_is_what_jax_gives():
    quick = {"jvp", "vjp", "grad", "linearize"}
    for case in [c for c in CASES if len(c["layers"]) == 1 and quick.issuperset(c["names"])][:3]:
        np.testing.assert_allclose(in_jax(case["layers"], case["names"], case["seed"]),
                                   case["want"], rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    record()
