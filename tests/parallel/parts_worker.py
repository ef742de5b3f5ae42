"""The program that each process runs in test_parts.py: Parameters cut in parts."""

import contextlib
import json

import numpy as np
from torch.multiprocessing.reductions import StorageWeakRef

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.communication import exchange
from lamella.parallel import parts, strategy
from lamella.parallel.on_use import Uses
from tests.worlds import error_of


class Net(nn.Cell):
    """A network with weights that can be cut, one that can't, and one that is used twice."""

    def __init__(self):
        super().__init__()
        ramp = Tensor(np.linspace(-1, 1, 24).reshape(6, 4), ms.float32)
        self.first = nn.Dense(4, 6, weight_init=ramp, bias_init="zeros")
        self.twice = ms.Parameter(Tensor(np.linspace(-1, 1, 36).reshape(6, 6), ms.float32))
        self.norm = nn.LayerNorm((6,))
        # not ones: with equal weights nothing but rounding would reach the layers below the norm
        uneven = Tensor(np.cos(np.arange(18.0)).reshape(3, 6), ms.float32)
        self.last = nn.Dense(6, 3, weight_init=uneven, bias_init="zeros")  # 3 can't be cut in 2

    def construct(self, x):
        x = ops.tanh(self.first(x))
        x = ops.tanh(ops.matmul(x, self.twice))
        return self.last(self.norm(ops.tanh(ops.matmul(x, self.twice))))


def batch(number, rows=slice(None)):
    rng = np.random.default_rng(number)
    x, y = rng.standard_normal((8, 4)), rng.standard_normal((8, 3))
    return Tensor(x[rows], ms.float32), Tensor(y[rows], ms.float32)


def optimizer_of(kind, net):
    if kind == "Adam":
        return nn.Adam(net.trainable_params(), nn.cosine_decay_lr(0.01, 0.05, 4, 2, 2),
                       weight_decay=0.01)
    if kind == "Momentum":
        return nn.Momentum(net.trainable_params(), 0.05, 0.9)
    if kind == "AdamWeightDecay":
        return nn.AdamWeightDecay(net.trainable_params(), 0.001, weight_decay=0.1)
    return nn.Lamb(net.trainable_params(), 0.05)


def state_of(step):
    return {p.name: p.asnumpy().tolist() for p in step.get_parameters()}


def train(kind, rows, clips=False, later=False, steps=4, compiled=False,
          recomputes=False, put_off=False):
    """Train by `TrainOneStepCell`, or by a loop of one's own that clips gradients."""
    with nn.no_init_parameters() if put_off else contextlib.nullcontext():
        net = Net()
    if recomputes:
        net.first.recompute()
    optimizer = optimizer_of(kind, net)
    if put_off:  # cut before there are values
        gamma = net.norm.gamma
        assert gamma.has_init and gamma._data.numel() == 3 and gamma.shape == (6,)
    if later:  # the optimizer has its states before the Parameters are cut
        parts.place(net.trainable_params(), parts.placement_of())
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    call = ms.jit(step) if compiled else step
    reducer = nn.DistributedGradReducer(optimizer.parameters)
    loss = nn.MSELoss()
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
    for number in range(steps):
        if clips:
            _, gradients = gradient(*batch(number, rows))
            optimizer(ops.clip_by_global_norm(reducer(gradients), 0.05))
        else:
            call(*batch(number, rows))
    assert not compiled or call.report()["replays"] == steps - 1
    return step


def scaled(rank):
    """Whether an infinite gradient in one process's part is seen by both."""
    net = Net()
    step = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9),
        nn.DynamicLossScaleUpdateCell(2.0**12, 2, 100))
    x, y = batch(0)
    found = [bool(step(x * (float("inf") if rank else 1.0), y)[1]), bool(step(x, y)[1])]
    gradients = ms.grad(lambda x: net(x).sum(), None, net.trainable_params())(x)
    finite = bool(ms.amp.all_finite(gradients))
    return [*found, finite, float(step.scale_sense.value())]


class Deep(nn.Cell):
    """Layers of one size, of which only a few may be gathered at a time."""

    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell([nn.Dense(16, 16, has_bias=False, weight_init="ones",
                                                  activation="tanh") for _ in range(8)])

    def construct(self, x):
        return self.layers(x * 0.01)


def most_wholes():
    """The largest number of gathered weights at a time, while a deep network was trained."""
    alive, most, gather = [], [0], Uses._gather

    def noted(self, part):
        whole = gather(self, part)
        alive.append(StorageWeakRef(whole.untyped_storage()))
        most.append(sum(not each.expired() for each in alive))
        return whole

    net = Deep()
    step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.01, 0.9))
    Uses._gather = noted
    try:
        step(ops.ones((2, 16)))
    finally:
        Uses._gather = gather
    return len(alive), max(most)


def told_layouts(step):
    """How all processes hold Parameters, as the program is told."""
    before = strategy.get_strategy_metadata(step)
    strategy.enable_save_strategy_online()
    found = [{rank: {name: [layout.to_dict(), kind, shape] for name, (layout, kind, shape)
                     in named.items()} for rank, named in told.items()}
             for told in (strategy.get_strategy_metadata(step),
                          strategy.get_current_strategy_metadata(step))]
    strategy.clear_strategy_metadata()
    return [before, *found, strategy.get_current_strategy_metadata(step)]


WAYS = {"": {}, "compiled": {"compiled": True}, "put off": {"put_off": True},
        "clipped": {"clips": True}, "recomputed": {"recomputes": True}}


def levels(found, rows, asked):
    """The cases that are asked for at levels 1 and 3, where weights are gathered on use."""
    found["layouts"] = told_layouts(train("Momentum", rows, steps=1))
    for level in ("level1", "level3"):
        ms.set_auto_parallel_context(parallel_optimizer_config={"optimizer_level": level})
        for kind in ("Adam", "Momentum"):
            for way, options in WAYS.items():
                if (case := f"{kind} {level} {way}".strip()) in asked:
                    found[case] = state_of(train(kind, rows, **options))


def on_use(found, rows):
    """How often weights are gathered at level 3, and derivatives by them."""
    found["wholes"] = most_wholes()
    net = train("Momentum", rows, steps=0).network._backbone
    x = batch(0, rows)[0]
    out, pull = ms.vjp(net, x, weights=net.trainable_params())
    by_weights = [pull(ops.ones_like(out))[1] for _ in range(2)]  # it may be called again
    plain = ms.grad(lambda x: net(x).sum(), None, net.trainable_params())(x)
    found["pulled"] = [[[float(abs(g.sum())) for g in gradients] for gradients in by_weights],
                       [float(abs(g.sum())) for g in plain]]
    found["second order"] = second_order(net, rows)
    found["assigned"] = assigned(net)


def second_order(net, rows):
    found = ms.grad(lambda x: (ms.grad(lambda y: net(y).sum())(x) ** 2).sum(), None,
                    net.trainable_params()[0])(batch(0, rows)[0])
    return getattr(found._raw, "full_tensor", lambda: found._raw)().tolist()


def assigned(net):
    """The gradient by a weight that is assigned after it was used."""
    def loss(x):
        hidden = ops.tanh(ops.matmul(x, net.twice))
        found = (ops.matmul(hidden, net.twice) ** 2).sum()
        ops.assign(net.twice, ops.zeros((6, 6)))
        return found

    x = Tensor(np.linspace(-1, 1, 12).reshape(2, 6), ms.float32)
    found, = ms.grad(loss, None, [net.twice])(x)
    return getattr(found._raw, "full_tensor", lambda: found._raw)().tolist()


def main(folder, asked):
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    ms.set_auto_parallel_context(
        parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=True,
        parallel_optimizer_config={"parallel_optimizer_threshold": 0})
    rows, found = slice(8 // size * rank, 8 // size * (rank + 1)), {}
    if size == 4:
        ms.set_auto_parallel_context(parallel_optimizer_config={"optimizer_weight_shard_size": 2})
        levels(found, rows, asked)
        print(json.dumps(found))
        return
    for kind in ("Adam", "Momentum", "AdamWeightDecay"):
        step = train(kind, rows)
        found[kind] = state_of(step)
        if kind == "Adam":
            found["shapes"] = {p.name: [list(p.shape), list(p._data.shape)]
                               for p in step.get_parameters()}
            found["printed"] = str(step.network.trainable_params()[0])
            path = f"{folder}/process_{rank}.ckpt"
            ms.save_checkpoint(step, path)
            again = train("Adam", rows, steps=0)
            ms.load_param_into_net(again, ms.load_checkpoint(path))
            found["loaded"] = state_of(again)
            again = train("Adam", rows, steps=0, put_off=True)
            ms.load_param_into_net(again, ms.load_checkpoint(path))
            found["loaded when put off"] = state_of(again)
            found["predicted"] = step.network._backbone(batch(9)[0]).asnumpy().tolist()
    for kind in ("Adam", "Momentum"):
        found[f"{kind} compiled"] = state_of(train(kind, rows, compiled=True))
    found["clipped"] = state_of(train("Adam", rows, clips=True))
    found["scaled"] = scaled(rank)
    found["lamb"] = error_of(train, "Lamb", rows)
    ms.set_auto_parallel_context(enable_parallel_optimizer=False)
    found["later"] = state_of(train("Adam", rows, later=True))
    net = train("Momentum", rows, later=True, steps=0)
    found["wrong"] = error_of(net.network.trainable_params()[0].set_data, ops.ones((2, 2)))
    seen = []
    exchange.watcher = seen.append
    net(*batch(0, rows))
    exchange.watcher = None
    found["bytes"] = [[each.kind, each.nbytes] for each in seen]
    ms.set_auto_parallel_context(enable_parallel_optimizer=True)
    levels(found, rows, asked)
    on_use(found, rows)
    print(json.dumps(found))


if __name__ == "__main__":
    import sys

    main(sys.argv[1], json.loads(sys.argv[2]))
