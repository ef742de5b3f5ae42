"""Programs that keep numbers, attributes and Tensors from call to call."""

import collections
import copy
import dataclasses
import functools
import sys
import types

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from . import X, plain, program


@program
def copies(wrap):
    p = Parameter(Tensor([0.0, 0.0, 0.0]), name="p")

    def f(x):
        p.set_data(p + x)
        return p.copy(), p.clone(), copy.copy(p), copy.deepcopy(p), [Parameter(x * 2, name="q")]

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def parameter_value(wrap):
    p = Parameter(Tensor([0.0, 0.0, 0.0]), name="p")

    def f(x):
        ops.assign_add(p, x)
        return p.value(), p.asnumpy is not None, {"k": (p.copy(),)}, p

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def new_parameter_in_container(wrap):
    def f(x):
        return {"a": Parameter(x * 2, name="z")}

    call = wrap(f)
    return [plain(call(X() * i)) for i in range(3)]


@program
def tensor_attr(wrap):
    t = Tensor([1.0, 1.0, 1.0])
    t.scale = 1.0

    def f(x):
        return x * t * t.scale

    call = wrap(f)
    found = []
    for i in range(3):
        t.scale = float(i)
        found.append(plain(call(X())))
    return found


GLOB = 1.0


@program
def global_by_getattr(wrap):
    global GLOB
    mod = sys.modules[__name__]

    def f(x):
        return x * getattr(mod, "GL" + "OB")

    call = wrap(f)
    found = []
    for i in range(3):
        GLOB = float(i)
        found.append(plain(call(X())))
    GLOB = 1.0
    return found


@program
def class_by_getattr(wrap):
    class K:
        scale_a = 1.0
        scale_b = 2.0

    def f(x):
        return x * getattr(K, "scale_" + k)

    k = "a"
    call = wrap(f)
    found = []
    for q in "abab":
        k = q
        K.scale_a += 1
        found.append(plain(call(X())))
    return found


@program
def globals_dict(wrap):
    global GLOB

    def f(x):
        return x * globals()["GL" + "OB"]

    call = wrap(f)
    found = []
    for i in range(3):
        GLOB = float(i)
        found.append(plain(call(X())))
    GLOB = 1.0
    return found


@program
def primitive_tuple(wrap):
    pad = ops.Pad(((0, 1),))

    def f(x):
        return pad(x)

    call = wrap(f)
    found = [plain(call(X()))]
    for n in [k for k, v in pad.__dict__.items() if isinstance(v, tuple)]:
        setattr(pad, n, ((2, 2),))
    found.append(plain(call(X())))
    return found


@program
def counters(wrap):
    o = types.SimpleNamespace(
        n=0, tau=1.0, items=[], state=(ops.zeros(3), ops.ones(3)), d={"w": ops.zeros(3)}
    )

    def f(x):
        o.n += 1
        o.tau *= 0.99
        o.items.append(x.sum())
        h, c = o.state
        o.state = (h + x, c * 0.5)
        o.d["w"] = o.d["w"] * 0.9 + x * 0.1
        y = x * o.tau + o.n
        if o.n % 4 == 0:
            y = y * 2
        return y + o.state[0]

    call = wrap(f)
    return [plain(call(X() * i)) for i in range(9)] + [plain([o.n, o.tau, o.items, o.state, o.d])]


@program
def cell_counters(wrap):
    class N(nn.Cell):
        def __init__(s):
            super().__init__()
            s.n = 0
            s.tau = 1.0
            s.items = []
            s.st = (ops.zeros(3),)
            s.d = {}
            s.w = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")

        def construct(s, x):
            s.n += 1
            s.tau *= 0.9
            s.items.append(x.sum())
            s.st = (s.st[0] + x,)
            s.d["k"] = s.d.get("k", 0.0) + x
            s.d[s.n] = s.n
            return x * s.tau * s.w + s.n + s.st[0] + s.d["k"]

    n = N()
    call = wrap(n)
    return [plain(call(X() * i)) for i in range(8)] + [plain([n.n, n.tau, n.items, n.st, n.d])]


@program
def accum(wrap):
    net = nn.Dense(3, 1, weight_init="ones")
    opt = nn.SGD(net.trainable_params(), 0.1)
    vg = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    acc = [Parameter(ops.zeros_like(p), name="a" + p.name) for p in net.trainable_params()]
    o = types.SimpleNamespace(n=0)

    def f(x):
        items, gr = vg(x)
        for a, q in zip(acc, gr, strict=True):
            ops.assign_add(a, q)
        o.n += 1
        if o.n % 3 == 0:
            opt(tuple(acc))
            for a in acc:
                ops.assign(a, ops.zeros_like(a))
        return items

    call = wrap(f)
    return [plain(call(X().reshape(1, 3))) for i in range(9)] + [plain(net.weight)]


@dataclasses.dataclass(slots=True)
class DS:
    n: int = 0
    t: object = None


@program
def dataclass_slots(wrap):
    d = DS(0, ops.zeros(3))

    def f(x):
        d.n += 1
        d.t = d.t + x
        return x * d.n + d.t

    call = wrap(f)
    found = [plain(call(X())) for i in range(4)]
    d.n = 10
    found.append(plain(call(X())))
    return found + [d.n, plain(d.t)]


@dataclasses.dataclass
class DC:
    n: int = 0
    t: object = None
    items: list = dataclasses.field(default_factory=list)


@program
def dataclass_replace(wrap):
    o = types.SimpleNamespace(d=DC(1, ops.zeros(3)))

    def f(x):
        o.d = dataclasses.replace(o.d, n=o.d.n + 1, t=o.d.t + x)
        return x * o.d.n + o.d.t

    call = wrap(f)
    return [plain(call(X())) for i in range(4)] + [o.d.n, plain(o.d.t)]


@program
def dataclass_returned(wrap):
    def f(x):
        return DC(1, x * 2, [x])

    call = wrap(f)
    found = []
    for i in range(4):
        q = call(X() * i)
        found.append([q.n, plain(q.t), plain(q.items)])
    return found


NT = collections.namedtuple("NT", "a b")


@program
def namedtuple(wrap):
    o = types.SimpleNamespace(s=NT(ops.zeros(3), 1.0))

    def f(x):
        o.s = o.s._replace(a=o.s.a + x, b=o.s.b * 2)
        return o.s

    call = wrap(f)
    found = []
    for _i in range(5):
        q = call(X())
        found.append([type(q).__name__, plain(q.a), q.b])
    return found + [plain(o.s.a), o.s.b]


@program
def exception_attr(wrap):
    e = ValueError("a")
    e.n = 0

    def f(x):
        e.n += 1
        return x * e.n

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def partial_kw(wrap):
    kw = {"a": 1.0}
    p = functools.partial(lambda x, a: x * a, **kw)

    def f(x):
        return p(x)

    call = wrap(f)
    found = [plain(call(X()))]
    p.keywords["a"] = 5.0
    return found + [plain(call(X()))]


@program
def obj_arg(wrap):
    def f(x, o):
        o.n += 1
        return x * o.n

    call = wrap(f)
    a, b = types.SimpleNamespace(n=0), types.SimpleNamespace(n=5)
    return [plain(call(X(), o)) for o in (a, b, a, b, a)] + [a.n, b.n]


@program
def number_arg(wrap):
    def f(x, b):
        return x * b + 1

    call = wrap(f)
    return [
        plain(call(X(), b))
        for b in (
            0.1,
            0.2,
            0.3,
            0.4,
            5,
            6,
            7,
            True,
            False,
            1,
            1.0,
            float("nan"),
            float("inf"),
            -0.0,
            0.0,
            0.5,
        )
    ]


@program
def number_branch(wrap):
    def f(x, b):
        return x * b if b > 0.5 else x - b

    call = wrap(f)
    return [plain(call(X(), b)) for b in (0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.1, 0.9, 1, 2, 0, 0.3)]


@program
def number_returned(wrap):
    def f(x, b):
        return x * b, b, b * 2, [b]

    call = wrap(f)
    return [
        (plain(call(X(), b)), [type(q).__name__ for q in call(X(), b)])
        for b in (0.1, 0.2, 0.3, 0.4, 5, 6, 7)
    ]


@program
def dtype_promo(wrap):
    def f(x, b):
        return (
            (x * b).dtype == ms.float32,
            (x.astype(ms.int32) * b).dtype.__str__(),
            (x.astype(ms.float16) + b).dtype.__str__(),
            (x > b),
            x**b,
            b - x,
            b / x,
            x // b,
        )

    call = wrap(f)
    return [plain(call(X(), b)) for b in (0.5, 0.25, 0.75, 2, 3, 4)]


@program
def set_lr(wrap):
    net = nn.Dense(3, 1, weight_init="ones")
    opt = nn.SGD(net.trainable_params(), 0.1)
    vg = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    st = types.SimpleNamespace(n=0)

    def f(x):
        items, gr = vg(x)
        st.n += 1
        ops.assign(opt.learning_rate, Tensor(0.1 / st.n, ms.float32))
        opt(gr)
        return items

    call = wrap(f)
    return [plain(call(X().reshape(1, 3))) for i in range(5)] + [plain(net.weight)]


@program
def tensors_identity(wrap):
    t = ops.ones(3)
    o = types.SimpleNamespace(a=t, b=t)

    def f(x):
        o.a.add_(1)
        return x * o.b if o.a is o.b else x

    call = wrap(f)
    found = [plain(call(X())) for _ in range(3)]
    o.b = t.copy()
    found += [plain(call(X())) for _ in range(2)]
    return found
