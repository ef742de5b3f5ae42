"""Rows that are sent before they are asked for; `tests/device/simulated` has them on a device."""

import pytest

from lamella.dataset.ahead import AHEAD, Ahead


def test_rows_before_an_error_are_given_first():
    sent = []

    def rows():
        yield from range(4)
        raise ValueError("broken")

    def send(row):
        sent.append(row)
        return row * 10

    ahead = Ahead(rows(), send, lambda read: f"after {read}", given=7)
    found, states = [], []
    with pytest.raises(ValueError, match="broken"):
        for value in ahead:
            assert len(sent) == min(len(found) + 1 + AHEAD, 4)
            found.append(value)
            states.append(ahead.state)
    assert found == [0, 10, 20, 30]
    assert states == ["after 8", "after 9", "after 10", "after 11"]
    with pytest.raises(ValueError, match="broken"):
        next(ahead)


def test_an_interrupt_comes_at_once_and_loses_nothing():
    interrupted = []

    class Rows:
        def __init__(self):
            self.left = iter(range(5))

        def __next__(self):
            number = next(self.left)
            if number == 2 and not interrupted:
                interrupted.append(True)
                self.left = iter(range(2, 5))
                raise KeyboardInterrupt
            return number

    ahead = Ahead(Rows(), lambda row: row, lambda read: read, 0)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        next(ahead)
    assert list(ahead) == [0, 1, 2, 3, 4]
