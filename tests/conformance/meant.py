"""Differences that are meant: which cases, what kind, and why; docs/differences.md says them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .spec import Case


class Meant(NamedTuple):
    """A reason, and what it holds for: cases whose text matches, of these kinds of differences."""

    reason: str
    cases: str  # a regular expression for the text of a case
    kinds: str = "value"  # words out of what `compare.difference` says
    when: Callable[[Any, Any], bool] | None = None  # of MindSpore's and our result


MEANT: tuple[Meant, ...] = ()
_PATTERNS = [re.compile(meant.cases) for meant in MEANT]


def is_meant(case: Case, kind: str, real: Any, ours: Any) -> str | None:
    """The reason for a difference that is meant, None for any other."""
    text = str(case)
    for meant, pattern in zip(MEANT, _PATTERNS, strict=True):
        if (
            kind in meant.kinds
            and pattern.search(text)
            and (meant.when is None or meant.when(real, ours))
        ):
            return meant.reason
    return None
