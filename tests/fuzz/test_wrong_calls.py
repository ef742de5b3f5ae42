"""The sweep of wrong calls: its grades tell good errors from bad ones."""

from __future__ import annotations

import pytest

from . import wrong_calls
from .wrong_calls import BAD, GOOD, MEH


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        return caught


@pytest.mark.parametrize(("message", "grade"), [
    ("For 'relu', 'input' must be a Tensor, but got 3.", GOOD),
    ("For 'relu', 'input' must be a Tensor.", MEH),
    ("'input' must be a Tensor, but got 3.", MEH),
    ("it went wrong", BAD),
    ("For 'relu', 'NoneType' object has no attribute '_raw', but got 3: it must be else.", BAD)])
def test_grades(message: str, grade: str) -> None:
    assert wrong_calls.grade("ops.relu", raised(TypeError(message)))[0] == grade


@pytest.mark.parametrize("only", ["ops.softmax", "nn.Dense", "nn.Adam", "ops.concat"])
def test_no_bad_errors(only: str) -> None:
    found = wrong_calls.run(only)
    assert len(found) >= 3
    assert not [one for one in found if one.grade == BAD]
