"""In MindSpore and Lamella."""

from mindspore import nn, ops

from . import LAYERS, VOCABULARY, WIDTH


class Language(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.CellList([nn.LSTM(WIDTH, WIDTH, batch_first=True) for _ in range(LAYERS)])
        self.head = nn.Dense(WIDTH, VOCABULARY)

    def construct(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)[0]
        return self.head(x)


model = Language


def loss(net, tokens, following):
    return ops.cross_entropy(net(tokens).reshape(-1, VOCABULARY), following.reshape(-1))


def optimizer(parameters):
    return nn.Adam(parameters, 1e-3)
