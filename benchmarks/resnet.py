"""A training step of ResNet-18 (He et al., 2015), batch 8 of 224 x 224, with momentum."""

import torch
from torch.nn import functional as F

import lamella as ms
from lamella import nn, ops

from .harness import (
    Step,
    Workload,
    classes,
    copy_weights,
    lamella_step,
    noise,
    torch_step,
    use_device,
)

STAGES = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))


def conv(inputs, outputs, size, stride):
    return nn.Conv2d(inputs, outputs, size, stride, pad_mode="pad", padding=size // 2)


class Block(nn.Cell):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = conv(inputs, outputs, 3, stride)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = conv(outputs, outputs, 3, 1)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1:
            self.shortcut = nn.SequentialCell(conv(inputs, outputs, 1, stride),
                                              nn.BatchNorm2d(outputs))

    def construct(self, x):
        y = ops.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return ops.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet18(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = conv(3, 64, 7, 2)
        self.norm = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        self.blocks = nn.SequentialCell(
            *[block for i, o, s in STAGES for block in (Block(i, o, s), Block(o, o, 1))])
        self.head = nn.Dense(512, 1000)

    def construct(self, x):
        x = self.blocks(self.pool(ops.relu(self.norm(self.conv(x)))))
        return self.head(x.mean((2, 3)))


class TorchBlock(torch.nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = torch.nn.BatchNorm2d(outputs)
        self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = torch.nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1:
            self.shortcut = torch.nn.Sequential(
                torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                torch.nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


class TorchResNet18(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = torch.nn.BatchNorm2d(64)
        self.pool = torch.nn.MaxPool2d(3, 2, 1)
        self.blocks = torch.nn.Sequential(
            *[b for i, o, s in STAGES for b in (TorchBlock(i, o, s), TorchBlock(o, o, 1))])
        self.head = torch.nn.Linear(512, 1000)

    def forward(self, x):
        x = self.blocks(self.pool(F.relu(self.norm(self.conv(x)), inplace=True)))
        return self.head(x.mean((2, 3)))


def make(device: str) -> dict[str, Step]:
    use_device(device)
    torch.manual_seed(0)
    images, labels = noise(8, 3, 224, 224), classes(8, 1000)
    model = TorchResNet18().to(device)
    net = ResNet18()
    copy_weights(model, net)
    a, b = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    criterion = nn.CrossEntropyLoss()
    return {
        "PyTorch": torch_step(model, lambda: F.cross_entropy(model(a), b),
                              torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9, fused=True)),
        "Lamella": lamella_step(net, lambda x, y: criterion(net(x), y),
                                nn.Momentum(net.trainable_params(), 1e-3, 0.9),
                                ms.Tensor(images), ms.Tensor(labels)),
    }


WORKLOAD = Workload("resnet", "ResNet-18, batch 8 x 224 x 224, momentum", make, warmup=2)
