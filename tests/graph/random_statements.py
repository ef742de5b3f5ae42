"""What random programs are made of: state, and statements that use it."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import logging
import math
import os
import queue
import threading
import time
import weakref

import numpy as np

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from . import random_rarer, random_rules

SCALE = 1.0  # a global that programs read, and some change


class Numbers(list):
    """A list with attributes."""


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Record:
    n: int = 0
    last: object = 0.0


class Shared:
    total = 0  # of all objects, and of both twins: a program is checked against itself by turns


class Slotted:
    __slots__ = ("factor", "__weakref__")

    def __init__(self):
        self.factor = 1.0


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([1.0, 2.0, 3.0]), name="weight")
        self.total = Parameter(Tensor([0.0]), name="total")
        self.factor = 1.0
        self.calls = 0

    def construct(self, x):
        return x * self.weight * self.factor


def made_to_remember():
    last = ops.zeros(3)

    def remember(x):
        nonlocal last
        last = last * 0.5 + x
        return last * 1.0

    return remember


class State:
    """What a program reads and changes."""

    kind_factor = 1.0

    def __init__(self):
        self.number, self.count, self.tau = 1.0, 0, 1.0
        self.kind, self.scale_a, self.scale_b = "a", 1.0, -1.0
        self.items = [1.0, 2.0]
        self.table = {"a": 1.0, "b": 2.0}
        self.pair = (ops.zeros(3), ops.ones(3))
        self.means = {"w": ops.zeros(3)}
        self.losses = []
        self.numbers = Numbers([1.0])
        self.numbers.scale = 1.0
        self.slotted = Slotted()
        self.cell = Inner()
        self.held = ops.ones(3)
        self.held.scale = 1.0
        self.buffer = ops.zeros(6)
        self.array = np.ones(3, np.float32)
        self.large = [0.5] * 2000
        self.queue = queue.Queue()
        self.text = io.StringIO()
        self.lines = io.StringIO("".join(f"{n}\n" for n in range(100)))
        self.recent = collections.deque([1.0], maxlen=3)
        self.seen = set()
        self.counted = collections.Counter()
        self.ordered = collections.OrderedDict(a=1.0, b=2.0)
        self.named = Point(0.0, ops.zeros(3))
        self.record = Record()
        self.raw = bytearray(4)
        self.lock = threading.Lock()
        self.weak = weakref.WeakKeyDictionary({self.slotted: 1.0})
        self.path = None
        self.flag = True
        self.optional = None
        self.act = ops.tanh
        self.rarer, self.rules = random_rarer.Rarer(), random_rules.Rules()
        self.nested = {"pair": (0, ops.zeros(3)), "history": [], "count": 0}
        self.remember = made_to_remember()
        factor = 1.0

        def read():
            return factor

        def write(value):
            nonlocal factor
            factor = value

        self.read, self.write = read, write

    def __getattr__(self, name):
        if name == "made_up":
            return self.number + 1.0
        raise AttributeError(name)

    @property
    def half(self):
        return self.number / 2

    def found(self):
        """All of it, in a form that can be compared."""
        cell = self.cell
        return listed([
            self.number, self.count, self.tau, self.items, self.table, self.pair, self.means,
            self.losses, list(self.numbers), self.slotted.factor, cell.weight, cell.total,
            cell.factor, cell.calls, self.held, self.buffer, self.array, self.queue.qsize(),
            self.text.getvalue(), self.lines.tell(), list(self.recent), sorted(self.seen),
            self.read(), SCALE, self.optional, dict(self.counted), list(self.ordered.items()),
            self.named, self.record.n, self.record.last, list(self.raw), Shared.total,
            list(self.weak.values()), self.nested, self.rarer.found(), self.rules.found()])


def listed(value):
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [listed(v) for v in value]
    if isinstance(value, dict):
        return {k: listed(v) for k, v in value.items()}
    return value


STATEMENTS = [*random_rarer.STATEMENTS, *random_rules.STATEMENTS]


def statement(fn):
    STATEMENTS.append(fn)
    return fn


# -- statements: of the state and a Tensor of three elements, another such Tensor ------------------

@statement
def by_number(s, x): return x * s.number
@statement
def by_property(s, x): return x + s.half
@statement
def by_computed_name(s, x): return x * getattr(s, "scale_" + s.kind)
@statement
def by_made_up(s, x): return x * 0.5 + s.made_up
@statement
def by_items(s, x): return x * sum(s.items) / max(len(s.items), 1)
@statement
def by_last_item(s, x): return x + (s.items[-1] if s.items else 0.0)
@statement
def by_table(s, x): return x * s.table.get("a", 2.0)
@statement
def by_keys(s, x): return x + float(len(s.table))
@statement
def by_list_attribute(s, x): return x * s.numbers.scale
@statement
def by_slot(s, x): return x * s.slotted.factor
@statement
def by_class_attribute(s, x): return x * s.kind_factor
@statement
def by_tensor_attribute(s, x): return x * s.held.scale
@statement
def by_global(s, x): return x * SCALE
@statement
def by_closure(s, x): return x * s.read()
@statement
def by_array(s, x): return x + Tensor(s.array)
@statement
def by_large(s, x): return x * s.large[3]
@statement
def by_cell(s, x): return s.cell(x)
@statement
def by_function(s, x): return s.act(x)
@statement
def by_recent(s, x): return x + sum(s.recent)
@statement
def by_optional(s, x): return x if s.optional is None else x * s.optional
@statement
def by_environment(s, x): return x * float(os.environ.get("LAMELLA_RANDOM_PROGRAM", "1"))
@statement
def by_flag(s, x): return x * 2 if s.flag else x - 1
@statement
def by_branch(s, x): return x * 0.5 if x.sum() > 0 else x + 1
@statement
def by_size_of_value(s, x): return x / 4 if float(ops.abs(x).max()) > 50 else x


@statement
def by_swallowed_number(s, x):
    try:
        value = float(x.asnumpy().sum())
    except:  # noqa: E722
        value = 0.0
    return x + value / 10


@statement
def counts(s, x):
    s.count += 1
    return x
@statement
def every_third(s, x):
    s.count += 1
    return x * 2 if s.count % 3 == 0 else x


@statement
def decays(s, x):
    s.tau *= 0.9
    return x * s.tau


@statement
def keeps_a_pair(s, x):
    a, b = s.pair
    s.pair = (ops.tanh(a + x), b * 0.5)
    return x + s.pair[1]


@statement
def keeps_means(s, x):
    s.means["w"] = s.means["w"] * 0.9 + x * 0.1
    return x + s.means["w"]
@statement
def appends(s, x):
    s.losses.append(x.sum())
    return x


@statement
def keeps_last(s, x):
    s.held = x * 1.0
    s.held.scale = 1.0
    return x


@statement
def uses_last(s, x): return x * 0.5 + s.held * 0.1


@statement
def updates_weight(s, x):
    s.cell.weight.set_data(s.cell.weight * 0.9 + x * 0.1)
    return x


@statement
def assigns_add(s, x):
    ops.assign_add(s.cell.total, x.sum().reshape(1))
    return x + s.cell.total


@statement
def counts_in_cell(s, x):
    s.cell.calls += 1
    return x


@statement
def writes_into_a_view(s, x):
    s.buffer[1:4] = x
    return x + s.buffer[2:5]


@statement
def adds_in_place(s, x):
    y = x * 1.0
    y += s.held * 0.1
    return y


@statement
def derives(s, x): return x + ms.grad(lambda y: (s.cell(y) ** 2).sum() * s.number)(x) * 0.01
@statement
def puts(s, x): return x if s.queue.put(1) is None else None
@statement
def writes(s, x): return x * s.text.write("a")
@statement
def reads_a_line(s, x): return x + float(s.lines.readline() or 0) * 0.1
@statement
def asks_the_time(s, x): return x if time.perf_counter() >= 0 else x * 0
@statement
def remembers(s, x):
    s.recent.append(float(len(s.recent)))
    return x
@statement
def notes(s, x):
    s.seen.add(len(s.seen) % 4)
    return x
@statement
def writes_closure(s, x):
    s.write(s.read() * 0.5 + 0.5)
    return x


@statement
def changes_global(s, x):
    global SCALE
    SCALE = SCALE * 0.5 + 0.25
    return x


@statement
def changes_array(s, x):
    s.array[0] += 1
    return x


@statement
def starts_a_thread(s, x):
    other = threading.Thread(target=s.queue.put, args=(2,))
    other.start()
    other.join()
    return x


@statement
def copies_a_parameter(s, x):
    s.optional = None
    return x + s.cell.weight.copy()


@statement
def counts_letters(s, x):
    s.counted["a"] += 1
    return x + s.counted["a"]


@statement
def turns_keys(s, x):
    s.ordered.move_to_end(next(iter(s.ordered)))
    return x * next(iter(s.ordered.values()))


@statement
def replaces_a_named_tuple(s, x):
    s.named = s.named._replace(x=s.named.x + 0.5, y=x * 0.5)
    return x + s.named.x


@statement
def fills_a_record(s, x):
    s.record.n += 1
    s.record.last = x.sum()
    return x * 2 if s.record.n % 2 else x


@statement
def counts_bytes(s, x):
    s.raw[0] = (s.raw[0] + 1) % 200
    return x + s.raw[0]


@statement
def takes_a_lock(s, x):
    with s.lock:
        s.count += 1
    return x


@statement
def uses_weak_keys(s, x):
    s.weak[s.slotted] = s.weak[s.slotted] * 0.5
    return x * s.weak[s.slotted]


@statement
def asks_to_log(s, x):
    logging.getLogger(__name__).debug("not wanted")
    return x


@statement
def asks_for_a_setting(s, x): return x if ms.get_context("device_target") == "CPU" else x * 0
@statement
def counts_for_all(s, x):
    Shared.total += 1
    return x * 0.5
@statement
def writes_where_another_reads(s, x):
    whole = s.buffer.view(6)
    s.buffer[0:3] = x
    return x + whole[1:4]


@statement
def ignores_errors(s, x):
    with contextlib.suppress(Exception):
        s.count += 1
        s.table["missing"]  # noqa: B018
        s.count += 100
    return x


@statement
def draws(s, x): return x + ops.rand(3) * 0.1
@statement
def by_masks(s, x): return x + x[x > 0].sum()
@statement
def by_positions(s, x): return x + s.buffer[ops.nonzero(x > 0)[:, 0] + 1].sum()
@statement
def by_different_values(s, x): return x + ops.unique((x * 3).astype(ms.int32))[0].shape[0]
@statement
def by_selection(s, x): return x * (1 + ops.masked_select(s.held, x > -0.2)).prod() * 0.5
@statement
def derives_a_selection(s, x): return ms.grad(lambda y: (y[y > 0] ** 2 * s.number).sum())(x)


@statement
def keeps_a_selection(s, x):
    s.optional = None
    s.means["chosen"] = x[x > 0] * s.number
    return x + s.means["chosen"].sum()


@statement
def by_a_number_of_matches(s, x):
    found = ops.nonzero(x > 0.1).shape[0]
    s.count += found
    return x / max(found, 1)


@statement
def writes_into_a_selection(s, x):
    y = x * 1.0
    y[y > 0.3][:1] = 1.0
    y[y < 0] = s.held[y < 0] * 0.1
    return y


@statement
def counts_in_a_table(s, x):
    s.table["a"] = s.table["a"] * 0.9 + 0.1
    s.items[0] += 1
    return x * s.table["a"] + s.items[0] * 0.1


@statement
def replaces_a_tuple(s, x):
    step, mean = s.nested["pair"]
    s.nested["pair"] = (step + 1, mean * 0.5 + x)
    return x + s.nested["pair"][1] / (step + 1)


@statement
def keeps_a_history(s, x):
    s.nested["history"].append(x.sum())
    s.nested["count"] += 1
    return x * 0.9 ** s.nested["count"]


@statement
def goes_by_a_schedule(s, x):
    return x * (0.5 + 0.5 * math.cos(s.number)) + ops.clip(x, -1.0, abs(s.tau))


@statement
def makes_a_tensor(s, x): return x + Tensor(s.number, ms.float32) * ops.full((3,), s.tau)
@statement
def raises_to_a_power(s, x): return ops.abs(x) ** abs(s.number)
@statement
def replaces_a_closures_tensor(s, x): return s.remember(x)


@statement
def computes_in_numbers(s, x):
    s.number = s.number * 0.5 + 0.25
    return x * (1 - s.number) if s.number < 0.6 else x + s.number
