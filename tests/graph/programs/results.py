"""Programs with gradients, hooks, sizes by values, and what a program gives back."""

import copy
import types

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from . import X, plain, program


@program
def grad_lambda(wrap):
    w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

    def f(x):
        y = ms.grad(lambda t: (t * w).sum() ** 2)(x)
        ops.assign_add(w, x)
        return y

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def grad_lambda_closure(wrap):
    o = types.SimpleNamespace(k=1.0)

    def f(x):
        k = o.k

        def loss(t):
            return (t * k).sum() ** 2

        o.k += 1
        return ms.value_and_grad(loss)(x)

    call = wrap(f)
    return [plain(call(X())) for _ in range(5)]


@program
def deepcopy_net(wrap):
    net = nn.Dense(3, 2, weight_init="ones")

    def f(x):
        c = copy.deepcopy(net)
        net.weight.set_data(net.weight * 2)
        return c(x.reshape(1, 3))

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def hooks_toggle(wrap):
    net = nn.Dense(3, 2, weight_init="ones")

    def f(x):
        return net(x.reshape(1, 3))

    call = wrap(f)
    found = []
    for i in range(6):
        if i % 2:
            h = net.register_forward_hook(lambda c, i, o: o * 5)
        found.append(plain(call(X())))
        if i % 2:
            h.remove()
    return found


@program
def hook_inside(wrap):
    net = nn.Dense(3, 2, weight_init="ones")
    seen = []

    def f(x):
        h = net.register_forward_hook(lambda c, i, o: seen.append(o) or None)
        try:
            return net(x.reshape(1, 3))
        finally:
            h.remove()

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [len(seen), plain(seen)]


@program
def train_toggle_inside(wrap):
    net = nn.SequentialCell(nn.BatchNorm1d(3), nn.Dense(3, 2, weight_init="ones"))

    def f(x):
        net.set_train(not net.training)
        return net(ops.stack((x, x * 2)))

    call = wrap(f)
    return [plain(call(X())) for _ in range(6)] + [net.training]


@program
def requires_grad_inside(wrap):
    p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")

    def f(x):
        p.requires_grad = not p.requires_grad
        return x * 2 if p.requires_grad else x

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [p.requires_grad]


@program
def nonzero(wrap):
    def f(x):
        i = ops.nonzero(x > 0)
        return x.sum() + i.shape[0], i

    call = wrap(f)
    return [plain(call(X() * s)) for s in (1, 1, -1, -1, 0, 1)]


@program
def mask(wrap):
    def f(x):
        y = x[x > 0]
        return y * 2, y.sum(), (x * 2).sum()

    call = wrap(f)
    return [plain(call(X() * s)) for s in (1, 1, -1, -1, 0, 1)]


@program
def unique(wrap):
    def f(x):
        y, i = ops.unique(x)
        return y * 2, i

    call = wrap(f)
    return [
        plain(call(t)) for t in (X(), X(), Tensor([1.0, 1.0, 2.0]), Tensor([1.0, 1.0, 1.0]), X())
    ]


@program
def returns_same(wrap):
    o = types.SimpleNamespace(t=ops.zeros(3))

    def f(x):
        o.t = x * 2
        return o.t

    call = wrap(f)
    found = []
    for i in range(4):
        q = call(X() * i)
        found.append((q is o.t, plain(q)))
    return found


@program
def returns_arg(wrap):
    def f(x):
        return x, [x]

    call = wrap(f)
    found = []
    for _i in range(4):
        a = X()
        q = call(a)
        found.append((q[0] is a, q[1][0] is a))
    return found


@program
def returns_held(wrap):
    t = ops.ones(3)

    def f(x):
        t.add_(x)
        return t

    call = wrap(f)
    found = []
    for _i in range(4):
        q = call(X())
        found.append((q is t, plain(q)))
    return found


@program
def list_returned_is_state(wrap):
    o = types.SimpleNamespace(items=[])

    def f(x):
        o.items.append(x * 2)
        return o.items

    call = wrap(f)
    found = []
    for _i in range(4):
        q = call(X())
        found.append((q is o.items, len(q)))
    return found


@program
def lambdas_made(wrap):
    o = types.SimpleNamespace(fn=None)

    def f(x):
        if o.fn is None:
            k = 2.0
            o.fn = lambda v: v * k
        return o.fn(x)

    call = wrap(f)
    found = [plain(call(X())) for _ in range(3)]
    o.fn = None
    return found + [plain(call(X())), plain(call(X()))]


@program
def cell_made_lazily(wrap):
    o = types.SimpleNamespace(net=None)

    def f(x):
        if o.net is None:
            o.net = nn.Dense(3, 2, weight_init="ones")
        return o.net(x.reshape(1, 3))

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def obj_made(wrap):
    class Thing:
        def __init__(s, v):
            s.v = v

    o = types.SimpleNamespace(last=Thing(ops.zeros(3)))

    def f(x):
        o.last = Thing(o.last.v + x)
        return o.last.v

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [plain(o.last.v)]


@program
def train_step(wrap):
    net = nn.Dense(3, 2, weight_init="ones")
    loss = nn.MSELoss()
    o = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    s = nn.TrainOneStepCell(nn.WithLossCell(net, loss), o)
    s.set_train()

    def f(x):
        return s(x.reshape(1, 3), ops.ones((1, 2)))

    call = wrap(f)
    return [plain(call(X())) for i in range(4)] + [plain(net.weight)]


@program
def the_same_argument_twice(wrap):
    a, b = ops.ones(3), ops.ones(3) * 2
    ways = [lambda x, y: x + y if x is not y else x * 10,
            lambda x, y: x + y * len({x, y}),
            lambda x, y: x + y * {x: 1.0, y: 2.0}[x],
            lambda x, y: x + y if not any(x is t for t in [y]) else x * 10]
    return [plain(call(*pair)) for call in map(wrap, ways) for _ in range(2)
            for pair in ((a, b), (a, a), (b, b), (b, a))]
