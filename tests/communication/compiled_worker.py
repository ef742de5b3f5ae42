"""The program that each process runs in the tests of collectives in compiled functions."""

import json
import warnings

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.communication import exchange
from tests.worlds import communicator_threads, error_of


def listed(result):
    if isinstance(result, Tensor):
        return result.asnumpy().tolist()
    if isinstance(result, (tuple, list)):
        return [listed(part) for part in result]
    return result


def watched(call):
    """What a call gives or raises, and the exchanges that it makes."""
    made = []
    exchange.watcher = lambda each: made.append([each.kind, each.what])
    try:
        found = listed(call())
    except Exception as error:  # noqa: BLE001  what kind it is, the test checks
        found = f"{type(error).__name__}: {error}"
    finally:
        exchange.watcher = None
    return [found, made]


def rules(rank):
    """Each kind of exchange, and its gradient."""
    mine = Tensor(np.random.default_rng(rank).normal(size=(4, 2)).astype(np.float32))
    weight = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2)) * (rank + 1)
    size = communication.get_group_size()
    return {
        "sum": (lambda x: ops.AllReduce()(x * 2) * weight, mine),
        "max": (lambda x: ops.AllReduce("max")(x) * weight, mine),
        "gather": (lambda x: ops.AllGather()(x) * weight.tile((size, 1)), mine),
        "scatter": (lambda x: ops.ReduceScatter()(x) * weight[:4 // size], mine),
        "broadcast": (lambda x: ops.Broadcast(1)((x,))[0] * weight, mine),
        "all to all": (lambda x: ops.AlltoAll(size, 0, 1)(x).sum(0) * weight[0, 0], mine)}


def branches(x, scale):
    """Branches on a value that differs between processes, and on one that is the same in all."""
    total = ops.AllReduce()(x * scale)
    if (x * total).sum() > 0:
        total = total * 3
    second = ops.AllReduce("max")(total + x)
    out = second * 2 if total.mean() > 0 else second.sum()
    unused = ops.AllGather()(x)  # noqa: F841  a collective whose result is unused still runs
    return ops.AllReduce()(out.sum() * x)


class Counting(nn.Cell):
    """Reduces a weight that it has just assigned."""

    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(Tensor([1.0, 2.0]), name="weight")

    def construct(self, x):
        before = ops.AllReduce()(x)
        self.weight += before
        after = ops.AllReduce()(self.weight * 1)
        return after, ops.AllReduce("max")(x)


def failing(x, rows, raises):
    total = ops.AllReduce()(x)
    if raises:
        raise KeyError("a mistake of the program's")
    return ops.AllReduce()(x[:rows]) + total[:rows]


def diverging(rank):
    """One of two processes raises an error, or passes a tensor of another size."""
    step, x = ms.jit(failing), Tensor([1.0, 2.0, 3.0])
    found = {"before": [listed(step(x, 2, False)) for _ in range(3)]}

    def raising():
        try:
            return step(x, 2, rank == 1)
        except KeyError:
            return ops.AllReduce()(Tensor([1.0]))

    found["one raises"] = watched(raising)
    found["other sizes"] = watched(lambda: step(x, 2 + rank, False))
    found["after"] = listed(step(x, 2, False))
    return found


def main():
    communication.init()
    rank = communication.get_rank()
    found = {"rank": rank}
    warnings.simplefilter("error")
    for name, (fn, x) in rules(rank).items():
        def loss(x, fn=fn):
            return fn(x).sum()

        both = ms.jit(lambda x, loss=loss, fn=fn: (fn(x), ms.grad(loss)(x)))
        found[name] = [listed((fn(x), ms.grad(loss)(x))), *[listed(both(x)) for _ in range(3)]]
        found[f"{name} graphs"] = both.report()["graphs"], both.report()["replays"]

    compiled, rng = ms.jit(branches), np.random.default_rng(rank)
    found["branches"] = []
    for number in range(12):
        x = Tensor(rng.normal(size=3).astype(np.float32))
        scale = Tensor(float((-1) ** (number // 3)))
        found["branches"].append([watched(lambda: branches(x, scale)),  # noqa: B023
                                  watched(lambda: compiled(x, scale))])  # noqa: B023
    report = compiled.report()
    found["branches report"] = {key: report[key] for key in ("guard_misses", "replays", "eager")}

    eager, counting = Counting(), Counting()
    compiled = ms.jit(counting)
    x = Tensor([0.5, -1.0]) * (rank + 1)
    found["changed"] = [[watched(lambda: eager(x)), watched(lambda: compiled(x))]
                        for _ in range(4)]
    found["changed weights"] = listed((eager.weight, counting.weight))
    if communication.get_group_size() == 2:
        found["diverging"] = diverging(rank)
        step = ms.jit(lambda x: x + (ops.Send(0, 1)(x) if rank == 0
                                     else ops.Receive(0, 0, [2], ms.float32)(x)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found["message"] = listed(step(x))
        found["message warned"] = [str(each.message) for each in caught]
    found["threads"] = [communicator_threads()]
    communication.release()
    found["threads"].append(communicator_threads())
    found["ended"] = error_of(compiled, x)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
