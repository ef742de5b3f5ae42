"""`mint` against recorded results of MindSpore 2.10 and PyTorch (see calls.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import mint
from tests.mint.calls import calls, plain, space

RESULTS = json.loads((Path(__file__).parent / "results.json").read_text())


def assert_same(given, expected):
    assert type(given) is type(expected)
    if isinstance(expected, list):
        assert len(given) == len(expected)
        for a, b in zip(given, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert (given["type"], given["shape"]) == (expected["type"], expected["shape"])
        a, b = (np.array(d["numbers"], float) for d in (given, expected))
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
    else:
        assert given == expected


@pytest.mark.parametrize("call", [c for c in calls() if c in RESULTS])
def test_call(call):
    names, _ = space("lamella")
    assert_same(plain(eval(call, names)), RESULTS[call]["gives"])


def test_every_call_has_a_result():
    # the two that only MindSpore could give, and can't on a CPU
    assert {c for c in calls() if c not in RESULTS} <= {"F.flatten(b)", "F.flatten(b, 1)"}


COMPILED = ["mint.add(x, y, alpha=3)", "mint.max(x, 1)", "mint.std(x, 1)", "mint.cat((x, y), 1)",
            "F.conv2d(img, ker, padding=\"same\")", "F.kl_div(x, p)", "F.normalize(x)",
            "F.avg_pool2d(img, 2)", "F.interpolate(img, scale_factor=2)"]


@pytest.mark.parametrize("call", COMPILED)
def test_compiled(call):
    names, _ = space("lamella")
    tensors = {k: v for k, v in names.items() if isinstance(v, ms.Tensor)}
    step = ms.jit(eval(f"lambda {', '.join(tensors)}: {call}", names))
    for _ in range(2):
        assert_same(plain(step(**tensors)), RESULTS[call]["gives"])


def test_names():
    """All 206 names of MindSpore's list that its `mint` has, and the modules in it."""
    missing = [n for n in (Path(__file__).parent / "names.txt").read_text().split()
               if not _has(n)]
    assert not missing


def _has(path):
    found = mint
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is not None
