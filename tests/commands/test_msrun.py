"""``lamella msrun``: programs in two real processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.commands.msrun import main as msrun_main

from ..zygote import run as python

ROOT = Path(ms.__file__).parents[1]

TRAINING = """
import os, signal, sys
import numpy as np
import mindspore as ms
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init

init()
rank, size = get_rank(), get_group_size()
assert (os.environ["RANK_ID"], os.environ["RANK_SIZE"]) == (str(rank), str(size))
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = nn.Dense(4, 2, weight_init="ones", bias_init="zeros")
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
reducer = nn.DistributedGradReducer(optimizer.parameters)
loss = nn.MSELoss()
gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)


def step(x, y):
    value, gradients = gradient(x, y)
    optimizer(reducer(gradients))
    return value


rng = np.random.default_rng(0)
x = rng.standard_normal((8, 4)).astype(np.float32)
y = rng.standard_normal((8, 2)).astype(np.float32)
part = slice(rank * 8 // size, (rank + 1) * 8 // size)
for compiled in (step, ms.jit(step)):
    for _ in range(3):
        compiled(ms.Tensor(x[part]), ms.Tensor(y[part]))
print("weights", sys.argv[1:], net.weight.asnumpy().tolist(), flush=True)
if rank == 1 and sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if rank == 1 and sys.argv[1] == "early":
    sys.exit(0)
from mindspore import ops
ops.AllReduce()(ms.Tensor([1.0]))  # the other process is gone
"""


def msrun(folder, *arguments, text=TRAINING):
    program = folder / "train.py"
    program.write_text(text)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "MS_"))}
    return python(
        "-W", "ignore", "-m", "lamella", "msrun", "--worker_num=2", "--local_worker_num", "2",
        f"--log_dir={folder / 'logs'}", program, *arguments, cwd=folder, timeout=600,
        env={**environment, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})


def on_the_whole_batch():
    net = nn.Dense(4, 2, weight_init="ones", bias_init="zeros")
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss = nn.MSELoss()
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((8, n)).astype(np.float32) for n in (4, 2))
    for _ in range(6):
        optimizer(gradient(ms.Tensor(x), ms.Tensor(y))[1])
    return net.weight.asnumpy()


@pytest.fixture(scope="module")
def early(tmp_path_factory):
    """Two processes that have trained, then one ends and the other waits for it."""
    folder = tmp_path_factory.mktemp("early")
    return folder, msrun(folder, "early", "--its=own")


def test_two_processes_learn_what_one_does(early):
    for rank in (0, 1):
        log = (early[0] / "logs" / f"worker_{rank}.log").read_text()
        head, _, weights = log.partition("weights ['early', '--its=own'] ")
        np.testing.assert_allclose(eval(weights.splitlines()[0]), on_the_whole_batch(), rtol=1e-5,
                                   err_msg=head)


def test_a_process_that_ends_too_early_is_named(early):
    done = early[1]
    assert done.returncode == 1
    # whether process 1 is quite gone by then, or still on its way out, is a matter of luck
    assert "lamella msrun: process 0 ended with status 1" in done.stderr
    assert "process 1 has ended its program" in done.stderr
    assert "gloo" not in done.stderr


def test_processes_that_end_well_end_msrun_well(tmp_path):
    done = msrun(tmp_path, text="from mindspore.communication import get_rank, init\n"
                                "init()\nprint('rank', get_rank())\n")
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert f"rank {rank}\n" in (tmp_path / "logs" / f"worker_{rank}.log").read_text()


def test_a_process_that_is_killed_ends_the_others(tmp_path):
    done = msrun(tmp_path, "killed")
    assert done.returncode == 1
    assert "lamella msrun: process 1 was ended by signal 9" in done.stderr
    assert "weights ['killed']" in done.stderr  # the end of its log


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them")
def test_workers_end_with_a_msrun_that_is_killed(tmp_path):
    program = tmp_path / "wait.py"
    program.write_text("import os, pathlib, time\n"
                       "folder = pathlib.Path(__file__).parent\n"
                       "(folder / f'{os.environ[\"RANK\"]}.pid').write_text(f'{os.getpid()}.')\n"
                       "time.sleep(3600)\n")
    files = [tmp_path / f"{rank}.pid" for rank in (0, 1)]
    launcher = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "lamella", "msrun", "--worker_num=2",
         "--local_worker_num=2", f"--log_dir={tmp_path}", str(program)], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    try:
        until(lambda: all(file.exists() and file.read_text().endswith(".") for file in files))
    finally:
        launcher.kill()
        launcher.wait()
    workers = [int(file.read_text()[:-1]) for file in files]
    until(lambda: not any(runs(worker) for worker in workers))


def runs(number):
    """Whether a process of this number runs; one that has ended may be there until it is read."""
    try:
        status = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2]
        return status.split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("arguments", "text"), [
    (["--worker_num=3", "--local_worker_num=2", "a.py"], "must be a multiple of"),
    (["--sim_level=1", "--sim_rank_id=8", "a.py"], "--sim_rank_id must be in"),
    ([], "task_script"),
], ids=["odd", "simulation", "nothing"])
def test_wrong_calls(arguments, text, capsys):
    try:
        status = msrun_main(arguments)
    except SystemExit as end:  # argparse's
        status = end.code
    assert status == 2 and text in capsys.readouterr().err


@pytest.mark.parametrize("program", ["nothere.py", "no-such-command"])
def test_a_program_that_is_not_there_is_said_once(program, tmp_path):
    done = python("-m", "lamella", "msrun", "--log_dir", "logs", program, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"lamella msrun: can't run '{program}': there is no such file.\n"
    assert list(tmp_path.iterdir()) == []  # no process was started, no log begun
