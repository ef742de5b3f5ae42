"""What an early update waits for, what runs earlier for it, and which graphs stay as they are."""

import operator
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.loop import Loop
from lamella.graph.ir.stages import ending_of
from lamella.graph.passes import early_updates
from lamella.graph.passes.early_updates import update_early
from lamella.graph.passes.memory import Liveness
from lamella.graph.passes.order import simplify
from tests.graph.passes.checks import check_same, recorded
from tests.graph.passes.training import (
    LAYERS,
    WIDTH,
    adam,
    chain,
    decayed_before,
    inputs_of,
    let_every_size_pay,
    momentum,
    places,
    step_of,
)

aten = torch.ops.aten
X, PLACES = torch.rand(4, 4), torch.tensor([1, 2])


@pytest.fixture(autouse=True)
def every_order_pays(monkeypatch):
    let_every_size_pay(monkeypatch)
    monkeypatch.setattr(early_updates, "PAYS", 10.0)


def order_of(graph, late=()):
    return early_updates._Order(graph, set(late), {})


def named(graph, name):
    """The last operation of this name."""
    return [n for n in graph.graph.nodes if f".{name}." in f".{n.target}."][-1]


def exchange(value):
    return value


def in_python(value):
    return value


def another(value):
    return value


exchange.is_exchange = True
in_python.is_python = True
LAYOUTS = torch.library.Library("lamella_early_updates", "DEF")  # noqa: TOR901
LAYOUTS.define("sin(Tensor x) -> Tensor", tags=(torch.Tag.pointwise,))
LAYOUTS.impl("sin", torch.sin, "CPU")


@pytest.mark.parametrize("function, name, may_fail", [
    (lambda x, i: x.sin(), "sin", False), (lambda x, i: x > 0.5, "gt", False),
    (lambda x, i: i * 2, "mul", True), (lambda x, i: i // i, "floor_divide", True),
    (lambda x, i: x.int(), "_to_copy", False), (lambda x, i: i.float(), "_to_copy", False),
    (lambda x, i: x.t(), "t", False), (lambda x, i: x[1], "select", False),
    (lambda x, i: x.sin().mul_(2), "mul_", False), (lambda x, i: i.clone(), "clone", False),
    (lambda x, i: i.sum(), "sum", False), (lambda x, i: x @ x, "mm", False),
    (lambda x, i: x[i], "index", True), (lambda x, i: x.cumsum(0), "cumsum", True),
    (lambda x, i: x.sin().index_put_((i,), x[:2]), "index_put_", True),
    (lambda x, i: x.sin().copy_(x), "copy_", False),
    (lambda x, i: F.embedding(i, x), "embedding", True),
    (lambda x, i: aten.tanh_backward(x, x), "tanh_backward", False),
    (lambda x, i: aten.avg_pool2d_backward(x[None, :2, :2], x[None], [2, 2], [2, 2], [0, 0], False,
                                           True, None), "avg_pool2d_backward", False),
    (lambda x, i: torch.cdist(x[None], x[None]), "_cdist_forward", True),
    (lambda x, i: aten._cdist_backward(x[None], x[None], x[None], 2.0, x[None]), "_cdist_backward",
     True),
    (lambda x, i: torch.rand_like(x), "rand_like", True),
    (lambda x, i: x.sin().bernoulli_(0.5), "bernoulli_", True),
    (lambda x, i: torch.sort(x)[0], "sort", True),
    (lambda x, i: torch.ops.lamella_early_updates.sin(x), "sin", True)])
def test_which_kernels_may_fail_for_some_values(function, name, may_fail):
    graph = recorded(function, X, PLACES)
    assert order_of(graph).may_fail(named(graph, name)) is may_fail


@pytest.mark.parametrize("target, may_fail", [
    (exchange, True), (in_python, True), (another, True), (operator.getitem, False),
    (aten.nonzero.default, True), (aten._local_scalar_dense.default, True),
    (aten._assert_async.default, True), (aten.floor.default, True)])
def test_what_no_kernel_of_known_form_may_do(target, may_fail):
    """An elementwise kernel whose result isn't described may be one of integers."""
    graph = recorded(lambda x: x.sort()[0], X)
    order = order_of(graph)
    sort = named(graph, "sort")
    with graph.graph.inserting_before(graph.graph.output_node()):
        node = graph.graph.call_function(target, (sort, 0)[:1 + (target is operator.getitem)])
    assert order.may_fail(node) is may_fail


def test_a_loop_may_fail():
    graph = recorded(lambda x: x.sin(), X)
    order, loop = order_of(graph), Loop(recorded(lambda x: [x * 2], X), 1, 0, [], steps=2)
    with graph.graph.inserting_before(graph.graph.output_node()):
        assert order.may_fail(graph.graph.call_function(loop, ([named(graph, "sin")],)))


def rows_added(shape, dim, tables, tokens=lambda i: i, added=lambda i: i.view(-1)):
    """A sum at the places of tokens, which have read tables; and whether the kernel may fail."""
    def step(i, other, *tables):
        i = tokens(i)
        read = [F.embedding(i, table) for table in tables]
        place = added(i)
        its = list(shape)
        its[dim] = place.numel()
        return [other.sin().index_add_(dim, place, torch.ones(its)), *read]

    return recorded(step, torch.tensor([[1, 2], [2, 3]]), torch.rand(shape),
                    *(torch.rand(rows, 2) for rows in tables))


@pytest.mark.parametrize("shape, dim, tables, may_fail", [
    ((40, 8), 0, [40], False), ((40, 8), 0, [39], False), ((40, 8), 0, [41], True),
    ((40, 8), 0, [], True), ((40, 8), 0, [41, 40], False), ((40, 8), 0, [40, 41], False),
    ((50, 40), 1, [40], False), ((50, 39), 1, [40], True), ((30, 40), -1, [40], False)])
def test_tokens_that_have_read_a_table_are_rows_of_one_as_long(shape, dim, tables, may_fail):
    graph = rows_added(shape, dim, tables)
    assert order_of(graph).may_fail(named(graph, "index_add_")) is may_fail


@pytest.mark.parametrize("tokens, added", [
    (lambda i: i, lambda i: i[0]), (lambda i: i, lambda i: i.t().reshape(-1) * 2),
    (lambda i: i * 2, lambda i: i.mul_(3).view(-1))])
def test_other_tokens_may_be_no_rows_of_it(tokens, added):
    """Those that are written after the table is read, and others in the same memory."""
    graph = rows_added((40, 8), 0, [40], tokens, added)
    assert order_of(graph).may_fail(named(graph, "index_add_"))


def test_tokens_that_read_a_table_after_its_update_say_nothing_before():
    def step(i, table, other):
        found = other.sin().index_add_(0, i, torch.ones(2, 2))
        table.sub_(found)
        return found, F.embedding(i, table)

    graph = recorded(step, PLACES, torch.rand(4, 2), torch.rand(4, 2))
    node = named(graph, "index_add_")
    assert order_of(graph, ending_of(graph)).may_fail(node) and not order_of(graph).may_fail(node)


PAYS, TOGETHER, SMALL = early_updates.PAYS, early_updates.TOGETHER, early_updates.SMALL
KEPT, LARGER = torch.rand(16), torch.rand(17)  # one is small, of 64 bytes
COLUMN, LONGER = torch.rand(4, 1), torch.rand(5, 1)


def scaled(factor):
    """Gradients times a number that is computed after all of them."""
    def change(gradients):
        number = factor()
        return [g * number for g in gradients]

    return change


def doubled():
    return KEPT.sum().mul_(2)


@pytest.mark.parametrize("change, is_early", [
    (lambda gs: [g * 0.5 for g in gs], True),
    (lambda gs: [(g * 0.5).neg() for g in gs], True), (lambda gs: [g * g for g in gs], True),
    (lambda gs: [g.bfloat16().float() for g in gs], True),
    (lambda gs: [g.int().float() for g in gs], True),
    (lambda gs: [(g.view(-1) * 0.5).view(g.shape) for g in gs], True),
    (lambda gs: [g.flip(0) for g in gs], False), (lambda gs: [g.cumsum(0) for g in gs], False),
    (lambda gs: [g + h for g, h in zip(gs, [*gs[1:], gs[0]], strict=True)], False),
    (lambda gs: [g * g.sum() for g in gs], False),
    (lambda gs: [torch.where(g > 0, g, g * 2) for g in gs], False),
    (lambda gs: [(g * 0.5).flip(0) for g in gs], False),
    (scaled(lambda: KEPT.sum()), True), (scaled(lambda: LARGER.sum()), False),
    (scaled(lambda: (COLUMN @ COLUMN.t()).sum()), True),
    (scaled(lambda: (LONGER @ LONGER.t()).sum()), False),
    (scaled(lambda: KEPT.cos() + KEPT.sin()), True), (scaled(doubled), False),
    (scaled(lambda: torch.rand(())), False)])
def test_what_may_run_earlier_for_an_update(change, is_early):
    """Small values of small ones, and what changes a gradient for the update alone."""
    inputs = inputs_of()
    graph = recorded(step_of(chain, adam, change), *inputs)
    simplify(graph)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)
    updates, backward = places(early, "_fused_adamw_"), places(early, "tanh_backward")
    assert (min(updates) < max(backward)) is is_early
    if is_early:
        assert len(updates) == LAYERS
    assert not places(early, "cos") or places(early, "cos") < places(early, "sin")


@pytest.mark.parametrize("also, after", [
    (lambda g: g, lambda weights, kept: kept), (lambda g: g.flip(0), lambda weights, kept: kept),
    (lambda g: g.flip(0), lambda weights, kept: [weights[0] + sum(kept)])])
def test_what_is_read_elsewhere_keeps_its_place(also, after):
    """A changed gradient that is a result, or that another kernel takes."""
    kept = []

    def change(gradients):
        halves = [g * 0.5 for g in gradients]
        kept[:] = [also(g) for g in halves]
        return halves

    def update(weights, gradients, moments, lr):  # which leaves the gradients as they are
        torch._foreach_sub_(weights, gradients, alpha=lr)

    inputs = inputs_of()
    graph = recorded(step_of(chain, update, change, lambda weights, _: after(weights, kept)),
                     *inputs)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)
    assert min(places(early, "_foreach_sub_")) > max(places(early, "tanh_backward"))



def test_a_gradient_that_is_an_input_is_applied_once():
    kept = torch.rand(WIDTH, WIDTH)
    inputs = inputs_of()
    graph = recorded(step_of(chain, momentum, lambda gs: [kept, *(g * 0.5 for g in gs[1:])]),
                     *inputs)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)
    changed = [w for n in early.graph.nodes if "_fused_sgd_" in str(n.target) for w in n.args[0]]
    assert len(changed) == len(set(changed)) == LAYERS


def test_what_was_read_before_an_update_is_what_it_was():
    """Also of what the kernel takes by its name."""
    read = []

    def update(weights, gradients, moments, lr):
        read[:] = [moments[-1].sum(), moments[3].flip(0)]
        aten._fused_sgd_(weights, gradients, momentum_buffer_list=[moments[-1], *moments[1:LAYERS]],
                         weight_decay=0.1, momentum=0.9, lr=lr, dampening=0.0, nesterov=False,
                         maximize=False, is_first_step=False)

    inputs = inputs_of()
    graph = recorded(step_of(chain, update, after=lambda *_: read), *inputs)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)


def test_a_weight_that_is_listed_twice():
    def update(weights, gradients, moments, lr):
        twice = [weights[-1], *weights]
        adam(twice, [gradients[0], *gradients], [
            moments[0], *moments[:LAYERS], moments[LAYERS], *moments[LAYERS:]], lr)

    inputs = inputs_of()
    graph = recorded(step_of(chain, update), *inputs)
    early = update_early(graph)
    assert early is not None
    check_same(graph, early, inputs, tolerance=0)


@pytest.mark.parametrize("together, sizes", [(2048, [2, 2, 2, 2]), (2049, [3, 3, 2]),
                                             (2047, [2, 2, 2, 2]), (2**20, [8])])
def test_how_many_gradients_share_a_call(monkeypatch, together, sizes):
    """Each has 1024 bytes."""
    monkeypatch.setattr(early_updates, "TOGETHER", together)
    early = update_early(recorded(step_of(chain, adam), *inputs_of(8)))
    assert early is not None
    calls = [n for n in early.graph.nodes if "_fused_adamw_" in str(n.target)]
    assert [len(n.args[0]) for n in calls] == sizes


@pytest.mark.parametrize("update", [adam, decayed_before, lambda w, g, m, lr: (
    torch._foreach_abs_(w), momentum(w, g, m, lr))])
def test_how_many_bytes_of_gradients_are_worth_it(monkeypatch, update):
    graph = recorded(step_of(chain, update), *inputs_of())
    for least, is_worth in ((1024 * LAYERS, True), (1024 * LAYERS + 1, False)):
        monkeypatch.setattr(early_updates, "LEAST", least)
        assert (update_early(graph) is not None) is is_worth


def test_how_much_memory_has_to_be_saved(monkeypatch):
    graph = recorded(step_of(chain, adam), *inputs_of())
    before = Liveness(graph.graph).peak
    early = update_early(graph)
    assert early is not None
    after = Liveness(early.graph).peak
    for pays, is_enough in ((Fraction(after, before), True), (Fraction(after - 1, before), False)):
        monkeypatch.setattr(early_updates, "PAYS", pays)
        assert (update_early(graph) is not None) is is_enough


def test_a_step_whose_results_are_all_gradients_stays(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(early_updates, "LEAST", 1)
    graph = recorded(step_of(chain, adam, after=lambda weights, gradients: gradients), *inputs_of())
    assert update_early(graph) is None


def read_last(graph, target, value, *more):
    with graph.graph.inserting_before(graph.graph.output_node()):
        graph.graph.call_function(target, (value, *more))


@pytest.mark.parametrize("target, stays", [(exchange, True), (in_python, True), (another, False)])
def test_what_comes_after_updates_and_is_no_kernel(target, stays):
    graph = recorded(step_of(chain, adam), *inputs_of())
    weight = next(iter(graph.graph.nodes)).next
    read_last(graph, target, weight)
    assert (update_early(graph) is None) is stays
    other = recorded(step_of(chain, adam), *inputs_of())
    read_last(other, target, next(iter(other.graph.nodes)))  # the input, which nothing changes
    early = update_early(other)
    assert early is not None
    assert min(places(early, "_fused_adamw_")) > [n.target for n in early.graph.nodes].index(target)


def test_a_loop_after_updates_stays():
    graph = recorded(step_of(chain, adam), *inputs_of())
    weight = next(iter(graph.graph.nodes)).next
    loop = Loop(recorded(lambda x: [x * 2], torch.rand(WIDTH, WIDTH)), 1, 0, [], steps=2)
    with graph.graph.inserting_before(graph.graph.output_node()):
        graph.graph.call_function(loop, ([weight],))
    assert update_early(graph) is None


def test_a_step_that_changes_a_form_in_place_stays():
    kept = torch.rand(2, 3)
    graph = recorded(step_of(chain, adam, after=lambda *_: [kept.sin().t_()]), *inputs_of())
    assert update_early(graph) is None


def test_numbers_of_all_entries_in_one_tensor_stay_together():
    """A piece of the kernel would take the number of the first entry, or refuse."""
    def update(weights, gradients, moments, lr):
        aten._foreach_addcmul_.Tensor(weights, gradients, moments[:LAYERS], torch.arange(4.0))

    def number(weights, gradients, moments, lr):
        torch._foreach_mul_(weights, torch.tensor(0.5))
        momentum(weights, gradients, moments, lr)

    assert update_early(recorded(step_of(chain, update), *inputs_of())) is None
    inputs = inputs_of()
    graph = recorded(step_of(chain, number), *inputs)
    early = update_early(graph)
    assert early is not None and len(places(early, "_foreach_mul_")) == LAYERS
    check_same(graph, early, inputs, tolerance=0)


@pytest.mark.parametrize("target, args, entries", [
    (aten._foreach_mul_.Scalar, (2.0,), 2), (aten._foreach_mul.Scalar, (2.0,), 0),
    (aten._foreach_mul_.ScalarList, ([2.0, 3.0],), 2), (aten._foreach_neg_.default, (), 2),
    (aten.stack.default, (), 0), (aten.cat.default, (), 0), (exchange, (), 0)])
def test_which_kernels_change_lists_entry_by_entry(target, args, entries):
    graph = recorded(lambda x, y: [x.sin(), y.sin()], X, X)
    given = list(graph.graph.output_node().args[0])
    with graph.graph.inserting_before(graph.graph.output_node()):
        assert early_updates._entries(graph.graph.call_function(target, (given, *args))) == entries


def late_sum(make, more=lambda x, v: x, between=lambda x: None):
    """A value that is summed up after the peak; what is computed meanwhile takes 800 bytes."""
    def step(x, i):
        source = x.sin()
        value = make(source, x, i)
        early = more(x, value)
        other = early.cos().tan().sum()
        between(source)
        return value.sum() + other

    return step


@pytest.mark.parametrize("step, name, is_later", [
    (late_sum(lambda u, x, i: u.double()), "_to_copy", True),  # twice as large as what it is of
    (late_sum(lambda u, x, i: torch.cat([u, u[:96]])), "cat", False),
    (late_sum(lambda u, x, i: torch.cat([u, u])), "cat", True),
    (late_sum(lambda u, x, i: torch.cat([x[:50], x])), "cat", True),  # the input is there anyway
    (late_sum(lambda u, x, i: u.double(), between=lambda u: u.add_(1)), "_to_copy", False),
    (late_sum(lambda u, x, i: u.double(), lambda x, v: x * v.sum()), "_to_copy", False),
    (late_sum(lambda u, x, i: torch.rand(200)), "rand", False),
    (late_sum(lambda u, x, i: x[i]), "index", False)])
def test_which_large_values_are_made_just_before_they_are_used(step, name, is_later):
    inputs = [torch.rand(100), torch.arange(200) % 100]
    graph, other = recorded(step, *inputs), recorded(step, *inputs)
    early_updates._sink_large(other.graph, order_of(other))
    check_same(graph, other, inputs, tolerance=0)
    (before,), (after,) = places(graph, name), places(other, name)
    assert (before < after) is is_later
    assert is_later is (Liveness(other.graph).peak < Liveness(graph.graph).peak)


@pytest.mark.parametrize("together, is_later", [(800, True), (801, False)])
def test_how_large_a_value_is_that_is_made_later(monkeypatch, together, is_later):
    monkeypatch.setattr(early_updates, "TOGETHER", together)
    step, inputs = late_sum(lambda u, x, i: u.double()), [torch.rand(100), PLACES]
    other = recorded(step, *inputs)
    before = places(other, "_to_copy")
    early_updates._sink_large(other.graph, order_of(other))
    assert (places(other, "_to_copy") != before) is is_later


@pytest.mark.parametrize("count, is_worth", [(2**21 - 1, False), (2**21, True)])
def test_sixteen_mebibytes_of_gradients_are_worth_it(monkeypatch, count, is_worth):
    """Two gradients of so many elements."""
    monkeypatch.undo()
    graph = recorded(two_updates, *(torch.zeros(count) for _ in range(5)))
    assert (update_early(graph) is not None) is is_worth


def two_updates(x, *given):
    """Two updates, whose gradients are made of the input."""
    momentum(given[:2], [x.roll(2), x.roll(3)], given[2:], 0.1)
    return x.sum()


@pytest.mark.parametrize("kept, pays", [(31, True), (32, False)])
def test_three_of_a_hundred_bytes_have_to_be_saved(monkeypatch, kept, pays):
    """Of two gradients and what stays, one gradient dies before the other is made."""
    monkeypatch.setattr(early_updates, "PAYS", PAYS)
    graph = recorded(lambda x, *given: (x.repeat(kept), two_updates(x, *given)),
                     *(torch.zeros(100) for _ in range(5)))
    assert (update_early(graph) is not None) is pays


@pytest.mark.parametrize("count, sizes", [(2**17, [2, 2]), (2**17 - 1, [3, 1])])
def test_a_mebibyte_of_gradients_is_worth_a_call(monkeypatch, count, sizes):
    monkeypatch.setattr(early_updates, "TOGETHER", TOGETHER)

    def step(x, *given):
        momentum(given[:4], [x.roll(i) for i in range(1, 5)], given[4:], 0.1)
        return x.sum()

    early = update_early(recorded(step, *(torch.zeros(count) for _ in range(9))))
    assert early is not None
    assert [len(n.args[0]) for n in early.graph.nodes if "_fused_sgd_" in str(n.target)] == sizes


@pytest.mark.parametrize("count, is_early", [(1024, True), (1025, False)])
def test_four_kibibytes_are_small(monkeypatch, count, is_early):
    monkeypatch.setattr(early_updates, "SMALL", SMALL)
    kept = torch.rand(count)
    inputs = [torch.randn(32, 64), *(torch.randn(64, 64) for _ in range(12))]
    early = update_early(recorded(step_of(chain, momentum, scaled(lambda: kept.sum())), *inputs))
    assert early is not None
    updates, backward = places(early, "_fused_sgd_"), places(early, "tanh_backward")
    assert (min(updates) < max(backward)) is is_early
