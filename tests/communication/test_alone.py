"""A group of one process: every function works, also in compiled functions."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, communication, ops
from lamella.communication import GlobalComm, comm_func

from ..contracts import check_op


@pytest.fixture
def world():
    communication.init()
    yield
    communication.release()


X = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("name, arguments", [
    ("AllReduce", ()), ("AllReduce", ("max",)), ("AllGather", ()), ("ReduceScatter", ()),
    ("Reduce", (0,)), ("CollectiveScatter", ()), ("CollectiveGather", (0,)),
    ("AlltoAll", (1, 0, 1))])
def test_collectives_give_their_input(name, arguments):
    check_op(getattr(ops, name)(*arguments), lambda x: x, [X])


def test_tuples_and_lengths():
    check_op(lambda x: ops.Broadcast(0)((x,))[0], lambda x: x, [X])
    check_op(lambda x: ops.AlltoAllV()(x, [2], [2]), lambda x: x, [X[0]])
    check_op(lambda x: ops.AlltoAllVC()(x, [2]), lambda x: x, [X[0]])
    check_op(lambda x: ops.AllGatherV()(x, [2]), lambda x: x, [X[0]])
    check_op(lambda x: ops.ReduceScatterV()(x, [2]), lambda x: x, [X[0]])
    exchange = ops.NeighborExchange([0], [0], ([2, 2],), ([2, 2],), ms.float32)
    check_op(lambda x: exchange((x,))[0], lambda x: x, [X])
    assert ops.Barrier()() is None


def test_a_result_shares_no_memory_with_the_input():
    x = Tensor([1.0, 2.0])
    y = ops.AllReduce()(x)
    y.add_(1.0)
    assert x.asnumpy().tolist() == [1.0, 2.0]


def test_before_init_rank_and_size_come_from_the_environment(monkeypatch):
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)
    assert (communication.get_local_rank(), communication.get_local_rank_size()) == (0, 1)
    monkeypatch.setenv("RANK_ID", "3")
    monkeypatch.setenv("RANK_SIZE", "8")
    assert (communication.get_rank(), communication.get_group_size()) == (3, 8)
    with pytest.raises(RuntimeError, match="call `init"):
        ops.AllReduce()(Tensor([1.0]))
    for function, arguments in ((communication.create_group, ("g", [0])),
                                (communication.get_process_group_ranks, ()),
                                (communication.get_comm_name, ()),
                                (communication.destroy_group, ("g",))):
        with pytest.raises(RuntimeError, match="call `init"):
            function(*arguments)


def test_init_and_release():
    assert not GlobalComm.INITED
    communication.init("nccl")
    assert GlobalComm.INITED and GlobalComm.WORLD_COMM_GROUP == "nccl_world_group"
    assert communication.get_rank("hccl_world_group") == 0
    communication.release()
    assert not GlobalComm.INITED and GlobalComm.WORLD_COMM_GROUP == "hccl_world_group"
    with pytest.raises(RuntimeError, match="'hccl', 'nccl' and 'mccl', but got .* gloo"):
        communication.init("gloo")
    with pytest.raises(TypeError, match="must be a string"):
        communication.init(5)  # type: ignore[arg-type]


def test_wrong_environment_variables_are_named(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(ValueError, match="WORLD_SIZE must be a number .* 'two'"):
        communication.init()
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "2")
    with pytest.raises(RuntimeError, match="process 2 of 2"):
        communication.init()


def test_groups(world):
    communication.create_group("g", [0])
    communication.create_group("g", [0])
    assert communication.get_process_group_ranks("g") == [0]
    assert communication.get_world_rank_from_group_rank("g", 0) == 0
    assert communication.get_group_rank_from_world_rank(0, "g") == 0
    assert communication.get_comm_name("g") == "g"
    assert ops.AllReduce(group="g")(Tensor([2.0])).asnumpy() == 2.0
    for ranks, kind, text in (((0,), TypeError, "must be type of list"),
                              ([], ValueError, "at least one"),
                              ([0, 0], ValueError, "duplicate"),
                              ([0, 1], ValueError, r"in \[0, 1\)")):
        with pytest.raises(kind, match=text):
            communication.create_group("h", ranks)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has been created"):
        communication.create_group("g", [0, 1])
    communication.destroy_group("g")
    with pytest.raises(RuntimeError, match="no communication group 'g'"):
        communication.get_rank("g")
    with pytest.raises(ValueError, match="does not support destruction"):
        communication.destroy_group("nccl_world_group")
    with pytest.raises(TypeError, match="type of string"):
        communication.get_rank(3)  # type: ignore[arg-type]


def test_functions_and_handles():
    x = Tensor([[1.0, 2.0]])
    out, handle = comm_func.all_reduce(x)
    assert handle is None and out.asnumpy().tolist() == [[1.0, 2.0]]
    out, handle = comm_func.all_gather_into_tensor(x, async_op=True)
    assert handle is not None and handle.wait() is None
    assert comm_func.reduce_scatter_tensor(x)[0].shape == (1, 2)
    assert comm_func.broadcast(x).shape == comm_func.reduce(x, 0).shape == (1, 2)
    assert comm_func.scatter_tensor(x).shape == comm_func.gather_into_tensor(x).shape == (1, 2)
    assert comm_func.all_to_all_with_output_shape([x], [x])[0][0].shape == (1, 2)
    comm_func.barrier()


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.AllReduce("median"), ValueError, "'op' must be one of .* 'median'"),
    (lambda: ops.AllReduce(3), TypeError, "'op' must be str"),
    (lambda: ops.AllReduce(group=3), TypeError, "'group' must be str"),
    (lambda: ops.AllReduce()([1.0]), TypeError, "must be a Tensor, but got list"),
    (lambda: ops.Broadcast(1)((Tensor(1.0),)), ValueError, r"'root_rank' must be in \[0, 1\)"),
    (lambda: ops.AlltoAll(2, 0, 1)(Tensor(X)), ValueError, "number of processes, 1, but got 2"),
    (lambda: ops.AlltoAll(1, 5, 1)(Tensor(X)), ValueError, "dimension 5"),
    (lambda: ops.Send(0, 0)(Tensor(1.0)), ValueError, "must be another process"),
    (lambda: ops.Receive(0, 0, (1,), ms.float32)(), ValueError, "must be another process"),
    (lambda: ops.AlltoAllV()(Tensor(X[0]), [3], [3]), ValueError, "as long as .* 3"),
    (lambda: comm_func.all_reduce(1.0), TypeError, "'tensor' must be a Tensor"),
    (lambda: comm_func.all_reduce(Tensor(1.0), async_op=1), TypeError, "'async_op' must be a bool"),
    (lambda: comm_func.broadcast(Tensor(1.0), src=2), ValueError, "'src' must be one of"),
    (lambda: comm_func.isend(Tensor(1.0), 0), ValueError, "must be another process"),
    (lambda: comm_func.P2POp("send", Tensor(1.0), 0), ValueError, "'isend' or 'irecv'"),
    (lambda: comm_func.P2POp("irecv", (1,), 0), ValueError, "'recv_dtype' must be given"),
    (lambda: comm_func.batch_isend_irecv([]), TypeError, "not empty"),
    (lambda: ops.BatchISendIRecv(["send"], [0]), ValueError, "'isend' or 'irecv'"),
    (lambda: ops.BatchISendIRecv(["irecv"], [0]), ValueError, "a shape and a type"),
    (lambda: ops.AlltoAllVC()(Tensor(X[0]), [1, 1]), ValueError, "each pair of the 1 processes"),
], ids=range(20))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_reduce_scatter_needs_parts():
    with pytest.raises(ValueError, match="the input has shape"):
        ops.ReduceScatter()(Tensor(1.0))
