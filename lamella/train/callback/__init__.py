"""Callbacks: code that `Model` runs at the beginnings and ends of steps and epochs."""

from .backup import BackupAndRestore
from .base import Callback, RunContext
from .base import CallbackManager as _CallbackManager
from .base import InternalCallbackParam as _InternalCallbackParam
from .base import set_cur_net as _set_cur_net
from .checkpoint import CheckpointConfig, ModelCheckpoint
from .checkpoint_files import CheckpointManager as _CheckpointManager
from .elsewhere import SummaryLandscape, TrainFaultTolerance
from .functions import LambdaCallback
from .history import History
from .learning_rate import LearningRateScheduler, ReduceLROnPlateau
from .monitors import LossMonitor, TimeMonitor
from .on_request_exit import OnRequestExit
from .progress import ProgressBar
from .run_checkpoint import RunCheckpoint
from .stopping import EarlyStopping
from .summary_collector import SummaryCollector
from .tracking import MLflowLogger, WandbLogger
from .utilization import FlopsUtilizationCollector
from .weight_averaging import WeightAveraging

__all__ = ["BackupAndRestore", "Callback", "CheckpointConfig", "EarlyStopping",
           "FlopsUtilizationCollector", "History",
           "LambdaCallback", "LearningRateScheduler", "LossMonitor", "MLflowLogger",
           "ModelCheckpoint",
           "OnRequestExit", "ProgressBar", "ReduceLROnPlateau", "RunCheckpoint", "RunContext",
           "SummaryCollector", "SummaryLandscape", "TimeMonitor", "TrainFaultTolerance",
           "WandbLogger", "WeightAveraging"]
