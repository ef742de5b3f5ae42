"""Names that programs import from paths of MindSpore that aren't public."""

import subprocess
import sys

import pytest

import lamella as ms
from lamella.common._stub_tensor import StubTensor
from lamella.common.api import _pynative_executor
from lamella.compat._c_expression import MSContext, TensorPy, ms_ctx_param
from lamella.compat._extends import cell_attr_register


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


def test_the_settings_as_an_object():
    known = MSContext.get_instance()
    assert known is MSContext.get_instance()
    assert known.get_ascend_soc_version() == "" and not known.is_ascend_plugin_loaded()
    assert known.is_pkg_support_device("CPU") and known.get_backend_policy() == "ms"
    assert known.get_param(ms_ctx_param.device_target) == "CPU"
    known.set_param(ms_ctx_param.max_device_memory, "8GB")
    assert ms.get_context("max_device_memory") == "8GB"


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


def test_all_of_them_by_the_names_of_mindspore(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "lamella", "run", str(script)],
                          capture_output=True, text=True, timeout=300)
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
