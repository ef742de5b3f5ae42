"""Two real processes that communicate."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import nn

from ..worlds import run_world, run_world_here
from .worker import main

WORKER = Path(__file__).with_name("worker.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(main, WORKER, 2)]


A = [np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([[2.0, 4.0], [7.0, 0.5]])]
W = [np.array([[1.0, 2.0], [3.0, 4.0]]) * (rank + 1) for rank in (0, 1)]


def check(found, name, want):
    for rank in (0, 1):
        np.testing.assert_allclose(np.array(found[rank][name]).squeeze(), np.squeeze(want[rank]),
                                   rtol=1e-5, err_msg=f"{name} on {rank}")


def test_ranks(found):
    assert [(f["rank"], f["size"], f["local"]) for f in found] == [(0, 2, 0), (1, 2, 1)]
    assert [f["alone"] for f in found] == [[-1, 1], [0, 1]]


def test_worlds_one_after_the_other(found):
    for f in found:
        assert f["other worlds"] == [(A[0] + A[1]).tolist()] * 2


def test_all_reduce(found):
    total, weights = A[0] + A[1], W[0] + W[1]
    check(found, "AllReduce sum", [total] * 2)
    check(found, "AllReduce sum gradient", [weights] * 2)
    check(found, "AllReduce avg", [total / 2] * 2)
    check(found, "AllReduce avg gradient", [weights / 2] * 2)
    for op, best in (("max", np.maximum(*A)), ("min", np.minimum(*A))):
        check(found, f"AllReduce {op}", [best] * 2)
        check(found, f"AllReduce {op} gradient", [weights * (a == best) for a in A])
    product = A[0] * A[1]
    check(found, "AllReduce prod", [product] * 2)
    check(found, "AllReduce prod gradient", [weights * product / a for a in A])
    check(found, "second order", [24 * total] * 2)  # of 2 (x_0 + x_1)^3


def test_gather_and_scatter(found):
    both = np.concatenate(A)
    check(found, "AllGather", [both] * 2)
    check(found, "AllGather gradient", [W[0] + W[1], 10 * (W[0] + W[1])])
    assert [answer["AllGather of no numbers"] for answer in found] == [[[]] * 4] * 2
    check(found, "ReduceScatter", np.split(A[0] + A[1], 2))
    check(found, "ReduceScatter gradient", [np.concatenate([W[0][:1], W[1][:1]])] * 2)
    check(found, "CollectiveScatter", np.split(A[1], 2))
    check(found, "CollectiveScatter gradient",
          [np.zeros((2, 2)), np.concatenate([W[0][:1], W[1][:1]])])
    check(found, "CollectiveGather", [both, 0 * both])
    check(found, "CollectiveGather gradient", [W[0], 10 * W[0]])
    check(found, "Reduce", [0 * A[0], A[0] + A[1]])
    check(found, "Reduce gradient", [W[1]] * 2)


def test_broadcast_passes_each_process_its_own_gradient(found):
    check(found, "Broadcast", [A[1]] * 2)
    check(found, "Broadcast gradient", W)


def test_all_to_all(found):
    check(found, "AlltoAll", [np.concatenate([A[0][:1], A[1][:1]], 1),
                              np.concatenate([A[0][1:], A[1][1:]], 1)])
    check(found, "AlltoAll gradient", [np.concatenate([W[0][:1], W[1][:1]])] * 2)
    check(found, "NeighborExchange", [A[1], A[0]])
    check(found, "NeighborExchange gradient", [W[1], W[0]])
    check(found, "AlltoAllV", [[0, 10, 11, 12], [1, 2, 13]])
    check(found, "single", [[0, 10, 11, 12], [1, 2, 13]])
    check(found, "AlltoAllVC", [[0, 10, 11, 12], [1, 2, 13]])
    check(found, "AllGatherV", [[0, 0, 1]] * 2)
    assert found[0]["ReduceScatterV"] == [0] and found[1]["ReduceScatterV"] == [2, 4]


def test_any_type_travels(found):
    for kind in ("bool", "int16", "bfloat16", "complex64", "uint8"):
        check(found, f"gather {kind}", [[0, 1, 0, 1, 1, 0]] * 2)
    assert found[0]["sum bool"] == found[1]["sum bool"] == [True, False]
    check(found, "sum int16", [[3]] * 2)


def test_messages(found):
    check(found, "recv", [A[1], A[0]])
    check(found, "batch", [A[1], A[0]])
    assert [f["batched"] for f in found] == [[0.0, A[1].tolist()], [0.0, A[0].tolist()]]
    check(found, "with handle", [A[0] + A[1]] * 2)
    check(found, "scatter", np.split(A[1], 2))
    assert found[1]["reduce"] == (A[0] + A[1]).tolist() and found[0]["reduce"] == [0]
    assert found[0]["gather"] == np.concatenate(A).tolist() and found[1]["gather"] == [0]
    check(found, "through", [2 * W[1], 0.0])


def test_groups(found):
    assert found[1]["in a group of one"] == A[1].tolist()
    assert "process 0 is not in group 'alone', which has [1]" in found[0]["not a member"]


def test_data_parallel_steps_are_those_of_the_whole_batch(found):
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                               nn.SGD(net.trainable_params(), learning_rate=0.01))
    inputs = ms.Tensor(np.concatenate(A).astype(np.float32))
    for _ in range(4):
        step(inputs, ms.Tensor([[1.0], [2.0], [1.0], [2.0]]))
    check(found, "weights", [net.weight.asnumpy()] * 2)
    assert all(f["warned"] == [] for f in found)


def test_statistics_of_both_batches(found):
    layer = nn.BatchNorm2d(2).set_train()
    whole = ms.Tensor(np.random.default_rng(0).normal(3.0, 2.0, (4, 2, 2, 3)).astype(np.float32))
    pattern = ms.Tensor(np.arange(48, dtype=np.float32).reshape(4, 2, 2, 3))
    out = layer(whole).asnumpy()
    for rank, part in ((0, slice(3)), (1, slice(3, 4))):
        np.testing.assert_allclose(found[rank]["normalized"], out[part], atol=2e-6)
        for got, want in zip(found[rank]["moving"], (layer.moving_mean, layer.moving_variance),
                             strict=True):
            np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-5)
    gradient = ms.grad(lambda x: (layer(x) * pattern).sum())(whole).asnumpy()
    for rank, part in ((0, slice(3)), (1, slice(3, 4))):
        np.testing.assert_allclose(found[rank]["normalized gradient"], gradient[part], atol=1e-4)


def test_wrong_calls_are_errors(found):
    for answer in found:
        assert "inside of 'vmap'" in answer["vmap"] and "inside of 'vmap'" in answer["jvp"]


def test_the_variables_of_other_launchers(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("from lamella.communication import *\n"
                      "init('nccl')\n"
                      "print(get_rank(), get_group_size(), GlobalComm.WORLD_COMM_GROUP)\n")
    assert run_world(
        script, 2, rank_name="OMPI_COMM_WORLD_RANK", size_name="OMPI_COMM_WORLD_SIZE") == [
        "0 2 nccl_world_group\n", "1 2 nccl_world_group\n"]


def test_the_first_process_lets_the_others_find_it(tmp_path):
    """No launcher keeps a store. A port that is free now may be taken a moment later."""
    script = tmp_path / "program.py"
    script.write_text("import lamella as ms\n"
                      "ms.communication.init()\n"
                      "print(ms.ops.AllReduce()(ms.Tensor([1.0])).item())\n")
    for attempt in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        try:
            answers = run_world(script, 2, MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="")
        except AssertionError as error:
            if attempt == 4 or "address already in use" not in str(error).lower():
                raise
        else:
            assert answers == ["2.0\n"] * 2
            return
