"""A training step of LeNet-5, batch 64, with Adam."""

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


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1 = nn.Dense(400, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, 10)
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.flatten(self.pool(ops.relu(self.conv2(x))))
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


class TorchLeNet5(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(6, 16, 5)
        self.fc1 = torch.nn.Linear(400, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make(device: str) -> dict[str, Step]:
    use_device(device)
    torch.manual_seed(0)
    images, labels = noise(64, 1, 28, 28), classes(64, 10)
    model = TorchLeNet5().to(device)
    net = LeNet5()
    copy_weights(model, net)
    a, b = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    criterion = nn.CrossEntropyLoss()
    return {
        "PyTorch": torch_step(model, lambda: F.cross_entropy(model(a), b),
                              torch.optim.Adam(model.parameters(), 1e-3, fused=True)),
        "Lamella": lamella_step(net, lambda x, y: criterion(net(x), y),
                                nn.Adam(net.trainable_params(), 1e-3),
                                ms.Tensor(images), ms.Tensor(labels)),
    }


WORKLOAD = Workload("lenet", "LeNet-5, batch 64, Adam", make, repeat=5)
