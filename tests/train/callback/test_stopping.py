"""EarlyStopping: when training ends, and what it says."""

import numpy as np

from lamella import dataset, nn
from lamella.train import EarlyStopping, Model


def test_a_baseline_that_is_never_reached_ends_the_first_epoch(capsys):
    net = nn.Dense(2, 1)
    rows = dataset.NumpySlicesDataset((np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)),
                                      shuffle=False).batch(2)
    stop = EarlyStopping("mae", verbose=True, baseline=-1.0)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    model.fit(3, rows, rows, callbacks=stop)
    assert stop.stopped_epoch == 1
    assert capsys.readouterr().out.endswith("Epoch 00001: early stopping\n")
