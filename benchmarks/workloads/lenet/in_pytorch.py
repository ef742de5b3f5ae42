"""In PyTorch, with the memory format that its guides recommend for convolutions."""

import torch
from torch import nn
from torch.nn import functional as F


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


model = LeNet5
CHANNELS_LAST = True


def loss(net, images, labels):
    return F.cross_entropy(net(images), labels)


def gradients_by_sample(net, images, labels):
    def of_one(weights, image, label):
        out = torch.func.functional_call(net, weights, (image[None],))
        return F.cross_entropy(out, label[None])

    weights = {name: p.detach() for name, p in net.named_parameters()}
    return torch.func.vmap(torch.func.grad(of_one), (None, 0, 0))(weights, images, labels)


def optimizer(parameters):
    return torch.optim.Adam(parameters, 1e-3, fused=True)
