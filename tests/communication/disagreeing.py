"""Two processes that send and receive different shapes or types, or whose DTensors have different
shapes; each prints its errors as JSON."""

import datetime
import json

import torch.distributed as dist

import lamella as ms
from lamella import Tensor, communication, ops
from lamella.communication import comm_func
from lamella.parallel import shard
from tests.worlds import error_of, wait_no_longer_than


def messages(rank, found):
    def given(sent, taken):
        return comm_func.send(sent, 1) if rank == 0 else comm_func.recv(taken, 0)

    found["sizes"] = error_of(given, ops.ones(8), ops.ones((2, 2)))
    found["types"] = error_of(given, ops.ones(4), ops.ones(4, ms.int32))
    send, take = ops.Send(5, 1), ops.Receive(5, 0, [3], ms.float32)
    found["operators"] = error_of(lambda: send(ops.ones(2)) if rank == 0 else take(Tensor(0.0)))
    found["then"] = given(ops.arange(4), ops.ones(4, ms.int64))
    found["then"] = found["then"].asnumpy().tolist() if rank else [0, 1, 2, 3]


def spread(rank, found):
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    product = shard(ops.matmul, ((1, 2), (2, 1)))  # each process has a part of the sum
    for name, call in (("eager", product), ("compiled", ms.jit(product))):
        found[f"{name} before"] = call(ops.ones((2, 4)), ops.ones((4, 3))).asnumpy().tolist()
        found[name] = error_of(lambda call=call: call(ops.ones((2 + rank, 4)), ops.ones((4, 3))))
        found[f"{name} after"] = call(ops.ones((2, 4)), ops.ones((4, 3))).asnumpy().tolist()


def nothing_comes(rank, found):
    store = dist.distributed_c10d._get_default_store()
    comm_func.barrier()
    communication.create_group("impatient", [0, 1])
    if rank == 0:
        wait_no_longer_than(1)
        found["hang"] = error_of(lambda: comm_func.recv(ops.ones(3), 1, "impatient"))
        store.set("told", "")
    else:
        store.wait(["told"], datetime.timedelta(seconds=800))


def main():
    communication.init()
    rank = communication.get_rank()
    found = {}
    messages(rank, found)
    spread(rank, found)
    nothing_comes(rank, found)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
