import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives.debug import take_summaries
from lamella.train.summary.record import _get_summary_tensor_data


def test_summaries_are_kept_until_they_are_taken():
    take_summaries()
    loss = Tensor(0.5)
    ops.ScalarSummary()("loss", loss)
    loss.add_(1.0)
    ops.TensorSummary()("weights", Tensor([1.0, 2.0]))
    ops.HistogramSummary()("weights", Tensor([3.0]))
    ops.ImageSummary()("input", ops.ones((1, 3, 2, 2)))
    found = {(kind, name): value.asnumpy().tolist() for kind, name, value in take_summaries()}
    assert found["Scalar", "loss"] == 0.5 and found["Tensor", "weights"] == [1.0, 2.0]
    assert found["Histogram", "weights"] == [3.0] and ("Image", "input") in found
    assert take_summaries() == []


def test_compiled_functions_give_theirs_at_every_run():
    summary = ops.ScalarSummary()

    @ms.jit
    def f(x):
        summary("twice", x * 2)
        return x

    for n in (1.0, 2.0, 3.0):
        f(Tensor(n))
        assert [v.asnumpy() for *_, v in take_summaries()] == [2 * n]
    assert f.report()["replays"] == 2


def test_files(tmp_path):
    dump = ops.TensorDump()
    dump(str(tmp_path / "x"), Tensor([1.0, 2.0]))
    dump(str(tmp_path / "x.npy"), Tensor([3.0], ms.bfloat16))
    ops.tensordump(str(tmp_path / "x"), Tensor([4.0]))
    assert np.load(tmp_path / "x_float32_0.npy").tolist() == [1.0, 2.0]
    assert np.load(tmp_path / "x_bfloat16_0.npy").tolist() == [3.0]
    assert np.load(tmp_path / "x_float32_1.npy").tolist() == [4.0]


def test_assert_shows_values():
    ops.Assert()(Tensor(True), (Tensor([1]),))
    with pytest.raises(RuntimeError, match=r"condition is false. Input data: \[1 2\]"):
        ops.Assert(2)(Tensor(False), (Tensor([1, 2, 3]),))


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.ScalarSummary()(1, Tensor(1.0)), TypeError, "'name' must be a str"),
    (lambda: ops.ScalarSummary()("a", 1.0), TypeError, "'value' must be a Tensor"),
    (lambda: ops.ScalarSummary()("a", Tensor([1.0, 2.0])), ValueError, "one element"),
    (lambda: ops.ImageSummary()("a", Tensor([1.0])), ValueError, "4 dimensions"),
    (lambda: ops.TensorDump()("", Tensor(1.0)), TypeError, "'file' must be a str"),
    (lambda: ops.Assert("3"), TypeError, "'summarize' must be an int"),
    (lambda: ops.NPUGetFloatStatus()(Tensor(1.0)), RuntimeError, "overflow flag of an Ascend"),
], ids=range(7))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_summaries_by_name():
    take_summaries()
    ops.TensorSummary()("relu", Tensor([1.0, 2.0]))
    data = _get_summary_tensor_data()
    assert list(data) == ["relu[:Tensor]"] and data["relu[:Tensor]"].asnumpy().tolist() == [1, 2]
    assert _get_summary_tensor_data() == {}
