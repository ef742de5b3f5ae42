"""State in rarer kinds of objects, and statements and changes of random programs that use it."""

from __future__ import annotations

import contextvars

import numpy as np

from lamella import Tensor, ops


class Slotted:
    __slots__ = ("__total", "factor", "last")

    def __init__(self):
        self.factor, self.last, self.__total = 1.0, 0.0, Tensor([0.0] * 3)

    def add(self, x):
        self.__total = self.__total * 0.5 + x
        return self.__total


class Record:
    def __init__(self, n):
        self.n = n


class Rarer:
    """What the statements below read and change."""

    def __init__(self) -> None:
        self.slotted = Slotted()
        self.count = np.int64(0)
        self.recent = [1.0]
        self.by_key = {self.slotted: 0.5}
        self.record = Record(0)
        self.context = contextvars.ContextVar("context")
        self.context.set(Record(0))
        self.line = np.poly1d([1.0, 2.0])
        self.held = np.array([[0.0], None], dtype=object)
        self.kind = "a"

    def times_a(self, x):
        return x * self.slotted.factor

    def times_b(self, x):
        return x + self.record.n

    def found(self):
        """All of it, in a form that can be compared."""
        return [self.slotted.factor, self.slotted.last, list(self.by_key.values()), self.count,
                list(self.recent), vars(self.record), vars(self.context.get()), self.line.coeffs,
                self.held[0]]


def fills_slots(s, x):
    s.rarer.slotted.last = s.number
    s.rarer.slotted.factor *= 0.9
    return x * s.rarer.slotted.factor


def fills_a_slot_with_a_constant(s, x):
    s.rarer.slotted.last = 1.0
    return x


def adds_to_a_private_slot(s, x):
    return s.rarer.slotted.add(x)


def counts_with_numpy(s, x):
    s.rarer.count += 1
    return x * (1 + np.cos(s.rarer.count / 8)) + np.float64(0.5) * s.rarer.count


def keeps_the_last_three(s, x):
    s.rarer.recent += [s.rarer.recent[-1] * 0.5]
    s.rarer.recent = s.rarer.recent[-3:]
    return x * sum(s.rarer.recent)


def by_attributes_of_keys(s, x):
    for key, value in s.rarer.by_key.items():
        x = x * key.factor + value
    return x


def replaces_all_attributes(s, x):
    s.rarer.record.__dict__ = {**vars(s.rarer.record), "n": s.rarer.record.n + 1}
    return x * 0.5


def by_later_attributes(s, x): return x * getattr(s.rarer.record, "late", 1.0)
def by_a_computed_method(s, x): return getattr(s.rarer, "times_" + s.rarer.kind)(x)


def counts_in_a_context(s, x):
    s.rarer.context.get().n += 1
    return x / s.rarer.context.get().n


def by_a_polynomial(s, x): return x * float(s.rarer.line(0.5))


def counts_in_an_array(s, x):
    s.rarer.held[0][0] += 1
    return x - s.rarer.held[0][0]


def raises_by_a_flag(s, x):
    s.rarer.count = s.rarer.count + 1
    ops.assign_add(s.cell.total, x.sum().reshape(1))
    if not s.flag:
        raise ValueError("not with this flag")
    return x * 1.5


def fails_in_a_kernel(s, x):
    s.buffer[0] = x[0]
    return x + ops.index_select(x, 0, (x[:1].abs() * 4).int())


STATEMENTS = [fills_slots, fills_a_slot_with_a_constant, adds_to_a_private_slot,
              counts_with_numpy, keeps_the_last_three, by_attributes_of_keys,
              replaces_all_attributes, by_later_attributes, by_a_computed_method,
              counts_in_a_context, by_a_polynomial, counts_in_an_array,
              raises_by_a_flag, fails_in_a_kernel]


def other_slots(s, r): s.rarer.slotted.factor, s.rarer.slotted.last = round(r, 2), None
def other_total(s, r): s.rarer.slotted.add(Tensor([r] * 3))
def other_count(s, r): s.rarer.count = np.int64(r * 10)
def other_attributes(s, r): s.rarer.record.__dict__ = {"n": int(r * 10)}
def later_attribute(s, r): s.rarer.record.late = round(r, 2)
def other_coefficient(s, r): s.rarer.line[0] = round(r, 2)
def other_context(s, r): s.rarer.context.set(Record(int(r * 10) + 50))
def other_method(s, r): s.rarer.kind = "a" if s.rarer.kind == "b" else "b"


CHANGES = [other_slots, other_total, other_count, other_attributes, later_attribute,
           other_coefficient, other_context, other_method]
