"""The backward pass: parity with PyTorch's, and what the first derivatives import."""

import torch

from lamella.autodiff.engine import backpropagate, vjp

from ..zygote import ROOT, run

PROGRAM = """
import sys
import numpy as np
import lamella as ms
from lamella import nn, ops

x, net = ms.Tensor(np.ones((4, 3), np.float32)), nn.Dense(3, 2)
ms.grad(ms.grad(lambda x: (x ** 3).sum()))(x)
ms.vmap(ms.grad(lambda row: ops.relu(net(row)).sum(), None, net.trainable_params()))(x)
ms.jacfwd(ms.jacrev(lambda x: (x ** 3).sum()))(x)
ms.vjp(net, x)[1](ops.ones((4, 2), ms.float32))
ms.jvp(ms.grad(lambda x: (x ** 3).sum()), x, x)
ms.hvp(lambda x: ops.cross_entropy(net(x), ms.Tensor([0, 1, 1, 0])), x, x)
ms.hvp(nn.LayerNorm((3,)), x, x)
ms.jet(lambda x: ops.sin(x) * x, x, ops.ones((4, 4, 3)))
ms.vmap(lambda row: ms.jvp(lambda x: x * x, row, row)[1])(x)
ms.hessian(lambda x: (x ** 3).sum())(x)
ms.grad(lambda x: ms.jvp(lambda x: (x ** 3).sum(), x, x)[1])(x)
ms.grad(lambda x: ms.recompute(lambda x: ops.sin(x) * x, x))(x)
net.recompute()
ms.jit(ms.grad(lambda x: net(x).sum()))(x)
ms.jit(lambda x: ms.jvp(ms.grad(lambda x: ms.scan(lambda c, _: (ops.sin(c), None), x, length=9)[0]),
                        x, x))(x)
ms.sparse_jacobian(lambda x: x * x)(x[0])

whole = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(72, 12))
optimizer = nn.Adam(whole.trainable_params(), 0.01)
def loss(x):
    q, k, v = whole(x).reshape(2, 3, 4).unbind(1)
    return (q * k + v).sum()
gradient = ms.value_and_grad(loss, None, optimizer.parameters)
@ms.jit
def step(x):
    value, gradients = gradient(x)
    optimizer(gradients)
    return value
step(ops.ones((2, 1, 6, 6), ms.float32))
print([name for name in ("sympy", "torch._dynamo", "torch._inductor") if name in sys.modules])
"""


def test_first_calls_do_not_import_a_compiler():
    """In a process that has imported nothing but PyTorch."""
    done = run("-c", PROGRAM, cwd=ROOT, bare=True)
    assert done.stdout == "[]\n", done.stderr


def test_parity():
    x, y, unused = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    outs = [(x * y).sum(), x.sin() * y]
    starts = [torch.randn(out.shape, dtype=torch.float64) for out in outs]
    wanted = torch.autograd.grad(outs, [x, y, unused], starts, create_graph=True,
                                 allow_unused=True)
    found = backpropagate(zip(outs, starts, strict=True), [x, y, unused], True, True)
    assert found[2] is wanted[2] is None
    for a, b in zip(wanted[:2], found[:2], strict=True):
        assert torch.equal(a, b) and b.requires_grad
    assert backpropagate([], [x], False, False) == [None]


def test_a_lifted_function_and_its_gradient():
    def function(x, y):
        return (x * y, x.exp(), torch.ones(3)), (x > y,)

    x, y = (torch.randn(5, 3, generator=torch.Generator().manual_seed(i)) for i in range(2))
    starts = [torch.randn(3) for _ in range(3)]

    def by_ours(x, y):
        values, back, aux = vjp(function, x, y)
        return (*values, *aux, *back(starts, False, False))

    def by_torch(x, y):
        values, back, aux = torch.func.vjp(function, x, y, has_aux=True)
        return (*values, *aux, *back(tuple(starts)))

    for a, b in zip(torch.vmap(by_ours, out_dims=(0, 0, None, 0, 0, 0))(x, y),
                    torch.vmap(by_torch, out_dims=(0, 0, None, 0, 0, 0))(x, y), strict=True):
        assert torch.equal(a, b)
