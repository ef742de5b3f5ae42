"""The program that each of two or four processes runs in test_data_parallel.py."""

import json
import time
import warnings

import numpy as np

import lamella as ms
from lamella import Tensor, communication, dataset, nn, ops
from lamella.communication import buckets, comm_func, exchange
from lamella.parallel.distributed import DistributedDataParallel
from tests.worlds import error_of


class Net(nn.Cell):
    """A network with a weight that is used twice, one that may not be used, and a frozen one."""

    def __init__(self):
        super().__init__()
        self.first = nn.Dense(4, 6, weight_init="ones", bias_init="zeros")
        self.twice = ms.Parameter(Tensor(np.linspace(-1, 1, 36).reshape(6, 6), ms.float32))
        self.spare = ms.Parameter(Tensor([0.5, -0.5], ms.float32), name="spare")
        self.frozen = ms.Parameter(Tensor([2.0], ms.float32), requires_grad=False)
        self.last = nn.Dense(6, 2, weight_init="ones", bias_init="zeros")
        self.uses_spare = False

    def construct(self, x):
        x = ops.tanh(self.first(x) * self.frozen)
        x = ops.tanh(ops.matmul(x, self.twice))
        x = self.last(ops.tanh(ops.matmul(x, self.twice)))
        return x * self.spare if self.uses_spare else x


def batch(number, rows=slice(None)):
    rng = np.random.default_rng(number)
    x, y = rng.standard_normal((8, 4)), rng.standard_normal((8, 2))
    return Tensor(x[rows], ms.float32), Tensor(y[rows], ms.float32)


def optimizer_of(kind, net):
    if kind == "Adam":
        return nn.Adam(net.trainable_params(), 0.05, weight_decay=0.01)
    return nn.Momentum(net.trainable_params(), 0.05, 0.9)


def weights_of(net):
    return {p.name: p.asnumpy().tolist() for p in net.get_parameters()}


def train(kind, rows, compiled=False, spare_on=(0, 1), rank=0, steps=4):
    net = Net()
    net.uses_spare = rank in spare_on
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer_of(kind, net))
    step = ms.jit(step) if compiled else step
    for number in range(steps):
        step(*batch(number, rows))
    return weights_of(net)


def wrapped(rows, rank=0, compiled=False, **options):
    """Train a network in `DistributedDataParallel`, by a loop of one's own."""
    net = Net()
    net.first.weight.set_data(net.first.weight * (rank + 1))  # begins alike even so
    net = DistributedDataParallel(net, **options)
    weights, loss = net.trainable_params(), nn.MSELoss()
    optimizer = nn.Momentum(weights, 0.05, 0.9)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, weights)
    call = ms.jit(gradient) if compiled else gradient
    for number in range(4):
        optimizer(call(*batch(number, rows))[1])
        net.zero_grad()
    return weights_of(net)


def added_up(rows):
    """Gradients of a batch that add up: alone, then over the processes, then once more."""
    net = DistributedDataParallel(Net())
    gradient = ms.grad(lambda x: net(x).sum(), None, net.trainable_params()[0])
    with net.no_sync():
        first = gradient(batch(0, rows)[0])
    found = [first, gradient(batch(1, rows)[0]), gradient(batch(2, rows)[0])]
    return [each.asnumpy().tolist() for each in found]


def called_twice():
    """Gradients of a sum of two calls, and again, added to those before."""
    net = DistributedDataParallel(nn.Dense(4, 2, weight_init="ones"))
    x, y = batch(0)[0], batch(1)[0]
    gradient = ms.grad(lambda: (net(x) + net(y)).sum(), None, net.trainable_params()[0])
    return [gradient().asnumpy().tolist() for _ in range(2)]


def after_an_error(rows, seconds=0.0):
    """Gradients of a backward pass that runs again where an error has ended the first.

    Args:
        seconds: how much later than others this process begins the first pass, and how long it
            takes after its first gradients.
    """
    class Failing(nn.Cell):
        failed = False

        def construct(self, x):
            return ops.InsertGradientOf(self.once)(x)

        def once(self, gradient):
            if not self.failed:
                self.failed = True
                raise KeyError("once")
            return gradient

    class Slow(nn.Cell):
        def construct(self, x):
            return ops.InsertGradientOf(self.wait)(x)

        def wait(self, gradient):
            time.sleep(seconds)
            return gradient

    first, middle, last = (nn.Dense(*sizes, weight_init="ones", bias_init="zeros")
                           for sizes in ((4, 6), (6, 3), (3, 2)))
    inner = nn.SequentialCell(first, Failing(), nn.Tanh(), middle, Slow(), last)
    net = DistributedDataParallel(inner, bucket_cap_mb=1e-5)
    out, pull = ms.vjp(net, batch(0, rows)[0], weights=net.trainable_params())
    time.sleep(seconds)
    told = error_of(pull, ops.ones_like(out))
    return [told, *[gradient.asnumpy().tolist() for gradient in pull(ops.ones_like(out))[1]]]


def sent_meanwhile(rows):
    """How many buckets have been sent when the gradient reaches the network's first layer."""
    sent, seen = [], []
    begin = exchange.begin_sum

    def sending(*args):
        sent.append(args[1].numel())
        return begin(*args)

    def noted(gradient):
        seen.append(len(sent))
        return gradient

    exchange.begin_sum = sending

    class Noting(nn.Cell):
        def construct(self, x):
            return ops.InsertGradientOf(noted)(x)

    net = DistributedDataParallel(nn.SequentialCell(
        nn.Dense(4, 6), Noting(), nn.Dense(6, 6), nn.Tanh(), nn.Dense(6, 2)), bucket_cap_mb=1e-5)
    ms.grad(lambda x: net(x).sum(), None, net.trainable_params())(batch(0, rows)[0])
    exchange.begin_sum = begin
    return [seen, len(sent)]


def fit(shards, size):
    net = Net()
    x, y = (np.concatenate(parts) for parts in zip(
        *[[t.asnumpy() for t in batch(number)] for number in range(4)], strict=True))
    data = dataset.NumpySlicesDataset((x, y), shuffle=False, **shards).batch(size)
    losses = []

    class Keep(ms.train.Callback):
        def step_end(self, run_context):
            losses.append(float(run_context.original_args().net_outputs))

    model = ms.train.Model(net, nn.MSELoss(), optimizer_of("Momentum", net))
    model.train(2, data, Keep(), dataset_sink_mode=False)
    return {**weights_of(net), "losses": losses}


def scaled(overflow):
    net = Net()
    step = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9),
        nn.DynamicLossScaleUpdateCell(2.0**12, 2, 100))
    before = weights_of(net)
    x, y = batch(0)
    _, over, scale = step(x * (float("inf") if overflow else 1.0), y)
    return {"overflow": bool(over), "scale": float(step.scale_sense.value()),
            "moved": weights_of(net) != before}


def clipped(rows, reduces):
    net = Net()
    grads = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None,
                              net.trainable_params())(*batch(0, rows))[1]
    if reduces:
        grads = nn.DistributedGradReducer(net.trainable_params())(grads)
    return [g.asnumpy().tolist() for g in ops.clip_by_global_norm(grads, 0.1)]


def diverging(rank, rows):
    """The results are right although the processes have compiled different graphs."""
    found = {}
    reduce = ops.AllReduce()

    @ms.jit
    def mixed(x, asks=False, unused=False):
        total = reduce(x * 2).sum()
        if unused:
            return x.sum()
        if asks:
            total = total + float(x.asnumpy()[0, 0])
        return total if total > 0 else -total

    x = batch(0, rows)[0]
    found["guards"] = [float(mixed(x * sign)) for sign in (1, 1, (-1) ** rank, 1)]
    found["NumPy on one"] = [float(mixed(x, rank == 1)) for _ in range(3)]
    found["unused on one"] = [float(mixed(x, unused=rank == 0)) for _ in range(3)]

    @ms.jit
    def shaped(x):
        return reduce((x * x).sum())

    found["shapes"] = [float(shaped(x[:1 + rank * number])) for number in (1, 2, 1, 2)]
    return found


def disagreeing(rank):
    """Processes that call different collectives all get one error, and can go on."""
    found = {}
    mine = ops.ones(3 + rank)
    calls = {
        "sizes": lambda: ops.AllReduce()(mine), "gather": lambda: ops.AllGather()(mine),
        "broadcast": lambda: ops.Broadcast(0)((mine,)),
        "types": lambda: ops.AllReduce()(Tensor([1], ms.int32 if rank else ms.float32)),
        "operations": lambda: ops.AllReduce("max" if rank else "sum")(Tensor([1.0])),
        "kinds": lambda: (ops.AllReduce() if rank else ops.AllGather())(Tensor([1.0])),
        "roots": lambda: ops.Broadcast(rank)((Tensor([1.0]),)),
        "counts": lambda: ops.AlltoAllV()(ops.arange(4), [2, 2], [2 + rank, 2])}
    for name, call in calls.items():
        found[name] = error_of(call)
    found["and then"] = float(ops.AllReduce()(Tensor(1.0)))
    return found


def main():
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    rows, found = slice(8 // size * rank, 8 // size * (rank + 1)), {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no compiled function may fall back to eager execution
        for kind in ("Adam", "Momentum"):
            found[kind] = train(kind, rows)
            found[f"{kind} compiled"] = train(kind, rows, compiled=True)
    for name, options in (("wrapped", {}), ("wrapped late", {"average_in_collective": True}),
                          ("wrapped small", {"bucket_cap_mb": 1e-4, "reducer_mode":
                                             "PythonReducer"})):
        found[name] = wrapped(rows, rank, **options)
    found["added up"] = added_up(rows)
    found["called twice"] = called_twice()
    found["after an error"] = after_an_error(rows, seconds=0.3 * rank)
    found["sent meanwhile"] = sent_meanwhile(rows)
    if size == 2:
        of_two(rank, rows, found)
    print(json.dumps(found))


def of_two(rank, rows, found):
    """The cases that run with two processes only."""
    whole = buckets.LARGEST, buckets._FIRST
    buckets.LARGEST, buckets._FIRST = 100, 30  # many messages
    found["small messages"] = train("Adam", rows)
    found["unused on one"] = train("Adam", rows, spare_on=(0,), rank=rank)
    buckets.LARGEST, buckets._FIRST = whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no compiled function may fall back to eager execution
        found["model"] = fit({"num_shards": 2, "shard_id": rank}, 4)
        found["scaled"] = [scaled(overflow=rank == 1), scaled(overflow=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found["diverging"] = diverging(rank, rows)
        found["wrapped compiled"] = wrapped(rows, rank, compiled=True)
    found["clipped"] = clipped(rows, reduces=True)
    found["disagreeing"] = disagreeing(rank)
    ms.set_auto_parallel_context(parameter_broadcast=True)
    net = nn.Dense(2, 1, weight_init=Tensor([[1.0, 2.0]]) * (rank + 1), bias_init="zeros")
    nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.0))(Tensor([[1.0, 1.0]]))
    found["broadcast"] = net.weight.asnumpy().tolist()
    out, handle = comm_func.all_reduce(Tensor([1.0]), async_op=True)
    handle.wait()
    found["handle"] = out.asnumpy().tolist()


if __name__ == "__main__":
    main()
