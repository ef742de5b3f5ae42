"""In PyTorch."""

import torch


def add(_, x, y):
    return x + y


def links(x):
    for _ in range(100):
        x = x.sin() * 1.01
    return x.sum()


def chain(_, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(links(x), x)[0]
