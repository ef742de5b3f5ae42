"""Programs with side effects outside: files, queues, logs, warnings."""

import contextlib
import csv
import io
import logging
import os
import pathlib
import queue
import socket
import sys
import tempfile
import threading
import time
import types
import warnings
import weakref

import numpy as np

import lamella as ms
from lamella import nn

from . import X, plain, program


@program
def save_ckpt(wrap):
    d = tempfile.mkdtemp()
    net = nn.Dense(3, 2, weight_init="ones")

    def f(x):
        ms.save_checkpoint(net, os.path.join(d, "a.ckpt"))
        return net(x.reshape(1, 3))

    call = wrap(f)
    found = []
    for _ in range(3):
        plain(call(X()))
        found.append(sorted(os.listdir(d)))
        os.remove(os.path.join(d, "a.ckpt"))
    return found


@program
def load_ckpt(wrap):
    d = tempfile.mkdtemp()
    net = nn.Dense(3, 2, weight_init="ones")
    f_ = os.path.join(d, "a.ckpt")

    def f(x):
        return ms.load_checkpoint(f_)["weight"] * x

    found = []
    call = wrap(f)
    for _i in range(3):
        net.weight.set_data(net.weight * 2)
        ms.save_checkpoint(net, f_)
        found.append(plain(call(X())))
    return found


@program
def np_save(wrap):
    d = tempfile.mkdtemp()
    fn = os.path.join(d, "a.npy")

    def f(x):
        np.save(fn, np.ones(3))
        return x * 2

    call = wrap(f)
    found = []
    for _ in range(3):
        call(X())
        found.append(os.path.exists(fn))
        os.remove(fn) if found[-1] else 0
    return found


@program
def path_read(wrap):
    p = pathlib.Path(tempfile.mkdtemp()) / "a"

    def f(x):
        return x * float(p.read_text())

    call = wrap(f)
    found = []
    for i in range(3):
        p.write_text(str(i))
        found.append(plain(call(X())))
    return found


@program
def path_exists(wrap):
    p = pathlib.Path(tempfile.mkdtemp()) / "a"

    def f(x):
        return x * 2 if p.exists() else x

    call = wrap(f)
    found = []
    for i in range(4):
        if i % 2:
            p.write_text("a")
        else:
            p.unlink(missing_ok=True)
        found.append(plain(call(X())))
    return found


@program
def queue_put(wrap):
    q = queue.Queue()

    def f(x):
        q.put(1)
        return x * 2

    call = wrap(f)
    return [(plain(call(X())), q.qsize()) for _ in range(4)]


@program
def queue_get(wrap):
    q = queue.Queue()
    [q.put(float(i)) for i in range(9)]

    def f(x):
        return x * q.get()

    call = wrap(f)
    return [(plain(call(X())), q.qsize()) for _ in range(4)]


@program
def simple_queue(wrap):
    q = queue.SimpleQueue()

    def f(x):
        q.put(1)
        return x * 2

    call = wrap(f)
    return [(plain(call(X())), q.qsize()) for _ in range(4)]


@program
def logs(wrap):
    out = []

    class H(logging.Handler):
        def emit(self, found):
            out.append(found.getMessage())

    lg = logging.getLogger("probe" + str(time.time()))
    lg.setLevel(20)
    lg.propagate = False
    lg.addHandler(H())

    def f(x):
        lg.info("hi")
        lg.debug("no")
        return x * 2

    call = wrap(f)
    return [(plain(call(X())), len(out)) for _ in range(4)]


@program
def logs_level_changes(wrap):
    out = []

    class H(logging.Handler):
        def emit(self, found):
            out.append(found.getMessage())

    lg = logging.getLogger("probe2" + str(time.time()))
    lg.setLevel(30)
    lg.propagate = False
    lg.addHandler(H())

    def f(x):
        lg.info("hi")
        return x * 2

    call = wrap(f)
    found = []
    for i in range(5):
        if i == 3:
            lg.setLevel(10)
        found.append((plain(call(X())), len(out)))
    return found


@program
def file_write(wrap):
    fn = tempfile.mktemp()
    h = open(fn, "w")

    def f(x):
        h.write("a")
        h.flush()
        return x * 2

    call = wrap(f)
    [call(X()) for _ in range(4)]
    h.close()
    return pathlib.Path(fn).read_text()


@program
def csv_write(wrap):
    s = io.StringIO()
    w = csv.writer(s)

    def f(x):
        w.writerow([1, 2])
        return x * 2

    call = wrap(f)
    [call(X()) for _ in range(4)]
    return s.getvalue()


@program
def stdout_write(wrap):
    s = sys.stdout
    sys.stdout = io.StringIO()

    def f(x):
        sys.stdout.write("a")
        return x * 2

    try:
        call = wrap(f)
        [call(X()) for _ in range(4)]
        return sys.stdout.getvalue()
    finally:
        sys.stdout = s


@program
def print_file(wrap):
    s = io.StringIO()

    def f(x):
        print("a", x * 2, file=s, end=";")
        return x * 2

    call = wrap(f)
    [call(X() * i) for i in range(4)]
    return s.getvalue()


GLOB = 1.0


@program
def print_redirect(wrap):
    def f(x):
        print("a", GLOB, x)
        return x * 2

    call = wrap(f)
    found = []
    for i in range(4):
        with contextlib.redirect_stdout(io.StringIO()) as s:
            call(X() * i)
        found.append(s.getvalue())
    return found


@program
def print_alias(wrap):
    pr = print

    def f(x):
        pr("n", x)
        return x * 2

    call = wrap(f)
    found = []
    for i in range(4):
        with contextlib.redirect_stdout(io.StringIO()) as s:
            call(X() * i)
        found.append(s.getvalue())
    return found


@program
def warns(wrap):
    def f(x):
        warnings.warn("hi", stacklevel=1)
        return x * 2

    call = wrap(f)
    found = []
    for _ in range(4):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            call(X())
        found.append(sum("hi" == str(a.message) for a in w))
    return found


@program
def warns_in_lib(wrap):
    def f(x):
        return x * float(np.sqrt(np.float64(-1.0)) > 0)

    call = wrap(f)
    found = []
    for _ in range(4):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            call(X())
        found.append(sum("invalid" in str(a.message) for a in w))
    return found


@program
def catch_warnings_inside(wrap):
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("hi", stacklevel=1)
        return x * len(w)

    call = wrap(f)
    return [plain(call(X())) for _ in range(3)]


@program
def filters(wrap):
    n0 = len(warnings.filters)

    def f(x):
        warnings.filterwarnings("ignore", message=f"z{len(warnings.filters)}")
        return x * 2

    with warnings.catch_warnings():
        call = wrap(f)
        [call(X()) for _ in range(4)]
        return len(warnings.filters) - n0


@program
def event(wrap):
    e = threading.Event()

    def f(x):
        e.set()
        return x * 2

    call = wrap(f)
    found = []
    for _ in range(3):
        call(X())
        found.append(e.is_set())
        e.clear()
    return found


@program
def event_read(wrap):
    e = threading.Event()

    def f(x):
        return x * 2 if e.is_set() else x

    call = wrap(f)
    found = []
    for i in range(4):
        (e.set if i % 2 else e.clear)()
        found.append(plain(call(X())))
    return found


@program
def lock_taken(wrap):
    k = threading.Lock()
    o = types.SimpleNamespace(n=0)

    def f(x):
        with k:
            o.n += 1
            return x * o.n

    call = wrap(f)
    found = [plain(call(X())) for _ in range(3)]
    k.acquire()
    t = threading.Thread(target=lambda: found.append(plain(call(X()))))
    t.start()
    t.join(0.3)
    found.append(t.is_alive())
    k.release()
    t.join()
    return found


@program
def semaphore(wrap):
    k = threading.Semaphore(10)

    def f(x):
        k.acquire()
        return x * 2

    call = wrap(f)
    [call(X()) for _ in range(4)]
    return k._value


@program
def file_iter(wrap):
    fn = tempfile.mktemp()
    pathlib.Path(fn).write_text("1\n2\n3\n4\n5\n")
    h = open(fn)

    def f(x):
        return x * float(next(h))

    call = wrap(f)
    found = [plain(call(X())) for _ in range(4)]
    h.close()
    return found


@program
def stringio_readline(wrap):
    s = io.StringIO("1\n2\n3\n4\n5\n")

    def f(x):
        return x * float(s.readline())

    call = wrap(f)
    return [plain(call(X())) for i in range(4)]


@program
def socketp(wrap):
    a, b = socket.socketpair()

    def f(x):
        a.send(b"x")
        return x * 2

    with a, b:
        call = wrap(f)
        [call(X()) for _ in range(4)]
        return b.recv(100)


@program
def finalize(wrap):
    n = []

    class Thing:
        pass

    def f(x):
        o = Thing()
        weakref.finalize(o, n.append, 1)
        return x * 2

    call = wrap(f)
    [call(X()) for _ in range(4)]
    return len(n)
