"""Several implementations timed in turns."""

from random import Random

import pytest
import torch

from lamella.machine.timing import BRIEF, GAIN, SHORT, Rounds, fastest_of


def noted(warm=0, **times):
    rounds = Rounds(times, warm)
    rounds.times.update({name: list(seconds) for name, seconds in times.items()})
    return rounds


def test_the_first_stays_unless_another_is_clearly_faster():
    assert noted(a=[1.0] * 3, b=[GAIN + 0.01] * 3).fastest() == "a"
    assert noted(a=[1.0] * 3, b=[GAIN - 0.01] * 3).fastest() == "b"
    assert noted(a=[1.0] * 3, b=[0.8] * 3, c=[0.7] * 3).fastest() == "c"


def test_what_others_add_to_a_run_does_not_count():
    a = [1.0, 9.0, 2.0, 30.0, 1.0]  # as busy as the machine is
    assert noted(a=a, b=[0.8 * t for t in a]).share("b") == 0.8
    assert noted(a=[1.0, 1.0, 1.0], b=[0.8, 50.0, 0.8]).fastest() == "b"
    assert noted(a=[1.0] * 10, b=[0.8, 0.8] + [5.0] * 8).fastest() == "b"


def test_an_answer_that_half_of_the_rounds_contradicts_is_not_sure():
    assert noted(a=[1.0] * 4, b=[0.8] * 4).is_sure
    assert noted(a=[1.0] * 4, b=[0.8, 9.0] * 2).is_sure is False
    assert noted(a=[9.0, 1.0, 1.0], b=[0.1, 0.8, 0.8], warm=1).is_sure
    assert not noted(a=[1.0], b=[0.5]).is_sure  # one round has no halves


def disturbed(random, seconds):
    """A time on a machine where other programs interrupt most of the runs."""
    return seconds * random.uniform(1.0, 1.03) + (random.random() < 0.7) * random.uniform(2, 12)


@pytest.mark.parametrize(("first", "second", "fastest"), [
    (1.0, 0.75, "b"), (1.0, 1.3, "a"), (0.4, 0.2, "b"), (1.0, 1.0, "a")])
def test_the_fastest_is_found_on_a_loaded_machine(first, second, fastest):
    wrong = unsure = 0
    for seed in range(400):
        random, rounds = Random(seed), Rounds("ab", warm=1)
        for until in (11, 22, 44):
            while rounds.count < until:
                for name, seconds in (("a", first), ("b", second)):
                    rounds.times[name].append(disturbed(random, seconds))
            if rounds.is_sure:
                break
        wrong += rounds.is_sure and rounds.fastest() != fastest
        unsure += not rounds.is_sure
    assert wrong <= 20 and unsure <= 40  # the medians: up to 170 wrong


def test_first_rounds_may_not_count():
    assert noted(a=[9.0, 1.0, 1.0], b=[0.1, 2.0, 2.0], warm=1).fastest() == "a"


def test_ways_take_turns():
    rounds = Rounds("ab")
    for expected in "abab":
        assert rounds.turn == expected
        assert rounds.timed(expected, lambda: 5, torch.device("cpu")) == 5
    assert rounds.count == 2 and all(t > 0 for t in rounds.times["a"])


def test_brief_runs_follow_one_of_their_own():
    assert not noted(a=[], b=[]).are_brief
    assert noted(a=[1.0, BRIEF / 2], b=[BRIEF / 2]).are_brief
    assert not noted(a=[BRIEF / 2], b=[2 * BRIEF]).are_brief
    assert not noted(a=[BRIEF], b=[BRIEF / 2]).are_brief
    assert not noted(a=[BRIEF / 2, BRIEF], b=[BRIEF / 2]).are_brief


def test_the_limits_themselves():
    assert noted(a=[1.0], b=[GAIN]).fastest() == "a"  # not below it
    assert noted(a=[1.0, 5.0], b=[2.0]).count == 1
    assert noted(a=[1.0, 0.1], b=[0.5]).fastest() == "b"  # the round isn't complete
    assert noted(a=[2.0], b=[1.0]).share("b") == 0.5 and noted(a=[2.0], b=[1.0]).share("a") == 1
    assert noted(a=[1.0] * 2, b=[0.8] * 2).is_sure
    assert not noted(a=[1.0] * 2, b=[0.8] * 2, warm=1).is_sure
    assert not noted(a=[9.0, 1.0, 1.0], b=[0.1, 0.8, 1.0], warm=1).is_sure


@pytest.mark.parametrize("rounds", [SHORT - 1, SHORT, 2 * SHORT - 1, 2 * SHORT])
def test_one_of_so_many_times_may_be_shorter(rounds):
    """As many very short times as don't count, and one more."""
    few = rounds // SHORT
    for short, wanted in ((few, 1.0), (few + 1, 0.1)):
        times = [0.1] * short + [1.0] * (rounds - short)
        assert noted(a=[1.0] * rounds, b=times[::-1]).share("b") == wanted


@pytest.mark.parametrize("rounds, patience, runs", [(1, 60.0, 1), (4, 60.0, 4), (4, 0.0, 2),
                                                    (2, 0.0, 2)])
def test_how_often_ways_run(rounds, patience, runs):
    called = []
    ways = {name: (lambda name=name: called.append(name)) for name in "abc"}
    assert fastest_of(ways, rounds, patience) in ways
    assert "".join(called) == "abc" * runs
