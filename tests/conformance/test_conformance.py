"""Lamella against the recorded results of MindSpore 2.10: no unexplained difference."""

from pathlib import Path

import pytest

import lamella as ms

from .__main__ import families
from .compare import difference, differences, load, settled
from .meant import MEANT, is_meant
from .runner import Runner, family
from .spec import case

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


@pytest.mark.parametrize("name", families())
def test_family(name: str) -> None:
    cases = family(name)
    real = load(name, cases)
    assert real is not None, f"the cases have changed: make conformance MINDSPORE=... ARGS={name}"
    ours = Runner("lamella").all(cases)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    unexplained, _ = differences(cases, real, ours, is_meant)
    lines = [f"{kind}: {c}\n  MindSpore {r}\n  Lamella {o}" for c, kind, r, o in unexplained[:20]]
    assert not unexplained, "\n".join(lines) + f"\n{len(unexplained)} differences"


def test_every_reason_is_listed() -> None:
    told = PAGE.read_text(encoding="utf-8")
    assert [m.reason for m in MEANT if m.reason not in told] == []


@pytest.mark.parametrize(
    "real, ours, kind",
    [
        ({"t": "int32[1]", "v": [1]}, {"t": "int32[1]", "v": [2]}, "value"),
        ({"t": "int32[1]", "v": [1]}, {"t": "int64[1]", "v": [1]}, "dtype"),
        ({"t": "int32[1]", "v": [1]}, {"t": "int32[]", "v": [1]}, "shape"),
        ({"t": "int32[1]", "v": [1]}, {"e": "TypeError"}, "refused"),
        ({"t": "int32[1]", "v": [1]}, ["tuple", {"t": "int32[1]", "v": [1]}], "structure"),
        ({"e": "ValueError"}, {"e": "TypeError"}, "kind of exception"),
        ({"e": "ValueError"}, {"t": "int32[1]", "v": [1]}, None),
        ({"e": "unstable"}, {"t": "int32[1]", "v": [1]}, None),
        ({"e": "no kernel"}, {"e": "crash"}, "crash"),
        ({"t": "float32[1]", "v": [1.0]}, {"t": "float32[1]", "v": [1.00001]}, None),
        ({"t": "float32[1]", "v": [1.0]}, {"t": "float32[1]", "v": [1.001]}, "value"),
        ({"t": "float32[1]", "v": [float("nan")]}, {"t": "float32[1]", "v": [0.0]}, "value"),
    ],
)
def test_differences_are_seen(real, ours, kind) -> None:
    assert difference(real, ours, case("ops.f(x)", x="float32[1]")) == kind


def test_results_that_differ_in_a_second_run_are_unstable() -> None:
    assert settled([1, 2], [1, 3]) == [1, {"e": "unstable"}]
