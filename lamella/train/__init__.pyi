"""The names of this package; `make stubs` writes this file."""

from typing import Any

from lamella.train import atomic_file as atomic_file
from lamella.train import background as background
from lamella.train import callback as callback
from lamella.train import checkpoint as checkpoint
from lamella.train import checkpoint_convert as checkpoint_convert
from lamella.train import checkpoint_format as checkpoint_format
from lamella.train import checkpoint_internal as checkpoint_internal
from lamella.train import checkpoint_net as checkpoint_net
from lamella.train import distributed_loading as distributed_loading
from lamella.train import exporting as exporting
from lamella.train import feeding as feeding
from lamella.train import fitting as fitting
from lamella.train import held as held
from lamella.train import metrics as metrics
from lamella.train import mindir as mindir
from lamella.train import model as model
from lamella.train import network_file as network_file
from lamella.train import onnx as onnx
from lamella.train import onnx_operators as onnx_operators
from lamella.train import package as package
from lamella.train import profiler as profiler
from lamella.train import recorded_network as recorded_network
from lamella.train import redundancy as redundancy
from lamella.train import renaming as renaming
from lamella.train import resharding as resharding
from lamella.train import resume as resume
from lamella.train import safetensors_format as safetensors_format
from lamella.train import serialization as serialization
from lamella.train import stablehlo as stablehlo
from lamella.train import strategy_files as strategy_files
from lamella.train import summary as summary
from lamella.train import torch_weights as torch_weights
from lamella.train import unified as unified
from lamella.train import wire_format as wire_format
from lamella.amp.build import build_train_network as build_train_network
from lamella.amp.loss_scale_manager import (
    DynamicLossScaleManager as DynamicLossScaleManager,
    FixedLossScaleManager as FixedLossScaleManager, LossScaleManager as LossScaleManager,
)
from lamella.train.callback.backup import BackupAndRestore as BackupAndRestore
from lamella.train.callback.base import Callback as Callback, RunContext as RunContext
from lamella.train.callback.checkpoint import (
    CheckpointConfig as CheckpointConfig, ModelCheckpoint as ModelCheckpoint,
)
from lamella.train.callback.elsewhere import (
    SummaryLandscape as SummaryLandscape, TrainFaultTolerance as TrainFaultTolerance,
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

LAZY: Any
__all__: list[str]
