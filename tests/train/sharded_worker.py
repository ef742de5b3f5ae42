"""The program of each process in the tests of sharded checkpoints."""

import json
import os
import signal
import sys

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn
from lamella.train.sharded import load_sharded, save_sharded
from tests.worlds import error_of

ROWS, STEPS = 8, 6


def network(level="level1"):
    """A training step; some of its Parameters are cut in parts, the last layer's aren't."""
    if communication.get_group_size() > 1:
        ms.set_auto_parallel_context(
            parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=True,
            parallel_optimizer_config={"parallel_optimizer_threshold": 0,
                                       "optimizer_level": level})
    ramp = Tensor(np.linspace(-1, 1, 32).reshape(8, 4), ms.float32)
    net = nn.SequentialCell(nn.Dense(4, 8, weight_init=ramp, activation="tanh"), nn.Dropout(p=0.2),
                            nn.Dense(8, 3, weight_init="ones", bias_init="zeros"))
    optimizer = nn.Adam(net.trainable_params(), nn.cosine_decay_lr(0.001, 0.05, STEPS, STEPS, 1))
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)


def train(step, numbers):
    rank, size = communication.get_rank(), communication.get_group_size()
    rows, losses = slice(ROWS // size * rank, ROWS // size * (rank + 1)), []
    for number in numbers:
        rng = np.random.default_rng(number)
        x, y = rng.standard_normal((ROWS, 4)), rng.standard_normal((ROWS, 3))
        losses.append(float(step(Tensor(x[rows], ms.float32), Tensor(y[rows], ms.float32))))
    return losses


def state_of(step):
    return {p.name: p.asnumpy().tolist() for p in step.get_parameters()}


def held(step):
    return {p.name: list(p._data.shape) for p in step.get_parameters()}


def straight(folder):
    """Six steps, with a checkpoint after the third, and one of slices as MindSpore has them."""
    rank = communication.get_rank()
    ms.set_seed(rank)
    step = network()
    losses = train(step, range(3))
    save_sharded(f"{folder}/two", step, rank=rank)
    ms.set_auto_parallel_context(strategy_ckpt_config={"save_file": f"{folder}/strategy.json"})
    os.makedirs(f"{folder}/slices/rank_{rank}")
    path = f"{folder}/slices/rank_{rank}/w.ckpt"
    ms.save_checkpoint(step, path, integrated_save=False)
    other = network()
    ms.load_checkpoint(path, other)
    return {"state": state_of(step), "held": held(step), "own slices": state_of(other),
            "losses": losses + train(step, range(3, STEPS))}


def four(folder):
    """What two processes wrote, read by four that gather on use, and written by them."""
    step = network("level3")
    more = load_sharded(f"{folder}/two", step)
    save_sharded(f"{folder}/four", step)
    return {"state": state_of(step), "held": held(step), "more": more,
            "rows": error_of(load_sharded, f"{folder}/two", step, iter([]))}


def killed(folder):
    """What four wrote, read by two; one of them is killed while it writes the next checkpoint."""
    from torch.distributed.checkpoint import FileSystemWriter

    step = network()
    load_sharded(f"{folder}/four", step)
    print(json.dumps({"state": state_of(step)}), flush=True)
    load_sharded(f"{folder}/two", step)
    train(step, [3])
    if communication.get_rank() == 1:
        FileSystemWriter.write_data = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    return error_of(save_sharded, f"{folder}/two", step)


def again(folder):
    """The last three steps, from the checkpoint that the killed processes left."""
    step = network()
    more = load_sharded(f"{folder}/two", step)
    return {"losses": train(step, range(3, STEPS)), "more": more}


if __name__ == "__main__":
    communication.init()
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
