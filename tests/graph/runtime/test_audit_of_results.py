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
    ("a", "b", False), (b"a", "a", False), (float("nan"), float("nan"), True), ([1], [2], True),
    (3, None, True), (None, 3, False)])
def test_results(got, want, is_same):
    assert audit._same(got, want) is is_same
