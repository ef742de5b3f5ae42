"""Ways in which random programs are called: whole, in parts, by structures, some results unused."""

from __future__ import annotations

import dataclasses

import lamella as ms
from lamella import nn, ops

WAYS = []


def way(fn):
    WAYS.append(fn)
    return fn


@dataclasses.dataclass
class Given:
    x: object
    more: object = None


# each takes a program, its state and what compiles a function, and gives what is called with x

@way
def whole(run, s, compile): return compile(lambda x: run(s, x))


@way
def twice(run, s, compile):
    call = compile(lambda x: run(s, x))
    return lambda x: call(call(x) * 0.5)


@way
def beside_unused_results(run, s, compile):
    call = compile(lambda x: (ops.sqrt(ops.relu(x)), run(s, x), s.rules.clip(x) * 2, s.count))
    return lambda x: call(x)[1]


@way
def by_turns(run, s, compile):
    call = compile(lambda x: {"a": run(s, x), "b": [ops.sqrt(ops.relu(x))], "c": x * s.tau})

    def called(x):
        out = call(x)
        return out["a"] if s.flag else out["c"] * out["a"]

    return called


@way
def with_parts(run, s, compile):
    def both(x):
        y = run(s, x) * 1.0
        return y, y[1:], ops.stop_gradient(y)

    call = compile(both)

    def called(x):
        y, part, still = call(x)
        part[0] = x[0] * 0.5
        return y + part.sum() + still * 0.1

    return called


@way
def by_structures(run, s, compile):
    def taken(given, *, kind):
        more = given.more["b"][0] * kind
        return Given(run(s, given.x) + more, [more, kind])

    call = compile(taken)

    def called(x):
        out = call(Given(x, {"b": (x * 0.1, s.kind)}), kind=s.count % 3)
        return out.x * 0.5 + out.more[0] * out.more[1]

    return called


@way
def in_a_cell(run, s, compile):
    class Net(nn.Cell):
        def construct(self, x):
            return run(s, x) * self.scale

    net = Net()
    net.scale = 0.5
    return compile(lambda x: net(x))


@way
def inside_of_another(run, s, compile):
    inner = compile(lambda x: run(s, x) * s.tau)
    return compile(lambda x: inner(x) + x)


@way
def differentiated(run, s, compile):
    return compile(lambda x: ms.grad(lambda y: (run(s, y) * y).sum())(x))


@way
def changed_afterwards(run, s, compile):
    call = compile(lambda x: run(s, x))

    def called(x):
        y = call(x * 1.0)
        twin = y[:1]
        y[0] = x[1] * 0.5
        return y + twin

    return called
