"""Simulations of up to 1,024 processes: collectives, bytes sent and memory against formulas."""

import os

import pytest
import torch.distributed as dist

import lamella as ms
from lamella import communication, nn, ops
from lamella.communication import comm_func, get_rank
from lamella.communication.exchange import Exchange
from lamella.communication.groups import Group
from lamella.communication.simulate import Costs, Simulation, fitted_costs, simulate

from ..worlds import ROOT
from ..zygote import run as python


@pytest.fixture(autouse=True)
def fresh():
    yield
    ms.reset_auto_parallel_context()
    assert not communication.GlobalComm.INITED and not dist.is_initialized()


def step_of(kind, level="level1", **settings):
    """A program: one step of training of a network whose Parameters can be cut in 1,024."""
    def program():
        ms.set_auto_parallel_context(
            parallel_mode="data_parallel", gradients_mean=True,
            parallel_optimizer_config={"parallel_optimizer_threshold": 0,
                                       "optimizer_level": level}, **settings)
        communication.init()
        net = nn.SequentialCell(nn.Dense(64, 1024, weight_init="ones", has_bias=False), nn.ReLU(),
                                nn.Dense(1024, 1024, weight_init="ones"))
        step = nn.TrainOneStepCell(net, kind(net.trainable_params()))
        step(ops.ones((2, 64)))
        return step
    return program


P = 4 * (64 * 1024 + 1024 * 1024 + 1024)  # bytes of the Parameters


@pytest.mark.parametrize("size", [2, 64, 1024])
def test_data_parallel(size):
    found = simulate(step_of(lambda p: nn.Momentum(p, 0.1, 0.9)), size)
    for rank in found.exchanges:
        assert found.sent(rank) == pytest.approx({"all_reduce": 2 * P * (size - 1) / size})
        assert P * 2 <= found.held[rank] < P * 2 + 100  # the weights, and their moments


class Spread(nn.Cell):
    """Two products that are cut by columns and by rows."""

    def __init__(self, size):
        super().__init__()
        self.up = ms.Parameter(ops.ones((64, 1024)), name="up")
        self.down = ms.Parameter(ops.ones((1024, 32)), name="down")
        self.first = ops.MatMul().shard(((1, 1), (1, size)))
        self.second = ops.MatMul().shard(((1, size), (size, 1)))

    def construct(self, x):
        return self.second(ops.relu(self.first(x, self.up)), self.down).sum()


@pytest.mark.parametrize("size", [2, 4])
def test_operators_spread_over_processes(size):
    def program():
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel",
                                     dataset_strategy="full_batch")
        communication.init()
        net = Spread(size)
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        step(ops.ones((2, 64)))
        return step

    found, weights = simulate(program, size), 4 * (64 + 32) * 1024
    for rank in found.exchanges:
        # the loss's sum; and the first step gathers gradients, as it cuts weights only at its end
        assert found.sent(rank) == pytest.approx({
            "all_reduce": 2 * 4 * (size - 1) / size,
            "all_gather": weights * (size - 1) / size})
        assert found.held[rank] == pytest.approx(2 * weights / size, abs=100)


@pytest.mark.parametrize("size", [2, 64, 1024])
@pytest.mark.parametrize("level, gathers", [("level1", 1), ("level3", 2)])
def test_in_parts(size, level, gathers):
    found = simulate(step_of(nn.Adam, enable_parallel_optimizer=True, level=level), size)
    for rank in found.exchanges:
        sent = found.sent(rank)
        assert sent.keys() == {"all_gather", "reduce_scatter"}
        assert sent["all_gather"] == pytest.approx(gathers * P * (size - 1) / size)
        assert sent["reduce_scatter"] == pytest.approx(P * (size - 1) / size)
        assert 3 * P / size <= found.held[rank] < 3 * P / size + 100


def test_groups_of_weights(tmp_path):
    def program():
        from lamella.parallel import parts

        ms.set_auto_parallel_context(parallel_mode="data_parallel")
        communication.init()
        net = nn.Dense(64, 64, weight_init="ones", has_bias=False)
        parts.place(net.trainable_params(), parts.placement_of(4, 0))
        nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))(ops.ones((2, 64)))
        return net
    found = simulate(program, 8)
    size = 4 * 64 * 64
    assert set(found.held.values()) == {size // 4}
    # the whole among 4; then each part's gradient between the 2 that hold the same
    assert found.sent() == pytest.approx({"all_gather": size * 3 / 4,
                                          "reduce_scatter": size * 3 / 4, "all_reduce": size / 4})


def test_a_deadlock_is_an_error():
    def program():
        communication.init()
        ops.AllReduce()(ops.ones(3))
        if get_rank() == 2:
            ops.AllGather()(ops.ones(3))
        ops.AllReduce()(ops.ones(4))

    with pytest.raises(RuntimeError, match=r"exchange 2 of process 0 is all_reduce\(sum\) of 4 "
                                           r".*process 2 is all_gather"):
        simulate(program, 4)
    simulate(program, 2)


def test_messages_without_a_receiver():
    def program():
        communication.init()
        if get_rank() == 0:
            comm_func.isend(ops.ones(3), 1)
        if get_rank() == 1 and receives:
            comm_func.irecv(ops.ones(3), 0)

    receives = True
    assert simulate(program, 2).sent(0) == {"message": 12}
    receives = False
    with pytest.raises(RuntimeError, match="process 0 sends 1 messages of 3 float32 elements that"):
        simulate(program, 2)

    def waits():
        communication.init()
        if get_rank() == 1:
            comm_func.irecv(ops.ones(3), 0)

    with pytest.raises(RuntimeError, match="process 0 does not send 1 messages of 3 float32 "
                                           "elements that process 1 waits for"):
        simulate(waits, 2)
    simulate(waits, 2, [1])  # the other one isn't run


def made(*exchanges, size=4):
    """A simulation of exchanges of rank 0: kinds and bytes."""
    found, group = Simulation(size), Group("all", range(size))
    found.exchanges[0] = [Exchange("f", kind, group, nbytes, "") for kind, nbytes in exchanges]
    return found


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("kind, sent, steps", [  # of a ring, for a tensor of one byte
    ("all_reduce", lambda n: 2 * (n - 1) / n, lambda n: 2 * (n - 1)),
    ("all_gather", lambda n: n - 1, lambda n: n - 1),
    ("reduce_scatter", lambda n: (n - 1) / n, lambda n: n - 1),
    ("all_to_all", lambda n: (n - 1) / n, lambda n: n - 1),
    ("broadcast", lambda n: 1, lambda n: n - 1), ("message", lambda n: 1, lambda n: 1)])
def test_what_rings_send(size, kind, sent, steps):
    found = made((kind, 24), (kind, 8), size=size)
    assert found.sent() == pytest.approx({kind: 32 * sent(size)})
    want = 2 * steps(size) * 0.5 + 32 * sent(size) / 16
    assert found.predicted_seconds(Costs(0.5, 16)) == pytest.approx(want)


def test_the_processes_that_are_run():
    def program():
        communication.init()

    assert list(simulate(program, 16).exchanges) == list(range(16))
    assert list(simulate(program, 17).exchanges) == [0, 1, 8, 16]
    assert list(simulate(program, 4, [2, 3]).exchanges) == [2, 3]


def test_a_prediction():
    costs = fitted_costs([1000, 2000, 4000], [2e-5, 3e-5, 5e-5])
    assert costs.latency == pytest.approx(1e-5) and costs.bandwidth == pytest.approx(1e8)
    found = simulate(step_of(lambda p: nn.SGD(p, 0.1)), 8, [0])
    messages = len(found.exchanges[0])
    want = messages * 14 * 1e-5 + 2 * P * 7 / 8 / 1e8
    assert found.predicted_seconds(Costs(1e-5, 1e8)) == pytest.approx(want)
    for sizes, times in (([1], [1.0]), ([1, 2], [2.0, 1.0]), ([1, 1], [1.0, 2.0])):
        with pytest.raises(ValueError, match="fitted_costs"):
            fitted_costs(sizes, times)


@pytest.mark.parametrize("way, size, between, held", [
    ("once", 4, [1, 2, 2, 1], 1),
    ("v", 4, [2, 4, 4, 2], 2),  # to the last stage and back; in that nothing is sent
    ("strategies", 8, [1, 1, 2, 2, 2, 2, 1, 1], 1)])  # two processes a stage send wholes
def test_stages_of_a_pipeline(way, size, between, held):
    """What processes send of each batch between two stages, and hold of square weights."""
    stages, width, rows = 4, 32, 8

    def program():
        scheduler = "zero_bubble_v" if way == "v" else "1f1b"
        ms.set_auto_parallel_context(
            parallel_mode="semi_auto_parallel", pipeline_stages=stages,
            dataset_strategy="full_batch",
            pipeline_config={"pipeline_interleave": way == "v", "pipeline_scheduler": scheduler})
        communication.init()
        net = nn.SequentialCell(*[nn.Dense(width, width, has_bias=False)
                                  for _ in range(held * stages)])
        for number, cell in enumerate(net):
            cell.pipeline_stage = min(number, 2 * stages - 1 - number)
            if way == "strategies":
                cell.matmul.shard(((1, 1), (2, 1)))
        step = nn.TrainOneStepCell(nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 4),
                                   nn.Momentum(net.trainable_params(), 0.1, 0.9))
        step(ms.ops.ones((rows, width)), ms.ops.ones((rows, width)))
        return net

    try:
        found = simulate(program, size)
        of_a_batch = 4.0 * rows * width
        assert [found.sent(rank)["message"] / of_a_batch for rank in range(size)] == between
        assert list(found.held.values()) == [held * 4 * width * width] * size
        assert ("all_gather" in found.sent()) == (way == "strategies")
    finally:
        ms.reset_auto_parallel_context()


@pytest.mark.parametrize("size, ranks, text", [
    (0, None, "'size' must be a positive int"), ("2", None, "'size' must be"),
    (2, [2], r"'ranks' must be in \[0, 2\)")])
def test_wrong_arguments(size, ranks, text):
    with pytest.raises(ValueError, match=text):
        simulate(communication.init, size, ranks)


def test_an_error_in_the_program_ends_the_simulation():
    def program():
        communication.init()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        simulate(program, 4)
    communication.init()
    with pytest.raises(RuntimeError, match="joined already"):
        simulate(program, 4)
    communication.release()


def test_a_program_under_msrun(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import mindspore as ms\n"
                       "from mindspore import ops\n"
                       "from mindspore.communication import *\n"
                       "init()\n"
                       "print(get_rank(), get_group_size(), ops.AllGather()(ops.ones(2)).shape)\n")
    done = python("-m", "lamella", "msrun", "--worker_num=1024", "--sim_level=0",
                  "--sim_rank_id=3", f"--log_dir={tmp_path}", program, timeout=900,
                  env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "worker_3.log").read_text() == "3 1024 (2048,)\n"
