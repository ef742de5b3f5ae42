"""Names that programs import from paths of MindSpore that aren't public."""

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella.common._stub_tensor import StubTensor
from lamella.common.api import _pynative_executor
from lamella.compat import _c_expression, arg_handler, jit_forbidden
from lamella.compat._c_expression import MSContext, TensorPy, ms_ctx_param
from lamella.compat._extends import cell_attr_register
from lamella.core import checks
from lamella.core.settings import FAMILIES
from lamella.nn.convolution import _deconv_output_length
from lamella.ops import arg_dtype_cast, operator_seeds
from lamella.ops.primitives import instances

from ..zygote import run as python


def test_what_a_cell_was_made_with_is_kept_as_text():
    class One(ms.nn.Cell):
        @cell_attr_register
        def __init__(self, a, b=2):
            super().__init__()

    class Two(ms.nn.Cell):
        @cell_attr_register(attrs=["size", "nothing"])
        def __init__(self, a):
            super().__init__()
            self.size = a + 1

    assert One(1).cell_init_args == "One[1]" and One(1, b=3).cell_init_args == "One[1, 3]"
    assert Two(1).cell_init_args == "Two[2]"
    with pytest.raises(ValueError, match="a str or a list of str"):
        cell_attr_register(attrs=3)  # type: ignore[arg-type]


def test_numbers_of_a_seed_are_those_of_mindspore():
    data = np.zeros((2, 3), np.float32)
    _c_expression._random_normal(7, data, 1.0, 2.0)
    assert data.ravel()[[0, -1]] == pytest.approx([-2.052915, 0.245526], abs=1e-6)
    _c_expression._random_uniform(7, data, -1.0, 3.0)
    assert data.ravel()[[0, -1]] == pytest.approx([0.924111, -0.049638], abs=1e-6)
    _c_expression._truncated_normal(7, data, -1.0, 2.0, 0.5, 1.5)
    assert data.ravel()[[0, -1]] == pytest.approx([0.451292, -0.197960], abs=1e-6)


def test_the_length_of_a_transposed_convolution():
    for mode in ("valid", "same", "pad"):
        layer = ms.nn.Conv1dTranspose(1, 1, 3, stride=2, dilation=2, pad_mode=mode,
                                      padding=1 if mode == "pad" else 0)
        length = layer(ms.ops.ones((1, 1, 5))).shape[-1]
        assert length == _deconv_output_length(
            mode == "valid", mode == "same", mode == "pad", 5, 3, 2, 2, 2 if mode == "pad" else 0)


def test_the_settings_as_an_object():
    known = MSContext.get_instance()
    assert known is MSContext.get_instance()
    assert known.get_ascend_soc_version() == "" and not known.is_ascend_plugin_loaded()
    assert known.is_pkg_support_device("CPU") and known.get_backend_policy() == "ms"
    assert known.get_param(ms_ctx_param.device_target) == "CPU"
    known.set_param(ms_ctx_param.max_device_memory, "8GB")
    assert ms.get_context("max_device_memory") == "8GB"
    del FAMILIES["set_context"]["max_device_memory"]  # back to its default


def test_classes_to_ask_for():
    assert isinstance(ms.Tensor(1), TensorPy) and not isinstance(ms.Tensor(1), StubTensor)


PROGRAM = """
import mindspore as ms
from mindspore import context, hal, runtime
from mindspore._c_expression import MSContext, TensorPy, disable_multi_thread, typing
from mindspore._c_expression.typing import Float
from mindspore._extends import cell_attr_register
from mindspore.common._stub_tensor import StubTensor
from mindspore.common.hook_handle import HookHandle
from mindspore.communication import GlobalComm, comm_func, get_rank, init
from mindspore.communication._comm_helper import Backend, _is_initialized
from mindspore.communication.management import get_group_size, release
from mindspore.context import ParallelMode
from mindspore.device_context.ascend.op_precision import precision_mode
from mindspore.multiprocessing import Process
from mindspore.ops import ReduceOp
from mindspore.ops.operations.comm_ops import AllGather
from mindspore.parallel import set_algo_parameters
from mindspore.parallel._auto_parallel_context import auto_parallel_context
from mindspore.parallel._ps_context import _is_role_sched
from mindspore.parallel._utils import _get_device_num, _get_parallel_mode
from mindspore.parallel.shard import Layout, shard

init()
context.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL)
precision_mode("force_fp32")
ms.set_memory(max_size="2GB")
print(_get_parallel_mode(), _get_device_num(), get_rank(), _is_initialized(), ms.float_,
      auto_parallel_context().get_device_num_is_set(),
      shard is ms.parallel.shard and Layout is ms.parallel.Layout, HookHandle.__name__)
"""


def test_the_seeds_of_a_random_operator():
    assert operator_seeds._get_seed(None, "dropout") == (0, 0)
    ms.set_seed(5)
    assert operator_seeds._get_seed(7, "dropout") == (5, 7)
    with pytest.raises(ValueError, match="For 'dropout', 'seed' must be 0 or more"):
        operator_seeds._get_seed(-1, "dropout")
    seeds = [operator_seeds._get_graph_seed(own, "dropout") for own in (0, None, 3)]
    assert seeds == [(5, 0), (5, 533697028), (5, 3)]  # as 2.10 gives
    assert operator_seeds._get_graph_seed(3, "dropout") == (5, 533697031)
    ms.set_seed(0)
    assert operator_seeds._get_graph_seed(0, "dropout") == (87654321, 0)
    with pytest.raises(ValueError, match="For 'dropout', 'seed' must be 0 or more"):
        operator_seeds._get_graph_seed(-1, "dropout")
    prim = operator_seeds._set_prim_op_user_data(ms.ops.Add(), "random_cache", False)
    assert prim.random_cache is False


def test_the_seeds_of_an_operator_without_a_global_one(monkeypatch):
    monkeypatch.setattr(operator_seeds, "get_seed", lambda: None)  # every test has one
    for own, want in ((0, (0, 0)), (None, (0, 0)), (0, (0, 0)), (3, (0, 3)), (3, (0, 533697031))):
        assert operator_seeds._get_graph_seed(own, "of no seed") == want


def test_all_of_them_by_the_names_of_mindspore(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = python("-m", "lamella", "run", script)
    assert done.stdout == "data_parallel 1 0 True Float False True HookHandle\n", done.stderr


def test_whether_operations_are_recorded():
    def partly_recorded(x):
        square = x * x
        _pynative_executor.set_enable_grad(False)
        kept = square * x
        recorded.append(_pynative_executor.enable_grad())
        _pynative_executor.set_enable_grad(True)
        return square + kept

    recorded = []
    assert ms.grad(partly_recorded)(ms.Tensor(3.0)) == 6  # as recorded from MindSpore
    assert recorded == [False] and _pynative_executor.enable_grad()


def test_the_number_of_a_tensor():
    to_scalar = ms.ops.TensorToScalar()
    found = [to_scalar(ms.Tensor(value)) for value in (3, 2.5, True, [1])]
    assert found == [3, 2.5, True, 1] and isinstance(found[2], bool)
    with pytest.raises(ValueError, match=r"must have one element.*\[2\]"):
        to_scalar(ms.Tensor([1, 2]))


# what 2.10 gives
@pytest.mark.parametrize(("name", "given", "want"), [
    ("to_pair", 3, (3, 3)), ("to_pair", 2.5, (2.5, 2.5)), ("to_pair", [1, 2], [1, 2]),
    ("to_pair", (1, 2, 3, 4), (1, 2, 3, 4)), ("to_kernel_size", (1, 2, 3, 4), (3, 4)),
    ("to_strides", True, (True, True)), ("to_strides", (1, 2, 3), (1, 2, 3)),
    ("to_2d_paddings", (1, 2, 3, 4), (1, 2, 3, 4)), ("to_output_padding", 2, (2, 2)),
    ("to_kernel_size", 2.5, None), ("to_pair", "x", None), ("to_rates", None, None)])
def test_forms_of_an_argument(name, given, want):
    function = getattr(arg_handler, name)
    if want is None:
        with pytest.raises(ValueError, match=f"For 'Op', the value of 'arg' is invalid: '{given}'"):
            function("Op", "arg", given)
    else:
        assert function("Op", "arg", given) == want


def test_conversions_of_arguments():
    cast = arg_dtype_cast
    names = "bool_ int8 int64 uint8 float16 float64 bfloat16 complex128 string"
    assert [ms.ops.DtypeToEnum()("op", "arg", getattr(ms, name)) for name in names.split()] == [
        30, 32, 35, 37, 42, 44, 45, 52, 12]
    with pytest.raises(TypeError, match="should be mindspore dtype, but got 3"):
        ms.ops.DtypeToEnum()("op", "arg", 3)
    tensor = cast.type_it("op", "arg", (1, 2), cast.DT_TUPLE_INT_VAL, cast.DT_TENSOR_VAL)
    assert tensor.tolist() == [1, 2]
    assert cast.type_it("op", "arg", tensor, cast.DT_TENSOR_VAL, cast.DT_LIST_INT_VAL) == [1, 2]
    assert cast.type_it("op", "arg", 3, cast.DT_INT_VAL, cast.DT_FLOAT_VAL) == 3.0
    assert cast.type_it("op", "arg", ms.Tensor(4), cast.DT_TENSOR_VAL, cast.DT_INT_VAL) == 4
    with pytest.raises(TypeError, match=r"'\[int, tuple of int\]', but got <class 'str'>"):
        cast.type_it("op", "arg", "x", cast.DT_INT_VAL, cast.DT_TUPLE_INT_VAL)


def test_what_graphs_refuse_in_mindspore(monkeypatch):
    def save():
        return 1

    assert jit_forbidden.jit_forbidden_register(save) is save

    class Holder:
        method = staticmethod(save)

    assert jit_forbidden.is_invalid_or_jit_forbidden_method(Holder, "Holder", "method")
    with pytest.raises(AttributeError, match="'Holder' object has no attribute 'none'"):
        jit_forbidden.is_invalid_or_jit_forbidden_method(Holder, "Holder", "none")
    assert jit_forbidden.get_obj_module_and_name_info(save) == (
        __name__, save.__qualname__, "method or function")
    assert jit_forbidden.get_obj_module_and_name_info(3) is None
    jit_forbidden.add_jit_forbidden_module("one")
    assert jit_forbidden.is_jit_forbidden_module("one")
    jit_forbidden.remove_jit_forbidden_module("one")


def test_environments_and_loops_of_the_compiler():
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    env = ms.ops.environ_set(ms.ops.environ_create(), ms.ops.embed(w), ms.Tensor([2.0]))
    assert ms.ops.env_get(ms.ops.environ_add(env, env), w).tolist() == [4.0]
    assert ms.ops.env_get({}, w).tolist() == [0.0]
    for xs in ([1, 2], (1, 2), "ab", ms.Tensor([1.0, 2.0])):
        assert ms.ops.iter_converter(xs) is xs
    assert ms.ops.iter_converter(range(2)) == (0, 1)

    def total(xs):
        left, found = ms.ops.iter_converter(xs), ms.Tensor(0.0)
        while ms.ops.ms_hasnext(left):
            x, left = ms.ops.ms_next(left)
            found = found + x
        return found

    x = ms.Tensor([1.0, 2.0, 4.0])
    assert float(total(x)) == float(ms.jit(total)(x)) == 7.0
    assert ms.ops.zip_operation(x, (1, 2))[1][1] == 2
    with pytest.raises(StopIteration):
        ms.ops.ms_next(())
    with pytest.raises(TypeError, match="no loop over"):
        ms.ops.iter_converter(3)


def test_three_lengths_or_five():
    lengths = checks._check_3d_int_or_tuple
    assert lengths("stride", 2, "Conv3d") == lengths("stride", (2, 2, 2), "Conv3d") == (2, 2, 2)
    five = lengths("stride", (2, 3, 4), "Conv3d", ret_five=True, pad_value=0)
    assert five == lengths("stride", five, "Conv3d", allow_five=True, ret_five=True,
                           greater_zero=False) == (0, 0, 2, 3, 4)
    assert lengths("stride", five, "Conv3d", allow_five=True, greater_zero=False) == (2, 3, 4)
    for wrong in (0, (1, 2), five, (1, 2, True)):
        with pytest.raises(ValueError, match="For 'Conv3d', the 'stride' should be an int of 1"):
            lengths("stride", wrong, "Conv3d")
    with pytest.raises(ValueError, match="should have 1 as its depth"):
        lengths("dilation", 2, "Conv3d", third_one=True)
    with pytest.raises(TypeError, match="For 'Conv3d', the 'stride'"):
        lengths("stride", 2.0, "Conv3d")


def test_what_loops_like_that_of_model_import():
    done = python("-c", """
import lamella.alias
lamella.alias.install()
from mindspore import Model, Tensor, dataset, nn
from mindspore.parallel._ps_context import _is_role_pserver
from mindspore.train.model import _StepSync, _transfer_tensor_to_tuple
one = Tensor([1.0])
assert _transfer_tensor_to_tuple(one) == (one,) and _transfer_tensor_to_tuple([one]) == [one]
assert not _is_role_pserver()
net = nn.Dense(2, 1)
import numpy as np
ones = np.ones((1, 2), np.float32), np.ones((1, 1), np.float32)
rows = dataset.NumpySlicesDataset(ones, ["x", "y"], shuffle=False).batch(1)
steps = []
class Sync(_StepSync):
    @staticmethod
    def step_end(run_context):
        _StepSync.step_end(run_context)
        steps.append(run_context.original_args().cur_step_num)
Model(net, nn.MSELoss(), nn.SGD(net.trainable_params())).train(2, rows, callbacks=[Sync()])
assert steps == [1, 2], steps
""")
    assert done.returncode == 0, done.stderr


def test_primitives_that_files_of_functions_keep():
    made: Any = instances
    index, most = made.arg_max_with_value_(ms.Tensor([0.0, 0.4, 0.7, 0.1]))
    assert (int(index), float(most)) == (2, np.float32(0.7))
    assert made.gather_nd_.name == "GatherNd"
    for missing in ("gather_nd", "no_such_", "_cast_", "one_hot_op_"):
        assert not hasattr(made, missing)
