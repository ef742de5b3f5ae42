"""What is remembered of the rewritings that paid, and for how long."""

import time
from fractions import Fraction

import pytest
import torch

from lamella.graph.ir.lazy_module import copied
from lamella.graph.passes import order, was_measured_before
from lamella.graph.passes.order import Decisions
from tests.graph.passes.checks import check_same, count, recorded

X = torch.randn(4, 4)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A folder of this test's own."""
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    return tmp_path


def graph_of(function=lambda x: x.sin(), x=X):
    return recorded(function, x)


def kept(*noted, graph=None, x=X):
    """What a later process reads, once these were noted: names, whether they pay, are sure."""
    decisions = Decisions(graph or graph_of(), [x])
    for name, paid, sure in noted:
        its = graph_of()
        its.meta["unsure"] = not sure
        decisions.note(name, paid, its)
    decisions.keep()
    return dict(Decisions(graph or graph_of(), [x]))


def test_decisions_are_read_by_a_later_process():
    noted = [("halves", True, True), ("channels last, products", False, True)]
    assert kept(*noted) == {"halves": True, "channels last, products": False}
    assert was_measured_before(graph_of(), [X])


def test_decisions_are_of_one_graph_and_form():
    kept(("halves", True, True))
    assert not was_measured_before(graph_of(lambda x: x.cos()), [X])
    assert not was_measured_before(graph_of(), [torch.randn(5, 4)])
    assert not was_measured_before(graph_of(), [X.double()])
    assert was_measured_before(graph_of(x=torch.zeros(4, 4)), [torch.zeros(4, 4)])


@pytest.mark.parametrize("noted", [
    [], [("halves", True, False)], [("halves", True, True), ("products", False, False)],
    [("halves", True, False), ("products", False, True)]])
def test_what_was_not_clear_is_tried_again(noted):
    """As long as one time isn't, and where nothing was tried."""
    assert kept(*noted) == {} and not was_measured_before(graph_of(), [X])


def test_without_a_cache_nothing_is_remembered(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    assert kept(("halves", True, True)) == {}


def test_what_is_known_is_not_written_again(monkeypatch):
    kept(("halves", True, True))
    monkeypatch.setattr(order.cache, "draft", lambda: pytest.fail("it is written"))
    assert kept(("products", True, True)) == {"halves": True}


@pytest.mark.parametrize("text", [
    b"halves yes\nproducts", b"halves maybe", b"halves yes\nproducts YES", b"\xff\xfe yes",
    b"halves  ", b" no\n\n"])
def test_a_damaged_file_is_thrown_away_as_a_whole(cache, text):
    kept(("halves", True, True))
    (file,) = cache.rglob("paid")
    file.write_bytes(text)
    decisions = Decisions(graph_of(), [X])
    assert decisions == {} and decisions.folder is None and not file.exists()
    assert kept(("products", True, True)) == {"products": True}


def rewriting(function):
    return lambda graph, inputs: None if function is None else recorded(function, *inputs)


def settled(graph, most=9):
    """The graph after as many calls as it takes, and how many these are."""
    for calls in range(1, most):
        found = order.improve(graph, [X], measure=True)
        check_same(graph, found, [X])
        if not found.meta["open"]:
            return found, calls
    raise AssertionError("it takes too many calls")


@pytest.mark.parametrize("paid, name, calls", [
    ({"first": True, "second": True}, "second", 2), ({"first": True, "second": False}, "first", 2),
    ({"first": False, "second": True}, "second", 2), ({"first": False, "second": False}, None, 2)])
def test_the_last_rewriting_that_pays_is_kept(monkeypatch, paid, name, calls):
    """Each is compared with the best so far, and made again by a later process."""
    ways = {"first": lambda x: x.sin().abs().neg().neg(), "second": lambda x: x.sin().abs().relu()}
    marks = {"first": "neg", "second": "relu"}
    monkeypatch.setattr(order, "ATTEMPTS", {n: rewriting(ways[n]) for n in paid})
    compared = []

    def pays(before, after, inputs):
        compared.append((next((n for n in paid if count(before, marks[n])), None),
                         next(n for n in paid if count(after, marks[n]))))
        return paid[compared[-1][1]]

    monkeypatch.setattr(order, "pays", pays)
    graph = graph_of(lambda x: x.sin().abs())
    for again in range(2):
        found, took = settled(graph)
        assert took == (1 if again else calls)
        assert [n for n in paid if count(found, marks[n])] == ([] if name is None else [name])
        assert compared == [(None, "first"), ("first" if paid["first"] else None, "second")]
        graph.meta.clear()  # as in another process


def test_a_rewriting_with_much_more_memory_is_not_even_tried(monkeypatch):
    def larger(graph, inputs):
        return recorded(lambda x: (x.sin() + x.new_zeros(200).add(x.sum()).sum() * 0), *inputs)

    monkeypatch.setattr(order, "ATTEMPTS", {"larger": larger, "none": rewriting(None)})
    monkeypatch.setattr(order, "pays", lambda *_: pytest.fail("it was tried"))
    graph = graph_of()
    found, calls = settled(graph)
    assert calls == 1 and count(found, "sum") == 0
    assert dict(Decisions(graph, [X])) == {"larger": False, "none": False}


def test_a_graph_that_changes_a_form_in_place_stays():
    graph = graph_of(lambda x: x.sin().t_() * 1)
    found = order.improve(graph, [X])
    assert found is not graph and count(found, "mul") == 1
    assert order.improve(graph, [X], in_place=True) is graph


def test_a_graph_is_changed_only_if_it_may_be():
    graph = graph_of(lambda x: (x * 1).sin())
    other = copied(graph)
    assert count(order.improve(graph, [X]), "mul") == 0 and count(graph, "mul") == 1
    assert order.improve(other, [X], in_place=True) is other and count(other, "mul") == 0


@pytest.mark.parametrize("most, is_tried", [(Fraction(3, 2), True), (Fraction(299, 200), False)])
def test_how_much_more_memory_a_rewriting_may_take(monkeypatch, most, is_tried):
    """This one takes 192 bytes and not 128."""
    asked = []
    monkeypatch.setattr(order, "MOST_MEMORY", most)
    monkeypatch.setattr(order, "pays", lambda *_: asked.append(1) or False)
    monkeypatch.setattr(order, "ATTEMPTS", {
        "larger": rewriting(lambda x: x.sin().abs().add(x.cos() * 0))})
    settled(graph_of(lambda x: x.sin().abs()))
    assert asked == [1] * is_tried


def test_batch_norms_are_timed_once_layouts_are_decided(monkeypatch):
    asked = []
    monkeypatch.setattr(order, "fuse_batch_norms", lambda _, measure: asked.append(measure) or 0)
    monkeypatch.setattr(order, "pays", lambda *_: False)
    monkeypatch.setattr(order, "ATTEMPTS", {n: rewriting(lambda x: x.sin()) for n in "abc"})
    graph = graph_of()
    for _ in range(3):
        order.improve(graph, [X], measure=True)
    order.improve(graph_of(), [X])
    assert asked == [False, False, True, False]


def test_products_are_not_sought_where_the_first_rewriting_finds_nothing():
    assert order._with_products(rewriting(None))(graph_of(), [X]) is None
    graph = graph_of(lambda x: x.clone().sin())
    found = []

    def first(graph, inputs):
        found.append(recorded(lambda x: x.clone().sin(), *inputs))
        return found[0]

    assert order._with_products(first)(graph, [X]) is None  # it has no convolutions
    assert count(found[0], "clone") == 0 and count(graph, "clone") == 1


@pytest.mark.parametrize("seconds, is_tried", [(1.0, True), (1.0625, False)])
def test_a_rewriting_that_took_more_than_a_second_is_tried_by_the_next_call(monkeypatch, seconds,
                                                                            is_tried):
    now, asked = [8.0], []

    def attempt(graph, inputs):
        now[0] += seconds
        return recorded(lambda x: x.sin(), *inputs)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(order, "ATTEMPTS", {"it": attempt})
    monkeypatch.setattr(order, "pays", lambda *_: asked.append(1) or False)
    found = order.improve(graph_of(), [X], measure=True)
    assert (asked, found.meta["open"]) == ([1] * is_tried, not is_tried)
