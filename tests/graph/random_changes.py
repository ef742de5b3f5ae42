"""Mutations of a random program's state between its calls."""

from __future__ import annotations

import lamella as ms
from lamella import Tensor, ops

from . import random_rarer, random_rules
from .random_statements import State

CHANGES = [*random_rarer.CHANGES, *random_rules.CHANGES]


def change(fn):
    CHANGES.append(fn)
    return fn


for name in ("number", "tau", "scale_a", "scale_b"):
    CHANGES.append(lambda s, r, name=name: setattr(s, name, round(r, 2)))


@change
def other_kind(s, r): s.kind = "a" if s.kind == "b" else "b"
@change
def other_item(s, r): s.items[0] = round(r, 2)
@change
def one_more_item(s, r): s.items.append(round(r, 2))
@change
def other_entry(s, r): s.table["a"] = round(r, 2)
@change
def one_more_entry(s, r): s.table[f"k{len(s.table)}"] = 1.0
@change
def other_list_attribute(s, r): s.numbers.scale = round(r, 2)
@change
def other_slot(s, r): s.slotted.factor = round(r, 2)
@change
def other_tensor_attribute(s, r): s.held.scale = round(r, 2)
@change
def other_instance_attribute(s, r): s.kind_factor = round(r, 2)
@change
def other_closure(s, r): s.write(round(r, 2))
@change
def other_array(s, r): s.array[1] = r
@change
def other_large(s, r): s.large[3] = round(r, 2)
@change
def other_factor(s, r): s.cell.factor = round(r, 2)
@change
def other_weight(s, r): s.cell.weight.set_data(Tensor([r, 1.0, r], ms.float32))
@change
def other_held(s, r):
    s.held = Tensor([r, r, 1.0], ms.float32)
    s.held.scale = 1.0
@change
def other_flag(s, r): s.flag = not s.flag
@change
def other_function(s, r): s.act = ops.sin if s.act is ops.tanh else ops.tanh
@change
def other_optional(s, r): s.optional = None if s.optional is not None else round(r, 2)
@change
def emptied(s, r): s.losses.clear()
@change
def other_pair(s, r): s.pair = (s.pair[1], s.pair[0])
@change
def other_class_attribute(s, r): State.kind_factor = round(r, 2)
@change
def other_record(s, r): s.record.n += 1
@change
def other_order(s, r): s.ordered.move_to_end("a")
@change
def other_byte(s, r): s.raw[0] = int(abs(r) * 10)
@change
def other_buffer(s, r): s.buffer = ops.ones(6) * r
@change
def other_count(s, r): s.count = int(r * 10)
@change
def other_type(s, r): s.number = int(r * 3)
