"""In MindSpore and Lamella."""

import mindspore as ms
from mindspore import nn, ops


class MLP(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(784, 512)
        self.fc2 = nn.Dense(512, 512)
        self.fc3 = nn.Dense(512, 10)

    def construct(self, x):
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


model = MLP


def loss(net, images, labels):
    return ops.cross_entropy(net(images), labels)


def jacobian(net):
    of = ms.jacrev(net)

    def jacobian_at(images):
        return of(images[0])

    return jacobian_at


def optimizer(parameters):
    return nn.Momentum(parameters, 0.01, 0.9)
