"""Mixed precision and loss scaling."""

from ..compat.missing import getattr_of as _getattr_of
from .build import build_train_network
from .loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from .loss_scaler import (
    DynamicLossScaler,
    LossScaler,
    StaticLossScaler,
    _grad_scale_map,
    _grad_unscale_map,
    all_finite,
)
from .mixed_precision import (
    auto_mixed_precision,
    custom_mixed_precision,
    get_black_list,
    get_white_list,
)

__all__ = ["DynamicLossScaleManager", "LossScaleManager", "FixedLossScaleManager",
           "build_train_network", "DynamicLossScaler", "StaticLossScaler", "LossScaler",
           "auto_mixed_precision", "all_finite", "custom_mixed_precision", "get_white_list",
           "get_black_list"]
__getattr__ = _getattr_of(__name__)
