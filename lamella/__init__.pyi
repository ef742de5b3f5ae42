"""The names of this package; `make stubs` writes this file."""

from typing import Any

from lamella.compat import alias as alias
from lamella import amp as amp
from lamella import autodiff as autodiff
from lamella import boost as boost
from lamella import commands as commands
from lamella import common as common
from lamella import communication as communication
from lamella import compat as compat
from lamella.core import context as context
from lamella import core as core
from lamella import dataset as dataset
from lamella.insight import debug as debug
from lamella import device as device
from lamella.device import device_context as device_context
from lamella.core import dtype as dtype
from lamella import experimental as experimental
from lamella import generation as generation
from lamella import graph as graph
from lamella.device import hal as hal
from lamella.tensors import inplace_methods as inplace_methods
from lamella import insight as insight
from lamella.core import log as log
from lamella import machine as machine
from lamella.dataset import mindrecord as mindrecord
from lamella import mint as mint
from lamella.compat import multiprocessing as multiprocessing
from lamella import nn as nn
from lamella import numpy as numpy
from lamella.train import onnx as onnx
from lamella.tensors import operators as operators
from lamella import ops as ops
from lamella import parallel as parallel
from lamella.train import profiler as profiler
from lamella.tensors import random as random
from lamella import rewrite as rewrite
from lamella.device import runtime as runtime
from lamella import scipy as scipy
from lamella import sparse as sparse
from lamella import tensors as tensors
from lamella import train as train
from lamella.core import tree as tree
from lamella.amp.build import build_train_network as build_train_network
from lamella.amp.loss_scale_manager import (
    DynamicLossScaleManager as DynamicLossScaleManager,
    FixedLossScaleManager as FixedLossScaleManager, LossScaleManager as LossScaleManager,
)
from lamella.autodiff.decorators import custom_jvp as custom_jvp, custom_vjp as custom_vjp
from lamella.autodiff.equations import (
    custom_linear_solve as custom_linear_solve, implicit as implicit,
)
from lamella.autodiff.forward import jvp as jvp, linearize as linearize
from lamella.autodiff.function import _Function as _Function
from lamella.autodiff.jacobian import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
from lamella.autodiff.products import gnvp as gnvp, hvp as hvp, linear_transpose as linear_transpose
from lamella.autodiff.pullback import vjp as vjp
from lamella.autodiff.recompute import recompute as recompute
from lamella.autodiff.reverse import (
    get_grad as get_grad, grad as grad, value_and_grad as value_and_grad,
)
from lamella.autodiff.saved import (
    register_saved_tensors_hooks as register_saved_tensors_hooks,
    saved_tensors_hooks as saved_tensors_hooks,
)
from lamella.autodiff.taylor import derivative as derivative, jet as jet
from lamella.autodiff.vmap import vmap as vmap
from lamella.commands.doctor import run_check as run_check
from lamella.commands.jupyter import (
    load_ipython_extension as load_ipython_extension,
    unload_ipython_extension as unload_ipython_extension,
)
from lamella.communication.order import comm_exec_order_check as comm_exec_order_check
from lamella.communication.settings import (
    ParallelMode as ParallelMode, get_auto_parallel_context as get_auto_parallel_context,
    reset_auto_parallel_context as reset_auto_parallel_context,
    set_auto_parallel_context as set_auto_parallel_context,
)
from lamella.compat.jit_forbidden import (
    get_obj_module_and_name_info as get_obj_module_and_name_info,
    is_invalid_or_jit_forbidden_method as is_invalid_or_jit_forbidden_method,
    is_jit_forbidden_module as is_jit_forbidden_module,
)
from lamella.core.context import (
    COMPATIBLE as COMPATIBLE, GRAPH_MODE as GRAPH_MODE, LAX as LAX,
    PYNATIVE_MODE as PYNATIVE_MODE, STRICT as STRICT, get_context as get_context,
    set_context as set_context, set_deterministic as set_deterministic,
    set_device as set_device, set_recursion_limit as set_recursion_limit,
)
from lamella.core.dtype import (
    Int as Int, QuantDtype as QuantDtype, TensorType as TensorType, Type as Type,
    bfloat16 as bfloat16, bool as bool, bool_ as bool_, byte as byte, cdouble as cdouble,
    cfloat as cfloat, complex128 as complex128, complex64 as complex64, double as double,
    dtype_to_nptype as dtype_to_nptype, dtype_to_pytype as dtype_to_pytype, float as float,
    float16 as float16, float32 as float32, float64 as float64, float8_e4m3fn as float8_e4m3fn,
    float8_e5m2 as float8_e5m2, float_ as float_, get_py_obj_dtype as get_py_obj_dtype,
    half as half, int as int, int16 as int16, int32 as int32, int64 as int64, int8 as int8,
    int_ as int_, intc as intc, intp as intp, list_ as list_, long as long, number as number,
    pytype_to_dtype as pytype_to_dtype, qint4x2 as qint4x2, short as short, single as single,
    string as string, tensor_type as tensor_type, tuple_ as tuple_, type_none as type_none,
    ubyte as ubyte, uint as uint, uint16 as uint16, uint32 as uint32, uint64 as uint64,
    uint8 as uint8, uintc as uintc, uintp as uintp, ushort as ushort,
)
from lamella.core.log import get_level as get_level, get_log_config as get_log_config
from lamella.core.symbol import Symbol as Symbol
from lamella.core.versions import __version__ as __version__
from lamella.dataset.mindrecord.converters import (
    Cifar100ToMR as Cifar100ToMR, Cifar10ToMR as Cifar10ToMR, CsvToMR as CsvToMR,
    ImageNetToMR as ImageNetToMR, MnistToMR as MnistToMR, TFRecordToMR as TFRecordToMR,
)
from lamella.dataset.mindrecord.encryption import (
    set_dec_mode as set_dec_mode, set_enc_key as set_enc_key, set_enc_mode as set_enc_mode,
)
from lamella.dataset.mindrecord.reader import FileReader as FileReader, MindPage as MindPage
from lamella.dataset.mindrecord.writer import FileWriter as FileWriter
from lamella.device.runtime import (
    DeviceCtx as DeviceCtx, Event as Event, Stream as Stream, StreamCtx as StreamCtx,
    communication_stream as communication_stream, current_stream as current_stream,
    default_stream as default_stream, dispatch_threads_num as dispatch_threads_num,
    empty_cache as empty_cache, get_current_device as get_current_device,
    launch_blocking as launch_blocking, max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved, memory_allocated as memory_allocated,
    memory_reserved as memory_reserved, memory_stats as memory_stats,
    memory_summary as memory_summary, reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_reserved as reset_max_memory_reserved,
    reset_peak_memory_stats as reset_peak_memory_stats, set_cpu_affinity as set_cpu_affinity,
    set_cur_stream as set_cur_stream, set_kernel_launch_group as set_kernel_launch_group,
    set_memory as set_memory, synchronize as synchronize,
)
from lamella.device.stress_detect import stress_detect as stress_detect
from lamella.graph.surface.config import JitConfig as JitConfig
from lamella.graph.surface.decorators import (
    enable_dynamic as enable_dynamic, jit_class as jit_class, lazy_inline as lazy_inline,
    ms_memory_recycle as ms_memory_recycle, no_inline as no_inline,
)
from lamella.graph.surface.jit import jit as jit
from lamella.graph.surface.mutable import mutable as mutable
from lamella.insight.dispatch import MsDispatchMode as MsDispatchMode
from lamella.insight.dry_run import flops_collection as flops_collection
from lamella.insight.gradcheck.check import (
    GradientError as GradientError, check_grads as check_grads,
)
from lamella.insight.gradients.inspection import inspect_gradients as inspect_gradients
from lamella.insight.gradients.report import GradientReport as GradientReport
from lamella.insight.roofline.explain import explain as explain
from lamella.insight.shapes import eval_shape as eval_shape
from lamella.insight.summary import summary as summary
from lamella.nn.wrap.derivative import functional_call as functional_call
from lamella.ops.associative_scan import associative_scan as associative_scan
from lamella.ops.choices import cond as cond, switch as switch
from lamella.ops.composite import constexpr as constexpr
from lamella.ops.loops import fori_loop as fori_loop, scan as scan, while_loop as while_loop
from lamella.ops.ode import odeint as odeint
from lamella.parallel.auto_parallel import (
    reshard as reshard, set_op_strategy_config as set_op_strategy_config, shard as shard,
)
from lamella.parallel.layout import Layout as Layout
from lamella.parallel.search_settings import (
    get_algo_parameters as get_algo_parameters, get_ps_context as get_ps_context,
    reset_algo_parameters as reset_algo_parameters, reset_ps_context as reset_ps_context,
    set_algo_parameters as set_algo_parameters, set_ps_context as set_ps_context,
)
from lamella.rewrite.node import Node as Node, NodeType as NodeType
from lamella.rewrite.scoped_value import ScopedValue as ScopedValue
from lamella.rewrite.symbol_tree import SymbolTree as SymbolTree
from lamella.sparse.coo import COOTensor as COOTensor, SparseTensor as SparseTensor
from lamella.sparse.csr import CSRTensor as CSRTensor
from lamella.sparse.jacobian import sparse_jacobian as sparse_jacobian
from lamella.sparse.row import RowTensor as RowTensor, RowTensorInner as RowTensorInner
from lamella.tensors.buffers import (
    UntypedStorage as UntypedStorage, frombuffer as frombuffer, swap_tensors as swap_tensors,
)
from lamella.tensors.conversion import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from lamella.tensors.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from lamella.tensors.random import (
    Generator as Generator, default_generator as default_generator,
    get_rng_state as get_rng_state, get_seed as get_seed, initial_seed as initial_seed,
    manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state,
    set_seed as set_seed,
)
from lamella.tensors.tensor import (
    Tensor as Tensor, from_numpy as from_numpy, is_tensor as is_tensor, tensor as tensor,
)
from lamella.train.callback.backup import BackupAndRestore as BackupAndRestore
from lamella.train.callback.base import Callback as Callback, RunContext as RunContext
from lamella.train.callback.checkpoint import (
    CheckpointConfig as CheckpointConfig, ModelCheckpoint as ModelCheckpoint,
)
from lamella.train.callback.elsewhere import (
    SummaryLandscape as SummaryLandscape, TrainFaultTolerance as TrainFaultTolerance,
)
from lamella.train.callback.exit_by_request import (
    ExitByRequest as ExitByRequest, TFTCommValue as TFTCommValue,
)
from lamella.train.callback.functions import LambdaCallback as LambdaCallback
from lamella.train.callback.history import History as History
from lamella.train.callback.learning_rate import (
    LearningRateScheduler as LearningRateScheduler, ReduceLROnPlateau as ReduceLROnPlateau,
)
from lamella.train.callback.monitors import LossMonitor as LossMonitor, TimeMonitor as TimeMonitor
from lamella.train.callback.on_request_exit import OnRequestExit as OnRequestExit
from lamella.train.callback.progress import ProgressBar as ProgressBar
from lamella.train.callback.run_checkpoint import RunCheckpoint as RunCheckpoint
from lamella.train.callback.stopping import EarlyStopping as EarlyStopping
from lamella.train.callback.summary_collector import SummaryCollector as SummaryCollector
from lamella.train.callback.tracking import MLflowLogger as MLflowLogger, WandbLogger as WandbLogger
from lamella.train.callback.utilization import (
    FlopsUtilizationCollector as FlopsUtilizationCollector,
)
from lamella.train.callback.weight_averaging import WeightAveraging as WeightAveraging
from lamella.train.checkpoint import (
    async_ckpt_thread_status as async_ckpt_thread_status, load_checkpoint as load_checkpoint,
    load_checkpoint_async as load_checkpoint_async, save_checkpoint as save_checkpoint,
)
from lamella.train.checkpoint_convert import (
    ckpt_to_safetensors as ckpt_to_safetensors, safetensors_to_ckpt as safetensors_to_ckpt,
)
from lamella.train.checkpoint_net import load_param_into_net as load_param_into_net
from lamella.train.distributed_loading import (
    get_ckpt_path_with_strategy as get_ckpt_path_with_strategy,
    load_distributed_checkpoint as load_distributed_checkpoint,
    load_segmented_checkpoints as load_segmented_checkpoints,
)
from lamella.train.exporting import export as export, load as load
from lamella.train.feeding import (
    DatasetHelper as DatasetHelper,
    connect_network_with_dataset as connect_network_with_dataset, data_sink as data_sink,
)
from lamella.train.metrics.bleu import BleuScore as BleuScore
from lamella.train.metrics.classification import (
    Accuracy as Accuracy, F1 as F1, Fbeta as Fbeta, Precision as Precision, Recall as Recall,
    Top1CategoricalAccuracy as Top1CategoricalAccuracy,
    Top5CategoricalAccuracy as Top5CategoricalAccuracy,
    TopKCategoricalAccuracy as TopKCategoricalAccuracy,
)
from lamella.train.metrics.confusion import (
    ConfusionMatrix as ConfusionMatrix, ConfusionMatrixMetric as ConfusionMatrixMetric,
)
from lamella.train.metrics.distance import (
    CosineSimilarity as CosineSimilarity, Dice as Dice, MAE as MAE, MSE as MSE,
)
from lamella.train.metrics.loss import Loss as Loss, Perplexity as Perplexity
from lamella.train.metrics.metric import Metric as Metric, rearrange_inputs as rearrange_inputs
from lamella.train.metrics.occlusion import OcclusionSensitivity as OcclusionSensitivity
from lamella.train.metrics.registry import get_metric_fn as get_metric_fn, names as names
from lamella.train.metrics.roc import ROC as ROC, auc as auc
from lamella.train.metrics.surface import (
    HausdorffDistance as HausdorffDistance, MeanSurfaceDistance as MeanSurfaceDistance,
    RootMeanSquareDistance as RootMeanSquareDistance,
)
from lamella.train.model import Model as Model
from lamella.train.profiler import EnvProfiler as EnvProfiler, Profiler as Profiler
from lamella.train.redundancy import (
    parameter_broadcast as parameter_broadcast,
    sync_pipeline_shared_parameters as sync_pipeline_shared_parameters,
)
from lamella.train.resharding import (
    convert_checkpoint_by_rank as convert_checkpoint_by_rank,
    convert_checkpoints as convert_checkpoints,
    merge_sliced_parameter as merge_sliced_parameter,
    rank_list_for_convert as rank_list_for_convert,
    rank_list_for_transform as rank_list_for_transform,
    transform_checkpoint_by_rank as transform_checkpoint_by_rank,
    transform_checkpoints as transform_checkpoints,
)
from lamella.train.strategy_files import (
    build_searched_strategy as build_searched_strategy,
    merge_pipeline_strategys as merge_pipeline_strategys,
    restore_group_info_list as restore_group_info_list,
)
from lamella.train.summary.record import SummaryRecord as SummaryRecord
from lamella.train.torch_weights import load_torch_weights as load_torch_weights
from lamella.train.unified import unified_safetensors as unified_safetensors

FAILED: Any
SUCCESS: Any
