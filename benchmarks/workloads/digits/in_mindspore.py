"""In MindSpore and Lamella, with `Model`."""

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Callback, Model

from . import BATCH, ENOUGH, EPOCHS


def model():
    return nn.SequentialCell(
        nn.Conv2d(1, 16, 3, pad_mode="pad", padding=1, has_bias=True), nn.ReLU(),
        nn.Conv2d(16, 32, 3, pad_mode="pad", padding=1, has_bias=True), nn.ReLU(),
        nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(512, 64), nn.ReLU(), nn.Dense(64, 10))


class UntilEnough(Callback):
    """Ends the training when enough digits are read right."""

    def __init__(self, net, unseen, answers):
        super().__init__()
        self.net, self.unseen, self.answers, self.share = net, unseen, answers, None

    def on_train_epoch_end(self, run_context):
        self.net.set_train(False)
        self.share = (self.net(self.unseen).argmax(1) == self.answers).astype(ms.float32).mean()
        self.net.set_train(True)
        if float(self.share) >= ENOUGH:
            run_context.request_stop()


def learn(net):
    before = [weight.asnumpy().copy() for weight in net.trainable_params()]

    def of(images, labels, unseen, answers):
        rows = ds.NumpySlicesDataset((images.asnumpy(), labels.asnumpy()), shuffle=False)
        ending = UntilEnough(net, unseen, answers)
        training = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-3))
        training.train(EPOCHS, rows.batch(BATCH), [ending], dataset_sink_mode=False)
        for weight, old in zip(net.trainable_params(), before, strict=True):
            weight.set_data(ms.Tensor(old))
        return ending.share

    return of
