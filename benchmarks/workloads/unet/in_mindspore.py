"""In MindSpore and Lamella."""

from mindspore import nn, ops

from . import GROUPS, TIME, WIDTHS


def conv(inputs, outputs, size=3):
    return nn.Conv2d(inputs, outputs, size, pad_mode="pad", padding=size // 2, has_bias=True)


class Block(nn.Cell):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(GROUPS, inputs), conv(inputs, outputs)
        self.time = nn.Dense(TIME, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(GROUPS, outputs), conv(outputs, outputs)
        self.shortcut = conv(inputs, outputs, 1)

    def construct(self, x, time):
        y = self.conv1(ops.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.shortcut(x) + self.conv2(ops.silu(self.norm2(y)))


class UNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.time = nn.Dense(1, TIME)
        self.begin = conv(3, WIDTHS[0])
        pairs = list(zip(WIDTHS, (*WIDTHS[1:], WIDTHS[-1]), strict=True))
        self.down = nn.CellList([Block(a, b) for a, b in pairs])
        self.middle = Block(WIDTHS[-1], WIDTHS[-1])
        self.up = nn.CellList([Block(2 * b, a) for a, b in pairs[::-1]])
        self.end = conv(WIDTHS[0], 3)

    def construct(self, x, time):
        time = ops.silu(self.time(time))
        x, kept = self.begin(x), []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = ops.avg_pool2d(x, 2, 2)
        x = self.middle(x, time)
        for block in self.up:
            size = (2 * x.shape[2], 2 * x.shape[3])
            x = ops.interpolate(x, size=size, mode="nearest")
            x = block(ops.cat((x, kept.pop()), 1), time)
        return self.end(x)


model = UNet


def loss(net, images, time, noise):
    return ops.mse_loss(net(images, time), noise)


def optimizer(parameters):
    return nn.Adam(parameters, 1e-4)
