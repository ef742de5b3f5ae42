"""States of Cells, as PyTorch names them."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn


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


class Kept(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(Tensor([1.0, 2.0]), name="w")
        self.register_buffer("seen", Tensor([3.0]))
        self.register_buffer("scratch", Tensor([4.0]), persistent=False)
        self.register_buffer("nothing", None)


@pytest.mark.parametrize("prefix", ["", "net.", "a.b."])
def test_paths_with_a_prefix_in_a_dict_of_ones_own(prefix):
    into, seen = {"before": 1}, []
    net = nn.SequentialCell(Kept(), nn.Dense(2, 1, has_bias=False))
    for cell in (net, net[0]):
        cell.register_state_dict_pre_hook(lambda *given: seen.append(("pre", *given)))
        cell.register_state_dict_post_hook(lambda *given: seen.append(("post", *given)))
    found = net.state_dict(destination=into, prefix=prefix, keep_vars=True)
    assert found is into
    assert list(found) == ["before", f"{prefix}0.w", f"{prefix}0.seen", f"{prefix}1.weight"]
    assert found[f"{prefix}0.w"] is net[0].w and found[f"{prefix}0.seen"] is net[0].seen
    assert [(kind, cell, rest[0] if kind == "pre" else rest[1]) for kind, cell, *rest in seen] == [
        ("pre", net, prefix), ("post", net, prefix), ("pre", net[0], f"{prefix}0."),
        ("post", net[0], f"{prefix}0.")]
    assert seen[0][3] is True and seen[1][2] is into and seen[1][4] == {}


def test_what_is_not_part_of_the_state_is_not_loaded():
    net = Kept()
    state = {"w": Tensor([5.0, 6.0]), "seen": Tensor([7.0]), "scratch": Tensor([8.0]),
             "nothing": Tensor([9.0])}
    with pytest.raises(RuntimeError, match="not in the network: scratch, nothing"):
        net.load_state_dict(state)
    assert net.w.tolist() == [1.0, 2.0]
    assert net.load_state_dict(state, strict=False) == ([], ["scratch", "nothing"])
    assert (net.w.tolist(), net.seen.tolist(), net.scratch.tolist()) == ([5, 6], [7], [4])
    state["seen"].add_(1.0)
    state["w"].add_(1.0)
    assert (net.w.tolist(), net.seen.tolist()) == ([5, 6], [7])


@pytest.mark.parametrize("state, error, text", [
    ([1], TypeError, "'state_dict' must be a mapping, but got list"),
    ({"w": np.ones(2), "seen": Tensor([1.0])}, TypeError, "'w' must be a Tensor, but got ndarray"),
    ({"w": Tensor([1.0, 2.0]), "seen": 3}, TypeError, "'seen' must be a Tensor, but got int"),
    ({"w": Tensor([[1.0, 2.0]]), "seen": Tensor(1.0)}, RuntimeError,
     r"'w' has shape \(2,\), but got \(1, 2\); 'seen' has shape \(1,\), but got \(\)\."),
    ({"seen": Tensor([1.0])}, RuntimeError, r"does not fit Kept: missing: w\.$")])
def test_a_state_that_does_not_fit_changes_nothing(state, error, text):
    net = Kept()
    with pytest.raises(error, match=text):
        net.load_state_dict(state)
    assert (net.w.tolist(), net.seen.tolist()) == ([1.0, 2.0], [3.0])


def test_hooks_of_loading_see_and_say_what_is_wrong():
    net, seen = nn.SequentialCell(Kept()), []

    def before(cell, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((cell, prefix, metadata, strict, list(missing), unexpected))
        if "0.bad" in state:
            errors.append("it is bad")

    handle = net[0].register_load_state_dict_pre_hook(before)
    net.register_load_state_dict_post_hook(lambda cell, keys: seen.append((cell, keys)))
    net.load_state_dict({"0.w": Tensor([5.0, 6.0])}, strict=False)
    assert seen == [(net[0], "0.", {}, False, [], []), (net, (["0.seen"], []))]
    with pytest.raises(RuntimeError, match="it is bad"):
        net.load_state_dict({"0.bad": Tensor(1.0), "0.w": Tensor([0.0, 0.0])}, strict=False)
    assert net[0].w.tolist() == [5.0, 6.0] and len(seen) == 3
    handle.remove()
    net.load_state_dict({"0.bad": Tensor(1.0)}, strict=False)
    assert seen[-1] == (net, (["0.w", "0.seen"], ["0.bad"])) and len(seen) == 4
    for register in (net.register_state_dict_pre_hook, net.register_state_dict_post_hook,
                     net.register_load_state_dict_pre_hook, net.register_load_state_dict_post_hook):
        with pytest.raises(TypeError, match="must be a function, but got int"):
            register(3)
    for call in (net.get_extra_state, lambda: net.set_extra_state(1)):
        with pytest.raises(RuntimeError, match="SequentialCell defines no '.et_extra_state'"):
            call()
