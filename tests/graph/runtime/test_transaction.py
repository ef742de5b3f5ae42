"""What undoes a run of a graph."""

import pytest
import torch

from lamella.communication.repeated import here
from lamella.graph.runtime.transaction import Transaction


@pytest.mark.parametrize("copied", [True, False])
def test_numbers_are_drawn_again_and_copied_inputs_get_their_values_back(copied):
    stream, raw = torch.Generator(), torch.ones(2)
    transaction = Transaction([stream], False)
    drawn = torch.rand(3, generator=stream)
    transaction.close([raw] if copied else [])
    assert transaction.stays_open is copied
    raw.fill_(5.0)
    transaction.roll_back()
    assert raw.tolist() == ([1.0, 1.0] if copied else [5.0, 5.0])
    assert torch.equal(torch.rand(3, generator=stream), drawn)


def test_exchanges_are_kept_for_the_run_that_follows_until_one_has_ended():
    first = Transaction([], True)
    log = here.log
    assert log is not None and log.writes
    log.place = 2
    first.roll_back()
    assert here.log is log and not log.writes and log.place == 0
    second = Transaction([], True)
    assert here.log is log and log.writes
    second.close([])
    assert not log.writes  # no other run follows
    second.end()
    assert here.log is None
