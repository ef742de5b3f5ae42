"""In MindSpore and Lamella."""

import mindspore as ms
from mindspore import nn, ops


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


model = LeNet5


def loss(net, images, labels):
    return ops.cross_entropy(net(images), labels)


def gradients_by_sample(net):
    def of_one(image, label):
        return loss(net, image.expand_dims(0), label.expand_dims(0))

    return ms.vmap(ms.grad(of_one, None, net.trainable_params()), (0, 0))


def optimizer(parameters):
    return nn.Adam(parameters, 1e-3)
