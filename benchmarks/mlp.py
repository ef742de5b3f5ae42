"""A training step of a multi-layer perceptron 784-512-512-10, batch 64, with momentum."""

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


class MLP(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(784, 512)
        self.fc2 = nn.Dense(512, 512)
        self.fc3 = nn.Dense(512, 10)

    def construct(self, x):
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


class TorchMLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 512)
        self.fc2 = torch.nn.Linear(512, 512)
        self.fc3 = torch.nn.Linear(512, 10)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make(device: str) -> dict[str, Step]:
    use_device(device)
    torch.manual_seed(0)
    images, labels = noise(64, 784), classes(64, 10)
    model = TorchMLP().to(device)
    net = MLP()
    copy_weights(model, net)
    a, b = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    criterion = nn.CrossEntropyLoss()
    return {
        "PyTorch": torch_step(model, lambda: F.cross_entropy(model(a), b),
                              torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)),
        "Lamella": lamella_step(net, lambda x, y: criterion(net(x), y),
                                nn.Momentum(net.trainable_params(), 0.01, 0.9),
                                ms.Tensor(images), ms.Tensor(labels)),
    }


WORKLOAD = Workload("mlp", "MLP 784-512-512-10, batch 64, momentum", make, repeat=5)
