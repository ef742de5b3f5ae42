"""Groups in worlds of many processes, of which each is simulated: ranks against the formulas."""

import pytest

from lamella import communication
from lamella.communication import joining
from lamella.communication.groups import beside, ended, group_of
from lamella.communication.simulate import simulate


def in_each(size, function):
    """What a function returns in each process of a world."""
    found = []

    def program():
        communication.init()
        found.append(function())

    simulate(program, size)
    return found


@pytest.mark.parametrize("local, size", [(4, 8), (3, 7), (8, 8)])
def test_ranks_on_this_machine(monkeypatch, local, size):
    """Launchers number machine by machine."""
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
    monkeypatch.setenv("WORLD_SIZE", str(size))

    def ranks():
        odd = [*range(1, size, 2)]
        communication.create_group("odd", odd)
        return [(communication.get_rank(group), communication.get_group_size(group),
                 communication.get_local_rank(group), communication.get_local_rank_size(group))
                for group in ("hccl_world_group", "odd")]

    odd = [*range(1, size, 2)]
    for rank, (world, part) in enumerate(in_each(size, ranks)):
        machine = [r for r in range(size) if r // local == rank // local]
        assert world == (rank, size, machine.index(rank), len(machine))
        here = [r for r in odd if r in machine]
        assert part == (odd.index(rank) if rank in odd else -1, len(odd),
                        here.index(rank) if rank in here else -1, len(here))


def test_ranks_in_a_group_and_in_the_world():
    def ranks():
        communication.create_group("some", [5, 1, 4])
        for call in (lambda: communication.get_world_rank_from_group_rank("some", 3),
                     lambda: communication.get_world_rank_from_group_rank("some", -1),
                     lambda: communication.get_group_rank_from_world_rank(2, "some")):
            with pytest.raises(ValueError, match="For 'get_"):
                call()
        for wrong in (True, 1.0):
            with pytest.raises(TypeError, match="must be type of int"):
                communication.get_world_rank_from_group_rank("some", wrong)  # type: ignore
        return (communication.get_process_group_ranks("some"),
                [communication.get_world_rank_from_group_rank("some", i) for i in range(3)],
                [communication.get_group_rank_from_world_rank(r, "some") for r in (1, 4, 5)])

    assert in_each(6, ranks) == [([1, 4, 5], [1, 4, 5], [0, 1, 2])] * 6


def test_a_second_communicator_is_made_once_and_for_members():
    def second():
        communication.create_group("pair", [0, 2])
        pair = group_of("pair", "test")
        other = beside(pair)
        if pair.rank < 0:
            return other is pair
        communication.destroy_group("pair")
        return (other is not pair and other.ranks == [0, 2] and other is beside(pair)
                and pair.has_ended and other.has_ended)

    assert in_each(3, second) == [True] * 3
    alone = group_of(None, "test")
    assert beside(alone) is alone and not alone.has_ended


def test_a_second_communicator_is_found_by_processes_in_any_number_of_other_groups():
    def name():
        communication.create_group("of the first", [0])
        return beside(group_of(None, "test")).process_group.group_name

    names = in_each(3, name)
    assert len(set(names)) == 1


def test_all_processes_count_worlds_alike_whoever_destroys_a_group():
    def changes():
        communication.create_group("pair", [0, 2])
        before = ended()
        if communication.get_rank("pair") >= 0:
            communication.destroy_group("pair")
        return ended() - before

    before = ended()
    assert in_each(3, changes) == [0] * 3 and ended() == before + 3


@pytest.mark.parametrize("given, want", [
    ({}, 7), ({"SECOND": "3"}, 3), ({"FIRST": "2", "SECOND": "3"}, 2), ({"FIRST": "0"}, 0)])
def test_the_first_variable_that_is_set_counts(monkeypatch, given, want):
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    assert joining.number("FIRST", "SECOND", default=7) == want


@pytest.mark.parametrize("text", ["-1", "1.5", "", "x"])
def test_variables_are_numbers(monkeypatch, text):
    monkeypatch.setenv("FIRST", text)
    with pytest.raises(ValueError, match="variable FIRST must be a number of 0 or more"):
        joining.number("FIRST")


def test_the_patience_of_exchanges(monkeypatch):
    assert joining.patience().total_seconds() == 1800
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "60")
    assert joining.patience().total_seconds() == 60
    joining.wait_for(joining.datetime.timedelta(seconds=5))
    try:
        assert joining.patience().total_seconds() == 5
    finally:
        joining.wait_for(None)
    assert joining.patience().total_seconds() == 60
