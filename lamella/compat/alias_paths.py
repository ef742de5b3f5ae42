"""The paths under `mindspore`, and where Lamella keeps the names of each."""

from __future__ import annotations

# MindSpore's paths whose names live elsewhere in Lamella too: where to look, in order (paths under
# lamella; "" is lamella itself) -> the paths under mindspore. What Lamella has under the same path
# always comes first.
_PLACES: dict[str, str] = {
    ",dtype": "common",
    "dtype,": "common.dtype common.np_dtype _c_expression.typing",
    "_c_expression,dtype": "_c_expression",
    ",common": """
        common.api common.generator common.jit_config common.lazy_inline
        common.mutable common.parameter common.recompute common.sparse_tensor
        common.symbol common.tensor graph graph.api""",
    "autodiff,ops,": """
        common._grad_function ops.composite ops.composite.base ops.function.grad
        ops.function.grad.grad_func ops.function.vmap_func""",
    "autodiff.hooks": "common.hook_handle",
    "nn.wrap,nn": """
        nn.grad nn.grad.cell_grad
        nn.wrap.grad_reducer nn.wrap.loss_scale""",
    "nn.wrap,nn,nn.wrap.micro_batch": "nn.wrap.cell_wrapper",
    "train._utils,train.redundancy,train": "train._utils",
    "train.profiler": "profiler.common profiler.common.constant",
    "train.node_strategy": "train.node_strategy_pb2",
    "ops.primitives.generator_state,ops,ops.primitive,":
        "ops.auto_generate.gen_ops_prim ops.operations._inner_ops",
    "parallel.local_norm": "ops._grad_experimental ops._grad_experimental.grad_comm_ops",
    "ops.bprop_registry": "ops._grad ops._grad.grad_base ops._grad_experimental.grad_base",
    "ops": """
        ops.functional ops.deprecated
        ops.function ops.function.array_func ops.function.clip_func ops.function.debug_func
        ops.function.fft_func ops.function.image_func ops.function.linalg_func
        ops.function.math_func ops.function.other_func
        ops.function.parameter_func ops.function.sparse_func
        ops.function.sparse_unary_func ops.function.spectral_func
        ops.composite.math_ops ops.composite.multitype_ops
        ops.auto_generate ops.auto_generate.gen_ops_def ops.auto_generate.gen_extend_func""",
    "mint,ops": "ops.functional_overload",
    "ops,ops.operator_seeds": "ops.function.random_func",
    ",common,ops.operator_seeds": "common.seed",
    "mint.distributed.in_place": "ops.communication ops.function.comm_func",
    "parallel.distributed": "parallel.distributed.distributed_data_parallel",
    "ops,ops.attention,ops.attention_parts": "ops.function.nn_func",
    "ops,ops.primitive,": """
        ops.operations ops.operations.array_ops ops.operations.comm_ops ops.operations.control_ops
        ops.operations._embedding_cache_ops ops.operations._map_tensor_ops ops.operations._thor_ops
        ops.operations.custom_ops ops.operations.debug_ops ops.operations.image_ops
        ops.operations.inner_ops ops.operations.linalg_ops ops.operations.math_ops
        ops.operations.nn_ops ops.operations.other_ops ops.operations.random_ops
        ops.operations.sparse_ops ops.operations.spectral_ops ops.operations._grad_ops
        ops.operations._infer_ops ops.operations._quant_ops
        ops.operations._rl_inner_ops ops.operations._scalar_ops ops.operations._sequence_ops
        ops.operations.manually_defined ops.operations.manually_defined.ops_def
        ops.auto_generate.pyboost_inner_prim""",
    "nn.math,nn": "nn.layer nn.layer.math",
    "nn": """
        nn.layer.basic nn.layer.channel_shuffle nn.layer.combined
        nn.layer.container nn.layer.dense nn.layer.embedding nn.layer.image
        nn.layer.padding nn.layer.pooling nn.layer.timedistributed
        nn.layer.transformer nn.cell nn.utils nn.loss nn.optim nn.wrap""",
    "nn.activation,nn": "nn.layer.activation",
    "nn.convolution,nn": "nn.layer.conv",
    "nn.normalization,nn": "nn.layer.normalization",
    "nn.recurrent,nn": "nn.layer.rnn_cells nn.layer.rnns",
    "nn.loss,nn": "nn.loss.loss",
    "nn.optim,nn": """
        nn.optim.ada_grad nn.optim.adadelta nn.optim.adafactor nn.optim.adam
        nn.optim.adamax nn.optim.asgd nn.optim.ftrl nn.optim.lamb nn.optim.lars nn.optim.lazyadam
        nn.optim.momentum nn.optim.optimizer nn.optim.proximal_ada_grad nn.optim.rmsprop
        nn.optim.rprop nn.optim.sgd nn.optim.thor""",
    "mint.nn": """
        mint.nn.layer mint.nn.layer.activation mint.nn.layer.basic mint.nn.layer.conv
        mint.nn.layer.normalization mint.nn.layer.padding mint.nn.layer.pooling""",
    "scipy.utils": "scipy.utils",
    "_extends": "_extends.parse",
    "compat.compile_config": "_extends.parse.compile_config",
    "mint.nn.functional": "mint.functional",
    "mint.optim": "mint.optim.adam mint.optim.adamw mint.optim.fused_adamw mint.optim.sgd",
    "train.metrics,nn": "nn.metrics",
    "train": """
        train.data_sink train.dataset_helper train.loss_scale_manager""",
    "train,train._model,communication.settings": "train.model",
    "train.callback.checkpoint,train.callback.checkpoint_files,train.callback":
        "train.callback._checkpoint",
    "train.callback.base,train.callback": """
        train.callback train.callback._backup_and_restore train.callback._callback
        train.callback._early_stop train.callback._flops_collector
        train.callback._history train.callback._lambda_callback
        train.callback._loss_monitor
        train.callback._lr_scheduler_callback train.callback._on_request_exit
        train.callback._reduce_lr_on_plateau train.callback._summary_collector
        train.callback._time_monitor""",
    "train.summary": "train.summary",
    "train.summary,train.summary.record": "train.summary.summary_record",
    "train.metrics.registry,train.metrics": """
        train.metrics train.metrics.accuracy train.metrics.auc train.metrics.bleu_score
        train.metrics.confusion_matrix train.metrics.cosine_similarity train.metrics.dice
        train.metrics.error train.metrics.fbeta train.metrics.hausdorff_distance
        train.metrics.loss train.metrics.mean_surface_distance train.metrics.metric
        train.metrics.occlusion_sensitivity train.metrics.perplexity train.metrics.precision
        train.metrics.recall train.metrics.roc train.metrics.root_mean_square_surface_distance
        train.metrics.topk""",
    "train,": "train.serialization",
    "conversion,,device.stress_detect": "utils",
    "conversion,": "utils.dlpack",
    "device.stress_detect": "utils.stress_detect tools tools.stress_detect",
    "experimental.map_parameter": "experimental.map_parameter",
    "insight.dispatch": "utils.ms_dispatch",
    "insight.dryrun": "utils.dryrun",
    "communication.order": "utils.runtime_execution_order_check",
    "ops.arg_dtype_cast": "ops._utils.arg_dtype_cast",
    "compat.arg_handler": "ops._utils.arg_handler",
    "ops.arg_dtype_cast,compat.arg_handler": "ops._utils",
    "compat.default_config": "default_config",
    "compat.jit_forbidden": "graph._utils graph._utils.check_jit_forbidden_api",
    "core.context,device.runtime": "device_manager",
    "amp,amp.autocast,amp.build,amp.mixed_precision,train": "train.amp",
    "amp.autocast": "_c_expression.amp",
    "communication,communication.groups": """
        communication.management communication._comm_helper""",
    "context,communication.settings,parallel.search_settings": "context",
    "communication.settings,parallel.search_settings": """
        parallel._utils parallel._auto_parallel_context parallel._ps_context
        parallel._cost_model_context parallel.algo_parameter_config""",
    "parallel": """
        parallel.checkpoint_convert parallel.checkpoint_transform parallel.parameter_broadcast
        parallel.transform_safetensors""",
    "parallel.layout,parallel.tensor_info,parallel": "parallel.shard",
    "parallel.nn": "parallel.nn.parallel_cell_wrapper parallel.nn.parallel_grad_reducer",
    "parallel.function": "parallel.function.reshard_func",
    "dataset": """
        dataset.engine dataset.engine.datasets_audio
        dataset.engine.datasets_standard_format dataset.engine.datasets_text
        dataset.engine.datasets_user_defined dataset.engine.datasets_vision
        dataset.engine.samplers dataset.engine.serializer_deserializer""",
    "dataset,dataset.recovery": "dataset.engine.datasets",
    "dataset,dataset.iterators": "dataset.engine.iterators",
    "dataset.config": "dataset.core dataset.core.config",
    "_c_dataengine": "dataset.core.datatypes",
    "dataset.vision": "dataset.transforms.vision",
    "dataset.vision,dataset.transforms.operation": "dataset.vision.transforms",
    "dataset.audio.enums,dataset.audio": "dataset.audio.utils dataset.audio.transforms",
    "dataset.transforms": "dataset.transforms.transforms",
    "dataset.browsing": "dataset.utils",
    "dataset.vision.video,dataset.vision.argument_checks": "dataset.vision.utils",
    "ops.primitive,ops": "ops.primitive ops.signature scipy.ops",
    "parallel,communication,": "parallel.auto_parallel",
    "dataset.dataloader": "dataset.dataloader._utils",
    "dataset.dataloader.collate": "dataset.dataloader._utils.collate",
    "dataset.dataloader.worker": "dataset.dataloader._utils.worker",
    "dataset.text": "dataset.text.utils",
    "mindrecord": "mindrecord.filereader mindrecord.filewriter mindrecord.mindpage",
    "mindrecord.encryption": "mindrecord.config",
    "experimental.optim": """
        experimental.optim.adadelta experimental.optim.adagrad experimental.optim.adamax
        experimental.optim.adamw experimental.optim.asgd experimental.optim.nadam
        experimental.optim.radam experimental.optim.rmsprop experimental.optim.rprop
        experimental.optim.sgd""",
    "hal": "hal.device hal.event hal.memory hal.stream",
    "tensors.contiguous_tensors": "hal.contiguous_tensors_handle",
    "runtime": """
        runtime.device runtime.event runtime.executor runtime.memory runtime.stream""",
    "nn.probability.distribution": """
        nn.probability.distribution.bernoulli nn.probability.distribution.beta
        nn.probability.distribution.categorical nn.probability.distribution.cauchy
        nn.probability.distribution.distribution nn.probability.distribution.exponential
        nn.probability.distribution.geometric nn.probability.distribution.gumbel
        nn.probability.distribution.half_normal nn.probability.distribution.laplace
        nn.probability.distribution.log_normal nn.probability.distribution.logistic
        nn.probability.distribution.poisson nn.probability.distribution.student_t
        nn.probability.distribution.transformed_distribution""",
    "nn.probability.bijector": "nn.probability.bijector.bijector",
    "numpy": """
        numpy.array_creations numpy.array_ops numpy.dtypes numpy.logic_ops numpy.math_ops
        numpy.utils numpy.utils_const""",
}

SOURCES: dict[str, tuple[str, ...]] = {
    path: tuple(dict.fromkeys(where.split(",")))
    for where, paths in _PLACES.items() for path in paths.split()}

# Modules that MindSpore lists among what ``from module import *`` gives.
LISTED_MODULES = {"": ("dtype",), "common": ("dtype",)}

# The rooms, and the files in `ops`, `nn`, `common`, `train` and `amp`, that MindSpore has too. What
# else Lamella has at its top or in these rooms is its own layout, and no path of mindspore.
SHARED = frozenset("""
    _c_dataengine _c_expression _checkparam _extends amp boost common common._stub_tensor
    common.file_system common.generator
    common.initializer communication communication.comm_func context dataset device_context dtype
    experimental hal log mindrecord mint mint.distributed mint.linalg
    mint.nn mint.nn.functional mint.optim mint.special multiprocessing nn nn.cell nn.dynamic_lr
    nn.learning_rate_schedule nn.probability nn.sparse numpy onnx ops ops._primitive_cache
    ops.primitive parallel profiler rewrite runtime safeguard scipy train train.serialization utils
    version
    """.split())
ROOMS = frozenset(["", "amp", "common", "communication", "mint", "mint.nn", "nn", "nn.optim",
                    "ops", "train"])

# Files with Primitive classes that MindSpore shows only in its modules of Primitives
_PRIMITIVES = tuple(f"ops.primitives.{file}" for file in """
    gradients gradients_layers recurrent_gradients gradients_positions gradients_norms
    factorizations fourier cosines scalars python_sequences sparse_segments sparse_matrices
    sparse_coordinates sets faces testing embedding_cache resizing derivatives experts
    quantized optimizer_sparse neighbours
    """.split())

# Further names of a path, imported only when they are used
LATER = {"": ("train",), "nn": ("train.metrics",), **dict.fromkeys("""
    ops ops.auto_generate.gen_ops_def ops.function ops.function.array_func
    ops.function.math_func ops.function.nn_func ops.function.random_func ops.functional
    """.split(), ("mint.extended",)),
    **dict.fromkeys((f"ops.function.{file}" for file in ("array_func", "math_func", "nn_func")),
                    ("mint.extended", "ops.primitives.instances")),
    **{path: _PRIMITIVES for path, places in SOURCES.items()
       if "ops.primitive" in places and places[-1] == ""},
    **dict.fromkeys(("ops.operations._map_tensor_ops", "ops.operations._grad_ops"),
                    (*_PRIMITIVES, "experimental.map_parameter")),
    "ops.auto_generate": ("mint.extended", *_PRIMITIVES, "ops.primitives.generator_state",
                          "mint.operators")}
LATER["ops.auto_generate.gen_ops_def"] = LATER["ops.auto_generate"]  # which shows that file's names
for _path in ("gen_ops_prim", "pyboost_inner_prim"):
    _path = f"ops.auto_generate.{_path}"
    LATER[_path] = (*LATER.get(_path, ()), "mint.operators")

# Functions that MindSpore shows where it has a file of the same name.
FUNCTIONS = frozenset(
    ["data_sink", "lazy_inline", "linear_sum_assignment", "mutable", "parameter_broadcast",
     "recompute", "seed", "shard", "tensor"])

# facades whose `import *` gives only classes, as MindSpore's modules of primitives do
CLASSES_ONLY = ("ops.operations", "ops.auto_generate")

# names of a module of mindspore that are other modules of it -> these
INNER = {
    "dataset.context": "context", "dataset.engine.config": "dataset.config",
    "train.serialization.context": "context", "ops.P": "ops.operations",
    "ops.functional.P": "ops.operations", "ops.function.math_func.F": "ops.functional",
    **{f"ops.{name}": f"ops.operations.{name}" for name in ("array_ops", "linalg_ops",
                                                            "other_ops")},
    **{f"ops.{name}": f"ops.auto_generate.{name}" for name in (
        "gen_extend_func", "gen_ops_def", "gen_ops_prim", "pyboost_inner_prim")},
    "dataset.transforms.transforms.vision": "dataset.vision",
    "dryrun": "utils.dryrun",
    **{path: f"ops._utils.{path.rpartition('.')[2]}" for path in (
        "arg_dtype_cast", "arg_handler", "ops.arg_dtype_cast", "ops.arg_handler")},
}
