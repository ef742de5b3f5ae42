"""In MindSpore and Lamella."""

from mindspore import nn, ops


class Classifier(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.head = nn.Dense(128, 4)

    def construct(self, tokens):
        out, _ = self.lstm(self.embedding(tokens))
        return self.head(out[:, -1])


model = Classifier


def loss(net, tokens, labels):
    return ops.cross_entropy(net(tokens), labels)


def optimizer(parameters):
    return nn.Adam(parameters, 1e-3)
