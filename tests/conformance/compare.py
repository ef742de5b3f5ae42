"""What differs between two results of a case, and how."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import viewed
from .runner import VALUES
from .spec import Case

RECORDED = Path(__file__).with_name("recorded")
# relative errors allowed between kernels; absolute ones are of the largest element
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 5e-5,
    "float64": 5e-5,
    "complex64": 5e-5,
    "complex128": 5e-5,
}
# outcomes of MindSpore that can't be compared
SILENT = ("no kernel", "crash", "hang", "unstable", "AttributeError")
UNSTABLE = {"e": "unstable"}  # MindSpore gave another result when run again


def difference(real: Any, ours: Any, case: Case | None = None) -> str | None:
    """The kind of difference, or None if there is none that counts.

    Nothing can be said where MindSpore crashes, hangs, has no kernel or answers differently each
    time. That it refuses what we answer counts as none, too.
    """
    if "e" in real if isinstance(real, dict) else False:
        if real["e"] in SILENT:
            return "crash" if _error(ours) in ("crash", "hang") else None
        if _error(ours) is None or _error(ours) == real["e"]:
            return None
        return "kind of exception"
    if _error(ours) is not None:
        return "refused"
    if isinstance(real, list) or isinstance(ours, list):
        if not isinstance(real, list) or not isinstance(ours, list) or len(real) != len(ours):
            return "structure"
        found = [difference(r, o, case) for r, o in zip(real, ours, strict=True)]
        return next((f for f in found if f), None)
    if isinstance(real, str) or isinstance(ours, str):
        return None if real == ours else "structure"
    if ("t" in real) != ("t" in ours):
        return "structure"
    if "p" in real:
        if real["p"] != ours["p"]:
            return "structure"
        return None if real["r"] == ours["r"] or _near_text(real["r"], ours["r"]) else "value"
    kind, shape = real["t"].split("[")
    if ours["t"].split("[")[0] != kind:
        return "dtype"
    if ours["t"].split("[")[1] != shape:
        return "shape"
    return None if _near(real["v"], ours["v"], tolerance(kind, case)) else "value"


def tolerance(kind: str, case: Case | None) -> float:
    """The relative error allowed: that of the least precise type that takes part."""
    kinds = [kind, *(text.split("[")[0] for _, text in case.inputs)] if case else [kind]
    if kind not in TOLERANCE:
        return 0.0
    return max(TOLERANCE.get(k, 0.0) for k in kinds)


def elements(case: Case, real: Any, ours: Any) -> list[tuple[tuple[Any, ...], Any, Any]]:
    """The elements in which two results of an elementwise operator differ.

    Each with the elements of the inputs it was made from; none where shapes say that it was not
    made element by element.

    Of what values a call takes (`Runner.taken`), each value with the two answers.
    """
    if "taken(" in case.expression and isinstance(real, list) and isinstance(ours, list):
        return [((value,), r["r"].strip("'"), o["r"].strip("'"))
                for value, r, o in zip(VALUES, real[1:], ours[1:], strict=True) if r != o]
    if not isinstance(real, dict) or "v" not in real or "v" not in ours:
        return []
    arrays = [viewed(text, name) for name, text in case.inputs]
    try:
        inputs = [a.ravel() for a in np.broadcast_arrays(*arrays)]
    except ValueError:
        return []
    if not inputs or any(len(real["v"]) != a.size for a in inputs):
        return []
    allowed = tolerance(real["t"].split("[")[0], case)
    return [
        (tuple(a[i].item() for a in inputs), r, o)
        for i, (r, o) in enumerate(zip(real["v"], ours["v"], strict=True))
        if not _near([r], [o], allowed)
    ]


def _error(result: Any) -> str | None:
    return result.get("e") if isinstance(result, dict) else None


def _near(real: list[Any], ours: list[Any], tolerance: float) -> bool:
    if real == ours:
        return True
    a = [v for pair in real for v in (pair if isinstance(pair, list) else [pair])]
    b = [v for pair in ours for v in (pair if isinstance(pair, list) else [pair])]
    scale = max((abs(v) for v in a if math.isfinite(v) and abs(v) < 1e4), default=0.0)
    return len(a) == len(b) and all(
        _close(x, y, tolerance, scale) for x, y in zip(a, b, strict=True)
    )


def _close(x: float, y: float, tolerance: float, scale: float) -> bool:
    if x == y or math.isnan(x) and math.isnan(y):
        return True
    allowed = max(tolerance * max(abs(x), min(scale, 1.0) * 0.1), 1e-7 if tolerance else 0.0)
    return math.isfinite(x) and math.isfinite(y) and abs(x - y) <= allowed


def _near_text(real: str, ours: str) -> bool:
    try:
        return _close(float(real), float(ours), 5e-5, 1.0)
    except ValueError:
        return False


def settled(first: list[Any], second: list[Any]) -> list[Any]:
    """The results of two runs; what they disagree about is unstable."""
    return [
        a if json.dumps(a) == json.dumps(b) else UNSTABLE
        for a, b in zip(first, second, strict=True)
    ]


def digest(cases: list[Case]) -> str:
    """The digest that says whether recorded results belong to these cases."""
    return hashlib.sha256(repr([tuple(c) for c in cases]).encode()).hexdigest()[:16]


def save(name: str, cases: list[Case], results: list[Any]) -> None:
    """Store what MindSpore gave for a family."""
    text = json.dumps({"cases": digest(cases), "results": results}, separators=(",", ":"))
    (RECORDED / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def load(name: str, cases: list[Case]) -> list[Any] | None:
    """What MindSpore gave for these cases, None if that hasn't been recorded."""
    path = RECORDED / f"{name}.json.xz"
    if not path.exists():
        return None
    kept = json.loads(lzma.decompress(path.read_bytes()))
    return kept["results"] if kept["cases"] == digest(cases) else None


def differences(
    cases: list[Case],
    real: list[Any],
    ours: list[Any],
    is_meant: Callable[[Case, str, Any, Any], str | None],
) -> tuple[list[tuple[Case, str, Any, Any]], dict[str, int]]:
    """The unexplained differences of a family, and how many there are for each reason."""
    unexplained, counts = [], {}
    for case, r, o in zip(cases, real, ours, strict=True):
        kind = difference(r, o, case)
        if kind is None:
            continue
        reason = is_meant(case, kind, r, o)
        if reason is None:
            unexplained.append((case, kind, r, o))
        else:
            counts[reason] = counts.get(reason, 0) + 1
    return unexplained, counts
