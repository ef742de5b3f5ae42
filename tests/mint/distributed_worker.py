"""The program of two processes in the tests of `mint.distributed`; prints JSON."""

import json

import lamella as ms
from lamella import Tensor, ops
from lamella.mint import distributed as dist


def main():
    dist.init_process_group()
    rank = dist.get_rank()
    found = {"ranks": [rank, dist.get_world_size(), dist.get_process_group_ranks()]}
    base = ms.Tensor([[1.0, 2.0], [3.0, 4.0]]) * (10 ** rank)

    def fresh():
        return base.copy()

    def empty(*shape):
        return ops.zeros(shape, ms.float32)

    def listed(value):
        return ([listed(v) for v in value] if isinstance(value, (list, tuple))
                else value.asnumpy().tolist())

    one = dist.new_group([0])
    found["of one"] = [dist.get_rank(one), dist.get_world_size(one)]

    x = fresh()
    dist.all_reduce(x)
    found["all_reduce"] = listed(x)
    x = fresh()
    dist.reduce(x, 1)
    found["reduce"] = listed(x)
    x = fresh()
    dist.broadcast(x, 1)
    found["broadcast"] = listed(x)
    parts = [empty(2, 2), empty(2, 2)]
    dist.all_gather(parts, fresh())
    found["all_gather"] = listed(parts)
    out = empty(4, 2)
    dist.all_gather_into_tensor(out, fresh())
    found["all_gather_into_tensor"] = listed(out)
    out = empty(1, 2)
    dist.reduce_scatter_tensor(out, fresh())
    found["reduce_scatter_tensor"] = listed(out)
    out = empty(1)
    dist.reduce_scatter(out, [base[0, :1].copy(), base[1, :1].copy()])
    found["reduce_scatter"] = listed(out)[0]
    out = empty(1)
    dist.scatter(out, [Tensor([100.0]), Tensor([101.0])] if rank == 0 else None)
    found["scatter"] = listed(out)
    out = empty(1)
    dist.scatter_tensor(out, Tensor([7.0, 8.0]), src=0)
    found["scatter_tensor"] = listed(out)
    parts = [empty(2, 2), empty(2, 2)]
    dist.gather(fresh(), parts, dst=0)
    found["gather"] = listed(parts)
    out = empty(4, 2)
    dist.gather_into_tensor(out, fresh(), dst=0)
    found["gather_into_tensor"] = listed(out)
    parts = [empty(1), empty(1)]
    dist.all_to_all(parts, [Tensor([10.0 * rank + i]) for i in (0, 1)])
    found["all_to_all"] = listed(parts)
    out = empty(2)
    dist.all_to_all_single(out, Tensor([10.0 * rank, 10.0 * rank + 1]))
    found["all_to_all_single"] = listed(out)
    out = empty(3)
    dist.all_gather_into_tensor_uneven(out, Tensor([0.0] if rank == 0 else [10.0, 11.0]), [1, 2])
    found["uneven gather"] = listed(out)
    out = empty(3)
    dist.all_to_all_single(out, Tensor([0.0, 1.0, 2.0] if rank == 0 else [10.0, 11.0, 12.0]),
                           [1, 2] if rank == 0 else [2, 1], [1, 2] if rank == 0 else [2, 1])
    found["uneven split"] = listed(out)
    out = empty(1 + rank)
    dist.reduce_scatter_tensor_uneven(out, Tensor([0.0, 1.0, 2.0]), [1, 2])
    found["uneven scatter"] = listed(out)
    dist.barrier()

    out = empty(2, 2)
    if rank == 0:
        dist.send(fresh(), 1)
        found["sent"] = dist.recv(out, 1)
    else:
        found["sent"] = dist.recv(out, 0)
        dist.send(fresh(), 0)
    found["message"] = listed(out)
    out = empty(1)
    for handle in dist.batch_isend_irecv([dist.P2POp(dist.isend, Tensor([5.0 * rank]), 1 - rank),
                                          dist.P2POp("irecv", out, 1 - rank)]):
        handle.wait()
    found["batch"] = listed(out)

    places = [None, None]
    dist.all_gather_object(places, {"rank": rank, "long": "x" * 50 * rank})
    found["objects"] = [{**p, "long": len(p["long"])} for p in places]
    places = [None, None]
    dist.gather_object(rank, places if rank == 1 else None, dst=1)
    found["gathered"] = places
    places = ["a", [1, 2.5, None]] if rank == 0 else [None, None]
    dist.broadcast_object_list(places)
    found["told"] = places
    places = [None]
    dist.scatter_object_list(places, ["for 0", "for 1"] if rank == 0 else None)
    found["dealt"] = places[0]
    found["received"] = []
    if rank == 0:
        dist.send_object_list(["hello", 3], 1)
    else:
        found["received"] = [None, None]
        dist.recv_object_list(found["received"], 0)
    places = [Tensor([0.5, 1.5])] if rank == 0 else [None]
    dist.broadcast_object_list(places)
    found["tensor"] = listed(places[0])
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
