import copy
import pickle

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops
from lamella.nn.cell_marks import MixedPrecisionType


def test_the_phase_follows_the_mode():
    net = nn.Dense(2, 1)
    assert net.phase == "train"
    assert net.set_train().phase == "train" and net.set_train(False).phase == "predict"
    net.phase = "mine"
    assert net.phase == "mine" and copy.deepcopy(net).phase == "mine"
    assert pickle.loads(pickle.dumps(net)).phase == "mine"


def test_stages_kinds_and_layouts():
    net = nn.Dense(2, 1)
    assert not hasattr(net, "pipeline_stage") and net.cell_type is None
    net.pipeline_stage = 2
    net.update_cell_type("second order")
    net.parameter_layout_dict["weight"] = (1, 1)
    assert (net.pipeline_stage, net.cell_type) == (2, "second order")
    assert net.parameter_layout_dict == {"weight": (1, 1)}
    assert nn.Dense(2, 1).parameter_layout_dict == {}
    assert net.set_broadcast_flag().get_flags()["broadcast_flag"] is True
    for name, value, kind, text in (
            ("pipeline_stage", -1, ValueError, "less than 0, but got -1"),
            ("pipeline_stage", "a", TypeError, "must be int type"),
            ("parameter_layout_dict", 3, TypeError, "must be a dict")):
        with pytest.raises(kind, match=text):
            setattr(net, name, value)


def test_strategies_are_kept_and_change_nothing():
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    assert net.shard(((1, 1),), parameter_plan={"weight": (1, 1)}) is None
    x = ops.ones((3, 2))
    np.testing.assert_array_equal(net(x).asnumpy(), [[2.0]] * 3)
    np.testing.assert_array_equal(net.run_construct((x,), {}).asnumpy(), [[2.0]] * 3)
    with pytest.raises(TypeError, match="'in_strategy' must be a tuple, but got list"):
        net.shard([(1, 1)])


def test_marks_do_not_disturb_compiled_calls():
    net = nn.Dense(2, 1)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        first = net.set_train(False)(ops.ones((1, 2))).asnumpy()
        net.pipeline_stage = 1
        assert (net.set_train()(ops.ones((1, 2))).asnumpy() == first).all()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_flags_of_types_are_precisions():
    x = ms.Tensor(np.ones((2, 3), np.float32))
    for flags, kind in [({"fp16": True}, ms.float16), ({"bf16": True}, ms.bfloat16),
                        ({"fp16": False}, ms.float32), ({"fp16": True, "fp32": True}, ms.float32)]:
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
        assert net.add_flags_recursive(**flags)(x).dtype == kind
        assert net.get_flags() == flags and net[0].get_flags() == flags
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
        net[1].add_flags(**flags)
        assert net[0](x).dtype == ms.float32 and net(x).dtype == kind
    net = nn.Dense(3, 2).to_float(ms.float16)
    assert net.get_flags() == {"fp16": True, "fp32": False, "bf16": False} and net.fp16
    assert net.to_float(ms.float32)(x).dtype == ms.float32 and not net.fp16


def test_scopes_and_marks():
    net = nn.SequentialCell(nn.SequentialCell(nn.Dense(2, 3)), nn.ReLU())
    assert net[0].get_scope() is None
    net.generate_scope()
    assert [cell.get_scope() for _, cell in net.cells_and_names()] == [
        None, "Default/0-SequentialCell", "Default/0-SequentialCell/0-Dense", "Default/1-ReLU"]
    net.bprop_debug = True
    assert net.bprop_debug and not nn.ReLU().bprop_debug
    with pytest.raises(TypeError, match="bprop_debug"):
        net.bprop_debug = 1
    with pytest.raises(ValueError, match="less_bn"):
        net.set_boost("adasum")


def test_types_of_mixed_precision():
    net, x = nn.SequentialCell(nn.Dense(2, 3)), ms.Tensor([[1.0, 2.0]])
    assert net.get_mixed_precision_type() is MixedPrecisionType.NOTSET
    net.set_mixed_precision_type(MixedPrecisionType.NOTSET)
    assert net(x).dtype == ms.float32
    net.to_float(ms.float16)
    assert net.get_mixed_precision_type() is MixedPrecisionType.FP16
    net.set_mixed_precision_type(MixedPrecisionType.BF16)
    assert net[0].get_mixed_precision_type() is MixedPrecisionType.BF16
    assert net(x).dtype == ms.bfloat16
    with pytest.raises(TypeError, match="MixedPrecisionType"):
        net.set_mixed_precision_type("fp16")
