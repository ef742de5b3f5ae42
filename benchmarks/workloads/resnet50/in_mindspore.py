"""In MindSpore and Lamella."""

from mindspore import nn, ops

from . import STAGES, STEM, blocks


def conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, pad_mode="pad", padding=size // 2)


class Block(nn.Cell):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.shortcut = None
        if inputs != 4 * width:
            self.shortcut = nn.SequentialCell(conv(inputs, 4 * width, 1, stride),
                                              nn.BatchNorm2d(4 * width))

    def construct(self, x):
        y = ops.relu(self.norm1(self.conv1(x)))
        y = ops.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return ops.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet50(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = conv(3, STEM, 7, 2), nn.BatchNorm2d(STEM)
        self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        self.blocks = nn.SequentialCell(*[Block(*sizes) for sizes in blocks()])
        self.head = nn.Dense(4 * STAGES[-1][1], 1000)

    def construct(self, x):
        x = self.blocks(self.pool(ops.relu(self.norm(self.conv(x)))))
        return self.head(x.mean((2, 3)))


model = ResNet50


def loss(net, images, labels):
    return ops.cross_entropy(net(images), labels)


def optimizer(parameters):
    return nn.Momentum(parameters, 1e-3, 0.9)
