"""Several implementations timed in turns."""

import torch

from lamella.machine.timing import BRIEF, GAIN, Rounds


def noted(warm=0, **times):
    rounds = Rounds(times, warm)
    rounds.times.update({name: list(seconds) for name, seconds in times.items()})
    return rounds


def test_the_first_stays_unless_another_is_clearly_faster():
    assert noted(a=[1.0] * 3, b=[GAIN + 0.01] * 3).fastest() == "a"
    assert noted(a=[1.0] * 3, b=[GAIN - 0.01] * 3).fastest() == "b"
    assert noted(a=[1.0] * 3, b=[0.8] * 3, c=[0.7] * 3).fastest() == "c"


def test_times_are_compared_within_a_round():
    a = [1.0, 9.0, 2.0, 30.0, 1.0]  # as busy as the machine is
    assert noted(a=a, b=[0.8 * t for t in a]).share("b") == 0.8
    assert noted(a=[1.0, 1.0, 1.0], b=[0.8, 50.0, 0.8]).fastest() == "b"


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
