"""Programs that read and mutate lists, dicts, arrays and other containers."""

import array
import collections
import heapq
import types
import weakref

import numpy as np

from lamella import Tensor, ops

from . import X, plain, program


@program
def defaultdict_list(wrap):
    d = collections.defaultdict(list)

    def f(x):
        d["a"].append(x.sum())
        return x * len(d["a"])

    call = wrap(f)
    found = [plain(call(X())) for _ in range(5)] + [plain(dict(d))]
    d.clear()
    return found + [plain(call(X())), plain(dict(d)), type(d["q"]).__name__]


@program
def ordered(wrap):
    d = collections.OrderedDict(a=1.0, b=2.0)

    def f(x):
        d.move_to_end(next(iter(d)))
        return x * list(d.values())[0]

    call = wrap(f)
    return [plain(call(X())) for _ in range(5)] + [list(d)]


@program
def counter_of_letters(wrap):
    d = collections.Counter()

    def f(x):
        d["a"] += 1
        d.update("ab")
        return x * d["a"] + d["b"]

    call = wrap(f)
    return [plain(call(X())) for _ in range(5)] + [dict(d)]


@program
def chainmap(wrap):
    d = collections.ChainMap({"a": 1.0}, {"b": 2.0})

    def f(x):
        return x * d["a"] * d["b"]

    call = wrap(f)
    found = []
    for i in range(4):
        d.maps[i % 2]["ab"[i % 2]] += 1
        found.append(plain(call(X())))
    return found


@program
def np_inplace(wrap):
    a = np.ones(3, np.float32)

    def f(x):
        a[0] += 1
        return x + Tensor(a)

    call = wrap(f)
    return [plain(call(X())) for _ in range(5)] + [plain(a)]


@program
def np_changed_big(wrap):
    a = np.ones(100000, np.float32)
    o = types.SimpleNamespace(a=a)

    def f(x):
        return x + float(o.a[5]) + Tensor(o.a[:3])

    call = wrap(f)
    found = []
    for i in range(4):
        a[5] += 1
        a[i % 3] += 1
        found.append(plain(call(X())))
    return found


@program
def np_view_write(wrap):
    a = np.ones((4, 3), np.float32)
    v = a[1]

    def f(x):
        np.add(v, 1, out=v)
        return x + Tensor(a[1])

    call = wrap(f)
    return [plain(call(X())) for i in range(4)] + [plain(a)]


@program
def np_flags(wrap):
    a = np.zeros(3)

    def f(x):
        return x * (2 if a.flags.writeable else 1)

    call = wrap(f)
    found = []
    for i in range(4):
        a.flags.writeable = bool(i % 2)
        found.append(plain(call(X())))
    return found


@program
def big_list(wrap):
    o = types.SimpleNamespace(
        items=[1.0] * 5000, d={i: 1.0 for i in range(5000)}, s=set(range(5000))
    )

    def f(x):
        return x * o.items[3] + o.d[7] + (5 if 3 in o.s else 0) + len(o.items)

    call = wrap(f)
    found = []
    for _i in range(4):
        o.items[3] += 1
        o.d[7] += 1
        o.s ^= {3}
        o.items.append(1.0)
        found.append(plain(call(X())))
    return found


@program
def big_list_append(wrap):
    o = types.SimpleNamespace(items=[1.0] * 5000)

    def f(x):
        o.items.append(x.sum())
        return x + len(o.items)

    call = wrap(f)
    found = [plain(call(X())) for i in range(4)]
    return found + [plain(o.items[-4:])]


@program
def growing_list(wrap):
    o = types.SimpleNamespace(items=[])

    def f(x):
        for _ in range(400):
            o.items.append(1.0)
        return x + len(o.items)

    call = wrap(f)
    return [plain(call(X())) for i in range(6)]


@program
def heap(wrap):
    h = [3, 2, 1]
    heapq.heapify(h)

    def f(x):
        heapq.heappush(h, len(h))
        return x * heapq.heappop(h)

    call = wrap(f)
    return [plain(call(X())) for i in range(6)] + [h]


@program
def sorts(wrap):
    h = [3.0, 4.0, 1.0]

    def f(x):
        h.sort()
        h.reverse()
        h[0] = h[-1] - 1
        return x * h[0]

    call = wrap(f)
    return [plain(call(X())) for i in range(6)] + [h]


@program
def bytearrays(wrap):
    b = bytearray(b"abc")
    a = array.array("d", [1.0, 2.0])

    def f(x):
        b[0] += 1
        a[0] += 1
        a.append(1.0)
        b.append(1)
        return x * b[0] + a[0] + len(a)

    call = wrap(f)
    return [plain(call(X())) for i in range(6)] + [bytes(b), list(a)]


@program
def memview(wrap):
    b = bytearray(b"abc")
    m = memoryview(b)

    def f(x):
        m[0] += 1
        return x * b[0]

    call = wrap(f)
    return [plain(call(X())) for i in range(6)] + [bytes(b)]


@program
def weakdict(wrap):
    class Thing:
        pass

    k = Thing()
    d = weakref.WeakKeyDictionary({k: 1.0})
    pass

    def f(x):
        d[k] = d[k] + 1
        return x * d[k]

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def dict_pop(wrap):
    d = {"a": 1.0, "b": 2.0}

    def f(x):
        d["c"] = d.pop("a")
        d["a"] = 3.0
        d.setdefault("z", len(d))
        return x * d["c"]

    call = wrap(f)
    return [plain(call(X())) for _ in range(5)] + [list(d.items())]


@program
def set_arg(wrap):
    def f(x, s):
        return x * len(s) * sum(s)

    call = wrap(f)
    return [plain(call(X(), s)) for s in ({1}, {1, 2}, {2}, {1})]


@program
def list_arg_changed(wrap):
    def f(x, items):
        items.append(x * 2)
        return x

    call = wrap(f)
    items = []
    [call(X() * i, items) for i in range(4)]
    return plain(items)


@program
def deque_tensors(wrap):
    d = collections.deque([ops.zeros(3)], maxlen=3)

    def f(x):
        d.append(d[-1] + x)
        return sum(d[i] for i in range(len(d)))

    call = wrap(f)
    return [plain(call(X())) for _ in range(6)] + [plain(d)]


@program
def list_sub_attr(wrap):
    class N(list):
        pass

    o = N([1.0])
    o.s = 1.0

    def f(x):
        return x * o.s

    call = wrap(f)
    found = []
    for i in range(3):
        o.s = float(i)
        found.append(plain(call(X())))
    return found


@program
def str_sub_attr(wrap):
    class N(str):
        pass

    class Whole(int):
        pass

    class T(tuple):
        pass

    o = N("a")
    i_ = Whole(3)
    t = T((1, 2))
    for q in (o, i_, t):
        q.s = 1.0

    def f(x):
        return x * o.s + i_.s + t.s

    call = wrap(f)
    found = []
    for i in range(6):
        (o, i_, t)[i % 3].s = float(i)
        found.append(plain(call(X())))
    return found


@program
def overlapping(wrap):
    def f(p, q):
        p.fill_(1)
        return q * 2

    call = wrap(f)
    found = []
    for off in (1, 0, 2, 1):
        a = np.zeros(6, np.float32)
        found.append(plain(call(Tensor.from_numpy(a), Tensor.from_numpy(a[off:]))))
    a = np.zeros(6, np.float32)
    b = np.zeros(6, np.float32)
    found.append(plain(call(Tensor.from_numpy(a), Tensor.from_numpy(b))))
    found.append(plain(call(Tensor.from_numpy(a), Tensor.from_numpy(a[1:]))))
    return found


@program
def overlapping_held(wrap):
    a = np.zeros(6, np.float32)
    h = Tensor.from_numpy(a[2:])

    def f(p):
        p.add_(1)
        return h * 2

    call = wrap(f)
    return [plain(call(Tensor.from_numpy(a))) for _ in range(3)] + [
        plain(call(Tensor.from_numpy(a[:4]))) for _ in range(3)
    ]


@program
def views_held(wrap):
    base = Tensor(np.zeros(6, np.float32))
    v = base[1:4]

    def f(x):
        base[0:3] = x
        return v + x

    call = wrap(f)
    return [plain(call(X() * i)) + plain(base) for i in range(4)]
