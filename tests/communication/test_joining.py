"""The variables of launchers, and exchanges that are made once though a run starts over."""

from __future__ import annotations

import datetime
from types import SimpleNamespace

import pytest
import torch

from lamella.communication import exchange as exchange_room
from lamella.communication import joining, repeated
from lamella.communication.repeated import Attempt, Repeated, repeatable, started_over


@pytest.mark.parametrize("given, default, want", [
    ({}, 5, 5), ({"A": "3"}, 5, 3), ({"B": "4"}, 5, 4), ({"A": "0", "B": "4"}, 5, 0),
    ({"A": " 7 "}, 0, 7)])
def test_numbers_of_a_launcher(given, default, want, monkeypatch):
    for name in ("A", "B"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert joining.number("A", "B", default=default) == want
    assert joining.number("C") == 0
    for wrong in ("-1", "x", "", "1.5"):
        monkeypatch.setenv("A", wrong)
        with pytest.raises(ValueError, match="variable A must be a number of 0 or more"):
            joining.number("A", "B")


def test_how_long_an_exchange_waits(monkeypatch):
    monkeypatch.delenv("HCCL_EXEC_TIMEOUT", raising=False)
    assert joining.patience() == datetime.timedelta(minutes=30)
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "7")
    assert joining.patience() == datetime.timedelta(seconds=7)
    joining.wait_for(datetime.timedelta(seconds=3))
    try:
        assert joining.patience() == datetime.timedelta(seconds=3)
    finally:
        joining.wait_for(None)


def test_a_rank_beyond_the_world(monkeypatch):
    for rank in ("2", "3"):
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(RuntimeError, match=f"this is process {rank} of 2"):
            joining.join(2)


def test_each_world_has_its_part_of_a_store():
    store = torch.distributed.HashStore()
    for world in (1, 2):
        first, second = (joining._world_in(store, rank) for rank in (0, 1))
        first.set("address", f"of {world}")
        assert second.get("address") == f"of {world}".encode()
    later = joining._world_in(store, 0)
    assert not later.check(["address"])


def test_a_store_is_kept_for_the_next_world_at_the_same_place(monkeypatch):
    monkeypatch.setattr(joining, "_kept", None)
    server = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "11")
    place = "127.0.0.1", server.port
    store = joining._store_at(*place, 0, 2)
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "12")
    assert joining._store_at(*place, 0, 2) is store
    assert store.timeout == datetime.timedelta(seconds=12)
    assert joining._store_at(*place, 1, 2) is not store


def test_libraries_of_devices():
    assert joining.library_of("cpu") == "gloo"
    with pytest.raises(RuntimeError, match="no library that exchanges tensors of 'another'"):
        joining.library_of("another")


GROUP = SimpleNamespace(size=2, name="pair")


@pytest.fixture
def made():
    """An exchange that counts how often it is made, and gives another result each time."""
    lines: list[str] = []

    def double(name, given, factor, group, *, plus=0.0):
        lines.append(repeated.here.line)
        return given * factor + plus + len(lines)

    yield double, lines
    assert repeated.here.log is None


def exchange(make, factor=2.0):
    found = Repeated(make, "f", (factor, GROUP), {"plus": 10.0})
    found.line = "a.py:3"
    return found


def test_without_a_log_each_call_is_an_exchange(made):
    make, lines = made
    call = exchange(make)
    assert [float(call(torch.tensor(1.0))) for _ in range(2)] == [13, 14]
    assert lines == ["a.py:3"] * 2 and repeated.here.line == "" and str(call) == "exchange.double"


def test_a_run_that_starts_over_gets_what_came_before(made):
    make, lines = made
    call, x = exchange(make), torch.tensor(1.0)
    attempt = Attempt()
    first = call(x)
    first.add_(100.0)  # what the program does with it isn't logged
    second = call(x * 2)
    attempt.miss()
    with started_over():
        assert float(call(x)) == 13 and float(call(x * 2)) == 16 == float(second)
        assert len(lines) == 2
        assert float(call(x)) == 15 and len(lines) == 3  # a further one is made
        attempt.end()
        assert repeated.here.log is not None
    assert repeated.here.log is None


@pytest.mark.parametrize("done", [True, False])
def test_a_run_that_starts_over_ends_no_exchange_early(done):
    out = SimpleNamespace(pending=SimpleNamespace(is_completed=lambda: done))
    assert exchange_room.has_finished(out) is done
    attempt = Attempt()
    attempt.miss()
    with started_over():
        assert not exchange_room.has_finished(out)
    assert exchange_room.has_finished(out) is done


def test_what_is_exchanged_must_be_the_same(made):
    make, _ = made
    attempt = Attempt()
    exchange(make)(torch.ones(3))
    for other, given in ((exchange(make), torch.ones(4)), (exchange(make, 3.0), torch.ones(3)),
                         (exchange(make), torch.ones(3, dtype=torch.float64))):
        attempt.miss()
        with pytest.raises(RuntimeError, match="exchanges something else than before"):
            other(given)
    attempt.end()


def test_results_are_logged_only_as_long_as_the_run_may_be_replaced(made):
    make, lines = made
    call, x = exchange(make), torch.tensor(1.0)
    attempt = Attempt()
    assert not attempt.is_finished
    call(x)
    attempt.hold()
    call(x)
    assert attempt.is_finished and len(attempt.log.results) == 1 and len(lines) == 2
    attempt.end()


def test_nested_runs_that_start_over(made):
    make, lines = made
    call, x = exchange(make), torch.tensor(1.0)
    outer = Attempt()
    call(x)
    inner = Attempt()  # which begins behind what the outer one has exchanged
    assert inner.log is outer.log and (outer.start, inner.start) == (0, 1)
    call(x)
    inner.miss()
    with started_over():
        assert float(call(x)) == 14 and len(lines) == 2
        outer.miss()
        with started_over():
            assert [float(call(x)) for _ in range(2)] == [13, 14]
        assert repeated.here.log is outer.log
    assert len(lines) == 2


def test_alone_nothing_is_recorded(made):
    make, _ = made
    call = repeatable(make)
    alone = SimpleNamespace(size=1, name="alone")
    assert float(call("f", torch.tensor(1.0), 2.0, alone)) == 3
    assert float(call("f", torch.tensor(1.0), 2.0, GROUP, plus=1.0)) == 5


def test_pending_results_are_kept_as_they_are(made):
    make, _ = made
    call = exchange(make)
    pending = torch.ones(2)
    pending.pending = object()
    assert call._copy(pending) is pending
    plain = torch.ones(2)
    assert call._copy(plain) is not plain and call._copy([plain])[0] is not plain
    assert call._copy("other") == "other"
