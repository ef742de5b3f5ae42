"""Training that is killed and goes on, bit for bit: `python -m tests.fuzz.resumes --kills 300`.

Each job (a pipeline, a network, an optimizer, all drawn by a seed) runs once undisturbed. Then it
is killed at a random step, by SIGKILL, started again, and so on until it ends. The losses of all
steps and the Parameters at the end have to be those of the undisturbed run, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamella as ms
from lamella import dataset, nn
from lamella.dataset import transforms
from lamella.train import LambdaCallback, Model, RunCheckpoint

from .faults import child, ended

SOURCES = ("slices", "generator", "draws")
OPTIMIZERS = (nn.Momentum, nn.Adam, nn.AdamWeightDecay, nn.RMSProp, nn.Lamb)


class Job(NamedTuple):
    """What is trained, and how."""

    seed: int
    source: str  # an array; a generator; a generator that draws numbers
    repeat: int  # passes over the source in each epoch
    workers: int
    processes: bool
    batch_norm: bool
    optimizer: int
    compiled: bool
    sink: int  # how many steps one call of the step's loop makes; 1: no sinking
    every: int  # steps between two states that are saved
    epochs: int = 4

    @classmethod
    def drawn(cls, seed: int) -> Job:
        """The job of a seed."""
        draw = random.Random(seed)
        workers = draw.choice([1, 1, 2])
        return cls(seed, draw.choice(SOURCES), draw.choice([1, 1, 2, 3]), workers,
                   workers > 1 and draw.random() < 0.5, draw.random() < 0.5,
                   draw.randrange(len(OPTIMIZERS)), draw.random() < 0.5, draw.choice([1, 1, 4]),
                   draw.choice([1, 3, 7]))


def rows_of(draws: bool) -> Any:
    """A generator of rows; with draws of NumPy's and Python's random numbers."""
    for index in range(24):
        noise = np.random.rand() + random.random() if draws else 0.0
        x = (np.arange(6) * 0.1 + index * 0.05 + noise).astype(np.float32)
        yield x, (x[:2] ** 2).astype(np.float32)


def pipeline(job: Job) -> Any:
    """The batches of a job."""
    if job.source == "slices":
        x = np.random.default_rng(job.seed).standard_normal((24, 6)).astype(np.float32)
        data: Any = dataset.NumpySlicesDataset((x, (x[:, :2] ** 2).astype(np.float32)),
                                               ["x", "y"], shuffle=True)
    else:
        data = dataset.GeneratorDataset(lambda: rows_of(job.source == "draws"), ["x", "y"],
                                        shuffle=False).shuffle(7)

    def noisy(row: np.ndarray) -> np.ndarray:
        return (row + np.random.normal(size=row.shape) * 0.1).astype(np.float32)

    def scaled(row: np.ndarray) -> np.ndarray:
        return (row * random.uniform(0.9, 1.1)).astype(np.float32)

    data = data.map([noisy, transforms.RandomApply([scaled], 0.5)], "x",
                    num_parallel_workers=job.workers, python_multiprocessing=job.processes)
    return data.batch(4).repeat(job.repeat)


def train(job: Job, folder: Path, told: int) -> None:
    """Train, or go on; writes the loss of each step, and the Parameters at the end."""
    warnings.simplefilter("ignore")
    ms.set_context(mode=ms.GRAPH_MODE if job.compiled else ms.PYNATIVE_MODE)
    ms.set_seed(job.seed)
    dataset.config.set_seed(job.seed)
    np.random.seed(job.seed)
    random.seed(job.seed)
    layers = [nn.Dense(6, 8), nn.BatchNorm1d(8)] if job.batch_norm else [nn.Dense(6, 8)]
    net = nn.SequentialCell(*layers, nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(8, 2))
    rates = nn.cosine_decay_lr(0.001, 0.01, 6 * job.repeat * job.epochs, 6 * job.repeat, 2)
    optimizer = OPTIMIZERS[job.optimizer]
    extras = {"momentum": 0.9} if optimizer is nn.Momentum else {}
    model = Model(net, nn.MSELoss(), optimizer(net.trainable_params(), rates, **extras))

    def say(run: Any) -> None:
        params = run.original_args()
        loss = float(params.net_outputs).hex()
        os.write(told, f"{params.cur_step_num} {loss}\n".encode())
        time.sleep(0.003)

    model.train(job.epochs, pipeline(job), dataset_sink_mode=job.sink > 1,
                sink_size=job.sink if job.sink > 1 else -1,
                callbacks=[RunCheckpoint(str(folder), job.every), LambdaCallback(
                    on_train_step_end=say)])
    for parameter in model.train_network.get_parameters():
        number = hash(parameter.asnumpy().tobytes())
        os.write(told, f"{parameter.name} {number}\n".encode())


def run(job: Job, folder: Path, stop: int = 0) -> tuple[dict[str, str], bool]:
    """What a run tells, and whether it came to its end; it is killed after `stop` lines."""
    read, write = os.pipe()

    def body() -> None:
        os.setsid()
        os.close(read)
        train(job, folder, write)

    number = child(body)
    os.close(write)
    lines: list[str] = []
    with os.fdopen(read) as stream:
        for line in stream:
            lines.append(line)
            if len(lines) == stop:
                os.killpg(number, signal.SIGKILL)
    status = ended(number, 300)
    told = dict(line.split() for line in lines if line.endswith("\n"))
    return told, status == 0


def holds(job: Job, kills: int, folder: Path) -> tuple[int, str]:
    """How often a job was killed, and what differs from its undisturbed run; '' if nothing."""
    whole, fine = run(job, folder / "whole")
    if not fine:
        return 0, "the undisturbed run failed"
    draw = random.Random(job.seed)
    killed, seen = 0, {}
    while True:
        stop = draw.randint(1, max(1, len(whole) // 2)) if killed < kills else 0
        told, fine = run(job, folder / "killed", stop)
        for step, value in told.items():
            if whole.get(step) != value:
                return killed, f"{step}: {value} for {whole.get(step)}, after {killed} kills"
        seen |= told
        if fine:
            return killed, "" if seen == whole else "steps are missing"
        if not stop:
            return killed, "the run that goes on failed"
        killed += 1


def main(arguments: list[str] | None = None) -> int:
    """0 if every run went on bit for bit."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.resumes", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many in all")
    parser.add_argument("--each", type=int, default=5, help="at most so many of one job")
    parser.add_argument("--seed", type=int, default=0, help="of the first job")
    chosen = parser.parse_args(arguments)
    killed = jobs = wrong = 0
    while killed < chosen.kills:
        job = Job.drawn(chosen.seed + jobs)
        folder = Path(tempfile.mkdtemp())
        try:
            times, differs = holds(job, min(chosen.each, chosen.kills - killed), folder)
        finally:
            shutil.rmtree(folder)
        killed, jobs, wrong = killed + times, jobs + 1, wrong + bool(differs)
        if differs:
            print(f"{job}: {differs}", flush=True)
        if wrong > 20:
            break
    print(f"{jobs} jobs, {killed} kills, {wrong} jobs that went on otherwise")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
