"""When a replay's result counts as the same as an eager run's."""

import pytest
import torch

from lamella import Tensor
from lamella.graph.runtime import audit

ONE = torch.tensor([1.0, float("nan")])


@pytest.mark.parametrize("got, want, is_same", [
    (ONE, ONE.clone(), True), (Tensor.from_torch(ONE), ONE, True), (ONE, ONE.double(), False),
    (ONE, ONE[:1], False), (ONE[:1], ONE[:1] * (1 + audit.RELATIVE / 2), True),
    (ONE[:1], ONE[:1] + 3 * (audit.RELATIVE + audit.ABSOLUTE), False),
    (torch.zeros(1), torch.full((1,), audit.ABSOLUTE / 2), True),
    (torch.zeros(1), torch.full((1,), audit.ABSOLUTE * 2), False), (ONE, 1.0, False),
    (1.0, ONE, False), (1, 1, True), (1, 1.0, False), (1, True, False), ("a", "a", True),
    ("a", "b", False), (b"a", "a", False), (float("nan"), float("nan"), True),
    (3, None, False), (None, 3, False), (None, None, True), (5.0, (1, 2), False),
    ((1, 2), 5.0, False), ({"a": 1}, {"b": 1}, False), ([ONE], ONE, False), ([], None, False),
    (Tensor, torch, True)])
def test_results(got, want, is_same):
    assert audit._same(got, want) is is_same


@pytest.mark.parametrize("found, wanted, pairs", [
    (1, 2, [("r", 1, 2)]), ([1, (2, 3)], (4, [5, 6]), [("r[0]", 1, 4), ("r[1][0]", 2, 5),
                                                      ("r[1][1]", 3, 6)]),
    ((1, 2), (1,), [("the length of r", 2, 1)]), ((), (), []), (5.0, (1, 2), [("r", 5.0, (1, 2))]),
    ((1, 2), 5.0, [("r", (1, 2), 5.0)]), ({"a": 1, 2: [3]}, {"a": 4, 2: [5]},
                                         [("r['a']", 1, 4), ("r[2][0]", 3, 5)]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [("r", {"a": 1, "b": 2}, {"b": 2, "a": 1})]),
    ({}, [], [("r", {}, [])]), ([], {}, [("r", [], {})])])
def test_parts_of_results(found, wanted, pairs):
    assert list(audit._pairs(found, wanted, "r")) == pairs


@pytest.mark.parametrize("value, text", [
    (torch.arange(4.0), "[0, 1, 2, 3] of shape [4]"),
    (torch.arange(5.0), "[0, 1, 2, 3, ...] of shape [5]"),
    (Tensor([[1.5], [1 / 3]]), "[1.5, 0.333333] of shape [2, 1]"), ("a", "'a'"), (2.0, "2.0")])
def test_results_in_messages(value, text):
    assert audit._short(value) == text
