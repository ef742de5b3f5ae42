"""What processes tell each other of while one waits, with a store and exchanges made here."""

import datetime
import json
import re
import types

import pytest

from lamella.communication import waiting

GROUP = types.SimpleNamespace(compares=True, ranks=[0, 1, 2])
ALONE = types.SimpleNamespace(compares=False, ranks=[0, 1, 2])


class Store(dict):
    """A store of a world, as PyTorch's."""

    def check(self, keys):
        return all(key in self for key in keys)

    def set(self, key, value):
        self[key] = value
        self.told.append(json.loads(value))

    def get(self, key):
        return self[key].encode()


class Exchange:
    """An exchange that finishes with its wait of a number, or fails then."""

    def __init__(self, now, number, error=None):
        self.now, self.number, self.error, self.waits = now, number, error, []

    def wait(self, time=None):
        if time is None:
            self.waits.append(None)
            return
        self.waits.append(time.total_seconds())
        self.now[0] += self.waits[-1]
        if len(self.waits) < self.number:
            raise RuntimeError("timed out")
        if self.error is not None:
            raise self.error

    def is_completed(self):
        return len(self.waits) >= self.number


@pytest.fixture
def world(monkeypatch):
    """A world of three in which this is process 1; gives its store, its clock and its warnings."""
    store, now, said = Store(), [1000.0], []
    store.told = []
    monkeypatch.setattr(waiting, "_store", lambda: store)
    monkeypatch.setattr(waiting, "world_rank", lambda: 1)
    monkeypatch.setattr(waiting, "ended", lambda: 4)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(waiting.time, "time", lambda: now[0])
    monkeypatch.setattr(waiting.log, "warning", said.append)
    monkeypatch.setattr(waiting.dist, "is_initialized", lambda: True)
    monkeypatch.setenv("LAMELLA_WAIT_NOTICE", "2.5")
    return types.SimpleNamespace(store=store, now=now, said=said)


def test_what_is_quick_is_only_waited_for(world):
    work = Exchange(world.now, 1)
    waiting.until(work, GROUP, pytest.fail)
    assert work.waits == [2.5] and world.store.told == []
    work = Exchange(world.now, 1)
    waiting.until(work, ALONE, pytest.fail)
    assert work.waits == [None]


def test_one_that_waits_says_so_at_doubled_times(world):
    world.store["lamella/4/0"] = json.dumps({"waits": "a product", "since": 990.0})
    work = Exchange(world.now, 8)
    waiting.until(work, GROUP, lambda: "a sum")
    # looks once a second, or when the next warning is due
    assert work.waits == pytest.approx([2.5, 1, 1, 0.5, 1, 1, 1, 1])
    assert world.store.told == [{"waits": "a sum", "since": 1000.0}, {}]
    assert world.said == [
        f"Process 1 has waited {waited} s for others, in a sum. Meanwhile:"
        f"\n  process 0 has waited {since} s, in a product"
        "\n  process 2 waits for no other: it computes, or has stopped"
        for waited, since in ((2, 12), (5, 15))]


def test_a_process_that_has_ended_is_waited_for_no_longer(world):
    world.store["lamella/4/2"] = json.dumps({"ended": 17})
    work = Exchange(world.now, 99)
    with pytest.raises(RuntimeError) as raised:
        waiting.until(work, GROUP, lambda: "a sum")
    assert work.waits == [2.5, 1.0] and world.said == [] and world.store.told[-1] == {}
    told = str(raised.value)
    assert "process 2 has ended its program, or has called 'release', after 17 exchanges" in told
    assert "process 0 waits for no other" not in told and "process 1" not in told
    # its last exchange may be the one that is waited for
    waiting.until(Exchange(world.now, 2), GROUP, lambda: "a sum")


def test_an_exchange_that_fails_raises_its_own_error(world):
    with pytest.raises(RuntimeError, match="broken"):
        waiting.until(Exchange(world.now, 1, RuntimeError("broken")), GROUP, pytest.fail)
    assert world.store.told == []


def test_one_that_leaves_says_after_how_many_exchanges(world, monkeypatch):
    waiting.leave(12)
    assert world.store == {"lamella/4/1": json.dumps({"ended": 12})}
    monkeypatch.setattr(waiting.dist, "is_initialized", lambda: False)
    waiting.leave(13)
    assert world.store.told == [{"ended": 12}]

    def gone():
        raise RuntimeError("the store is gone")

    monkeypatch.setattr(waiting, "_store", gone)
    monkeypatch.setattr(waiting.dist, "is_initialized", lambda: True)
    waiting.leave(14)  # nobody is left to be told


@pytest.mark.parametrize("text, notes, group, want", [
    ("wrong sizes", {}, GROUP, "^wrong sizes$"), ("closed by peer", {}, ALONE, "^closed by peer$"),
    ("Socket closed", {}, GROUP, "the connection to another process of the group was lost"),
    ("Connection refused", {"2": {"ended": 3}}, GROUP, "process 2 has ended .* after 3 exchanges"),
    ("Timed out waiting", {"0": {"ended": 5}}, GROUP, "process 0 has ended .* after 5 exchanges"),
    ("a timeout", {"0": {"waits": "a sum", "since": 940.0}}, GROUP,
     r"^no answer within the 7.5 s .*\n  process 0 has waited 60 s, in a sum\n  process 2 waits")])
def test_why_an_exchange_failed(text, notes, group, want, world, monkeypatch):
    monkeypatch.setattr(waiting, "patience", lambda: datetime.timedelta(seconds=7.5))
    for rank, note in notes.items():
        world.store[f"lamella/4/{rank}"] = json.dumps(note)
    found = waiting.reason(RuntimeError(text), group)
    assert re.search(want, found, re.DOTALL), found
