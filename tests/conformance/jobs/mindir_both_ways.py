"""Networks that one side exports as `.mindir` and the other side reads.

    P="python -m lamella run", or a Python that has MindSpore 2.10; in one folder:
    $P mindir_both_ways.py write NAME      # with each side, under a name of its own
    $P mindir_both_ways.py read NAME       # with each side, the other's name

`read` prints the largest difference from what the writer's network gave; here it also compiles
what it has read, and exports it to ONNX.
"""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool, self.relu, self.flatten = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten()
        self.fc1 = nn.Dense(400, 120, activation="relu")
        self.fc2 = nn.Dense(120, 84, activation="relu")
        self.fc3 = nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc3(self.fc2(self.fc1(self.flatten(x))))


class Bottleneck(nn.Cell):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.body = nn.SequentialCell([
            nn.Conv2d(channels, width, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1), nn.BatchNorm2d(4 * width)])
        self.short = None if stride == 1 and channels == 4 * width else nn.SequentialCell([
            nn.Conv2d(channels, 4 * width, 1, stride), nn.BatchNorm2d(4 * width)])
        self.relu = nn.ReLU()

    def construct(self, x):
        y = self.body(x)
        if self.short is not None:
            x = self.short(x)
        return self.relu(x + y)


class ResNet50(nn.Cell):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, pad_mode="pad", padding=3), nn.BatchNorm2d(64),
                  nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same")]
        channels = 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for at in range(count):
                layers.append(Bottleneck(channels, width, 1 if at else stride))
                channels = 4 * width
        self.layers, self.fc = nn.SequentialCell(layers), nn.Dense(2048, 10)

    def construct(self, x):
        return self.fc(ops.mean(self.layers(x), (2, 3)))


class Encoder(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.query, self.key, self.value, self.out = (nn.Dense(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu, self.dropout = nn.GELU(approximate=False), nn.Dropout(p=0.1)

    def split(self, x):
        batch, length, _ = x.shape
        return ops.transpose(x.reshape(batch, length, self.heads, self.width // self.heads),
                             (0, 2, 1, 3))

    def construct(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / (self.width // self.heads)**0.5
        y = ops.matmul(self.dropout(ops.softmax(scores + mask, -1)), v)
        x = self.norm1(x + self.dropout(self.out(ops.transpose(y, (0, 2, 1, 3)).reshape(x.shape))))
        return self.norm2(x + self.down(self.gelu(self.up(x))))


class Bert(nn.Cell):
    def __init__(self, tokens=100, width=32, longest=16):
        super().__init__()
        self.token, self.kind = nn.Embedding(tokens, width), nn.Embedding(2, width)
        self.place = nn.Embedding(longest, width)
        self.places = Tensor(np.arange(longest), ms.int32)
        self.norm = nn.LayerNorm((width,))
        self.layers = nn.CellList([Encoder(width, 4) for _ in range(2)])
        self.pool = nn.Dense(width, width, activation="tanh")
        self.head = nn.Dense(width, 3)

    def construct(self, tokens, kinds, mask):
        x = self.norm(self.token(tokens) + self.place(self.places) + self.kind(kinds))
        hidden = ((1 - ops.cast(mask, ms.float32)) * -10000.0).expand_dims(1).expand_dims(1)
        for layer in self.layers:
            x = layer(x, hidden)
        return x, self.head(self.pool(x[:, 0]))


class LSTM(nn.Cell):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 7, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Dense(14, 2)

    def construct(self, x):
        y, (h, c) = self.lstm(x)
        return self.fc(y), h, c


def networks():
    """Each network's class with its inputs."""
    draw = np.random.RandomState(3)

    def floats(*shape):
        return draw.randn(*shape).astype(np.float32)

    def integers(below):
        return draw.randint(0, below, (2, 16)).astype(np.int32)

    return {"LeNet": (LeNet, [floats(2, 1, 32, 32)]),
            "ResNet50": (ResNet50, [floats(1, 3, 64, 64)]),
            "BERT": (Bert, [integers(100), integers(2), integers(2)]),
            "LSTM": (LSTM, [floats(3, 6, 5)])}


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [value.asnumpy()]


def largest(given, wanted):
    assert len(given) == len(wanted)
    return f"{max(np.abs(a - b).max() for a, b in zip(given, wanted, strict=True)):.1e}"


def write(side):
    for name, (network, inputs) in networks().items():
        inputs = [Tensor(x) for x in inputs]
        ms.set_seed(5)
        np.random.seed(5)
        net = network()
        net.set_train(False)
        np.savez(f"{side}_{name}.npz", *flat(net(*inputs)))
        ms.export(net, *inputs, file_name=f"{side}_{name}", file_format="MINDIR")
        print("wrote", name)


def read(side):
    for name, (_, inputs) in networks().items():
        inputs, wanted = [Tensor(x) for x in inputs], list(np.load(f"{side}_{name}.npz").values())
        net = nn.GraphCell(ms.load(f"{side}_{name}.mindir"))
        line = f"{name}: {largest(flat(net(*inputs)), wanted)}"
        if "lamella" in sys.modules:
            import onnxruntime

            step = ms.jit(lambda *xs, net=net: net(*xs))
            compiled = [flat(step(*inputs)) for _ in range(3)][-1]
            ms.export(net, *inputs, file_name=f"{side}_{name}", file_format="ONNX")
            session = onnxruntime.InferenceSession(f"{side}_{name}.onnx")
            onnx = session.run(None, {place.name: x.asnumpy() for place, x in zip(
                session.get_inputs(), inputs, strict=True)})
            line += (f", compiled {largest(compiled, wanted)} (replays {step.report()['replays']}),"
                     f" ONNX Runtime {largest(onnx, wanted)}")
        print(line)


ms.set_context(mode=ms.GRAPH_MODE)
{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
