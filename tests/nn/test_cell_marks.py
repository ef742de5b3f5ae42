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


class Tree(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        self.frozen = ms.Parameter(ms.Tensor([3.0]), name="frozen", requires_grad=False)
        self.inner = nn.Dense(2, 2)

    def construct(self, x):
        return self.inner(x * self.w)


@pytest.mark.parametrize("name", ["pipeline_stage", "pipeline_segment"])
def test_numbers_that_are_set_on_a_cell(name):
    net = nn.ReLU()
    with pytest.raises(AttributeError, match=f"'ReLU' object has no attribute '{name}'"):
        getattr(net, name)
    for number in (0, 5):
        setattr(net, name, number)
        assert getattr(net, name) == number
    for wrong, error in ((True, TypeError), (1.0, TypeError), (-1, ValueError)):
        with pytest.raises(error, match=f"the property '{name}'"):
            setattr(net, name, wrong)
    assert getattr(net, name) == 5


def test_what_a_cell_was_made_with():
    net = nn.ReLU()
    with pytest.raises(AttributeError, match="has no attribute 'cell_init_args'"):
        _ = net.cell_init_args
    net.cell_init_args = "ReLU()"
    assert net.cell_init_args == "ReLU()" and not net.bprop_debug


@pytest.mark.parametrize("given, text", [
    (([1],), "'in_strategy' must be a tuple, but got list"),
    ((None,), "'in_strategy' must be a tuple, but got NoneType"),
    ((((1, 1),), [1]), "'out_strategy' must be a tuple, but got list"),
    ((((1, 1),), None, [1]), "'parameter_plan' must be a dict, but got list")])
def test_strategies_of_other_types(given, text):
    with pytest.raises(TypeError, match=text):
        nn.Dense(2, 1).shard(*given)


def test_strategies_that_are_kept():
    net = nn.Dense(2, 1)
    net.shard(((1, 1),), ((1, 1),), {"weight": (1, 1)})
    assert net._strategies == (((1, 1),), ((1, 1),), {"weight": (1, 1)})
    with pytest.raises(ValueError, match="nothing"):
        net.shard(((1, 1),), parameter_plan={"nothing": (1, 1)})


@pytest.mark.parametrize("kind, wanted", [
    (MixedPrecisionType.FP16, ms.float16), (MixedPrecisionType.BF16, ms.bfloat16),
    (MixedPrecisionType.FP32, ms.float32)])
@pytest.mark.parametrize("recursive", [True, False])
def test_a_type_for_a_cell_alone_or_for_all_below(kind, wanted, recursive):
    net = Tree()
    net.set_mixed_precision_type(kind, recursive)
    assert net.get_mixed_precision_type() is kind
    assert net.inner.get_mixed_precision_type() is (
        kind if recursive else MixedPrecisionType.NOTSET)
    assert net.inner(ms.ops.ones((1, 2))).dtype == (wanted if recursive else ms.float32)
    net.set_mixed_precision_type(MixedPrecisionType.NOTSET)
    assert net.get_mixed_precision_type() is kind


def test_scopes_that_are_there_stay():
    net = nn.SequentialCell(nn.ReLU())
    net.generate_scope()
    outer = nn.SequentialCell(nn.Tanh(), net)
    outer.generate_scope()
    assert [cell.get_scope() for _, cell in outer.cells_and_names()] == [
        None, "Default/0-Tanh", "Default/1-SequentialCell", "Default/0-ReLU"]


def test_a_flag_of_an_algorithm_is_set_on_all():
    net = Tree()
    assert net.set_boost("less_bn") is net and net.less_bn and net.inner.less_bn
    assert net.inner.get_flags() == {"less_bn": True}


@pytest.mark.parametrize("recurse, wanted", [(True, [3, 3, 3]), (False, [3, 1, 1])])
def test_gradients_that_are_communicated_together(recurse, wanted):
    net = Tree()
    assert net.set_comm_fusion(3, recurse) is net
    assert [p.comm_fusion for p in net.trainable_params()] == wanted
    assert net.frozen.comm_fusion == 1
    assert net.set_comm_fusion(0).w.comm_fusion == 0
    for wrong in (-1, 1.0, "1"):
        with pytest.raises(ValueError, match=f"'fusion_type' must be an int .*{wrong}"):
            net.set_comm_fusion(wrong)


def test_flags_that_a_cell_is_made_with():
    class Flagged(nn.Cell):
        def __init__(self, flags):
            super().__init__(flags=flags)

    net = Flagged({"fp16": True, "speed": 3})
    assert net.speed == 3 and net.get_flags() == {"fp16": True, "speed": 3}
    assert net.get_mixed_precision_type() is MixedPrecisionType.FP16
    assert Flagged(None).get_flags() == {}
    for wrong in (3, ["fp16"]):
        with pytest.raises(TypeError, match="'flags' must be a dict"):
            Flagged(wrong)


@pytest.mark.parametrize("kind", [ms.float64, ms.int32, "float16", None])
def test_types_in_which_no_cell_computes(kind):
    with pytest.raises(ValueError, match="'dst_type' must be float16, float32 or bfloat16"):
        Tree().to_float(kind)


@pytest.mark.parametrize("given", [(), ("cpu",), (3,)])
def test_what_cells_are_not_converted_to(given):
    with pytest.raises(TypeError, match="a floating data type is expected"):
        Tree().to(*given)


def test_inputs_are_cast_where_their_type_is_another():
    x, y = ms.Tensor([1.0]), ms.Tensor([2])
    found = Tree().cast_inputs((x, y), ms.float32)
    assert found[0] is x and found[1].dtype is ms.float32 and found[1].tolist() == [2.0]


@pytest.mark.parametrize("has_forward, text", [
    (True, "'construct' is not defined; its method 'forward' must be called 'construct'"),
    (False, r"'construct' is not defined\.")])
def test_a_cell_that_computes_nothing(has_forward, text):
    kind = type("Empty", (nn.Cell,), {"forward": lambda self, x: x} if has_forward else {})
    with pytest.raises(AttributeError, match=text):
        kind()(1)


def test_prefixes_of_parameters_and_cells():
    net = nn.SequentialCell(Tree(), nn.ReLU())
    assert [cell.param_prefix for _, cell in net.cells_and_names()] == ["", "0", "0.inner", ""]
    net.update_cell_prefix()
    assert [cell.cell_prefix for _, cell in net.cells_and_names()] == ["", "0", "0.inner", "1"]


class Described(Tree):
    def extend_repr(self):
        return self.text


@pytest.mark.parametrize("text, wanted", [
    ("", "Described(\n  (inner): Cell()\n)"), ("a=1", "Described(\n  a=1\n  (inner): Cell()\n)"),
    ("a\nb", "Described(\n  a\n  b\n  (inner): Cell()\n)")])
def test_printed_forms(text, wanted):
    net = Described()
    net.inner, net.text = nn.Cell(), text
    assert repr(net) == wanted
    del net.inner
    assert repr(net) == (f"Described({text})" if "\n" not in text else "Described(\n  a\n  b\n)")
