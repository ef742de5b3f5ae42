"""States of Cells, as PyTorch names them."""

import pytest

from lamella import nn


def test_extra_state_of_inner_cells_is_missed_by_its_path():
    class Extra(nn.Cell):
        seen = None

        def get_extra_state(self):
            return 4

        def set_extra_state(self, state):
            self.seen = state

    net = nn.SequentialCell(nn.Dense(2, 2), Extra())
    state = net.state_dict()
    assert state.pop("1._extra_state") == 4
    assert net.load_state_dict(state, strict=False) == (["1._extra_state"], [])
    with pytest.raises(RuntimeError, match=r"missing: 1\._extra_state\."):
        net.load_state_dict(state)
    assert net[1].seen is None
    assert net.load_state_dict({**state, "1._extra_state": 5}) == ([], []) and net[1].seen == 5
