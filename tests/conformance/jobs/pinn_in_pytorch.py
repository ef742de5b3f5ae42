"""The job of `mindflow_pinn.py` in plain PyTorch, eagerly, to see what each takes.

    python pinn_in_pytorch.py
"""

import time

import torch
from mindflow_pinn import MORE, RATE, STEPS, points
from torch import nn


def main():
    torch.manual_seed(1)
    sizes = [2, 20, 20, 20, 1]
    layers = [part for a, b in zip(sizes, sizes[1:], strict=False)
              for part in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    inside, start, ends = map(torch.from_numpy, points())
    inside.requires_grad_()

    def step():
        u = model(inside)
        first, = torch.autograd.grad(u.sum(), inside, create_graph=True)
        second, = torch.autograd.grad(first[:, 0].sum(), inside, create_graph=True)
        equation = first[:, 1:] + u * first[:, :1] - 0.01 / torch.pi * second[:, :1]
        at_start = model(start) + torch.sin(torch.pi * start[:, :1])
        loss = equation.square().mean() + at_start.square().mean() + model(ends).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(STEPS):
        loss = step()
    print(f"{loss.item():.4f}")
    begin = time.process_time()
    for _ in range(MORE):
        step()
    print(f"{1e3 * (time.process_time() - begin) / MORE:.2f} ms of processor time a step")


if __name__ == "__main__":
    main()
