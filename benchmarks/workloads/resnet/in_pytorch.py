"""In PyTorch, with the memory format that its guides recommend for convolutions."""

import torch
from torch import nn
from torch.nn import functional as F

from . import BLOCKS


def conv(inputs, outputs, size, stride):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = conv(inputs, outputs, 3, stride)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = conv(outputs, outputs, 3, 1)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1:
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = conv(3, 64, 7, 2)
        self.norm = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(*[Block(*sizes) for sizes in BLOCKS])
        self.head = nn.Linear(512, 1000)

    def forward(self, x):
        x = self.blocks(self.pool(F.relu(self.norm(self.conv(x)), inplace=True)))
        return self.head(x.mean((2, 3)))


model = ResNet18
CHANNELS_LAST = True


def forward(net, images):
    return net(images)


def loss(net, images, labels):
    return F.cross_entropy(net(images), labels)


def optimizer(parameters):
    return torch.optim.SGD(parameters, 1e-3, momentum=0.9, fused=True)
