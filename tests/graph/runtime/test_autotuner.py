"""The choice among ways to run a stage, with times that are given."""

from lamella.graph.runtime.autotuner import MOST, ROUNDS, Autotuner
from lamella.machine.timing import BRIEF, Rounds


def decided(monkeypatch, seconds):
    """The name that an autotuner decides for, whether it is sure, and how many rounds it took.

    Args:
        seconds: a function from a candidate's name and the number of a round to a time.
    """
    def timed(self, name, run, device):
        self.times[name].append(seconds(name, len(self.times[name])))
        return run()

    monkeypatch.setattr(Rounds, "timed", timed)
    found = []
    tuner = Autotuner(dict.fromkeys("ab", lambda values: values), found.append)
    while not found:
        assert tuner([]) == []
    assert len(found) == 1
    return found[0], tuner.is_sure, tuner.rounds.count


def test_clear_times_are_decided_at_once(monkeypatch):
    assert decided(monkeypatch, lambda name, n: {"a": 2.0, "b": 1.0}[name]) == ("b", True, ROUNDS)
    assert decided(monkeypatch, lambda name, n: BRIEF / 8) == ("a", True, ROUNDS)


def test_disturbed_times_get_more_rounds(monkeypatch):
    def seconds(name, n):
        # at first the machine is so loaded that b's runs are undisturbed in one half only
        return 2.0 if name == "a" else 1.0 if n % 2 or n > ROUNDS else 9.0

    assert decided(monkeypatch, seconds) == ("b", True, 2 * ROUNDS)


def test_times_that_never_tell_are_given_up(monkeypatch):
    def seconds(name, n):
        return 2.0 if name == "a" else 1.0 if n % 2 else 9.0

    assert decided(monkeypatch, seconds) == ("b", False, MOST)
