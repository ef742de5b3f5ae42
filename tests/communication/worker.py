"""The program that each of two processes runs in test_world.py; it prints its results as JSON."""

import json
import warnings

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.communication import comm_func


def main():
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    found = {"rank": rank, "size": size, "local": communication.get_local_rank(),
             "again": communication.init()}


    def listed(result):
        if isinstance(result, Tensor):
            return result.asnumpy().tolist()
        if isinstance(result, (tuple, list)):
            return [listed(part) for part in result]
        return result


    def value_and_gradient(name, operator, x, weight):
        def loss(x):
            out = operator(x)
            return ((out[0] if isinstance(out, tuple) else out) * weight).sum()

        found[name] = listed(operator(x))
        found[f"{name} gradient"] = listed(ms.grad(loss)(x))


    mine = Tensor([[1.0, 5.0], [3.0, 2.0]]) if rank == 0 else Tensor([[2.0, 4.0], [7.0, 0.5]])
    weight = Tensor([[1.0, 2.0], [3.0, 4.0]]) * (rank + 1)
    for op in ("sum", "max", "min", "prod", "avg"):
        value_and_gradient(f"AllReduce {op}", ops.AllReduce(op), mine, weight)
    value_and_gradient("AllGather", ops.AllGather(), mine, ops.concat((weight, weight * 10)))
    found["AllGather of no numbers"] = listed(ops.AllGather()(mine[:, :0]))
    value_and_gradient("ReduceScatter", ops.ReduceScatter(), mine, weight[:1])
    value_and_gradient("Broadcast", ops.Broadcast(1), (mine,), weight)
    value_and_gradient("AlltoAll", ops.AlltoAll(2, 0, 1), mine, ops.concat((weight[:1],) * 2, 1))
    value_and_gradient("CollectiveScatter", ops.CollectiveScatter(1), mine, weight[:1])
    value_and_gradient("CollectiveGather", ops.CollectiveGather(0), mine,
                       ops.concat((weight, weight * 10)))
    value_and_gradient("Reduce", ops.Reduce(1), mine, weight)
    value_and_gradient("NeighborExchange", lambda x: ops.NeighborExchange(
        [1 - rank], [1 - rank], ([2, 2],), ([2, 2],), ms.float32)((x,)), mine, weight)
    found["second order"] = listed(ms.grad(lambda x: (ms.grad(
        lambda y: (ops.AllReduce()(y) ** 3).sum())(x)).sum())(mine))
    ops.Barrier()()

    for kind in (ms.bool_, ms.int16, ms.bfloat16, ms.complex64, ms.uint8):
        found[f"gather {kind.name}"] = listed(
            ops.AllGather()(Tensor([rank, 1, 0]).astype(kind)).astype(ms.float32))
    found["sum bool"] = listed(ops.AllReduce("max")(Tensor([rank == 0, False])))
    found["sum int16"] = listed(ops.AllReduce()(Tensor([rank + 1], ms.int16)))
    given, taken = ([1, 2], [1, 3]) if rank == 0 else ([3, 1], [2, 1])
    found["AlltoAllV"] = listed(ops.AlltoAllV()(ops.arange(sum(given)) + 10 * rank, given, taken))
    found["AlltoAllVC"] = listed(ops.AlltoAllVC()(ops.arange(sum(given)) + 10 * rank, [1, 2, 3, 1]))
    found["batched"] = listed(ops.BatchISendIRecv(
        ["isend", "irecv"], [1 - rank] * 2, [(2, 2)], [ms.float32])((mine,)))
    found["AllGatherV"] = listed(ops.AllGatherV()(ops.arange(rank + 1), [1, 2]))
    found["ReduceScatterV"] = listed(ops.ReduceScatterV()(ops.arange(3), [1, 2]))

    # messages
    if rank == 0:
        comm_func.send(mine, 1)
        found["recv"] = listed(comm_func.recv(mine, 1))
    else:
        found["recv"] = listed(comm_func.recv(mine, 0))
        comm_func.send(mine, 0)
    found["batch"] = listed(comm_func.batch_isend_irecv(
        [comm_func.P2POp("isend", mine, 1 - rank), comm_func.P2POp("irecv", mine, 1 - rank)])[1])
    if rank == 0:
        sent = ops.Send(3, 1)
        found["through"] = listed(ms.grad(lambda x: sent(x * 2).sum() * 0)(mine))
    else:
        got = ops.Receive(3, 0, [2, 2], ms.float32)
        found["through"] = listed(ms.grad(lambda x: (got(x) * weight).sum())(Tensor(0.0)))
    found["reduce"] = listed(comm_func.reduce(mine, 1))
    found["scatter"] = listed(comm_func.scatter_tensor(mine, 1))
    found["gather"] = listed(comm_func.gather_into_tensor(mine, 0))
    out, handle = comm_func.all_reduce(mine, async_op=True)
    handle.wait()
    found["with handle"] = listed(out)
    found["single"] = listed(comm_func.all_to_all_single_with_output_shape(
        (sum(taken), 1), ops.arange(sum(given)).reshape(-1, 1) + 10 * rank, taken, given)[0])

    # groups
    communication.create_group("alone", [1])
    found["alone"] = communication.get_rank("alone"), communication.get_group_size("alone")
    if rank == 1:
        found["in a group of one"] = listed(ops.AllReduce(group="alone")(mine))
    else:
        try:
            comm_func.all_reduce(mine, group="alone")
        except RuntimeError as error:
            found["not a member"] = str(error)
        else:
            found["not a member"] = "nothing"
    communication.destroy_group("alone")

    # in compiled functions: the same
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                               nn.SGD(net.trainable_params(), learning_rate=0.01))
    assert not step.reducer_flag
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                               nn.SGD(net.trainable_params(), learning_rate=0.01))
    ms.set_context(mode=ms.GRAPH_MODE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            step(mine, Tensor([[1.0], [2.0]]))
    found["warned"] = [str(w.message) for w in caught]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found["weights"] = listed(net.weight)

    # statistics of both batches
    layer = nn.SyncBatchNorm(2).set_train()
    whole = Tensor(np.random.default_rng(0).normal(3.0, 2.0, (4, 2, 2, 3)).astype(np.float32))
    part = whole[:3] if rank == 0 else whole[3:]
    cell_out = layer(part)
    found["normalized"] = listed(cell_out)
    found["moving"] = listed((layer.moving_mean, layer.moving_variance))
    pattern = Tensor(np.arange(48, dtype=np.float32).reshape(4, 2, 2, 3))
    pattern = pattern[:3] if rank == 0 else pattern[3:]
    found["normalized gradient"] = listed(ms.grad(lambda x: (layer(x) * pattern).sum())(part))

    for name, refused in (("vmap", lambda: ops.vmap(ops.AllReduce())(mine)),
                          ("jvp", lambda: ms.jvp(ops.AllReduce(), mine, mine))):
        try:
            refused()
        except RuntimeError as error:
            found[name] = str(error)
        else:
            found[name] = "nothing"
    communication.release()
    found["other worlds"] = []
    for _ in range(2):
        communication.init()
        found["other worlds"].append(listed(ops.AllReduce()(mine)))
        communication.release()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
