"""What a call takes, and what it refuses: for tables of values at the limits of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

ERRORS = ValueError, TypeError, RuntimeError


def check_limits(call: Callable[[Any], Any], inside: Iterable[Any], outside: Iterable[Any], *,
                 errors: tuple[type[Exception], ...] = ERRORS, match: str | None = None) -> None:
    """Check that a call takes the values inside, and raises an error for each one outside."""
    for value in inside:
        call(value)
    for value in outside:
        with pytest.raises(errors, match=match):
            call(value)
            pytest.fail(f"{value} isn't refused")
