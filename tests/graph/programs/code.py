"""Programs whose classes and functions change, and state after a run that was not recorded."""

import abc
import functools
import queue
import sys
import types

import numpy as np

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from . import X, plain, program


@program
def swallowed(wrap):
    def f(x):
        try:
            v = float(x.asnumpy().sum())
        except:  # noqa: E722
            v = 0.0
        return x + v

    call = wrap(f)
    return [plain(call(X() * i)) for i in range(4)]


@program
def swallowed2(wrap):
    def f(x):
        try:
            v = float(str(x.sum()))
        except BaseException:
            v = 0.0
        finally:
            x = x + 1
        return x + v

    call = wrap(f)
    return [plain(call(X() * i)) for i in range(4)]


@program
def bprop_later(wrap):
    class N(nn.Cell):
        def construct(s, x):
            return x * x

    n = N()

    def f(x):
        return ms.grad(n)(x)

    call = wrap(f)
    found = [plain(call(X())), plain(call(X()))]
    N.bprop = lambda s, x, out, dout: (dout * 100,)
    return found + [plain(call(X()))]


@program
def construct_later(wrap):
    class N(nn.Cell):
        def construct(s, x):
            return x * x

    n = N()

    def f(x):
        return n(x)

    call = wrap(f)
    found = [plain(call(X()))]
    N.construct = lambda s, x: x * 3
    found.append(plain(call(X())))
    n.construct = lambda x: x * 7
    return found + [plain(call(X()))]


@program
def pandas_reach(wrap):

    class Odd:
        def __getattr__(s, n):
            raise RuntimeError(n)

        def __eq__(s, o):
            raise RuntimeError("eq")

        def __hash__(s):
            raise RuntimeError("hash")

        def __bool__(s):
            raise RuntimeError("bool")

        def __len__(s):
            raise RuntimeError("len")

    o = types.SimpleNamespace(odd=Odd(), items=[Odd()], k=1.0)

    def f(x):
        return x * o.k

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def sklearn_reach(wrap):
    from sklearn.preprocessing import StandardScaler

    sc = StandardScaler().fit(np.arange(6.0).reshape(3, 2))

    def f(x):
        return x * float(sc.mean_[0])

    call = wrap(f)
    found = [plain(call(X())) for _ in range(2)]
    sc.mean_[0] = 5.0
    found.append(plain(call(X())))
    sc.mean_ = np.array([7.0, 1.0])
    return found + [plain(call(X()))]


@program
def singledispatch(wrap):
    @functools.singledispatch
    def k(a):
        return 1.0

    def f(x):
        return x * k(1)

    call = wrap(f)
    found = [plain(call(X())), plain(call(X()))]
    k.register(int, lambda a: 5.0)
    return found + [plain(call(X()))]


@program
def property_setter(wrap):
    class Thing:
        def __init__(s):
            s._v = 1.0

        @property
        def v(s):
            return s._v

        @v.setter
        def v(s, q):
            s._v = q * 2

    o = Thing()

    def f(x):
        o.v = o.v + 1
        return x * o.v

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [o.v]


@program
def descriptor(wrap):
    class D:
        def __get__(s, o, k):
            return o.__dict__.get("q", 1.0)

        def __set__(s, o, v):
            o.__dict__["q"] = v + 1

    class Thing:
        d = D()

    o = Thing()

    def f(x):
        o.d = o.d * 2
        return x * o.d

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [o.d]


@program
def metaclass_attr(wrap):
    class M(type):
        k = 1.0

        @property
        def p(c):
            return c.k * 2

    class Thing(metaclass=M):
        pass

    def f(x):
        return x * Thing.k * Thing.p

    call = wrap(f)
    found = []
    for i in range(3):
        M.k = float(i)
        found.append(plain(call(X())))
    return found


@program
def func_attr(wrap):
    def f(x):
        f.n = getattr(f, "n", 0) + 1
        return x * f.n

    call = wrap(f)
    found = [plain(call(X())) for _ in range(4)]
    f.n = 10
    return found + [plain(call(X()))]


@program
def nonlocal_number(wrap):
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    call = wrap(f)
    found = [plain(call(X())) for _ in range(4)]
    n = 10
    return found + [plain(call(X()))]


@program
def module_state(wrap):
    m = types.ModuleType("probe_mod")
    m.n = 0
    sys.modules["probe_mod"] = m
    exec("def up():\n    global n\n    n += 1\n    return n", m.__dict__)

    def f(x):
        return x * m.up()

    call = wrap(f)
    found = [plain(call(X())) for _ in range(4)]
    m.n = 10
    return found + [plain(call(X()))]


@program
def isinstance_sub(wrap):
    class Thing:
        def __init__(s):
            s.k = 1.0

    class O2(Thing):
        pass

    h = types.SimpleNamespace(o=Thing())

    def f(x):
        return x * 3 if isinstance(h.o, O2) else x

    call = wrap(f)
    found = [plain(call(X()))]
    h.o.__class__ = O2
    found.append(plain(call(X())))
    return found


@program
def code_changed(wrap):
    def h(x):
        return x * 2

    def f(x):
        return h(x)

    call = wrap(f)
    found = [plain(call(X()))]
    h.__code__ = (lambda x: x * 7).__code__
    return found + [plain(call(X()))]


@program
def abc_register(wrap):
    class A(abc.ABC):  # noqa: B024
        pass

    class B:
        pass

    b = B()

    def f(x):
        return x * 2 if isinstance(b, A) else x

    call = wrap(f)
    found = [plain(call(X()))]
    A.register(B)
    return found + [plain(call(X()))]


@program
def bases_changed(wrap):
    class A:
        k = 1.0

    class A2:
        k = 2.0

    class Z:
        pass

    class B(Z, A):
        pass

    b = B()

    def f(x):
        return x * b.k

    call = wrap(f)
    found = [plain(call(X()))]
    B.__bases__ = (Z, A2)
    return found + [plain(call(X()))]


@program
def getattribute(wrap):
    class Thing:
        def __init__(s):
            s.n = 0

        def __getattribute__(s, k):
            if k == "v":
                s.n += 1
                return s.n
            return object.__getattribute__(s, k)

    o = Thing()

    def f(x):
        return x * o.v

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def setattr(wrap):
    class Thing:
        def __setattr__(s, k, v):
            log.append(k)
            object.__setattr__(s, k, v)

    log = []
    o = Thing()
    o.v = 0

    def f(x):
        o.v += 1
        return x * o.v

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [len(log)]


@program
def exc_state(wrap):
    o = types.SimpleNamespace(n=0)

    def f(x):
        o.n += 1
        if o.n % 2:
            raise ValueError(str(o.n))
        return x * o.n

    call = wrap(f)
    found = []
    for _ in range(6):
        try:
            found.append(plain(call(X())))
        except ValueError as e:
            found.append(str(e))
    return found


@program
def kernel_error(wrap):
    o = types.SimpleNamespace(n=0)
    w = Parameter(Tensor([0.0, 0.0, 0.0]), name="w")

    def f(x, i):
        o.n += 1
        ops.assign_add(w, x)
        return ops.gather(x, i, 0)

    call = wrap(f)
    found = []
    for k in (0, 1, 2, 7, 1, 9, 0):
        try:
            found.append(plain(call(X(), Tensor([k], ms.int32))))
        except Exception as e:
            found.append(type(e).__name__)
        found.append((o.n, plain(w)))
    return found


@program
def refused_once(wrap):
    q = []
    s = queue.Queue()

    def f(x):
        s.put(1)
        q.append(1)
        return x * float(x.asnumpy().sum())

    call = wrap(f)
    call(X())
    a = (s.qsize(), len(q))
    call(X())
    return a, (s.qsize(), len(q))


@program
def refused_param(wrap):
    p = Parameter(Tensor([0.0]), name="p")

    def f(x):
        ops.assign_add(p, Tensor([1.0]))
        x.asnumpy()
        ops.assign_add(p, Tensor([1.0]))
        return x

    call = wrap(f)
    found = []
    for _ in range(3):
        call(X())
        found.append(plain(p))
    return found
