"""Gradients, rules and hooks, compiled as eagerly."""


import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from .agreement import W, X, agree, agree_with_state


def cubes(x, y):
    return (x**3 * ops.sin(y)).sum()


@pytest.mark.parametrize("transform", [
    lambda f: ms.grad(f, (0, 1)), lambda f: ms.value_and_grad(f), lambda f: ms.grad(ms.grad(f)),
    lambda f: ms.grad(ms.grad(f, 0), 1), lambda f: ms.grad(ms.grad(ms.grad(f))),
    lambda f: ms.ops.GradOperation(get_all=True)(f),
    lambda f: ms.grad(lambda x, y: (f(x, y), x), has_aux=True),
    lambda f: ms.grad(f, (0, 1), return_ids=True),
    lambda f: lambda x, y: ms.grad(lambda t: t * 2, sens_param=True)(x, y),
    lambda f: ms.grad(lambda x, y: ms.value_and_grad(f)(x, y)[1] * y),
])
def test_gradients(transform):
    agree(transform(cubes), (X, W), (W, X))


def test_bprop_also_nested_and_by_parameters():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0, 4.0]), name="w")

        def construct(self, x, factor=1):
            return x * self.w * factor

        def bprop(self, x, factor=1, out=None, dout=None):
            return dout * 7 * x, {self.w: dout * 5}

    class Ruled(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return dout * out * 3

    net = Scaled()
    agree(ms.grad(net, 0, net.trainable_params()), (X,), (W,))
    agree(ms.grad(ms.grad(Ruled())), (X,), (W,))
    agree(ms.grad(lambda x: ms.grad(Ruled())(x) * x), (X,))


def test_function_with_its_own_rule():
    class Cube(ms._Function):
        @staticmethod
        def forward(ctx, x, power):
            ctx.save_for_backward(x)
            ctx.power = power
            return x**power

        @staticmethod
        def backward(ctx, dout):
            (x,) = ctx.saved_tensors
            return dout * x * 10 * ctx.power, None

    agree(lambda x: Cube.apply(x, 3), (X,))
    agree(ms.grad(lambda x: Cube.apply(x, 3)), (X,), (W,))
    agree(ms.grad(ms.grad(lambda x: Cube.apply(x, 3))), (X,), (W,))


@pytest.mark.parametrize("rule", [
    lambda g: g * 0.5 if g.max() > 1 else g * 3, lambda g: 100.0, lambda g: None,
    lambda g: ops.clip_by_value(g, -1, 1), lambda g: ops.zeros_like(g) if (g < 0).any() else g,
])
def test_inserted_gradients_with_branches(rule):
    bend = ops.InsertGradientOf(rule)
    agree(ms.grad(lambda x, w: (bend(x * w) * w).sum(), (0, 1)), (X, W), (X * 0.1, W * 0.1),
          (X, W), (-X, -W))


def test_hooks():
    def make():
        seen = []
        net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones"), nn.Tanh())
        net[0].register_forward_hook(lambda cell, inputs, out: out * 2)
        net[0].register_forward_pre_hook(lambda cell, inputs: (inputs[0] + 1,))
        net.register_backward_hook(lambda cell, gin, gout: (gin[0] * gout[0].sum(),))
        net[1].register_backward_pre_hook(
            lambda cell, gout: (gout[0] * 3,) if gout[0].sum() > 0 else None)
        gradient = ms.grad(lambda x: net(x.reshape(1, 3)) * x.sum(), 0, net.trainable_params())
        return gradient, lambda: list(seen)

    agree_with_state(make, [(X,), (W,), (X,), (-X,)])


def test_hook_of_a_tensor():
    def double(x):
        y = x * 3
        y.register_hook(lambda g: g * 2 if g.sum() > 4 else g * 5)
        return (y * y).sum()

    agree(ms.grad(double), (X,), (-X,), (W,))
