"""Training: `Model` with its callbacks and metrics, checkpoints, and the tools around them."""

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import importlib as _importlib

from ..amp.build import build_train_network
from ..amp.loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)
from ..compat.missing import name_of as _name_of
from . import serialization
from .serialization import (
    async_ckpt_thread_status,
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
)

# names by the room that has them, which is imported when the first of them is asked for
LAZY = {name: room for room, names in {
    "callback": """BackupAndRestore Callback CheckpointConfig EarlyStopping
        FlopsUtilizationCollector History LambdaCallback LearningRateScheduler LossMonitor
        MLflowLogger ModelCheckpoint OnRequestExit ReduceLROnPlateau ProgressBar RunCheckpoint
        RunContext SummaryCollector SummaryLandscape TimeMonitor TrainFaultTolerance WandbLogger
        WeightAveraging""",
    "distributed_loading": """get_ckpt_path_with_strategy load_distributed_checkpoint
        load_segmented_checkpoints""",
    "exporting": "export load",
    "feeding": "DatasetHelper connect_network_with_dataset data_sink",
    "metrics": """Accuracy BleuScore ConfusionMatrix ConfusionMatrixMetric CosineSimilarity Dice F1
        Fbeta HausdorffDistance Loss MAE MSE MeanSurfaceDistance Metric OcclusionSensitivity
        Perplexity Precision ROC Recall RootMeanSquareDistance Top1CategoricalAccuracy
        Top5CategoricalAccuracy TopKCategoricalAccuracy auc get_metric_fn names
        rearrange_inputs""",
    "model": "Model",
    "redundancy": "parameter_broadcast sync_pipeline_shared_parameters",
    "resharding": """convert_checkpoint_by_rank convert_checkpoints merge_sliced_parameter
        rank_list_for_convert rank_list_for_transform transform_checkpoint_by_rank
        transform_checkpoints""",
    "strategy_files": "build_searched_strategy merge_pipeline_strategys restore_group_info_list",
    "summary": "SummaryRecord",
    "torch_weights": "load_torch_weights",
    "unified": "unified_safetensors",
}.items() for name in names.split()}

_ROOMS = ("callback", "metrics", "summary")

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager",
           "async_ckpt_thread_status", "build_train_network", "ckpt_to_safetensors",
           "load_checkpoint", "load_checkpoint_async", "load_param_into_net",
           "safetensors_to_ckpt", "save_checkpoint"]
__all__.extend(LAZY)


def __getattr__(name: str) -> object:
    if name in LAZY:
        found = getattr(_importlib.import_module(f"{__name__}.{LAZY[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return _importlib.import_module(f"{__name__}.{name}")
    raise _name_of(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY, *_ROOMS})
