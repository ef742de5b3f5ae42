"""Every layer against what MindSpore 2.10 printed, computed and refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from tests.nn.layer_cases import CASES, ERRORS, scope, set_parameters

RECORDED = json.loads((Path(__file__).parent / "recorded_layers.json").read_text())
NAMES = scope(ms)
# MindSpore's CPU kernel mixes up the rows' norms: equal rows come out differently
WRONG_THERE = {"nn.ClipByNorm(axis=1)", "nn.EmbeddingLookup(7, 3, max_norm=0.5)"}


def build(source):
    return eval(source, dict(NAMES))


def inputs_of(source):
    return eval(f"({source},)" if source else "()", dict(NAMES))


def flat(outputs):
    if isinstance(outputs, (tuple, list)):
        return [leaf for output in outputs for leaf in flat(output)]
    return [outputs]


def printed(cell):
    return re.sub(r"<[\w.]*\.(\w+) object at 0x\w+>", r"<\1>", str(cell))


@pytest.mark.parametrize(("source", "inputs"), CASES, ids=lambda text: text or "none")
def test_layer(source, inputs):
    recorded = RECORDED["cases"][f"{source} <- {inputs or ''}"]
    cell = build(source)
    assert printed(cell) == recorded["repr"]
    assert [[p.name, list(p.shape), str(p.dtype), p.requires_grad]
            for p in cell.get_parameters()] == recorded["parameters"]
    if inputs is None:
        return
    set_parameters(cell, ms)
    outputs = flat(cell(*inputs_of(inputs)))
    # MindSpore lacks some CPU kernels; those numbers are checked elsewhere
    if "outputs" not in recorded or source in WRONG_THERE:
        assert all(np.isfinite(o.asnumpy()).all() for o in outputs)
        return
    assert len(outputs) == len(recorded["outputs"])
    for output, (dtype, shape, values) in zip(outputs, recorded["outputs"], strict=True):
        assert (str(output.dtype), list(output.shape)) == (dtype, shape)
        tolerance = 5e-3 if dtype == "Float16" else 2e-5
        np.testing.assert_allclose(output.asnumpy().astype(float).reshape(-1), values,
                                   rtol=tolerance, atol=tolerance)
    for parameter, (name, values) in zip(cell.get_parameters(), recorded.get("after", ()),
                                         strict="after" in recorded):
        assert parameter.name == name
        np.testing.assert_allclose(parameter.asnumpy(), values, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("source", "inputs"), ERRORS, ids=lambda text: text or "none")
def test_error(source, inputs):
    kind = RECORDED["errors"].get(f"{source} <- {inputs or ''}")
    if kind is None:  # MindSpore lets it through
        return
    # a mismatch of shapes is a ValueError here also where MindSpore's kernel raises RuntimeError
    expected = {"RuntimeError": ValueError}.get(kind, getattr(__builtins__, kind, None)
                                                or vars(__import__("builtins"))[kind])
    with pytest.raises(expected, match=r"For '\w+'|must|got"):
        build(source)(*inputs_of(inputs or ""))
