"""Lamella: the MindSpore programming model on PyTorch's kernels.

Rooms that few programs need (`mint`, `numpy`, ...) are imported when they are first named.
"""

import importlib as _importlib

from .compat import shown as _shown  # isort: skip  (names of rooms above others)
from .tensors import operators  # isort: skip
from . import ops  # isort: skip  (first: the other rooms stand on it)
from . import amp, autodiff, common, dataset, nn, parallel, train
from .autodiff import (
    _Function,
    custom_jvp,
    custom_linear_solve,
    custom_vjp,
    derivative,
    get_grad,
    gnvp,
    grad,
    hessian,
    hvp,
    implicit,
    jacfwd,
    jacrev,
    jet,
    jvp,
    linear_transpose,
    linearize,
    recompute,
    register_saved_tensors_hooks,
    saved_tensors_hooks,
    value_and_grad,
    vjp,
    vmap,
)
from .autodiff import no_grad as _no_grad
from .commands.doctor import run_check
from .communication.settings import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from .compat import public_paths as _public_paths
from .compat.missing import name_of as _name_of
from .core import context, dtype, tree
from .core.context import (
    COMPATIBLE,
    GRAPH_MODE,
    LAX,
    PYNATIVE_MODE,
    STRICT,
    get_context,
    set_context,
    set_deterministic,
    set_device,
    set_recursion_limit,
)
from .core.dtype import (
    Int,
    QuantDtype,
    TensorType,
    Type,
    bfloat16,
    bool,
    bool_,
    byte,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype_to_nptype,
    dtype_to_pytype,
    float,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    float_,
    get_py_obj_dtype,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    intp,
    list_,
    long,
    number,
    pytype_to_dtype,
    qint4x2,
    short,
    single,
    string,
    tensor_type,
    tuple_,
    type_none,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ushort,
)
from .core.log import get_level, get_log_config
from .core.symbol import Symbol
from .core.tracebacks import install as _fold_tracebacks
from .core.versions import __version__
from .device.runtime import (
    DeviceCtx,
    Event,
    Stream,
    StreamCtx,
    communication_stream,
    current_stream,
    default_stream,
    dispatch_threads_num,
    empty_cache,
    get_current_device,
    launch_blocking,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    set_cpu_affinity,
    set_cur_stream,
    set_kernel_launch_group,
    set_memory,
    synchronize,
)
from .graph import (
    JitConfig,
    enable_dynamic,
    jit,
    jit_class,
    lazy_inline,
    ms_memory_recycle,
    mutable,
    no_inline,
)
from .insight.dry_run import flops_collection
from .insight.gradcheck import GradientError, check_grads
from .insight.gradients import GradientReport, inspect_gradients
from .machine.memory import keep_freed_memory as _keep_freed_memory
from .nn import functional_call
from .ops import constexpr
from .ops import einops_backend as _einops_backend
from .ops.associative_scan import associative_scan
from .ops.choices import cond, switch
from .ops.loops import fori_loop, scan, while_loop
from .ops.ode import odeint
from .parallel.auto_parallel import set_op_strategy_config, shard
from .parallel.layout import Layout
from .parallel.search_settings import (
    get_algo_parameters,
    get_ps_context,
    reset_algo_parameters,
    reset_ps_context,
    set_algo_parameters,
    set_ps_context,
)
from .tensors.buffers import UntypedStorage, frombuffer, swap_tensors
from .tensors.parameter import Parameter, ParameterTuple
from .tensors.random import (
    Generator,
    default_generator,
    get_rng_state,
    get_seed,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    set_seed,
)
from .tensors.tensor import Tensor, from_numpy, is_tensor, tensor

from .tensors.conversion import from_dlpack, to_dlpack  # isort: skip
from .tensors import inplace_methods  # isort: skip
from .insight.roofline import explain
from .insight.shapes import eval_shape
from .insight.summary import summary
from .train.serialization import (
    async_ckpt_thread_status,
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
)

_keep_freed_memory()
_fold_tracebacks()
_public_paths.install()
_einops_backend.install()

# imported when first named: what a program doesn't use costs it no time
_LAZY_ROOMS = frozenset("""
    boost
    communication
    experimental
    generation
    mint
    numpy
    rewrite
    scipy
    sparse
    """.split()) | _public_paths.PLACES.keys()

_LAZY_NAMES = {name: room for room, names in {
    "commands.jupyter": "load_ipython_extension unload_ipython_extension",
    "communication.order": "comm_exec_order_check",
    "compat.jit_forbidden": "get_obj_module_and_name_info is_invalid_or_jit_forbidden_method "
                            "is_jit_forbidden_module",
    "device.stress_detect": "stress_detect",
    "insight.dispatch": "MsDispatchMode",
    "mindrecord": "Cifar100ToMR Cifar10ToMR CsvToMR FAILED FileReader FileWriter ImageNetToMR "
                  "MindPage MnistToMR SUCCESS TFRecordToMR set_dec_mode set_enc_key set_enc_mode",
    "parallel.auto_parallel": "reshard",
    "profiler": "EnvProfiler Profiler",
    "rewrite": "Node NodeType ScopedValue SymbolTree",
    "train.callback.exit_by_request": "ExitByRequest TFTCommValue",
    "sparse": "COOTensor CSRTensor RowTensor RowTensorInner SparseTensor sparse_jacobian",
}.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _LAZY_ROOMS:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        return getattr(_importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in train.__all__:
        return getattr(train, name)
    raise _name_of(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_ROOMS, *_LAZY_NAMES, *train.__all__})
