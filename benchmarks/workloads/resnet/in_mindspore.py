"""In MindSpore and Lamella."""

from mindspore import nn, ops

from . import BLOCKS


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
        self.blocks = nn.SequentialCell(*[Block(*sizes) for sizes in BLOCKS])
        self.head = nn.Dense(512, 1000)

    def construct(self, x):
        x = self.blocks(self.pool(ops.relu(self.norm(self.conv(x)))))
        return self.head(x.mean((2, 3)))


model = ResNet18


def forward(net):
    return net


def loss(net, images, labels):
    return ops.cross_entropy(net(images), labels)


def optimizer(parameters):
    return nn.Momentum(parameters, 1e-3, 0.9)
