"""In PyTorch, with the memory format that its guides recommend for convolutions."""

import torch
from torch import nn
from torch.nn import functional as F

from . import STAGES, STEM, blocks


def conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.shortcut = None
        if inputs != 4 * width:
            self.shortcut = nn.Sequential(conv(inputs, 4 * width, 1, stride),
                                          nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = conv(3, STEM, 7, 2), nn.BatchNorm2d(STEM)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(*[Block(*sizes) for sizes in blocks()])
        self.head = nn.Linear(4 * STAGES[-1][1], 1000)

    def forward(self, x):
        x = self.blocks(self.pool(F.relu(self.norm(self.conv(x)), inplace=True)))
        return self.head(x.mean((2, 3)))


model = ResNet50
CHANNELS_LAST = True


def loss(net, images, labels):
    return F.cross_entropy(net(images), labels)


def optimizer(parameters):
    return torch.optim.SGD(parameters, 1e-3, momentum=0.9, fused=True)
