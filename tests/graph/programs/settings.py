"""Programs that read the environment, threads, modules and settings."""

import contextvars
import ctypes
import functools
import itertools
import math
import os
import sys
import threading
import types

import numpy as np

import lamella as ms
from lamella import nn, ops

from . import X, plain, program


@program
def environ(wrap):
    def f(x):
        return x * float(os.environ.get("PROBE_K", "1"))

    call = wrap(f)
    found = []
    for i in range(3):
        os.environ["PROBE_K"] = str(i)
        found.append(plain(call(X())))
    return found


@program
def in_environ(wrap):
    def f(x):
        return x * 2 if "PROBE_Z" in os.environ else x

    call = wrap(f)
    found = []
    for i in range(4):
        if i % 2:
            os.environ["PROBE_Z"] = "1"
        else:
            os.environ.pop("PROBE_Z", None)
        found.append(plain(call(X())))
    return found


@program
def environ_data(wrap):
    def f(x):
        return x * float(os.environ._data[b"PROBE_K"])

    call = wrap(f)
    found = []
    for i in range(3):
        os.environ["PROBE_K"] = str(i)
        found.append(plain(call(X())))
    return found


@program
def set_environ(wrap):
    def f(x):
        os.environ["PROBE_S"] = "1"
        return x * 2

    call = wrap(f)
    found = []
    for _ in range(3):
        os.environ.pop("PROBE_S", None)
        call(X())
        found.append("PROBE_S" in os.environ)
    return found


@program
def thread_local(wrap):
    v = threading.local()
    v.k = 0.0

    def f(x):
        v.k += 1
        return x * v.k

    call = wrap(f)
    found = [plain(call(X())) for _ in range(4)] + [v.k]
    v.k = 9.0
    return found + [plain(call(X()))]


@program
def thread_local2(wrap):
    v = threading.local()
    v.k = 1.0

    def f(x):
        return x * getattr(v, "k", 100.0)

    call = wrap(f)
    found = [plain(call(X())) for _ in range(3)]
    t = threading.Thread(target=lambda: found.append(plain(call(X()))))
    t.start()
    t.join()
    return found + [plain(call(X()))]


@program
def thread_ident(wrap):
    def f(x):
        return x * (threading.get_ident() % 97)

    call = wrap(f)
    found = [plain(call(X()))]
    t = threading.Thread(
        target=lambda: found.append(plain(call(X())) == plain(X() * (threading.get_ident() % 97))),
        name="q",
    )
    t.start()
    t.join()
    return found[1]


@program
def thread_name(wrap):
    def f(x):
        return x * len(threading.current_thread().name)

    call = wrap(f)
    found = [plain(call(X()))]
    t = threading.Thread(target=lambda: found.append(plain(call(X()))), name="q")
    t.start()
    t.join()
    return found[1]


@program
def argv(wrap):
    def f(x):
        return x * len(sys.argv)

    call = wrap(f)
    found = []
    for _i in range(3):
        sys.argv.append("a")
        found.append(plain(call(X())))
    del sys.argv[-3:]
    return found


@program
def sysmodules(wrap):
    def f(x):
        return x * (2 if "probe_zz" in sys.modules else 1)

    call = wrap(f)
    found = [plain(call(X()))]
    sys.modules["probe_zz"] = types.ModuleType("probe_zz")
    found.append(plain(call(X())))
    del sys.modules["probe_zz"]
    return found + [plain(call(X()))]


@program
def number_of_ctypes(wrap):
    v = ctypes.c_int(0)

    def f(x):
        v.value += 1
        return x * v.value

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)]


@program
def np_print(wrap):
    np.set_printoptions(precision=8)

    def f(x):
        return x * len(str(np.pi * np.ones(1)))

    call = wrap(f)
    found = [plain(call(X())), plain(call(X()))]
    np.set_printoptions(precision=2)
    found.append(plain(call(X())))
    np.set_printoptions(precision=8)
    return found


@program
def import_inside(wrap):
    m = types.ModuleType("probe_mod2")
    m.n = 1.0
    sys.modules["probe_mod2"] = m

    def f(x):
        import probe_mod2

        return x * probe_mod2.n

    call = wrap(f)
    found = [plain(call(X()))]
    m.n = 2.0
    found.append(plain(call(X())))
    m2 = types.ModuleType("probe_mod2")
    m2.n = 9.0
    sys.modules["probe_mod2"] = m2
    return found + [plain(call(X()))]


@program
def context_var(wrap):
    v = contextvars.ContextVar("v", default=1.0)

    def f(x):
        return x * v.get()

    call = wrap(f)
    found = []
    for i in range(4):
        v.set(float(i))
        found.append(plain(call(X())))
    return found


@program
def context_var_set(wrap):
    v = contextvars.ContextVar("v", default=1.0)

    def f(x):
        v.set(v.get() + 1)
        return x * v.get()

    call = wrap(f)
    return [plain(call(X())) for _ in range(4)] + [v.get()]


@program
def get_context(wrap):
    def f(x):
        return x * (1 if ms.get_context("device_target") == "CPU" else 2)

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def set_context_inside(wrap):
    def f(x):
        ms.set_context(pynative_synchronize=not ms.get_context("pynative_synchronize"))
        return x * 2

    call = wrap(f)
    found = []
    for _ in range(4):
        call(X())
        found.append(ms.get_context("pynative_synchronize"))
    ms.set_context(pynative_synchronize=False)
    return found


@program
def seed_inside(wrap):
    def f(x):
        ms.set_seed(3)
        return x + ops.rand(3)

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def ops_with_globals(wrap):
    def f(x):
        return x + ms.get_seed() if ms.get_seed() else x

    call = wrap(f)
    found = []
    for i in range(1, 4):
        ms.set_seed(i)
        found.append(plain(call(X())))
    return found


@program
def monkeypatch_lib(wrap):
    o = math.sqrt

    def f(x):
        return x * math.sqrt(4.0)

    call = wrap(f)
    found = [plain(call(X()))]
    try:
        math.sqrt = lambda v: 7.0
        found.append(plain(call(X())))
    finally:
        math.sqrt = o
    return found + [plain(call(X()))]


@program
def monkeypatch_ops(wrap):
    o = ops.relu

    def f(x):
        return ops.relu(x)

    call = wrap(f)
    found = [plain(call(X()))]
    try:
        ops.relu = lambda x: x * 100
        found.append(plain(call(X())))
    finally:
        ops.relu = o
    return found + [plain(call(X()))]


@program
def monkeypatch_layer(wrap):
    n = nn.ReLU()
    o = nn.ReLU.construct

    def f(x):
        return n(x)

    call = wrap(f)
    found = [plain(call(X()))]
    try:
        nn.ReLU.construct = lambda s, x: x * 100
        found.append(plain(call(X())))
    finally:
        nn.ReLU.construct = o
    return found + [plain(call(X()))]


def _nine(values):
    return 9


@program
def shadow_builtin(wrap):
    global sum

    def f(x):
        return x * sum([1, 2])  # noqa: F821

    call = wrap(f)
    found = [plain(call(X()))]
    try:
        sum = abs.__class__ and _nine
        found.append(plain(call(X())))
    finally:
        del sum
    return found + [plain(call(X()))]


@program
def lru(wrap):
    n = [0]

    @functools.lru_cache
    def k(a):
        n[0] += 1
        return n[0]

    def f(x):
        return x * k(1)

    call = wrap(f)
    found = [plain(call(X())) for i in range(3)]
    k.cache_clear()
    return found + [plain(call(X())), plain(call(X()))]


@program
def cached_prop(wrap):
    class Thing:
        def __init__(s):
            s.n = 1.0

        @functools.cached_property
        def v(s):
            return s.n * 2

    o = Thing()

    def f(x):
        return x * o.v

    call = wrap(f)
    found = [plain(call(X()))]
    o.n = 5.0
    found.append(plain(call(X())))
    o.__dict__.pop("v", None)
    found.append(plain(call(X())))
    found.append("v" in o.__dict__)
    return found


@program
def itercount(wrap):
    c = itertools.count()

    def f(x):
        return x * next(c)

    call = wrap(f)
    return [plain(call(X())) for i in range(5)]


@program
def generators(wrap):
    def gen():
        n = 0
        while True:
            n += 1
            yield n

    c = gen()

    def f(x):
        return x * next(c)

    call = wrap(f)
    return [plain(call(X())) for i in range(5)]


@program
def numpy_errors_in_a_block(wrap):
    a, k = np.array([1.0, 0.0]), [1.0]

    def fn(x):
        try:
            with np.errstate(divide="raise", over="ignore"):
                first = (k[0] / a)[0]
        except FloatingPointError:
            return x * 2
        return x * float(first) + len(np.geterr()["divide"])

    call, found = wrap(fn), []
    for number in range(6):
        k[0], a[1] = float(number // 2 + 1), float(number > 2)
        found.append(plain(call(X())))
    return found, np.geterr()


@program
def numpy_errors_left_changed(wrap):
    opened = []

    def block():
        with np.errstate(over="raise"):
            yield

    def fn(x):
        if not opened:
            opened.append(block())
            next(opened[0])
        return x + len(np.geterr()["over"])

    call = wrap(fn)
    found = [plain(call(X())) for _ in range(4)]
    opened[0].close()
    return found, np.geterr()
