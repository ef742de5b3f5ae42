"""A training program whose process 1 may be lost at a step; it prints its losses."""

import os
import signal
import sys

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn
from tests.worlds import wait_no_longer_than

STEPS, LOST = 6, 3


def main(folder, how):
    communication.init()
    ms.set_seed(7)  # the same first weights in both processes
    rank = communication.get_rank()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net = nn.SequentialCell(nn.Dense(4, 5, weight_init="ones"), nn.Tanh(),
                            nn.Dense(5, 1, weight_init="ones"))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                               nn.Momentum(net.trainable_params(), 0.1, 0.9))
    path = os.path.join(folder, f"process_{rank}.ckpt")
    first = 0
    if how == "again":
        loaded = ms.load_checkpoint(path)
        first = int(loaded.pop("steps").asnumpy())
        ms.load_param_into_net(step, loaded)
    for number in range(first, STEPS):
        if number == LOST and rank == 1 and how in ("SIGKILL", "SIGSTOP"):
            os.kill(os.getpid(), getattr(signal, how))
        if number == LOST and rank == 0 and how == "SIGSTOP":
            wait_no_longer_than(1)
        if number == LOST and rank == 1 and how == "error":
            raise ValueError("the data of process 1 are damaged")
        rng = np.random.default_rng((number, rank))
        loss = step(Tensor(rng.standard_normal((8, 4)), ms.float32),
                    Tensor(rng.standard_normal((8, 1)), ms.float32))
        print(f"loss {number} {float(loss)!r}", flush=True)
        ms.save_checkpoint([{"name": p.name, "data": p} for p in step.get_parameters()]
                           + [{"name": "steps", "data": Tensor(number + 1)}], path)


if __name__ == "__main__":
    main(*sys.argv[1:])
