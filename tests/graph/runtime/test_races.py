"""Threads that meet where something has just been made, or is made at the first use.

Each round begins with a state that no thread has seen, and threads switch at nearly every step.
"""

from collections import deque

import numpy as np
import pytest
import torch
from torch.fx import Graph

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.graph.ir.lazy_module import LazyModule
from lamella.graph.runtime.autotuner import Autotuner
from lamella.graph.runtime.cache import Cache
from lamella.graph.runtime.size_profile import MOST_COUNTED, SizeProfile
from tests.threads import at_once

THREADS = 6


def test_a_graph_is_called_first_by_several_threads():
    for _ in range(20):
        graph = Graph()
        value = graph.placeholder("x")
        for _ in range(5):
            value = graph.call_function(torch.add, (value, 1))
        graph.output(value)
        module = LazyModule(torch.nn.Module(), graph)
        assert at_once(lambda number, module=module: module(number)) == [5, 6, 7, 8, 9, 10]


def test_sizes_are_counted_by_several_threads():
    for _ in range(4):
        profile = SizeProfile(None)
        at_once(lambda number, profile=profile: [
            profile.is_frequent((number, i)) for i in range(MOST_COUNTED)])
        assert len(profile.calls) <= MOST_COUNTED


def test_an_autotuner_decides_once_and_always():
    for _ in range(10):
        found: list = []
        tuner = Autotuner(dict.fromkeys("abc", lambda values: values), found.append)
        at_once(lambda _, tuner=tuner: [tuner([]) for _ in range(60)])
        assert len(found) == 1


def test_lines_are_listed_while_others_are_added():
    class Key:
        """One that runs code when it is compared."""

        def __init__(self, number):
            self.number = number

        def __hash__(self):
            return self.number

        def __eq__(self, other):
            return self is other

    cache = Cache(None)
    for number in range(200):
        cache.line(Key(number))
    at_once(lambda number: [cache.line(Key(1000 * number + i)) if number % 2 else
                            cache.reasons() for i in range(60)])


def test_memory_is_seen_to_be_shared_by_every_thread():
    weight = Parameter(np.zeros(64, np.float32), name="w")

    @ms.jit
    def step(x):
        ops.assign_add(weight, x)
        return x * 1

    for _ in range(3):
        step(Tensor(np.zeros(64, np.float32)))
    (entry,) = step.cache.all_entries()
    inputs, same = entry.replay.inputs, weight.value()._raw
    for _ in range(60):
        inputs.forget_data()
        # None: the graph isn't used for an argument in the memory that it changes
        assert at_once(lambda _: inputs.values([same])) == [None] * THREADS


def test_threads_share_what_is_made_at_the_first_call():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, 2)

        def construct(self, x):
            return self.dense(x)

        @ms.jit
        def method(self, x):
            return x * 2

    x = Tensor(np.ones((1, 2), np.float32))
    for _ in range(12):
        net = Net()
        f = ms.jit(lambda x: (x * 2).sum())
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            graphs = at_once(lambda _, net=net: (net(x), net.__dict__["_compiled_whole"])[1])
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        methods = at_once(lambda _, net=net: net.method)
        taped = at_once(lambda _, f=f: (ms.grad(f)(x), f.taped)[1])
        for made in (graphs, methods, taped):
            assert len(set(map(id, made))) == 1


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_arguments_that_differ_in_each_thread():
    def total(values, scale):
        return sum(values) * scale

    f = ms.jit(total)

    def calls(number):
        for i in range(14):
            values = [Tensor(float(j)) for j in range(1 + (5 * i + number) % 40)]
            assert float(f(values, i).asnumpy()) == sum(range(len(values))) * i

    at_once(calls)


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_shapes_of_results_that_differ_in_each_thread():
    x = Tensor(np.arange(12, dtype=np.float32))

    @ms.jit
    def above(x, limit):
        return x[x > limit] * 2

    def calls(number):
        for i in range(12):
            limit = (i + number) % 12
            wanted = [2.0 * j for j in range(limit + 1, 12)]
            assert above(x, Tensor(float(limit))).tolist() == wanted

    at_once(calls)


def test_replays_with_a_generator_that_each_makes_anew():
    def walk(x):
        normal = ops.StandardNormal(seed=5)
        for _ in range(6):
            x = x * 0.5 + normal((3,))
        return x

    x = Tensor(np.ones(3, np.float32))
    f, wanted = ms.jit(walk), walk(x).tolist()
    for _ in range(3):
        f(x)
    found = at_once(lambda _: [f(x).tolist() for _ in range(120)])
    assert f.report()["replays"] > 600 and found == [[wanted] * 120] * THREADS


def test_threads_draw_from_one_stream_of_an_object():
    for _ in range(20):
        normal = ops.StandardNormal(seed=5)
        found = at_once(lambda _, normal=normal: normal((2,)).tolist())
        assert len(set(map(tuple, found))) == THREADS


@pytest.mark.parametrize("kind", [list, deque])
def test_what_another_thread_appends_during_a_replay_is_not_lost(kind):
    queue = kind()

    @ms.jit
    def step(x):
        queue.append(x * 2)
        return x + 1

    x = Tensor([1.0])
    for _ in range(3):
        step(x)
        queue.clear()
    (entry,) = step.cache.all_entries()
    results = entry.replay.run([x._raw])
    queue.append("another thread's")  # between the guards and the side effects
    assert entry.replay.outputs.result(results, (x,), {}).tolist() == [2.0]
    assert queue[0] == "another thread's" and queue[1].tolist() == [2.0] and len(queue) == 2
    queue.clear()
    assert step.report()["replays"] == 2 and step(x).tolist() == [2.0] and len(queue) == 1
