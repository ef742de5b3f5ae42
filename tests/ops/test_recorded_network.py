"""Network operators give what MindSpore 2.10 gave on the same inputs: values, shapes and types."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from tests.ops import network_cases

RECORDED = json.loads((Path(__file__).parent / "recorded_network.json").read_text())
LOOSE = {"ResizeBicubic False False": 2e-3,  # weights from a table, at positions rounded in float32
         "tanh gradient": 5e-5}


@pytest.fixture(scope="module")
def results():
    out = {}

    def record(name, function):
        try:
            got = function()
        except Exception as error:  # reported by the test of that name
            out[name] = error
        else:
            out[name] = got if isinstance(got, (tuple, list)) else (got,)

    network_cases.run(ms, record)
    return out


@pytest.mark.parametrize("name", RECORDED)
def test_result_is_the_recorded_one(results, name):
    got = results[name]
    if isinstance(got, Exception):
        raise got
    assert len(got) == len(RECORDED[name])
    for tensor, (dtype, shape, values) in zip(got, RECORDED[name], strict=True):
        assert (str(tensor.dtype), list(tensor.shape)) == (dtype, shape)
        want = np.array([np.nan if v is None else v for v in values], np.float64).reshape(shape)
        array = tensor.asnumpy().astype(np.float64)
        finite = np.isfinite(want)
        np.testing.assert_allclose(array[finite], want[finite], rtol=2e-4,
                                   atol=LOOSE.get(name, 2e-5))


def test_every_case_was_recorded(results):
    assert set(results) == set(RECORDED)
