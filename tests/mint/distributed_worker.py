"""The program of two processes in the tests of `mint.distributed`; prints JSON."""

import json

import lamella as ms
from lamella import Tensor, ops
from lamella.mint import distributed as dist
from lamella.mint.distributed import in_place as switched
from tests.worlds import error_of


def in_place_or_not(rank, mine, listed):
    """What functions give that can write or give, with errors of those that only write."""
    switched.set_comm_ops_inplace(False)
    weight = Tensor([[1.0, 2.0], [3.0, 4.0]]) * (rank + 1)
    found = {
        "all_reduce": listed(switched.all_reduce(mine)[0]),
        "gradient": listed(ms.grad(lambda x: (switched.all_reduce(x)[0] * weight).sum())(mine)),
        "all_gather": listed(switched.all_gather_into_tensor(None, mine)[0]),
        "reduce_scatter": listed(switched.reduce_scatter_tensor(None, mine)[0]),
        "broadcast": error_of(switched.broadcast, mine),
        "mint": error_of(dist.broadcast, mine.copy(), 0)}
    switched.set_comm_ops_inplace(True, ["send", "isend"])
    if rank == 0:
        switched.send(mine, 1)
        found["recv"] = listed(switched.recv(mine, 1))
    else:
        found["recv"] = listed(switched.recv(mine, 0))
        switched.send(mine, 0)
    given, handle = switched.irecv(mine, 1 - rank) if rank else (mine, switched.isend(mine, 1))
    handle.wait()
    found["irecv"] = listed(given)
    switched.set_comm_ops_inplace(True)
    written = mine.copy()
    found["again"] = [switched.all_reduce(written), listed(written)]
    return found


def stored(rank):
    """What two processes share in a store; then they meet in it once more."""
    place = [None]
    if rank == 0:
        store = switched.TCPStore("127.0.0.1", 0, is_master=True)
        place = [store.port]
    dist.broadcast_object_list(place)
    if rank == 1:
        store = switched.TCPStore("127.0.0.1", place[0])
    store.set(f"from {rank}", b"b\0" if rank else "a")
    found = [store.get(f"from {1 - rank}").hex()]
    dist.barrier()
    store.add("count", 10 + rank)
    dist.barrier()
    found += [store.add("count", 0), store.delete_key(f"from {rank}"), store.delete_key("other")]
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group(world_size=2, rank=rank, store=store)
    x = Tensor([1.0 + rank])
    dist.all_reduce(x)
    return [*found, x.asnumpy().tolist()]


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

    out = empty(3, 1) if rank == 0 else empty(2, 1)
    counts = [1, 1, 2, 1]
    rows = ops.arange(2 + rank).astype(ms.float32).reshape(-1, 1) + 10 * rank
    switched.all_to_all_v_c(out, rows, counts)
    found["by counts"] = listed(out)
    found["in place or not"] = in_place_or_not(rank, fresh(), listed)
    found["store"] = stored(rank)
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
