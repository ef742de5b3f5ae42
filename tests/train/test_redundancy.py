"""Which processes hold the same, and which of them save what."""

import pytest

import lamella as ms
from lamella.train.redundancy import get_parameter_redundancy, remove_param_redundancy

GROUPS = {"a": ((0, 1, 2, 3),), "b": ((0, 2), (1, 3)), "c": ((0, 1, 2, 3),),
          "d": ((0,), (1,), (2,), (3,)), "e": ((0, 1, 2, 3),)}


@pytest.mark.parametrize("copies", [1, 2, 3, 4, 9])
def test_each_value_is_saved_as_often_as_asked_for(copies):
    shares = remove_param_redundancy(GROUPS, copies)
    for name, groups in GROUPS.items():
        for ranks in groups:
            assert sum(name in shares.get(rank, ()) for rank in ranks) == min(copies, len(ranks))


def test_those_that_have_fewest_save():
    """In the order of names; among equals the first."""
    assert remove_param_redundancy(GROUPS) == {
        0: {"a", "d", "e"}, 1: {"b", "d"}, 2: {"b", "d"}, 3: {"c", "d"}}
    shares = remove_param_redundancy({f"{n:02}": ((0, 1, 2),) for n in range(7)})
    assert {rank: sorted(names) for rank, names in shares.items()} == {
        0: ["00", "03", "06"], 1: ["01", "04"], 2: ["02", "05"]}
    assert remove_param_redundancy({}) == {}


@pytest.mark.parametrize("first", [None, 0, 4])
def test_a_network_of_one_process(first):
    found = get_parameter_redundancy(ms.nn.Dense(2, 1), first)
    assert found == dict.fromkeys(["bias", "weight"], ((first or 0,),))
    assert list(found) == ["bias", "weight"]
    with pytest.raises(TypeError, match="get_parameter_redundancy|Cell"):
        get_parameter_redundancy({"a": 1})
