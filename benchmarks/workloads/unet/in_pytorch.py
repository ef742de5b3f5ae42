"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from . import GROUPS, TIME, WIDTHS


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(GROUPS, inputs), nn.Conv2d(inputs, outputs, 3, 1, 1)
        self.time = nn.Linear(TIME, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(GROUPS, outputs), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(1, TIME)
        self.begin = nn.Conv2d(3, WIDTHS[0], 3, 1, 1)
        pairs = list(zip(WIDTHS, (*WIDTHS[1:], WIDTHS[-1]), strict=True))
        self.down = nn.ModuleList(Block(a, b) for a, b in pairs)
        self.middle = Block(WIDTHS[-1], WIDTHS[-1])
        self.up = nn.ModuleList(Block(2 * b, a) for a, b in pairs[::-1])
        self.end = nn.Conv2d(WIDTHS[0], 3, 3, 1, 1)

    def forward(self, x, time):
        time = F.silu(self.time(time))
        x, kept = self.begin(x), []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = block(torch.cat((x, kept.pop()), 1), time)
        return self.end(x)


model = UNet


def loss(net, images, time, noise):
    return F.mse_loss(net(images, time), noise)


def optimizer(parameters):
    return torch.optim.Adam(parameters, 1e-4, fused=True)
