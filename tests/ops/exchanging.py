"""What each of the processes of test_exchanges.py runs; it prints its results as JSON."""

import json

import numpy as np

import lamella as ms
from lamella import Tensor, communication, ops
from lamella.ops.primitives.neighbours import _HostAllGather, _HostReduceScatter

WORLD = 4
# above, above right, right, below right, below, below left, left, above left of each quarter
AROUND = ((-1, -1, 1, 3, 2, -1, -1, -1), (-1, -1, -1, -1, 3, 2, 0, -1),
          (0, 1, 3, -1, -1, -1, -1, -1), (1, -1, -1, -1, -1, -1, 2, 0))
ABOVE, BELOW, LEFT, RIGHT = AROUND_EACH = 1, 2, 3, 2  # rows and columns that come to each quarter


def image(rank):
    return np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3) + 10 * rank + 1


def matrices(rank):
    rng = np.random.default_rng(rank)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5, 3), (8, 5))]


def tokens(rank):
    return np.random.default_rng(rank).standard_normal((3, 3)).astype(np.float32)


def experts_of(rank):
    return np.random.default_rng(10 + rank).integers(0, 8, (3, 2)).astype(np.int32)


def main():
    communication.init()
    rank = communication.get_rank()
    exchange = ops.NeighborExchangeV2(list(AROUND[rank]), [BELOW, ABOVE, RIGHT, LEFT],
                                      list(AROUND[rank]), list(AROUND_EACH), "NCHW")
    found = {"borders": exchange(Tensor(image(rank))).asnumpy().tolist(),
             "borders gradient": ms.grad(lambda x: exchange(x).sum())(
                 Tensor(image(rank))).asnumpy().tolist()}
    pair = [0, 2] if rank % 2 == 0 else [1, 3]
    found["gathered"] = _HostAllGather(pair)(Tensor([float(rank)])).tolist()
    found["scattered"] = _HostReduceScatter("sum", pair)(
        Tensor(np.arange(4, dtype=np.float32) + rank)).tolist()
    world = communication.GlobalComm.WORLD_COMM_GROUP
    rows, weight, tall = map(Tensor, matrices(rank))
    out, gathered = ops.all_gather_matmul(rows, weight, world, WORLD)
    part = ops.matmul_reduce_scatter(tall, weight.T.contiguous(), world, WORLD, trans_x2=True)
    found |= {"product": out.tolist(), "rows": gathered.tolist(), "part": part.tolist()}

    ids, weights = Tensor(experts_of(rank)), Tensor(np.array([[1.0, 0.5]] * 3, np.float32))

    def mixture(x):
        came, _, places, numbers, counts, _, _ = ops.moe_distribute_dispatch(
            x, ids, WORLD, rank, 8, expert_scales=weights)
        first = counts.reshape(2, -1).sum(1).tolist()[0]
        results = ops.cat((came[:first] * (2 * rank + 1), came[first:] * (2 * rank + 2)))
        back = ops.moe_distribute_combine(results, ids, places, counts, weights, WORLD, rank, 8)
        return back, came, numbers

    back, came, numbers = mixture(Tensor(tokens(rank)))
    found |= {"back": back.tolist(), "came": came.tolist(), "numbers": numbers.tolist(),
              "gradient": ms.grad(lambda x: mixture(x)[0].sum())(Tensor(tokens(rank))).tolist()}
    communication.release()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
