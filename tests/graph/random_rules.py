"""Rules, hooks, transformations and training in random programs: state, statements and changes."""

from __future__ import annotations

import lamella as ms
from lamella import Parameter, Tensor, nn, ops


class Bent(nn.Cell):
    """A Cell whose gradient is none of its function's."""

    def __init__(self):
        super().__init__()
        self.factor = 3.0

    def construct(self, x):
        return x * 1.5

    def bprop(self, x, out, dout):
        return (dout * self.factor + out * 0.1,)


class Normed(nn.Cell):
    """A Cell that assigns a Parameter, and draws random numbers."""

    def __init__(self):
        super().__init__()
        self.mean = Parameter(Tensor([0.0, 0.0, 0.0]), name="mean", requires_grad=False)
        self.weight = Parameter(Tensor([0.5, -1.0, 1.5]), name="weight")
        self.drop = nn.Dropout(p=0.5)

    def construct(self, x):
        if self.training:
            ops.assign(self.mean, self.mean * 0.9 + ops.stop_gradient(x) * 0.1)
        return self.drop(x * self.weight - self.mean)


class Rules:
    """What the statements below read and change."""

    def __init__(self) -> None:
        self.bent, self.normed, self.bound, self.calls = Bent(), Normed(), 0.5, 0
        self.normed.set_train()
        self.pushed = Parameter(Tensor([1.0, -1.0, 0.5]), name="pushed")
        self.optimizer = nn.Adam([self.pushed], 0.1)
        self.clip = ops.InsertGradientOf(lambda g: ops.clip(g, -self.bound, self.bound))
        self.handles: list = []
        self.compiled = ms.jit(self.counted)

    def counted(self, x):
        self.calls += 1
        return x * 0.5 + self.calls

    def block(self, x):
        return ops.tanh(self.normed.weight * x) * self.bound

    def found(self):
        """All of it, in a form that can be compared."""
        return [*(p.asnumpy().tolist() for p in (
            self.normed.mean, self.normed.weight, self.pushed, self.optimizer.global_step)),
            self.calls, len(self.handles)]


def by_a_rule(s, x): return s.rules.bent(x)
def clips_its_gradient(s, x): return s.rules.clip(x * s.rules.bound)
def stops_a_part(s, x): return x * 0.5 + ops.stop_gradient(x * s.tau) * x
def runs_again(s, x): return ms.recompute(s.rules.block, x)
def calls_a_compiled_one(s, x): return s.rules.compiled(x)
def normalizes(s, x): return s.rules.normed(x)
def in_a_batch(s, x): return ops.vmap(lambda a: a * s.number + s.tau)(x)
def pushes(s, x): return ms.jvp(lambda y: s.cell(y) * y * s.tau, x, x)[1]


def pulls(s, x):
    out, pull = ms.vjp(lambda y: s.rules.bent(s.cell(y)) * y, x)
    return out * 0.1 + pull(x)


def hooks_a_value(s, x):
    y = x * s.tau
    y.register_hook(lambda g: ops.clip(g, -s.rules.bound, 1.0))
    return y


def differentiates_with_more(s, x):
    def loss(y):
        return (y * s.rules.normed.weight).sum() * s.number, y * s.tau

    (_, more), (by_x, (by_weight,)) = ms.value_and_grad(
        loss, 0, [s.rules.normed.weight], has_aux=True)(x)
    return more + by_x * 0.1 + by_weight * 0.1


def differentiates_twice(s, x):
    return ms.grad(lambda y: (ms.grad(lambda z: (z ** 3).sum() * s.number)(y) * y).sum())(x) * 0.01


def trains(s, x):
    still = ops.stop_gradient(x)
    gradients = ms.grad(lambda: ((s.rules.pushed - still) ** 2).sum(), None, [s.rules.pushed])()
    s.rules.optimizer(gradients)
    return x + ops.stop_gradient(s.rules.pushed.value())


def scans(s, x):
    total, steps = ms.scan(lambda c, e: (c * s.tau + e, c * e), ops.zeros_like(x[0]), x)
    return steps + total


def counts_steps(s, x):
    return ms.fori_loop(0, 3, lambda i, y: y * 0.5 + s.rules.bound * i, x)


def goes_on_while(s, x):
    return ms.while_loop(lambda y: ops.abs(y).sum() > 1.0, lambda y: y * 0.5 * s.tau ** 0, x)


def halves_until(s, x):
    while ops.abs(x).sum() > 2.0:
        x = x * 0.6
        if x[0] > 1.0:
            break
    return x


def changes_a_view_after_a_read(s, x):
    y = x * 1.0
    part = y[1:]
    before = part.sum()
    y[2:3] = before * 0.5
    part[0] = y[0] * s.number
    return y


def returns_early(s, x):
    parts: list = []
    for number in range(3):
        parts.append(x[number] * s.tau)
        if sum(parts) > 1.0:
            return ops.stack([*parts, *[x[0]] * (2 - number)])
    return ops.stack(parts)


STATEMENTS = [by_a_rule, clips_its_gradient, stops_a_part, runs_again, calls_a_compiled_one,
              normalizes, in_a_batch, pushes, pulls, hooks_a_value, differentiates_with_more,
              differentiates_twice, trains, scans, counts_steps, goes_on_while, halves_until,
              changes_a_view_after_a_read, returns_early]


def other_factor(s, r): s.rules.bent.factor = round(r, 2)
def other_bound(s, r): s.rules.bound = abs(round(r, 2)) + 0.1
def other_training(s, r): s.rules.normed.set_train(r > 0)
def other_share(s, r): s.rules.normed.drop.p = 0.25 if r > 0 else 0.75
def other_pushed(s, r): s.rules.pushed.set_data(Tensor([r, 0.5, -r], ms.float32))
def frozen(s, r): s.rules.normed.weight.requires_grad = r > 0
def other_rate(s, r): ops.assign(s.rules.optimizer.learning_rate, abs(r) / 10)


def hook_of_a_weight(s, r):
    s.rules.handles.append(s.rules.normed.weight.register_hook(lambda g: g * 2.0))


def hook_after_a_cell(s, r):
    s.rules.handles.append(s.rules.normed.register_forward_hook(
        lambda cell, given, out: out * s.rules.bound))


def hook_of_a_cells_gradient(s, r):
    s.rules.handles.append(s.cell.register_backward_hook(
        lambda cell, by_inputs, by_outputs: tuple(g * 2.0 for g in by_inputs)))


def last_hook_removed(s, r):
    if s.rules.handles:
        s.rules.handles.pop().remove()


CHANGES = [other_factor, other_bound, other_training, other_share, other_pushed, frozen, other_rate,
           hook_of_a_weight, hook_after_a_cell, hook_of_a_cells_gradient, last_hook_removed]
